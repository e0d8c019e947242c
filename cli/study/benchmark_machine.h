// SPDX-License-Identifier: MIT
// Options of commands that look at a benchmark of a collective.
#pragma once

#include <CLI/CLI.hpp>

#include "study/benchmark/question.h"

namespace orrery::cli {

// --nodes, --gpus-per-node, --launch.
void add_benchmark_machine(CLI::App& command, study::CollectiveQuestion& machine);

}  // namespace orrery::cli
