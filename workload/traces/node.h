// SPDX-License-Identifier: MIT
// Meaning of a Chakra node, whatever rank it belongs to: the rules that turn attributes into work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload/chakra/attributes.h"
#include "workload/chakra/chakra.pb.h"
#include "workload/graph/execution_graph.h"
#include "workload/graph/findings.h"
#include "workload/traces/groups.h"

namespace orrery::workload {

struct TraceNode {
  GraphNode work;                             // slots are not assigned yet; `stream` is not used
  std::optional<std::int64_t> stream;         // as the trace numbers it
  std::optional<std::int64_t> began;          // on the host: microseconds, on the clock of the recording
  std::string communicator;                   // kCollective: the name in the trace; "" = not given
  std::string description;                    // kCollective: what people call the communicator; "" = not given
  std::optional<std::vector<bool>> involved;  // kCollective: dimensions of the fabric (Communicator::involved)
  std::int64_t root = -1;                     // kCollective with a root: a global rank, or -1 for the first member
  std::int64_t peer = -1;                     // kSend, kReceive: a global rank
  std::optional<std::int64_t> own_rank;       // kSend, kReceive: the rank the trace says it is on
  std::int64_t tag = 0;
  std::vector<ProcessGroup> process_groups;  // declared by this node
};

// Attribute of ours with the exact duration of a node, in picoseconds: Chakra's own field counts whole microseconds. 0
// for a node that is meant to take no time.
inline constexpr const char* kDurationPicos = "duration_picos";

chakra::CollectiveCommType chakra_type_of(CollectiveKind kind);

// Wrong attributes become errors in `findings`, and the node is returned free; doubtful ones become warnings.
TraceNode read_trace_node(const NodeView& node, Findings& findings);

}  // namespace orrery::workload
