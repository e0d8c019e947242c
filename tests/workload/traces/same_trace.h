// SPDX-License-Identifier: MIT
// Whether a trace that was read beside another one (workload/traces/alike.h) is what it is by itself.
#pragma once

#include <string>

#include "workload/traces/rank_trace.h"

namespace orrery::testing {

// The first difference; "" when there is none. `model` has the graph and the labels of the first.
inline std::string difference(const workload::RankTrace& beside, const workload::RankTrace& model,
                              const workload::RankTrace& by_itself) {
  if (!by_itself.findings.all().empty() || beside.findings.file() != by_itself.findings.file()) return "findings";
  if (!by_itself.graph || *model.graph != *by_itself.graph) return "graph";
  if (model.labels != by_itself.labels) return "labels";
  if (beside.communicators != by_itself.communicators) return "communicators";
  if (beside.involved != by_itself.involved) return "dimensions";
  if (beside.descriptions != by_itself.descriptions) return "descriptions";
  if (beside.peers != by_itself.peers) return "peers";
  if (beside.tags != by_itself.tags) return "tags";
  if (beside.own_ranks != by_itself.own_ranks) return "own ranks";
  if (beside.roots != by_itself.roots) return "roots";
  if (beside.process_groups != by_itself.process_groups) return "process groups";
  return beside.world == by_itself.world ? "" : "world";
}

}  // namespace orrery::testing
