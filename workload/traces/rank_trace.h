// SPDX-License-Identifier: MIT
// One trace file as a graph, before it is known which ranks it belongs to and what its communicators are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/graph/execution_graph.h"
#include "workload/graph/findings.h"
#include "workload/graph/node_labels.h"
#include "workload/traces/groups.h"
#include "workload/traces/load_job.h"

namespace orrery::workload {

struct RankTrace {
  explicit RankTrace(std::string file) : findings(std::move(file)) {}

  Findings findings;
  // Missing when the file cannot be read or its dependencies are wrong.
  std::optional<ExecutionGraph> graph;
  NodeLabels labels;
  std::vector<std::string> communicators;                  // by slot: the name in the trace
  std::vector<std::optional<std::vector<bool>>> involved;  // by communicator slot: dimensions (Communicator::involved)
  std::vector<std::string> descriptions;  // by communicator slot: what people call it; empty where not given
  std::vector<std::int64_t> peers;        // by slot: as in the trace, perhaps out of range
  std::vector<std::int64_t> tags;         // by transfer index; empty: all zero
  std::vector<std::int64_t> own_ranks;    // by transfer index: where the trace says it is, or -1; empty: all -1
  std::vector<std::int64_t> roots;        // by collective index: global rank or -1; empty: all -1
  std::vector<ProcessGroup> process_groups;
  std::optional<std::uint64_t> world;  // how many ranks there are, where the metadata say it

  // Tags, own ranks and roots that say nothing become empty.
  void drop_defaults();
};

// Decodes `bytes` of `file`. All problems are in the result's findings; nothing is thrown.
RankTrace read_rank_trace(const std::string& file, std::string_view bytes, Dependencies dependencies,
                          TraceReader reader = TraceReader::kExperiment, HostTimes host = HostTimes::kDurations);

}  // namespace orrery::workload
