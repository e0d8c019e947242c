// What a job or a single trace contains, for people and for scripts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/collective_kind.h"
#include "core/error.h"
#include "workload/graph/job.h"
#include "workload/graph/summary.h"
#include "workload/traces/load_job.h"

namespace orrery {

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
// One trace on its own; its rank and the groups are not known. Throws InputError; warnings go to `diagnostics`.
Inspection inspect_trace(const std::string& file, Dependencies dependencies, Diagnostics& diagnostics);

std::string to_text(const Inspection& inspection);
nlohmann::ordered_json to_json(const Inspection& inspection);

}  // namespace orrery
