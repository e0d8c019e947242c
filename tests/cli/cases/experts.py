# SPDX-License-Identifier: MIT
"""Experts: padding to a capacity, recomputed modules, copies of popular experts, hybrid sharding."""
from case import Case

RUN = ("run configs/studies/mixtral-8x7b-ep.yaml --allow-oom --set 'workload.parallel={data: 64, expert: 8, zero: 1}' "
       "--set workload.recompute=none")
ACTIVATIONS = "({/memory/by/activations} - {2/memory/by/activations}) / 2**20"
AGAIN = " --set 'workload.recompute_modules=[%s]'"
PADDED = " --set 'workload.experts={capacity_factor: 1.25, pad_to_capacity: true}'"
SKEWED = RUN + " --set workload.parallel.expert_skew=1"

CASES = [
    Case("Mixtral 8x7B, 4,096 tokens a GPU: activations that `moe` computes again", (RUN, RUN + AGAIN % "moe"), ACTIVATIONS,
         "MiB", "31 * 8192 * 2 * (4096 + 4096 + 3 * 14336) / 2**20",
         "8,192 rows of 2 B values as experts take them, as they came back, and three times as wide between; of 32 layers "
         "one has them while it is computed"),
    Case("`moe_act`", (RUN, RUN + AGAIN % "moe_act"), ACTIVATIONS, "MiB", "31 * 8192 * 2 * 14336 / 2**20",
         "what comes out of the activation"),
    Case("`layernorm`", (RUN, RUN + AGAIN % "layernorm"), ACTIVATIONS, "MiB", "31 * 2 * 4096 * 2 * 4096 / 2**20",
         "results of two norms"),
    Case("Padding to a capacity of 1.25: activations that it adds", (RUN + PADDED, RUN), ACTIVATIONS, "MiB",
         "32 * 2048 * 2 * (4096 + 4096 + 3 * 14336) / 2**20", "a quarter more rows in each of 32 layers"),
    Case("Eight copies of experts over 8 GPUs: parameters", (SKEWED + " --set workload.experts.redundant=8", SKEWED),
         "({/memory/by/parameters} - {2/memory/by/parameters}) / 2**20", "MiB", "32 * 3 * 4096 * 14336 * 2 / 2**20",
         "one expert more on each"),
    Case("Hybrid sharding over 16 of 64 replicas: states of an expert's optimizer",
         (RUN + " --set workload.parallel.shard=16", RUN), "({/memory/by/optimizer} - {2/memory/by/optimizer}) / 2**20", "MiB",
         "12 * ((46702792704 - 32 * 8 * 3 * 4096 * 14336) * (1 / 16 - 1 / 64)"
         " + 32 * 3 * 4096 * 14336 * (1 / 2 - 1 / 8)) / 2**20",
         "12 B a parameter; a rank's experts are on 2 of 16 ranks and on 8 of 64, all else on all"),
]
