# SPDX-License-Identifier: MIT
"""The handbook's table of interconnects, one way, and the generations of NVLink, as `orrery cluster show` has them."""
from case import Case


def show(cluster, nodes=2):
    return f"cluster show {cluster} --nodes {nodes}"


def rate(name):
    return "{~^ +" + name + " .* ([0-9.]+) GB/s}"


def pair(cluster, settings, size):
    """Bytes between the first GPUs of two nodes."""
    return (f"collective --cluster {cluster} --nodes 2 --gpus-per-node 1 --library fixed --op sendrecv -b {size} "
            "--set 'cluster.node.nics.host_efficiency=100 %'" + "".join(f" --set '{setting}'" for setting in settings))


WIDE = "cluster.node.nics.host_bandwidth=1 TB/s"
GBPS = "{/rows/0/algbw_GBps}"
LATENCY = (0.02, "latencies")
ROUNDED = (0.1, "rounded in the files")
PCIE = "lanes · GT/s · 128/130"


def nic(gigabits, what):
    return Case(f"InfiniBand {what} ×4",
                pair("dgx-h100", [WIDE, f"cluster.node.nics.bandwidth={gigabits} Gb/s"], "1000000000000"),
                GBPS + " * 8", "Gb/s", f"4 * {gigabits // 4}", f"four lanes of {gigabits // 4} Gb/s", *LATENCY)


