// SPDX-License-Identifier: MIT
// Launch of a run of nccl-tests that does not say its own.
#pragma once

#include <cstdint>

#include "collectives/nccl/options.h"

namespace orrery::study {

// The launch of nccl-tests as its README has it: on one node by one process (`-g 8`), on several by MPI.
constexpr collectives::LaunchMode usual_nccl_launch(std::uint32_t nodes) {
  return nodes == 1 ? collectives::LaunchMode::kSingleProcess : collectives::LaunchMode::kMpi;
}

}  // namespace orrery::study
