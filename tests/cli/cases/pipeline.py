# SPDX-License-Identifier: MIT
"""Pipeline and tensor parallelism; A100 against A800."""
from case import Case

BUBBLE = "run configs/studies/pipeline-4-stages.yaml"
IDLE = "{/iteration_time_s} / {/breakdown/0/compute_s} - 1"
IDLE_OF_8 = "8 * {/iteration_time_s} / {/breakdown/0/compute_s} - 1"  # in 8 iterations
# As many tokens in sequences so short that attention is a ten-thousandth.
SHORT = " --set workload.model.sequence=16 --set workload.batch.micro=128 --set workload.batch.global=1024"
WEIGHTS = (1.2, "weight gradients, products of another shape, take 4 % longer than forward passes")
BESIDE = "run configs/studies/tensor-beside-pipeline.yaml"
GATHER = ("collective --cluster dgx-a100 --library fixed --algo ring --set cluster.node.fabric.latency='0 us' "
          "--set cluster.node.fabric.efficiency='100 %' -b 33554432 --op ")
OPTIMIZER = (0.001, "the optimizer counts as computing")
MOVED = "{/rows/0/time_us} * 300e3 / 2**20"

VERDICT = "sweep configs/studies/nvlink-against-network.yaml"


def time_of(machine):
    """Of a point of VERDICT."""
    return "{~^ +" + machine + " +([0-9.]+) us}"


def point(question, machine, link, words):
    """The utilisation of the busiest link of a point, which has to be `link`: "A100 as shipped  254.5 us  nvlink 96 %"."""
    return Case(question, VERDICT, "{~^ +" + machine + " +[0-9.]+ us +" + link + " ([0-9]+) %}", "%", "100", words, 4.5,
                "latencies of 14 steps")


