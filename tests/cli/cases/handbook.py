# SPDX-License-Identifier: MIT
"""The networking handbook."""
from case import Case
from cases._products import backward, forward

GPU8 = "run configs/studies/handbook-2b-8gpu.yaml"
NODES4 = "run configs/studies/handbook-2b-4nodes.yaml --set collectives.algo=[ring]"
FAST = " --set 'cluster.node.nics.bandwidth=400 Gb/s'"
LARGE = "run configs/studies/handbook-80b-parameters.yaml"
RING = ("collective --op all_reduce -b 8000000000 --library fixed --algo ring "
        "--set 'cluster.node.fabric.efficiency=100 %' --set 'cluster.node.fabric.latency=0 us' --cluster ")
MEASURED = "collective --cluster dgx-a100 --op all_reduce --launch single-process -b "
TORCH = "collective --cluster dgx-a100 --op all_reduce --launch torch -b "
PAIR = "collective --op sendrecv --gpus-per-node 2 -b 1G --cluster "
NODE4 = ("collective --cluster dgx-a100 --nodes 4 --op all_reduce --algo ring -b 8000000000 "
         "--set cluster.node.nics.count=1")
TOPO = "run configs/studies/topology-classes.yaml"
BUCKETS = "run configs/studies/gradient-buckets.yaml"
US = "{/rows/0/time_us} / 1e6"

# The handbook's all_reduce_perf of 8 A100: bus bandwidth in GB/s from 32 KiB on, each size twice the one before.
PERF = [1.31, 2.45, 4.43, 7.47, 11.41, 18.00, 36.18, 72.33, 109.93, 106.16, 138.49, 171.54, 176.92, 194.07, 222.72,
        229.04, 231.41, 233.88, 234.61, 234.89]


