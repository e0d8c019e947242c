// SPDX-License-Identifier: MIT
// Contents of a job or of a single trace, for people and for scripts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/collective_kind.h"
#include "core/error.h"
#include "core/units.h"
#include "workload/graph/job.h"
#include "workload/traces/load_job.h"

namespace orrery::workload {

// A sum over many nodes, which may exceed 64 bits.
using Total = Int128;

// Nodes of one kind.
struct KindSummary {
  std::size_t nodes = 0;
  std::size_t measured = 0;  // have a duration
  Total picoseconds = 0;     // of the measured ones
};

// Calls of one kind on one communicator slot.
struct CallSummary {
  std::uint32_t slot = 0;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::size_t calls = 0;
  Total bytes = 0;
};

struct GraphSummary {
  std::size_t nodes = 0;
  std::size_t edges = 0;
  std::array<KindSummary, kNodeKindCount> kinds;  // by NodeKind
  Total flops = 0;
  Total tensor_bytes = 0;          // of compute and memory nodes
  std::vector<CallSummary> calls;  // ascending by slot, then kind
  std::size_t sends = 0;
  std::size_t receives = 0;
  Total bytes_sent = 0;
  Total bytes_received = 0;
  std::size_t roots = 0;   // wait for nothing
  std::size_t leaves = 0;  // nothing waits for them
  std::size_t most_predecessors = 0;
  std::size_t most_successors = 0;
  std::size_t longest_chain = 0;        // in nodes
  Total longest_chain_picoseconds = 0;  // the largest sum of measured host, compute and memory times along a chain
  std::uint32_t streams = 1;
  std::size_t memory_bytes = 0;
};

GraphSummary summarise(const ExecutionGraph& graph);

// One distinct graph and the ranks that run it.
struct GraphUse {
  std::vector<std::uint32_t> ranks;  // ascending
  GraphSummary summary;
};

// Calls of one kind on one communicator. A member's calls are counted once, its bytes are its own input buffers: the
// largest over the members.
struct CommunicatorUse {
  std::string name;
  std::size_t members = 0;
  bool is_defined = true;  // Communicator::is_defined
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::size_t calls = 0;
  Total bytes = 0;
};

struct Inspection {
  std::string source;
  bool is_job = true;  // false: a single trace, whose communicators' sizes are unknown
  std::size_t ranks = 0;
  std::vector<GraphUse> graphs;
  std::vector<CommunicatorUse> communicators;  // that are used; ascending by communicator, then kind
  std::size_t communicators_defined = 0;
  std::size_t memory_bytes = 0;  // graphs and labels
};

Inspection inspect(const Job& job, std::string source);
// The traces of all ranks. Throws InputError; warnings go to `diagnostics`.
Inspection inspect_job(const ChakraSource& source, Diagnostics& diagnostics, const LoadProgress& progress = {});
// One trace on its own; its rank and the groups are not known. Throws InputError; warnings go to `diagnostics`.
Inspection inspect_trace(const std::string& file, Dependencies dependencies, Diagnostics& diagnostics);

std::string to_text(const Inspection& inspection);
nlohmann::ordered_json to_json(const Inspection& inspection);

}  // namespace orrery::workload