CASES = [
    Case("Bubble of 4 stages and 8 micro-batches, idle over ideal (1F1B)", BUBBLE, IDLE, "", "(4 - 1) / 8", "(p − 1)/m",
         *OPTIMIZER),
    Case("the same under GPipe", BUBBLE + " --set workload.schedule.kind=gpipe", IDLE, "", "(4 - 1) / 8", "(p − 1)/m",
         *OPTIMIZER),
    Case("with 16 micro-batches", BUBBLE + " --set workload.batch.global=16", IDLE, "", "(4 - 1) / 16", "(p − 1)/m",
         *OPTIMIZER),
    Case("interleaved, 2 chunks a stage",
         BUBBLE + " --set 'workload.schedule={kind: 1f1b-interleaved, virtual_stages: 2}'", IDLE, "",
         "(4 - 1) / (2 * 8)", "(p − 1)/(v·m)", *OPTIMIZER),
    Case("ZB-H1, short sequences, so that F = B = W", BUBBLE + SHORT + " --set workload.schedule.kind=zero-bubble", IDLE, "",
         "(4 - 1) / (3 * 8)", "(p − 1)(F + B − W)/(m(F + B + W))", *WEIGHTS),
    Case("ZB-H2 likewise: the last stage begins after p − 1 forward passes and is never idle",
         BUBBLE + SHORT + " --set workload.schedule.kind=zb-h2", IDLE, "",
         "(4 - 1) / (3 * 8)", "(p − 1)F/(m(F + B + W))", *WEIGHTS),
    Case("ZB-H2 in 8 iterations, one behind the other without a gap",
         BUBBLE + SHORT + " --set workload.schedule.kind=zb-h2 --set workload.iterations=8", IDLE_OF_8, "",
         "(4 - 1) / (3 * 8 * 8)", "(p − 1)F/(8·m(F + B + W))", *WEIGHTS),
    Case("ZB-H1 in 8 iterations: every one has the bubble",
         BUBBLE + SHORT + " --set workload.schedule.kind=zero-bubble --set workload.iterations=8", IDLE_OF_8, "",
         "(4 - 1) / (3 * 8)", "(p − 1)F/(m(F + B + W))", 1.5, WEIGHTS[1]),
    Case("ZB-V, whose chunks are half a stage", BUBBLE + SHORT + " --set workload.schedule.kind=zb-v", IDLE, "",
         "(4 - 1) / (2 * 3 * 8)", "(p − 1)(F/2)/(m(F + B + W))", 1.5, WEIGHTS[1]),
    Case("Activations of ZB-H2 over those of 1F1B, on the fullest rank",
         (BUBBLE + " --set workload.schedule.kind=zb-h2", BUBBLE),
         "{/memory/by/activations} / {2/memory/by/activations}", "", "(2 * 4 - 1) / 4", "2p − 1 micro-batches, not p"),
    Case("those of ZB-V", (BUBBLE + " --set workload.schedule.kind=zb-v", BUBBLE),
         "{/memory/by/activations} / {2/memory/by/activations}", "", "(2 * 4) / (2 * 4)", "2p chunks of half a stage, not p stages"),
    Case("Computing with full recomputation over without", (BUBBLE + " --set workload.recompute=full", BUBBLE),
         "{/breakdown/0/compute_s} / {2/breakdown/0/compute_s}", "", "4 / 3", "4 times the forward pass, not 3 times",
         0.5, "flash attention computes its scores again either way"),
    Case("Tensor parallelism forward: what a GPU sends, d·B = 32 MiB, P = 8", GATHER + "all_gather", MOVED, "MiB",
         "32 / 8 * (8 - 1)", "(d·B/P)(P − 1)", 0.001, "whole picoseconds"),
    Case("backward, all-reduce of the input gradient", BESIDE, "{/links/nvlink.up/bytes} / 2**20", "MiB",
         "2 * (8 - 1) / 8 * 32", "2(P − 1)/P · d·B over a ring"),
    Case("Pipeline: what a GPU of the second server sends to the first", BESIDE,
         "{/links/rdma.up/max_utilisation} * {/iteration_time_s} * 20e9 / 2**20", "MiB", "32 / 8", "d·B/P"),
    Case("NVLink of an A100, both ways", "cluster show dgx-a100", "2 * {~nvlink.up .* ([0-9.]+) GB/s}", "GB/s",
         "12 * 50", "12 links"),
    Case("NVLink of an A800, both ways", "cluster show hgx-a800", "2 * {~nvlink.up .* ([0-9.]+) GB/s}", "GB/s",
         "8 * 50", "8 links"),
    Case("Same FLOPs and HBM: computing of the same step on one A100 over one A800", (
         "run configs/studies/llama3-8b-fsdp.yaml --allow-oom --set cluster=dgx-a100 --set workload.parallel.data=1",
         "run configs/studies/llama3-8b-fsdp.yaml --allow-oom --set cluster=hgx-a800 --set workload.parallel.data=1"),
         "{/breakdown/0/compute_s} / {2/breakdown/0/compute_s}", "", "1", "the same GPU"),
    Case("DGX A100: NICs of a node, one way", "cluster show dgx-a100 --nodes 2",
         "{~nic.up .* ([0-9]+) +25 GB/s} / 2 * {~nic.up .* ([0-9.]+) GB/s}", "GB/s", "8 * 200 / 8", "8 × 200 Gb/s"),
    Case("the same, as a node gets it: all GPUs send to the other node",
         "collective --cluster dgx-a100 --nodes 2 --op all_to_all -b 4G", "8 * {/rows/0/algbw_GBps} / 2", "GB/s", "160",
         "typically measured: PCIe and protocol", 25,
         "8 × 24 GB/s by NCCL's figure for PCIe; the lecture's 160 is a measured system"),
    Case("Two servers: NVLink's load over that of the NICs with the A100, at 160 GB/s between", BESIDE,
         "{/links/nvlink.up/max_utilisation} / {/links/rdma.up/max_utilisation}", "", "1.75 / (300 / 160)",
         "1.75 passes needed, 1.875 there: below 1, NVLink is not the bottleneck"),
    Case("with the A800", BESIDE + " --set 'cluster.dims.0.bandwidth=200 GB/s'",
         "{/links/nvlink.up/max_utilisation} / {/links/rdma.up/max_utilisation}", "", "1.75 / (200 / 160)",
         "1.25 there: above 1, NVLink is the bottleneck"),
    Case("the step of A800 over A100", (BESIDE + " --set 'cluster.dims.0.bandwidth=200 GB/s'", BESIDE),
         "{/iteration_time_s} / {2/iteration_time_s}", "", "1.75 * 160 / 200",
         "1.75·d·B over NVLink against d·B between the servers", 0.001, "whole picoseconds"),
    point("the same trace on the shipped machines, DGX A100: NVLink is the busiest", "A100 as shipped", "nvlink",
          "the bottleneck of both: 240 / 192 = 1.25 and 160 / 192 = 0.83 are less than 1.75"),
    point("HGX A800: NVLink", "A800 as shipped", "nvlink", "the same"),
    point("with the lecture's figures, NVLink in full and 160 GB/s between, A100: the NIC is the busiest",
          "A100 of the lecture", "nic", "passes: NVLink waits for the network"),
    point("A800: NVLink", "A800 of the lecture", "nvlink", "does not pass"),
    Case("the step of A800 over A100, shipped", VERDICT, time_of("A800 as shipped") + " / " + time_of("A100 as shipped"),
         "", "300 / 200", "both wait for NVLink", 2, "latencies"),
    Case("by the lecture's figures", VERDICT, time_of("A800 of the lecture") + " / " + time_of("A100 of the lecture"),
         "", "1.75 * 160 / 200", "1.75·d·B over NVLink against d·B between the servers", 5, "latencies"),
    Case("NVLink of a pair of A100 PCIe, both ways", "cluster show a100-pcie --nodes 1",
         "2 * {~nvlink +gpu +gpu .* ([0-9.]+) GB/s}", "GB/s", "600", "a bridge over two cards: 12 links of 50"),
    Case("of a pair of A800 PCIe", "cluster show a800-pcie --nodes 1", "2 * {~nvlink +gpu +gpu .* ([0-9.]+) GB/s}",
         "GB/s", "400", "8 links of 50"),
    Case("PCIe of either, both ways", "cluster show a800-pcie --nodes 1", "2 * {~pcie +gpu +cpu .* ([0-9.]+) GB/s}",
         "GB/s", "64", "PCIe 4.0: 64", 2, "128/130 of it"),
    Case("Same FLOPs and HBM of the PCIe cards: the same step on one A100 over one A800", (
         "run configs/studies/llama3-8b-fsdp.yaml --allow-oom --set cluster=a100-pcie --set workload.parallel.data=1",
         "run configs/studies/llama3-8b-fsdp.yaml --allow-oom --set cluster=a800-pcie --set workload.parallel.data=1"),
         "{/breakdown/0/compute_s} / {2/breakdown/0/compute_s}", "", "1", "312 TFLOP/s and 1,935 GB/s both"),
    Case("All-reduce of 1 GiB over a bridged pair, A800 over A100", (
         "collective --cluster a800-pcie --nodes 1 --gpus-per-node 2 --op all_reduce -b 1G",
         "collective --cluster a100-pcie --nodes 1 --gpus-per-node 2 --op all_reduce -b 1G"),
         "{/rows/0/time_us} / {2/rows/0/time_us}", "", "600 / 400", "NVLink of the bridge", 7,
         "latencies, and what each rank writes to its own memory"),
    Case("and over all eight cards", (
         "collective --cluster a800-pcie --nodes 1 --op all_reduce -b 1G",
         "collective --cluster a100-pcie --nodes 1 --op all_reduce -b 1G"),
         "{/rows/0/time_us} / {2/rows/0/time_us}", "", "1", "the way between the sockets bounds both", 1, "latencies"),
]
