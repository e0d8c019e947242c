# SPDX-License-Identifier: MIT
"""The ASTRA-sim tutorial."""
from case import Case
from cases._products import backward, forward
from cases.interconnects import rate, show

ONE = "collective --cluster configs/studies/clusters/one-dimension.yaml --op all_reduce -b 64M"
THREE = "collective --cluster configs/studies/clusters/three-dimensions.yaml --op all_reduce -b 64M"
US = "{/rows/0/time_us}"
GPT = "run configs/studies/torus-2x4x4-transformer.yaml"
DLRM = "run configs/studies/torus-2x4x4-dlrm.yaml"
KINDS = "run configs/studies/parallelisms.yaml"
NARROW = "collective --cluster dgx-a100 --nodes 4 --op all_reduce -b 16G --set 'cluster.node.nics.bandwidth=50 Gb/s'"
SENT = "{/links/nvlink.up/bytes} / 1e6"
PARAMETERS = "8 * (12 * 1024**2 + 2 * 1024)"


def faster(study, times):
    return f"{study} --set 'cluster.device.peak={{bf16: {312 * times} TFLOP/s}}'"


def parallel(how):
    return f"{KINDS} --set 'workload.parallel={how}'"


CASES = [
    Case("Ring of 16, one way: 64 MiB", ONE + " --algo ring", US, "µs", "2 * 15 * (1 + 2**26 / 16 / 50e3)",
         "2(P − 1)(α + N/P·β)"),
    Case("Ring of 16 → bidirectional ring", ONE, US, "µs", "2 * 15 * (1 + 2**25 / 16 / 50e3)",
         "the same for half of the data, each way"),
    Case("Fully connected → direct", ONE + " --set cluster.dims.0.topology=fully-connected", US, "µs",
         "2 * (1 + 2**26 / 16 / 50e3)", "2(α + N/P·β), a link to each"),
    Case("Switch → halving-doubling", ONE + " --set cluster.dims.0.topology=switch", US, "µs",
         "2 * 4 * 1 + 2 * 15 / 16 * 2**26 / 50e3", "2 log₂P·α + 2(P − 1)/P·Nβ"),
    Case("Ring 2 × fully connected 4 × switch 8: six phases", THREE, US, "µs",
         "2 * ((1 + 2**26 / 2 / 100e3) + (2 + 2**26 / 2 / 4 / 50e3) + (3 * 3 + 7 / 8 * 2**26 / 8 / 25e3))",
         "reduce-scatter of N, N/2, N/8 up the dimensions, all-gather down"),
    Case("DGX SuperPOD: leaf switches of 64 nodes",
         "cluster show dgx-superpod --nodes 64 --set network.routing=deterministic", "{~([0-9]+) leaf}", "", "2 * 8",
         "a unit of 32 nodes has 8 rails, a leaf switch each"),
    Case("Meta ZionEX: GPUs of 16 nodes", show("zionex", 16), "{~^([0-9]+) devices}", "", "16 * 8", "128"),
    Case("Tesla Dojo, a tile: directed links along one axis of its 2-D mesh", show("dojo-tile", 1),
         "{~mesh.axis0 +gpu +gpu +([0-9]+)}", "", "2 * 4 * 5", "5 × 5 chips"),
    Case("TPU v4, a pod: directed links along one axis of its 3-D torus", show("tpu-v4-pod", 1),
         "{~ici.axis0 +gpu +gpu +([0-9]+)}", "", "2 * 16**3", "16 × 16 × 16 chips"),
    Case("TPU v4, a pod: all-reduce of 4 GiB", "collective --cluster tpu-v4-pod --op all_reduce -b 4G", US, "µs",
         "2 * (3 * 15 * 1 + 4095 / 4096 * 2**32 / 6 / 50e3)",
         "2(P − 1)/P·N over six links of each chip, three rings of 16 one after the other", 0.001,
         "whole bytes"),
    Case("Habana HLS-1: directed links between its Gaudi", show("habana-hls1", 1), "{~roce.peer .*?gpu +([0-9]+)}", "",
         "8 * 7", "every two joined"),
    Case("Cerebras SwarmX: ports of a CS-2", show("cerebras-swarmx"), rate("nic.up") + " * 8", "Gb/s", "12 * 100",
         "twelve of 100G"),
    Case("and what it adds up on the way: 1 GB of gradients of 16 systems",
         "collective --cluster cerebras-swarmx --nodes 16 --op all_reduce -b 1000000000", "{/rows/0/time_us} / 1e3", "ms",
         "(1e9 / 150e9 + 2 * 0.5e-6 + 2e-6) * 1e3", "up once and down once, at the same time: α + Nβ"),
    Case("Tenstorrent Galaxy: directed links of its mesh", show("tenstorrent-galaxy", 1),
         "{~ethernet.axis0 +gpu +gpu +([0-9]+)} + {~ethernet.axis1 +gpu +gpu +([0-9]+)}", "", "2 * (3 * 8 + 4 * 7)",
         "4 × 8 Wormhole"),
    Case("Transformer on a torus of 2 × 4 × 4: tensor parallelism, whatever the computing", GPT,
         "{/breakdown/0/exposed_comm_s/tensor} * 1e3", "ms",
         "24 * 2 * 4 * 2 * (1 / 2 + 1 / 2 * 3 / 4 / 2) * 2**24 / 50e6",
         "24 layers, 2 micro-batches, 4 all-reduces of 16 MiB over 2 × 4, both ways round the ring of 4", 0.001,
         "whole picoseconds"),
    Case("its data parallelism", GPT, "{/breakdown/0/exposed_comm_s/data} * 1e3", "ms",
         "2 * 3 / 4 * 4 * 24 * (12 * 4096**2 / 8 + 2 * 4096) / 2 / 50e6",
         "2 · 3/4 of the gradients of an eighth, over 4, half of it each way"),
    Case("its computing", GPT, "{/breakdown/0/compute_s} * 1e3", "ms",
         f"24 * 2 * ({forward(2048, 4096, 1024, 8)} + {backward(2048, 4096, 1024, 8)}) / 156e9",
         "24 layers, 2 micro-batches of 2,048 tokens, at 156 TFLOP/s", 0.001, "the optimizer counts as computing"),
    Case("share of communication", GPT, "1 - {/breakdown/0/compute_s} / {/iteration_time_s}", "",
         "124.83 / (124.83 + 102.73)", "88.58 + 36.25 ms beside 102.73 of computing, as above", 0.01,
         "digits"),
    Case("computing 16 times as fast: communication takes over", faster(GPT, 16),
         "1 - {/breakdown/0/compute_s} / {/iteration_time_s}", "", "124.83 / (124.83 + 102.73 / 16)",
         "the same 124.83 ms beside a sixteenth", 0.01, "digits"),
    Case("DLRM on it: all-to-all of embeddings, computing 16 times as fast", faster(DLRM, 16),
         "{/breakdown/0/exposed_comm_s/world} * 1e3", "ms", "2 * (1 / 2 + 3 / 4 + 3 / 4) * 2048 * 26 * 128 * 2 / 50e6",
         "out and back; 13.6 MB of rows, 1/2, 3/4, 3/4 of it over a link of each dimension", 0.1,
         "the way back runs beside the backward pass of the bottom perceptron"),
    Case("its gradients", DLRM, "{/breakdown/0/exposed_comm_s/data} * 1e3", "ms",
         "2 * (1 / 2 + 3 / 16 + 3 / 64) * 4 * (13 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128 + 479 * 1024 + 1024 + 1024 * 1024 + "
         "1024 + 1024 * 512 + 512" " + 512 * 256 + 256 + 256 + 1) / 50e6",
         "both perceptrons, 4 bytes a parameter: 1/2 of them, 3/4 of a half, 3/4 of an eighth, on rings of 4 half each way", 0.001, "whole picoseconds"),
    Case("share of communication", DLRM, "1 - {/breakdown/0/compute_s} / {/iteration_time_s}", "",
         "(1.0905 + 0.2783) / (1.0905 + 0.2783 + 0.2457)", "beside 0.2457 ms of computing, as Orrery has it", 0.2,
         "the way back of the all-to-all runs beside the bottom perceptron"),
    Case("16 times as fast", faster(DLRM, 16), "1 - {/breakdown/0/compute_s} / {/iteration_time_s}", "",
         "(1.0905 + 0.2783) / (1.0905 + 0.2783 + 0.2457 / 16)", "the same beside a sixteenth", 0.01,
         "the same, a sixteenth of it"),
    Case("Data parallel 8: bytes that leave a GPU in a step", parallel("{data: 8}"), SENT, "MB",
         f"2 * 7 / 8 * 4 * {PARAMETERS} / 1e6", "all-reduce of gradients in fp32"),
    Case("ZeRO 1 and 2", parallel("{data: 8, zero: 2}"), SENT, "MB", f"7 / 8 * (4 + 2) * {PARAMETERS} / 1e6",
         "reduce-scatter of gradients in fp32, all-gather of parameters in bf16"),
    Case("FSDP (ZeRO 3)", parallel("{data: 8, zero: 3}"), SENT, "MB", f"7 / 8 * (4 + 2 * 2) * {PARAMETERS} / 1e6",
         "all-gathers forward and backward, reduce-scatter"),
    Case("Tensor 8", parallel("{tensor: 8}"), SENT, "MB", "8 * 8 * 4 * 2 * 7 / 8 * 2 * 1024**2 / 1e6",
         "8 sequences, 8 layers, 4 all-reduces of 2 MiB"),
    Case("Pipeline 8", parallel("{pipeline: 8}"), SENT, "MB", "7 * 8 * 2 * 2 * 1024**2 / 8 / 1e6",
         "7 boundaries, 8 sequences, there and back, on 8 GPUs"),
    Case("Hybrid: tensor 2, data 4", parallel("{tensor: 2, data: 4}"), SENT, "MB",
         "(2 * 8 * 4 * 2 * 1 / 2 * 2 * 1024**2 + 2 * 3 / 4 * 4 * 8 * (12 * 1024**2 / 2 + 2 * 1024)) / 1e6",
         "2 sequences each; gradients of half the parameters, norms whole"),
    Case("In-network reduction: 16 GiB over 4 DGX A100 with NICs of 50 Gb/s, ring", NARROW + " --algo ring",
         "{/rows/0/time_us} / 1e3", "ms", "2 * 31 / 32 * 2**34 / (8 * 6.25e9) * 1e3",
         "2(P − 1)/P of the buffer through 8 NICs", 0.5, "latencies"),
    Case("the same with switches that add up", NARROW + " --set cluster.scale_out.in_network_reduction=true",
         "{/rows/0/time_us} / 1e3", "ms", "2**34 / (8 * 6.25e9) * 1e3", "the buffer once", 0.5, "latencies"),
]
