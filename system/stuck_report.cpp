#include "system/stuck_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/quantity_text.h"
#include "system/simulation.h"

namespace orrery {
namespace {

constexpr std::size_t kShown = 12;  // items of a list in the report

std::string list_of(const std::vector<RankId>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < kShown; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", index_of(ranks[i]));
  if (ranks.size() > kShown) text += fmt::format(" and {} more", ranks.size() - kShown);
  return text;
}

}  // namespace

std::string StuckReport::operation(RankId rank, NodeId node) const {
  const Job& job = simulation_.input_.job;
  const ExecutionGraph& graph = job.graph(rank);
  const std::string label = job.describe(rank, node);
  switch (graph.kind(node)) {
    case NodeKind::kCollective: {
      const Communicator& communicator = job.communicators[index_of(job.communicator(rank, node))];
      return fmt::format("{} of {} (call {} on communicator '{}', {})", name_of(graph.collective_kind(node)),
                         rounded(graph.bytes(node)), graph.call_index(node) + 1, printable(communicator.name), label);
    }
    case NodeKind::kSend:
      return fmt::format("send of {} to rank {} ({})", rounded(graph.bytes(node)), index_of(job.peer(rank, node)),
                         label);
    case NodeKind::kReceive:
      return fmt::format("receive of {} from rank {} ({})", rounded(graph.bytes(node)), index_of(job.peer(rank, node)),
                         label);
    default:
      return label;
  }
}

std::vector<RankId> StuckReport::missing_members(RankId rank, NodeId node) const {
  const Job& job = simulation_.input_.job;
  const GroupId group = job.communicator(rank, node);
  std::vector<RankId> missing;
  for (const RankId member : job.communicators[index_of(group)].members)
    if (!simulation_.has_entered(group, job.graph(rank).call_index(node), member)) missing.push_back(member);
  return missing;
}

std::vector<StuckReport::Wait> StuckReport::waits_of(RankId rank) const {
  const Job& job = simulation_.input_.job;
  const RankExecution& execution = simulation_.agent(rank);
  const ExecutionGraph& graph = execution.graph();
  std::vector<Wait> waits;
  for (const NodeId node : graph.order()) {
    if (execution.state(node) != RankExecution::State::kRunning) continue;
    if (graph.kind(node) == NodeKind::kCollective) waits.push_back({rank, node, missing_members(rank, node)});
    if (graph.kind(node) == NodeKind::kReceive) waits.push_back({rank, node, {job.peer(rank, node)}});
  }
  return waits;
}

std::string StuckReport::describe(const Wait& wait) const {
  return fmt::format("  rank {} waits in {} for rank{} {}\n", index_of(wait.rank), operation(wait.rank, wait.node),
                     wait.for_ranks.size() == 1 ? "" : "s", list_of(wait.for_ranks));
}

// Per communicator: the call that is under way, who has come and who has not.
std::string StuckReport::describe_calls(const std::vector<std::vector<Wait>>& waits) const {
  const Job& job = simulation_.input_.job;
  std::map<std::pair<GroupId, std::uint32_t>, const Wait*> calls;
  for (const std::vector<Wait>& of_rank : waits)
    for (const Wait& wait : of_rank)
      if (job.graph(wait.rank).kind(wait.node) == NodeKind::kCollective)
        calls.try_emplace({job.communicator(wait.rank, wait.node), job.graph(wait.rank).call_index(wait.node)}, &wait);
  std::string text;
  std::size_t shown = 0;
  for (const auto& [key, wait] : calls) {
    if (shown++ == kShown) {
      text += fmt::format("  ... and {} more communicators\n", calls.size() - kShown);
      break;
    }
    const Communicator& communicator = job.communicators[index_of(key.first)];
    std::vector<RankId> there;
    for (const RankId member : communicator.members)
      if (simulation_.has_entered(key.first, key.second, member)) there.push_back(member);
    const ExecutionGraph& graph = job.graph(wait->rank);
    text += fmt::format("  communicator '{}', call {}: {} of {}: ranks {} have come, ranks {} have not\n",
                        printable(communicator.name), key.second + 1, name_of(graph.collective_kind(wait->node)),
                        rounded(graph.bytes(wait->node)), list_of(there), list_of(wait->for_ranks));
  }
  return text;
}

// Follows one wait from rank to rank until a rank comes again.
std::string StuckReport::describe_circle(const std::vector<std::vector<Wait>>& waits) const {
  for (std::uint32_t first = 0; first < waits.size(); ++first) {
    std::vector<const Wait*> path;
    std::map<RankId, std::size_t> at;
    for (RankId rank{first}; !waits[index_of(rank)].empty();) {
      if (const auto seen = at.find(rank); seen != at.end()) {
        std::string text = "they wait for one another in a circle:\n";
        for (std::size_t i = seen->second; i < path.size(); ++i)
          text += describe({path[i]->rank, path[i]->node, {path[i]->for_ranks.front()}});
        return text;
      }
      at[rank] = path.size();
      const Wait& wait = waits[index_of(rank)].front();
      path.push_back(&wait);
      if (wait.for_ranks.empty()) break;
      rank = wait.for_ranks.front();
    }
  }
  return {};
}

std::string StuckReport::text() const {
  const Job& job = simulation_.input_.job;
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  std::vector<std::vector<Wait>> waits;
  std::vector<RankId> unfinished;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    waits.push_back(waits_of(RankId(r)));
    if (!simulation_.agent(RankId(r)).finished()) unfinished.push_back(RankId(r));
  }
  std::string text =
      fmt::format("the job is stuck at {}: {} of {} ranks can never finish (ranks {})\n",
                  rounded(simulation_.last_step_.time_since_epoch()), unfinished.size(), ranks, list_of(unfinished));
  text += describe_calls(waits);
  std::size_t shown = 0;
  for (const RankId rank : unfinished)
    for (const Wait& wait : waits[index_of(rank)])
      if (job.graph(rank).kind(wait.node) == NodeKind::kReceive && shown++ < kShown) text += describe(wait);
  if (shown > kShown) text += fmt::format("  ... and {} more receives\n", shown - kShown);
  text += describe_circle(waits);
  text += "  hint: every rank must issue the calls that depend on one another in the same order";
  return text;
}

}  // namespace orrery