def size_text(kib):
    unit = next(unit for unit in ("KiB", "MiB", "GiB") if kib < 1024 or unit == "GiB" or not (kib := kib // 1024))
    return f"{kib} {unit}"


def perf_row(number, measured):
    if number < 3:
        tolerance, why = 46, "latency: one thread starts eight kernels, here in 44 µs, elsewhere in 32 to 35"
    elif number < 6:
        tolerance, why = 88, "eight A100 with NCCL 2.27 take 30 µs for 512 KiB, this table 80"
    elif number < 9:
        tolerance, why = 58, "the table has 101 µs at 1, 2 and 4 MiB alike, for which the model has no mechanism"
    elif number < 15:
        tolerance, why = 24, "how fast the pipe of chunks fills"
    else:
        tolerance, why = 3, "the model of NCCL"
    return Case(("all_reduce_perf on 8 A100, bus bandwidth at " if number == 0 else "at ") + size_text(32 << number),
                MEASURED + "32K -e 16G", f"{{/rows/{number}/busbw_GBps}}", "GB/s", f"{measured}", "measured", tolerance, why)


CASES = [
    Case("80 B parameters in fp32 at 200 Gb/s", LARGE, "{/iteration_time_s}", "s", "80e9 * 4 * 8 / 200e9",
         "320 GB = 2,560 Gb"),
    Case("at 1,600 Gb/s", LARGE + " --set 'cluster.dims.0.bandwidth=1600 Gb/s'", "{/iteration_time_s}", "s",
         "80e9 * 4 * 8 / 1600e9", "320 GB = 2,560 Gb"),
    Case("2 B parameters on 8 A100 at half their peak: computing", GPU8, "{/breakdown/0/compute_s}", "s",
         "8 * 2e9 * 16 * 2048 / 8 / 156e12", "65.5 TFLOP a GPU with full recomputation, at 156 TFLOP/s", 8,
         "2.013 B parameters, attention (4 %) and the filling of products (3 %), which the handbook leaves out"),
    Case("the same by the model of docs/compute.md", GPU8, "{/breakdown/0/compute_s}", "s",
         f"10 * (2 * {forward(4096, 4096, 2048)} + {backward(4096, 4096, 2048)}) / 156e12",
         "10 layers, two forward passes and a backward one on 4,096 tokens: 0.4523 s", 0.001,
         "the optimizer counts as computing"),
    Case("their gradients in fp32 over NVLink of A100", RING + "dgx-a100", US, "s", "2 * 7 / 8 * 8e9 / 300e9",
         "a ring sends 2 · 7/8 of 8 GB"),
    Case("the same against the handbook's figure", RING + "dgx-a100", US, "s", "16e9 / 300e9", "≈ 16 GB moved", 12.51,
         "the handbook takes 2 for 2 · 7/8"),
    Case("over NVLink of H100", RING + "dgx-h100", US, "s", "2 * 7 / 8 * 8e9 / 450e9", "a ring sends 2 · 7/8 of 8 GB"),
    Case("the same against the handbook's figure", RING + "dgx-h100", US, "s", "16e9 / 450e9", "≈ 16 GB moved (0.035)",
         12.51, "the handbook takes 2 for 2 · 7/8"),
    Case("the exposed all-reduce of the whole step, without overlap", GPU8, "{/breakdown/0/exposed_comm_s/data}", "s",
         "2 * 7 / 8 * 4 * 10 * (12 * 4096**2 + 2 * 4096) / 300e9", "2.013 B parameters"),
    Case("4 nodes at 200 Gb/s: the all-reduce alone", NODE4, US, "s", "16e9 / 25e9",
         "≈ 16 GB through the NIC of a node", 4, "31/32 of it, and NCCL's latencies"),
    Case("at 400 Gb/s", NODE4 + FAST, US, "s", "16e9 / 50e9", "≈ 16 GB through the NIC of a node", 4,
         "31/32 of it, and NCCL's latencies"),
    Case("4 nodes at 200 Gb/s: a step is bound by communication", NODES4, "{/iteration_time_s}", "s",
         "0.4523 / 4 + 0.4523 * 3 / 4 / 10 + 2 * 31 / 32 * 4 * 10 * (12 * 4096**2 + 2 * 4096) / 25e9",
         "the forward pass, a tenth of the backward pass until the first layer's gradients are there, then the network",
         4, "NCCL takes 2.1 ms more than the bytes for a bucket"),
    Case("at 400 Gb/s it is hidden but for the last layer's", NODES4 + FAST, "{/iteration_time_s}", "s",
         "0.4523 + 2 * 31 / 32 * 4 * (12 * 4096**2 + 2 * 4096) / 50e9", "0.4523 s of computing, then the last bucket",
         2, "latencies, a bucket that is left over"),
    Case("Overlap: with layer l's gradients under way while l − 1 computes, what stays exposed",
         BUCKETS + " --set 'cluster.dims.0.bandwidth=300 GB/s'", "{/breakdown/0/exposed_comm_s/data} * 1e3", "ms",
         "(14 * 20e-6 + 2 * 7 / 8 * 1610874880 / 8 / 300e9) * 1e3", "the last of 8 buckets"),
    Case("and without overlap",
         BUCKETS + " --set 'cluster.dims.0.bandwidth=300 GB/s' --set workload.overlap.gradients=false",
         "{/breakdown/0/exposed_comm_s/data} * 1e3", "ms", "(14 * 20e-6 + 2 * 7 / 8 * 1610874880 / 300e9) * 1e3",
         "all gradients at once"),
    Case("Share of the advertised bandwidth: 8 A100, 16 GiB", MEASURED + "16G", "{/rows/0/busbw_GBps} / 300 * 100", "%",
         "80", "80–90 % of advertised", 4, "a little less: 78 % were measured"),
    Case("8 H100 without NVLS", "collective --cluster dgx-h100 --op all_reduce --algo ring -b 16G",
         "{/rows/0/busbw_GBps} / 450 * 100", "%", "80", "80–90 % of advertised", 12.5, "within the range"),
    *[perf_row(*row) for row in enumerate(PERF)],
    Case("One 4 GB all-reduce, bus bandwidth", TORCH + "4000000000", "{/rows/0/busbw_GBps} * 8", "Gb/s", "1257",
         "measured by a script that does it once", 51,
         "the script calls once and does not warm up: 15 ms more; the same table of all_reduce_perf has "
         "233.9 GB/s, 1,871 Gb/s"),
    Case("the same against that table", TORCH + "4294967296", "{/rows/0/busbw_GBps} * 8", "Gb/s", "233.88 * 8",
         "measured", 2, "the model of NCCL"),
    Case("1,000 of 4 MB", TORCH + "4000000", "{/rows/0/busbw_GBps} * 8", "Gb/s", "374", "measured by the same script",
         21, "the model of NCCL and PyTorch's launches"),
    Case("Point to point inside a node, A100", PAIR + "dgx-a100", "{/rows/0/algbw_GBps}", "GB/s", "274",
         "measured (of 300)", 13, "Orrery gives messages 80 % of NVLink, NCCL's own figure; 274 are 91 %"),
    Case("H100", PAIR + "dgx-h100", "{/rows/0/algbw_GBps}", "GB/s", "376", "measured (of 450)", 2, "82.4 % of NVLink"),
    Case("topo -m, NV4: 320 GB between GPU 0 and 1", TOPO, "{/iteration_time_s}", "s", "320e9 / (100e9 * 0.8) + 0.7e-6",
         "4 bonded NVLinks of 25 GB/s, of which messages get 80 %"),
    Case("PXB: between GPU 0 and 2", TOPO + " --set 'placement=[0, 2]'", "{/iteration_time_s}", "s",
         "320e9 / (31.5e9 * 0.7619) + 2 * 0.25e-6", "PCIe, up to the switch and down; 24 of 31.5 GB/s"),
    Case("PHB: between GPU 4 and 6", TOPO + " --set 'placement=[4, 6]'", "{/iteration_time_s}", "s",
         "320e9 / (31.5e9 * 0.7619) + 2 * 0.25e-6", "PCIe, up to the host bridge and down"),
    Case("NODE: between GPU 0 and 3", TOPO + " --set 'placement=[0, 3]'", "{/iteration_time_s}", "s",
         "320e9 / (31.5e9 * 0.7619) + 5 * 0.25e-6", "PCIe, five links: to another host bridge of the socket"),
    Case("SYS: between GPU 0 and 4", TOPO + " --set 'placement=[0, 4]'", "{/iteration_time_s}", "s",
         "320e9 / 10e9 + 1.5e-6", "the sockets' 10 GB/s"),
    Case("A shared network: 80 % of the NIC is left, 320 GB at 200 Gb/s",
         LARGE + " --set 'perturb.links={nic.up: {bandwidth: 80 %}}'", "{/iteration_time_s}", "s",
         "80e9 * 4 * 8 / 200e9 / 0.8", "12.8 s over 0.8"),
    Case("Sockets of that node", "cluster show configs/studies/clusters/two-sockets.yaml", "{~([0-9]+) socket}", "",
         "2", "NUMA affinity 0 and 1, four GPUs each"),
    Case("NVSwitch adds up (NVLS): bus bandwidth of 8 H100 over the nominal 450 GB/s",
         "collective --cluster dgx-h100 --op all_reduce -b 16G", "{/rows/0/busbw_GBps} / 450", "", "482.12 / 450",
         "measured (nccl-tests issue 309): above the link's nominal rate", 5, "the model of NCCL; a ring reaches 0.82"),
    Case("Switches between nodes add up (SHARP): 4 DGX A100",
         "collective --cluster dgx-a100 --nodes 4 --op all_reduce -b 16G --set "
         "cluster.scale_out.in_network_reduction=true", "{/rows/0/time_us} / 1e3", "ms",
         "2 * 7 / 8 * 2**34 / 240e9 * 1e3", "only NVLink's 2 · 7/8 N at 240 GB/s is left", 1, "latencies"),
    Case("without", "collective --cluster dgx-a100 --nodes 4 --op all_reduce -b 16G", "{/rows/0/time_us} / 1e3", "ms",
         "2 * 31 / 32 * 2**34 / (8 * 24e9) * 1e3", "a ring through 8 × 24 GB/s", 1, "latencies"),
]
