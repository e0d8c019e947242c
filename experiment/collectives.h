// SPDX-License-Identifier: MIT
// The `collectives` of an experiment: which library runs them, and what it is told.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/libraries.h"
#include "core/collective_kind.h"
#include "core/config/config.h"
#include "core/machine_kind.h"
#include "system/plans/plan.h"

namespace orrery::experiment {

// How many algorithms a list of `collectives.algorithms` names, and where it stands.
struct NamedAlgorithms {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::size_t count = 0;
  bool is_in_network = false;  // one of them needs switches that add up
  Location where;
};

// A dimension of the cluster, as far as algorithms are named for it.
struct DimensionKind {
  std::string text;        // "16 switch"
  bool can_add_up = true;  // its switches: those of `dims` do where an algorithm asks for it
};

// What the library follows from where the configuration does not name it.
struct LibraryHints {
  std::optional<collectives::LibraryKind>
      machine;                  // what its collectives run on; nothing: not known, for want of a sound cluster
  bool asks_for_steps = false;  // `network.granularity: step`
  std::optional<std::uint32_t> in_network_dimension{};  // as in CollectiveOptions
};

// NCCL (RCCL) for GPUs of a real cluster, fixed for other devices and for dimensions.
collectives::LibraryKind library_of(const MachineKind& machine, bool is_real_cluster);

// Reads `collectives` into `options`; returns the lists of `algorithms` whose names are right. The granularity is read
// after it: the library decides which there are.
std::vector<NamedAlgorithms> read_collectives(Section& section, const LibraryHints& hints,
                                              system::CollectiveOptions& options);

// Reports the lists that are not as long as the cluster has dimensions, and those that ask for switches that add up
// where there are none.
void check_algorithms(std::span<const NamedAlgorithms> named, std::span<const DimensionKind> dimensions,
                      Diagnostics& diagnostics);

// Reads `granularity` of `network`.
void read_granularity(Section& network, system::CollectiveOptions& options);

}  // namespace orrery::experiment
