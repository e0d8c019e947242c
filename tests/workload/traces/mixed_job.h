// SPDX-License-Identifier: MIT
// Random jobs with everything that a node, a binding and a label can hold, for tests of files.
#pragma once

#include <cstdint>
#include <random>

#include "workload/graph/job.h"

namespace orrery::testing {

// Ranks of one or two programs of all kinds of nodes in any order, with ids far apart, streams with gaps, times from a
// picosecond up, groups by name, tags of 64 bits and roots. Calls and transfers need not match.
workload::Job random_mixed_job(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t nodes);

}  // namespace orrery::testing
