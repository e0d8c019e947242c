#include "workload/traces/inspect.h"

#include <algorithm>
#include <map>
#include <utility>

#include "workload/chakra/file.h"
#include "workload/graph/findings.h"
#include "workload/traces/rank_trace.h"

namespace orrery {
namespace {

// The calls of all ranks on their communicators: (communicator, kind) of the busiest member.
std::vector<CommunicatorUse> communicator_uses(const Job& job, const std::vector<GraphUse>& graphs) {
  std::map<std::pair<std::uint32_t, CollectiveKind>, CommunicatorUse> uses;
  for (const RankBinding& binding : job.ranks) {
    for (const CallSummary& call : graphs[binding.graph].summary.calls) {
      const std::uint32_t group = index_of(binding.communicators[call.slot]);
      const Communicator& communicator = job.communicators[group];
      CommunicatorUse& use = uses[{group, call.kind}];
      use.name = communicator.name;
      use.members = communicator.members.size();
      use.kind = call.kind;
      use.calls = std::max(use.calls, call.calls);
      use.bytes = std::max(use.bytes, call.bytes);
    }
  }
  std::vector<CommunicatorUse> result;
  for (auto& [key, use] : uses) result.push_back(std::move(use));
  return result;
}

}  // namespace

Inspection inspect(const Job& job, std::string source) {
  Inspection result;
  result.source = std::move(source);
  result.ranks = job.ranks.size();
  result.communicators_defined = job.communicators.size() - 1;
  for (const ExecutionGraph& graph : job.graphs) {
    result.graphs.push_back({{}, summarise(graph)});
    result.memory_bytes += graph.memory_bytes();
  }
  for (const NodeLabels& labels : job.labels) result.memory_bytes += labels.memory_bytes();
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    result.graphs[job.ranks[rank].graph].ranks.push_back(rank);
  result.communicators = communicator_uses(job, result.graphs);
  return result;
}

Inspection inspect_trace(const std::string& file, Dependencies dependencies, Diagnostics& diagnostics) {
  const RankTrace trace = read_rank_trace(file, read_file(file), dependencies);
  const RankFindings findings{0, &trace.findings};
  report({&findings, 1}, false, diagnostics);
  diagnostics.throw_if_errors();

  Inspection result;
  result.source = file;
  result.is_job = false;
  result.ranks = 1;
  result.graphs.push_back({{}, summarise(*trace.graph)});
  result.memory_bytes = trace.graph->memory_bytes() + trace.labels.memory_bytes();
  for (const CallSummary& call : result.graphs.front().summary.calls) {
    const std::string& name = trace.communicators[call.slot];
    result.communicators.push_back({name.empty() ? "world" : name, 0, call.kind, call.calls, call.bytes});
  }
  return result;
}

}  // namespace orrery
