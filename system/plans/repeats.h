// SPDX-License-Identifier: MIT
// Repetition of a job's period (workload/graph/rank_bindings.h) on the fabric: each digit has nodes of its own, placed
// as those of every other are, and one switch joins all nodes. What is found of the ranks, nodes and groups of digit 0
// then holds for all.
#pragma once

#include <span>

#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "workload/graph/job.h"

namespace orrery::system {

struct Repeats {
  workload::Period ranks;
  workload::Period nodes;  // of the fabric

  bool any() const { return ranks.any(); }
};

// Nothing where the job has no period, or its digits are placed otherwise.
Repeats find_repeats(const workload::Job& job, std::span<const DeviceId> placement, const network::Fabric& fabric);

}  // namespace orrery::system
