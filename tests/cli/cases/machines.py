# SPDX-License-Identifier: MIT
"""An all-reduce of 1 GiB on the machines of 2025 and 2026, by hand: bytes over the bandwidth of the ring, the switch or
the links, and the latency of each step."""
from case import Case

TIME = "{/rows/0/time_us}"
FIXED = " --library fixed"


def call(cluster, more="", operation="all_reduce"):
    return f"collective --cluster {cluster} --op {operation} -b 1G{more}"


def direct(name, cluster, peers, rate, latency, words, more=""):
    """Every two joined: a step to scatter and add up, one to gather, a share of the buffer for each peer."""
    return Case(name, call(cluster, more), TIME, "µs", f"2 * ({latency} + 2**30 / {peers} / ({rate}))", words)


def ring(name, cluster, ranks, rate, latency, words, more=FIXED + " --algo ring"):
    return Case(name, call(cluster, more), TIME, "µs",
                f"2 * {ranks - 1} * ({latency} + 2**30 / {ranks} / ({rate}))", words, 1e-4, "whole bytes")


CASES = [
    Case("RTX PRO 6000, eight on PCIe 5", call("rtx-pro-6000-8"), TIME, "µs", "2 * 7 / 8 * 2**30 / (0.7619 * 63e3)",
         "a ring through the slots: 63 GB/s, 76.19 % of it", 2, "NCCL's latencies"),
    direct("H200 NVL, four on a bridge", "h200-nvl", 4, "0.824 * 6 * 25e3", 0.15, "six links to each peer", FIXED),
    direct("H200 NVL, two on a bridge", "h200-nvl-pair", 2, "0.824 * 18 * 25e3", 0.15, "18 links", FIXED),
    direct("MI350X, eight", "mi350x-8", 8, "0.76 * 76.8e3", 0.55, "a link to each peer", FIXED),
    direct("Gaudi 3, eight", "gaudi3-8", 8, "3 * 25e3", 1, "three ports of 200 Gb/s to each peer"),
    direct("Ascend 910B, eight", "ascend-910b-8", 8, "28e3", 1, "HCCS to each peer"),
    Case("Trainium2, a torus of 4 × 4", call("trn2-48xlarge"), TIME, "µs",
         "2 * (2 * 3 * 1 + 15 / 16 * 2**30 / 4 / 128e3)", "2(P − 1)/P·N over four links of each chip"),
    Case("Trainium2 UltraServer, 4 × 4 × 4, half as fast between instances", call("trn2-ultraserver"), TIME, "µs",
         "2 * (3 * 3 * 1 + (1 + 1 / 4 + 1 / 16) * 3 / 4 * 2**30 / 3 / 2 / 64e3)",
         "a third of the buffer begins on each axis; the links between instances are never idle", 20,
         "they are, while a third that began on them goes on along the faster axes"),
    ring("Trainium3 UltraServer, 144 behind switches", "trn3-ultraserver", 144, "1024e3", 1, "a ring", ""),
    Case("TPU v7, a pod of 16 × 24 × 24", call("tpu-v7-pod"), TIME, "µs",
         "2 * ((15 + 23 + 23) * 1 + 9215 / 9216 * 2**30 / 6 / 100e3)", "2(P − 1)/P·N over six links of each chip", 51,
         "axes of several lengths do not end together: thirds of the buffer wait for one another"),
    ring("Vera Rubin NVL144, 72 packages", "rubin-nvl144", 72, "0.802 * 36 * 50e3", 0.7, "a ring over NVLink 6"),
    ring("CloudMatrix, 384 Ascend 910C", "cloudmatrix-384", 384, "392e3", 1, "a ring over the unified bus", ""),
    ring("Helios, 72 MI455X on UALink", "helios-72", 72, "0.93 * 18 * 100e3", 0.5, "a ring, 18 stations a GPU"),
    ring("the same on scale-up Ethernet", "helios-72-ethernet", 72, "0.92 * 18 * 100e3", 0.4, "18 ports a GPU"),
    Case("64 H100 on rails without a spine", call("dgx-h100-rail-only", " --nodes 8 --library fixed --algo ring"), TIME,
         "µs", "2 * 7 * (0.7 + 2**30 / 8 / (0.824 * 450e3)) + 2 * 7 * (1.6 + 2**30 / 64 / (0.7619 * 63e3))",
         "a ring in the node over NVLink, rings of an eighth of the buffer on each rail"),
    Case("all-to-all on them, over that with a spine",
         (call("dgx-h100-rail-only", " --nodes 8", "all_to_all"), call("dgx-superpod", " --nodes 8", "all_to_all")),
         "{/rows/0/time_us} / {2/rows/0/time_us}", "", "1", "messages change rails over NVLink either way"),
]
