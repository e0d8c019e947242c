# SPDX-License-Identifier: MIT
"""The lecture on data-parallel training."""
from case import Case
from cases._products import backward, forward

BUCKETS = "run configs/studies/gradient-buckets.yaml"
PCIE = "run configs/studies/scaling-pcie-nodes.yaml"
NEOX = "run configs/studies/gpt-neox-20b.yaml"
ASYNC = "run configs/studies/synchronous-asynchronous.yaml"
SLOW = " --set 'perturb.ranks={0: {compute: 1.3}}'"
JITTER = " --set workload.iterations=40 --set 'perturb.jitter={per: rank, sigma: 5 %, seed: 1}'"
STALE = " --set workload.parallel.asynchronous=true"
TURNS = "run configs/studies/buckets-round-robin.yaml"
ONE = ("collective --cluster configs/studies/clusters/one-dimension.yaml --op all_reduce -b 512 "
       "--set cluster.dims.0.topology=switch ")
ALONE = " --set nodes=1 --set workload.parallel.data=4 --set 'collectives.algorithms.all_reduce=[ring]'"
TIME = "{/iteration_time_s} * 1e3"


def buckets(size):
    return BUCKETS + f" --set 'workload.overlap.bucket={size} B'"


def by_hand(count):
    return f"49.530 + 96.898 / {count} + ({count} * 14 * 20e-6 + 2 * 7 / 8 * 1610874880 / 25e9) * 1e3"


def in_turn(k):
    return "forward, backward/k, k latencies of a ring, all bytes; k = " + str(k)


FORWARD, BACKWARD = (f"32 * {passes(8192, 1024, 1024)} / 156e9" for passes in (forward, backward))
SHARES = (0.001, "digits")

