// SPDX-License-Identifier: MIT
// An execution graph as lines, to compare it node by node: `2: l1 forward, compute 10 ns, after 1`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/graph/job.h"

namespace orrery::testing {

// Of the graph of a rank. Collectives are `all_reduce 64 B on data0`, messages `send 64 B to 2`; a stream follows the
// duration: `compute 10 ns on stream 1`.
std::vector<std::string> graph_text(const workload::Job& job, std::uint32_t rank);

// The ranks of the communicators of this name.
std::vector<std::uint32_t> members(const workload::Job& job, const std::string& name);

}  // namespace orrery::testing
