# SPDX-License-Identifier: MIT
"""All-reduce, from bad to good: P = 8 workers with N = 4 * 25,557,032 B (ResNet-50 in fp32), ports of 50 GB/s, 2 us."""
from case import Case

STUDY = "run configs/studies/all-reduce-"
BESIDE = " --set workload.chakra.prefix=traces/all-reduce-schemes/one-after-another-beside/rank"
TIME = "{/iteration_time_s} * 1e3"
BUSIEST = "{/links/nic.down/max_utilisation} * {/iteration_time_s} * 50e9 / 1e6"
MEAN = "{/links/nic.down/bytes} / 1e6"

CASES = [
    Case("Single parameter server: time", STUDY + "single-server.yaml", TIME, "ms",
         "2 * (2e-6 + 8 * 102228128 / 50e9) * 1e3", "2 rounds, in which N·P enters and leaves one port"),
    Case("the same, bytes into the busiest node", STUDY + "single-server.yaml", BUSIEST, "MB", "8 * 102.228128", "N·P"),
    Case("the same where nothing shares a port: fan-in costs nothing",
         STUDY + "single-server.yaml --set network.model=alpha-beta", TIME, "ms", "2 * (2e-6 + 102228128 / 50e9) * 1e3",
         "2 (α + Nβ)"),
    Case("Sharded parameter servers: time", STUDY + "sharded-servers.yaml", TIME, "ms",
         "2 * (2e-6 + 7 / 8 * 102228128 / 50e9) * 1e3", "2 rounds, (P − 1)/P · N through each port"),
    Case("the same, bytes into a node", STUDY + "sharded-servers.yaml", MEAN, "MB", "2 * 7 / 8 * 102.228128",
         "≈ N in each of 2 rounds"),
    Case("One worker after another, none beside another: time", STUDY + "one-after-another.yaml", TIME, "ms",
         "8 * 7 * (2e-6 + 102228128 / 50e9) * 1e3", "P(P − 1) ≈ P² rounds of α + Nβ", 0.1,
         "a sender does not wait until its message has arrived: P latencies, not P(P − 1)"),
    Case("the same, all workers at once", STUDY + "one-after-another.yaml" + BESIDE, TIME, "ms",
         "7 * (2e-6 + 102228128 / 50e9) * 1e3", "P − 1 ≈ P rounds of α + Nβ"),
    Case("the same, bytes into a node", STUDY + "one-after-another.yaml" + BESIDE, MEAN, "MB", "7 * 102.228128",
         "N(P − 1)"),
    Case("Partitioned: time", STUDY + "partitioned.yaml", TIME, "ms", "2 * 7 * (2e-6 + 102228128 / 8 / 50e9) * 1e3",
         "P − 1 ≈ P rounds of α + N/P·β to add up, as many to hand out", 1,
         "a sender does not wait until its message has arrived: 2 latencies, not 14"),
    Case("the same, bytes into a node", STUDY + "partitioned.yaml", MEAN, "MB", "2 * 7 / 8 * 102.228128",
         "≈ N to add up, ≈ N to hand out"),
    Case("Ring with chunks of B = N/P: time", STUDY + "ring.yaml", TIME, "ms", "2 * 7 * (2e-6 + 12778516 / 50e9) * 1e3",
         "2(P − 1)(α + Bβ)"),
    Case("the same, the other way to write it", STUDY + "ring.yaml --set network.model=alpha-beta", TIME, "ms",
         "(2 * 7 * 2e-6 + 2 * (7 / 8) * 102228128 / 50e9) * 1e3",
         "2(P − 1)α + 2((P − 1)/P)·Nβ, without sharing of links"),
    Case("the same, bytes into a node", STUDY + "ring.yaml", MEAN, "MB", "2 * 102.228128 * 7 / 8", "2N(P − 1)/P"),
    Case("Parameter server inside a node, ring across nodes: time (4 nodes of 4, 300 GB/s and 1 µs inside)",
         STUDY + "servers-and-ring.yaml", TIME, "ms",
         "(2 * (1e-6 + 3 * 102228128 / 300e9) + 2 * 3 * (2e-6 + 102228128 / 4 / 50e9)) * 1e3",
         "2(α₁ + (g − 1)Nβ₁) + 2(n − 1)(α₂ + N/n·β₂)"),
    Case("ResNet-50: gradients of a worker", "run configs/studies/parameter-server-256.yaml",
         "{/memory/by/gradients} / 2**20", "MiB", "4 * 25557032 / 2**20",
         "25.6 · 10⁶ parameters (24.4 Mi) in fp32: the lecture's 97.5 MB are MiB"),
    Case("a V100 on 128 images in fp32: iterations a second", "run configs/studies/parameter-server-256.yaml",
         "1 / {/breakdown/0/compute_s}", "/s", "3",
         "the lecture's figure, of neither batch nor precision; published for 128 images: 2.8 to 3.3 (training.md)", 3,
         "it is given to one digit"),
    Case("256 workers, 3 iterations/s: bytes a second into one server", "run configs/studies/parameter-server-256.yaml",
         "{/links/nic.down/max_utilisation} * {/iteration_time_s} * 50e9 * 3 / 1e9", "GB/s",
         "4 * 25557032 * 256 * 3 / 1e9", "N·P·3/s; 73.1 GiB/s; a NIC of 400 Gb/s moves 50 GB/s"),
    Case("the same: how long the server's port takes for one step",
         "run configs/studies/parameter-server-256.yaml", "{/breakdown/0/exposed_comm_s/server}", "s",
         "2 * (256 * 4 * 25557032 / 50e9)", "all gradients in, then all sums out: 1.05 s, not 0.33", 0.01, "latencies"),
]
