// SPDX-License-Identifier: MIT
// A small table of training jobs for tests: two rows of GPT 1.7B on a node.
#pragma once

#include <string>

namespace orrery {

inline const std::string kTrainingTable =
    "table: t\n"
    "family: f\n"
    "source: [a paper, a script]\n"
    "measured: 8 A100\n"
    "figure: time\n"
    "experiment:\n"
    "  cluster: dgx-a100\n"
    "  nodes: 1\n"
    "  workload:\n"
    "    model: gpt-1.7b\n"
    "    precision: fp16\n"
    "    software: megatron-2021\n"
    "    recompute: full\n"
    "    parallel: {data: 4}\n"
    "    batch: {global: 64, micro: 1}\n"
    "columns: [workload.parallel.tensor, workload.batch.micro]\n"
    "assumed:\n"
    "  workload.batch.micro: from a script\n"
    "rows:\n"
    "  - [a, 1, 2, 1.5]\n"
    "  - [b, 2, 4, 1.8]\n"
    "misses: {a: no one knows}\n";

}  // namespace orrery