CASES = [
    Case("PCIe 4 ×16", show("dgx-a100"), rate("pcie.up"), "GB/s", "16 * 16 * 128 / 130 / 8", PCIE, *ROUNDED),
    Case("PCIe 5 ×16", show("dgx-h100"), rate("pcie.up"), "GB/s", "16 * 32 * 128 / 130 / 8", PCIE, *ROUNDED),
    Case("PCIe 6 ×16, in a message between nodes", pair("dgx-h100", ["cluster.node.nics.bandwidth=1600 Gb/s",
         "cluster.node.nics.host_bandwidth=121 GB/s"], "1000000000000"), GBPS, "GB/s", "121", "no shipped node has it",
         *LATENCY),
    Case("PCIe 7 ×16", pair("dgx-h100", ["cluster.node.nics.bandwidth=3200 Gb/s",
         "cluster.node.nics.host_bandwidth=242 GB/s"], "1000000000000"), GBPS, "GB/s", "242", "no shipped node has it",
         *LATENCY),
    Case("NVLink 2", show("dgx-2"), rate("nvlink.up"), "GB/s", "6 * 25", "6 links"),
    Case("NVLink 3", show("dgx-a100"), rate("nvlink.up"), "GB/s", "12 * 25", "12 links"),
    Case("NVLink 4", show("dgx-h100"), rate("nvlink.up"), "GB/s", "18 * 25", "18 links"),
    Case("MI250X", show("mi250x-4"), "3 * " + rate("xgmi.peer"), "GB/s", "7 * 50", "7 links", 15,
         "a node of four joins every two by two links, 6 of the 7"),
    Case("MI300X", show("mi300x-8"), "7 * " + rate("xgmi.peer"), "GB/s", "448", "7 links of 64"),
    Case("Gaudi 2", show("gaudi2-8"), "7 * " + rate("roce.peer"), "GB/s", "21 * 100 / 8",
         "21 ports of 100 Gb/s inside the node"),
    Case("InfiniBand EDR ×4", show("dgx-2"), rate("nic.up") + " * 8", "Gb/s", "4 * 25", "four lanes of 25 Gb/s"),
    Case("its latency", show("dgx-2"), "2 * {~nic.up .* ([0-9.]+) ns} / 1e3", "µs", "0.5", "up and down"),
    Case("InfiniBand HDR ×4", show("dgx-a100"), rate("nic.up") + " * 8", "Gb/s", "4 * 50", "four lanes of 50 Gb/s"),
    Case("its latency", show("dgx-a100"), "2 * {~nic.up .* ([0-9.]+) ns} / 1e3", "µs", "0.6", "up and down"),
    Case("InfiniBand NDR ×4", show("dgx-h100"), rate("nic.up") + " * 8", "Gb/s", "4 * 100", "four lanes of 100 Gb/s"),
    nic(800, "XDR"),
    nic(1600, "GDR"),
    Case("EFA v1", show("aws-p4d"), "{~nic.up .* ([0-9]+) +12.5 GB/s} / 2 * " + rate("nic.up") + " * 8", "Gb/s", "400",
         "4 × 100 Gb/s a node"),
    Case("EFA v1, effective: NCCL between two nodes", "collective --cluster aws-p4d --nodes 2 --op all_reduce -b 16G",
         GBPS + " * 8", "Gb/s", "340", "340 of 400: a tree sends the buffer once over the NICs each way", 1,
         "latencies; aws-samples measured 334 on p4de"),
    Case("EFA v2", show("aws-p5"), "{~nic.up .* ([0-9]+) +50 GB/s} / 2 * " + rate("nic.up") + " * 8", "Gb/s", "3200",
         "32 × 100 Gb/s a node, four to a GPU"),
    Case("Slingshot, a link", show("alps-gh200"), rate("nic.up") + " * 8", "Gb/s", "200", "one for each GPU"),
    Case("Omni-Path", show("jeanzay-a100"), rate("nic.up") + " * 8", "Gb/s", "100", "the first generation"),
    Case("Omni-Path, the second, between two GPUs",
         pair("jeanzay-a100", [WIDE, "cluster.node.nics.bandwidth=200 Gb/s", "cluster.node.nics.efficiency=100 %"],
              "1000000000000"), GBPS + " * 8", "Gb/s",
         "200", "twice that", *LATENCY),
    Case("Omni-Path of Jean Zay, a node in an all-reduce of 4", "collective --cluster jeanzay-a100 --nodes 4 --op all_reduce "
         "--algo ring -b 16G", "{/rows/0/busbw_GBps} * 8", "Gb/s", "135", "measured there: of 4 × 100", 1, "latencies"),
    Case("TCP over 100 Gb/s Ethernet with eight threads, NCCL", "collective --cluster dgx-a100 --nodes 4 --op all_reduce "
         "--algo ring -b 16G --set cluster.scale_out.network=ethernet --set cluster.node.nics.count=1 "
         "--set 'cluster.node.nics.bandwidth=100 Gb/s' --set cluster.scale_out.network.stack.threads=8",
         "{/rows/0/busbw_GBps}", "GB/s", "10", "NVIDIA's deck of 2024: 10 of 12.5", 22,
         "97 % of the NIC, as measured with eight threads on 32 Gb/s"),
    Case("one GPU a node, and the one thread that NCCL takes unless told otherwise", "collective --cluster dgx-a100 "
         "--nodes 2 --gpus-per-node 1 --op all_reduce --algo ring -b 1G --set cluster.scale_out.network=ethernet",
         "{/rows/0/busbw_GBps}", "GB/s", "1.9", "measured: 1.85 to 2.06 (NVIDIA/nccl issue 209)", 6,
         "2 GB/s for a thread"),
    Case("8 B over TCP, broadcast between two nodes", "collective --cluster dgx-1v --nodes 2 --gpus-per-node 1 --op broadcast "
         "--proto Simple -b 8 --set cluster.scale_out.network=ethernet", "{/rows/0/time_us}", "µs", "38.2",
         "measured: NVIDIA/nccl-tests issue 82", 8,
         "what the software takes is from there; how NCCL starts is fitted to newer releases"),
    Case("GPUDirect-TCPX", show("gcp-a3-high"), "{~nic.up .* ([0-9]+) +25 GB/s} / 2 * " + rate("nic.up") + " * 8",
         "Gb/s", "800", "4 × 200 Gb/s a node"),
]