CASES = [
    Case("32 layers on 8,192 tokens at 156 TFLOP/s: computing", BUCKETS, "{/breakdown/0/compute_s} * 1e3", "ms",
         FORWARD + " + " + BACKWARD, "49.530 ms forward and 96.898 backward", 0.001,
         "the optimizer counts as computing"),
    Case("Without overlap: T = T_forward + T_backward + T_all-reduce",
         BUCKETS + " --set workload.overlap.gradients=false", TIME, "ms",
         "49.530 + 96.898 + (14 * 20e-6 + 2 * 7 / 8 * 1610874880 / 25e9) * 1e3", "computing as above, then a ring of 8",
         0.001, "digits"),
    Case("All-reduce grows with N (ring): latency of 512 ranks over 8",
         (ONE + "--algo ring --set cluster.dims.0.size=512", ONE + "--algo ring --set cluster.dims.0.size=8"),
         "{/rows/0/time_us} / {2/rows/0/time_us}", "", "511 / 7", "2(N − 1)α", 0.2, "512 B take 20 ns"),
    Case("or with log N (halving-doubling)", (ONE + "--algo halving-doubling --set cluster.dims.0.size=512",
         ONE + "--algo halving-doubling --set cluster.dims.0.size=8"), "{/rows/0/time_us} / {2/rows/0/time_us}", "",
         "9 / 3", "2 log₂N·α", 0.3, "512 B take 20 ns"),
    Case("Buckets: 4 large ones", buckets(402718720), TIME, "ms", by_hand(4), in_turn(4), *SHARES),
    Case("16, near the minimum √(97 ms/280 µs) = 19", buckets(100679680), TIME, "ms", by_hand(16), in_turn(16),
         *SHARES),
    Case("64 small ones", buckets(25169920), TIME, "ms", by_hand(64), in_turn(64), 0.3,
         "half a layer: the first one waits for all of the MLP"),
    Case("Buckets go in reverse layer order: what stays exposed is the first layer, here an embedding of 210 MB",
         BUCKETS + " --set 'cluster.dims.0={bandwidth: 300 GB/s, latency: 0 us, name: nic, topology: switch, size: 8}' "
         "--set 'workload.overlap.bucket=1 MB' "
         "--set 'workload.model={hidden: 1024, layers: 32, heads: 8, vocab: 51200, sequence: 1024, biases: false, "
         "tied_embeddings: false, position: none}'", "{/breakdown/0/exposed_comm_s/data} * 1e3", "ms",
         "2 * 7 / 8 * 4 * (51200 * 1024 + 4 * 1024**2) / 300e9 * 1e3",
         "it, and the first layer's attention, whose gradients come last before it", 0.5,
         "a bucket that was under way"),
    Case("Buckets on one process group: four of 1 MiB", TURNS, TIME, "ms", "4 * 6 * (50e-6 + 2**18 / 100e9) * 1e3",
         "four rings one after the other"),
    Case("in turn on two groups", TURNS + " --set workload.chakra.prefix=traces/buckets-two-groups/rank "
         "--set workload.chakra.groups=traces/buckets-two-groups/groups.json", TIME, "ms",
         "2 * 6 * (50e-6 + 2 * 2**18 / 100e9) * 1e3", "two beside two: half the latency, the bytes share the port"),
    Case("Synchronous: 7 workers and a server, four steps: exposed communication of a worker", ASYNC,
         "{/breakdown/0/exposed_comm_s/server} * 1e3", "ms", "4 * (7 + 7) * 51114064 / 50e6",
         "every step all gradients in and all sums out through one port", 0.1, "latencies"),
    Case("Asynchronous: the same for the first worker", ASYNC + STALE,
         "{/breakdown/0/exposed_comm_s/server} * 1e3", "ms", "(7 + 3 + 4) * 51114064 / 50e6",
         "all gradients arrive together once; then workers take turns, each with the port to itself", 2,
         "an update of 0.8 ms is shorter than an answer of 1.0, so that the first answers share the port"),
    Case("Synchronous, a worker 30 % slower: everybody waits for it", ASYNC + SLOW, TIME, "ms",
         "1.3 * 111.854 + 2.209 + (1 + 7) * 51114064 / 50e6",
         "1.3 of 111.9 ms of computing and the server's 2.2 ms, as Orrery has them; its gradients come alone", 0.01,
         "latencies"),
    Case("Asynchronous: another worker takes as long as without a slow one", (ASYNC + SLOW + STALE, ASYNC + STALE),
         "{/breakdown/1/finish_s} / {2/breakdown/1/finish_s}", "", "1", "no barrier", 0.6, "a worker less in line"),
    Case("the slow one itself", ASYNC + SLOW + STALE, "{/breakdown/0/compute_s} * 1e3 / 4", "ms", "1.3 * 111.854",
         "1.3 of 111.9 ms, and nobody's wait but its own", 0.01, "digits"),
    Case("Synchronous under jitter of 5 % a worker and step, 40 steps", ASYNC + JITTER, TIME, "ms",
         "(1 + 0.05 * 1.352) * 111.854 + 2.209 + (1 + 7) * 51114064 / 50e6",
         "the slowest of 7: 1.352 standard deviations above the mean", 1.5, "40 draws; gradients that still share the port"),
    Case("Asynchronous under the same jitter", ASYNC + JITTER + STALE, TIME, "ms",
         "111.854 + 0.804 + 2 * 51114064 / 50e6", "the mean, the server's update for one, N there and N back", 1.5,
         "the last of 7 workers to be done, and waiting in line"),
    Case("Nodes of 4 GPUs on PCIe: ResNet-50's all-reduce on one node",
         PCIE + ALONE + " --set workload.batch.global=512", "{/breakdown/0/exposed_comm_s/data} * 1e3", "ms",
         "2 * 3 / 4 * 4 * 25557032 / 24e9 * 1e3", "a ring over PCIe at 24 GB/s", 0.3, "latencies"),
    Case("on 16 nodes", PCIE + " --set nodes=16 --set workload.parallel.data=64 --set workload.batch.global=8192",
         "{/breakdown/0/exposed_comm_s/data} * 1e3", "ms",
         "(2 * 3 / 4 / 24e9 + 2 * 15 / 16 / 25e9) * 4 * 25557032 * 1e3",
         "that, and 2 · 15/16 of the gradients through each NIC", 0.5, "latencies"),
    Case("Weak scaling efficiency of ResNet-50, 1 to 16 nodes",
         (PCIE + " --set nodes=16 --set workload.parallel.data=64 --set workload.batch.global=8192",
         PCIE + ALONE + " --set workload.batch.global=512"), "{/samples_per_s_per_gpu} / {2/samples_per_s_per_gpu}", "",
         "(54.48 + 6.39) / (54.48 + 14.06)", "P₁₆/(16 P₁), with 54.48 ms of computing as Orrery has it", 0.1,
         "latencies"),
    Case("Strong scaling efficiency, 1 to 4 nodes",
         (PCIE + " --set workload.batch.global=512 --set workload.batch.micro=32",
         PCIE + ALONE + " --set workload.batch.global=512"), "{/samples_per_s_per_gpu} / {2/samples_per_s_per_gpu}", "",
         "(54.48 + 6.39) / 4 / (15.30 + 12.52)",
         "P₄/(4 P₁): 32 images a GPU take 15.30 ms, a little over a quarter of 54.48", 0.1, "latencies"),
    Case("Weak scaling efficiency of BERT-large, 1 to 16 nodes",
         (PCIE + " --set workload.model=bert-large --set nodes=16 --set workload.parallel.data=64 "
          "--set 'workload.batch={global: 1024, micro: 16}'",
         PCIE + ALONE + " --set workload.model=bert-large --set 'workload.batch={global: 64, micro: 16}'"),
         "{/tokens_per_s_per_gpu} / {2/tokens_per_s_per_gpu}", "", "(147.41 + 83.5) / (147.41 + 183.7)",
         "P₁₆/(16 P₁): 334 M parameters, 147.41 ms of computing as Orrery has it", 0.1, "latencies"),
    Case("Weak scaling efficiency of a 20 B GPT-NeoX, tensor 4 and pipeline 4, data 1 to 4",
         (NEOX + " --set nodes=16 --set workload.parallel.data=4 --set workload.batch.global=512", NEOX),
         "{/tokens_per_s_per_gpu} / {2/tokens_per_s_per_gpu}", "",
         "20.784 / (20.784 + 2 * 3 / 4 * 4 * 4 * (11 * 12 * 6144**2 + 50432 * 6144) / 4 / 25e9)",
         "P₄/(4 P₁): 20.784 s a step as Orrery has it, and the first stage's gradients, four GPUs to a NIC (in rings of "
         "the 4 GPUs at the same place of 4 nodes: a warning says that `algorithms` is for whole dimensions)", 0.01,
         "biases, norms and latencies"),
]
