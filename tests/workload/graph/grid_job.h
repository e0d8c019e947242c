// SPDX-License-Identifier: MIT
// Random jobs of ranks in a grid that share graphs, for property tests of matching.
#pragma once

#include <random>

#include "workload/graph/job.h"

namespace orrery::testing {

// All ranks run one program of collectives on the world, rows and columns and of sends and receives, of which peers are
// in several slots and tags and roots are given or not. Some ranks have a node more than others. In a third of the
// jobs one rank does something else than the program, so that they may disagree.
workload::Job random_grid_job(std::mt19937_64& random);

}  // namespace orrery::testing
