// The `collectives` of an experiment: which library runs them, and what it is told.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/libraries.h"
#include "core/collective_kind.h"
#include "core/config.h"
#include "core/machine_kind.h"
#include "system/collective_plan.h"

namespace orrery {

// How many algorithms a list of `collectives.algorithms` names, and where it stands.
struct NamedAlgorithms {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::size_t count = 0;
  Location where;
};

// What the library follows from where the configuration does not name it.
struct LibraryHints {
  std::optional<LibraryKind> machine;  // what its collectives run on; nothing: not known, for want of a sound cluster
  bool asks_for_steps = false;         // `network.granularity: step`
};

// NCCL (RCCL) for GPUs of a real cluster, fixed for other devices and for dimensions.
LibraryKind library_of(const MachineKind& machine, bool is_real_cluster);

// Reads `collectives` into `options`; returns the lists of `algorithms` whose names are right. The granularity is read
// after it: the library decides which there are.
std::vector<NamedAlgorithms> read_collectives(Section& section, const LibraryHints& hints, CollectiveOptions& options);

// Reports the lists that are not as long as the cluster has dimensions, each of which is described in `dimensions`.
void check_algorithms(std::span<const NamedAlgorithms> named, std::span<const std::string> dimensions,
                      Diagnostics& diagnostics);

// Reads `granularity` of `network`.
void read_granularity(Section& network, CollectiveOptions& options);

}  // namespace orrery
