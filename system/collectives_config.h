// The `collectives` of an experiment: which library runs them, and what it is told.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/collective_kind.h"
#include "core/config.h"
#include "system/collective_plan.h"

namespace orrery {

// How many algorithms a list of `collectives.algorithms` names, and where it stands.
struct NamedAlgorithms {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::size_t count = 0;
  Location where;
};

// Reads `collectives` into `options`; returns the lists of `algorithms` whose names are right. `network` is read after
// it: the library decides which granularities there are.
std::vector<NamedAlgorithms> read_collectives(Section& section, CollectiveOptions& options);

// Reports the lists that are not as long as the cluster has dimensions, each of which is described in `dimensions`.
void check_algorithms(std::span<const NamedAlgorithms> named, std::span<const std::string> dimensions,
                      Diagnostics& diagnostics);

// Reads `granularity` of `network`.
void read_granularity(Section& network, CollectiveOptions& options);

}  // namespace orrery
