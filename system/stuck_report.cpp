// SPDX-License-Identifier: MIT
#include "system/stuck_report.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/quantity_text.h"
#include "core/error.h"

namespace orrery::system {

class StuckReport {
 public:
  StuckReport(const workload::Job& job, const CollectivePlans& plans, const Agents& agents);

  StuckError error(bool is_timed) const;

 private:
  std::string text(bool is_timed) const;
  using Call = std::pair<GroupId, std::uint32_t>;

  // Blocking operation of a rank: all its dependencies are met, but the ranks it waits for have not come.
  struct Wait {
    RankId rank{};
    NodeId node{};
    RankId for_rank{};  // the first of them
  };

  // Members of a communicator that have come to a call, and those that have not. `node` is that of the first who has.
  struct Members {
    NodeId node{};
    std::vector<RankId> there;
    std::vector<RankId> missing;
  };

  void find_waits(RankId rank);
  const Members& members_of(Call call);
  std::string describe(const Wait& wait) const;
  std::string describe_calls() const;
  std::string describe_circle() const;
  // The operation with its size, partner and node.
  std::string operation(RankId rank, NodeId node) const;

  const workload::Job& job_;
  const CollectivePlans& plans_;
  const Agents& agents_;
  std::map<Call, Members> calls_;
  std::vector<std::vector<Wait>> waits_;  // by rank
  std::vector<RankId> unfinished_;
  bool sends_wait_ = false;  // some, for their receives
};

namespace {

constexpr std::size_t kShown = 12;  // items of a list in the report

// "rank 3", "ranks 0, 2".
std::string named(const std::vector<RankId>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kShown; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", index_of(ranks[i]));
  if (ranks.size() > kShown) text += fmt::format(" and {} more", ranks.size() - kShown);
  return text;
}

std::string who_have(const std::vector<RankId>& ranks) {
  return fmt::format("{} {}", named(ranks), ranks.size() == 1 ? "has" : "have");
}

// It depends on nothing any more.
bool has_come(const RankExecution& execution, NodeId node) {
  return execution.state(node) != RankExecution::State::kBlocked;
}

}  // namespace

StuckReport::StuckReport(const workload::Job& job, const CollectivePlans& plans, const Agents& agents)
    : job_(job), plans_(plans), agents_(agents) {
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  waits_.resize(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (agents.execution(RankId(rank)).finished()) continue;
    unfinished_.push_back(RankId(rank));
    find_waits(RankId(rank));
  }
}

void StuckReport::find_waits(RankId rank) {
  using enum RankExecution::State;
  const RankExecution& execution = agents_.execution(rank);
  const workload::ExecutionGraph& graph = execution.graph();
  std::vector<bool> waits_in(graph.communicator_slots());
  for (const NodeId node : graph.order()) {
    const workload::NodeKind kind = graph.kind(node);
    if (!workload::is_communication(kind)) continue;
    if (execution.state(node) != kRunning && execution.state(node) != kReady) continue;
    if (workload::is_transfer(kind)) {
      sends_wait_ = sends_wait_ || kind == workload::NodeKind::kSend;
      waits_[index_of(rank)].push_back({rank, node, job_.peer(rank, node)});
      continue;
    }
    // Only the first call of each communicator counts.
    if (waits_in[graph.communicator_slot(node)]) continue;
    waits_in[graph.communicator_slot(node)] = true;
    const Members& members = members_of({job_.communicator(rank, node), graph.call_index(node)});
    waits_[index_of(rank)].push_back({rank, node, members.missing.front()});
  }
}

const StuckReport::Members& StuckReport::members_of(Call call) {
  const auto [known, is_new] = calls_.try_emplace(call);
  Members& members = known->second;
  if (!is_new) return members;
  for (const RankId member : job_.communicators[index_of(call.first)].members) {
    const NodeId node = plans_.node_of(call.first, call.second, member);
    const bool is_there = has_come(agents_.execution(member), node);
    if (is_there && members.there.empty()) members.node = node;
    (is_there ? members.there : members.missing).push_back(member);
  }
  ORRERY_ASSERT(!members.there.empty() && !members.missing.empty());  // else it would have been joined
  return members;
}

std::string StuckReport::operation(RankId rank, NodeId node) const {
  const workload::ExecutionGraph& graph = job_.graph(rank);
  const std::string label = job_.describe(rank, node);
  switch (graph.kind(node)) {
    case workload::NodeKind::kCollective: {
      const workload::Communicator& communicator = job_.communicators[index_of(job_.communicator(rank, node))];
      return fmt::format("{} of {} (call {} on communicator '{}', {})", name_of(graph.collective_kind(node)),
                         rounded(graph.bytes(node)), graph.call_index(node) + 1, printable(communicator.name), label);
    }
    case workload::NodeKind::kSend:
      return fmt::format("send of {} to rank {} ({})", rounded(graph.bytes(node)), index_of(job_.peer(rank, node)),
                         label);
    case workload::NodeKind::kReceive:
      return fmt::format("receive of {} from rank {} ({})", rounded(graph.bytes(node)), index_of(job_.peer(rank, node)),
                         label);
    default:
      return label;
  }
}

std::string StuckReport::describe(const Wait& wait) const {
  return fmt::format("  rank {} waits in {} for rank {}\n", index_of(wait.rank), operation(wait.rank, wait.node),
                     index_of(wait.for_rank));
}

// The calls that some have come to, but not all.
std::string StuckReport::describe_calls() const {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [call, members] : calls_) {
    if (shown++ == kShown) {
      text += fmt::format("  ... and {} more calls\n", calls_.size() - kShown);
      break;
    }
    const workload::ExecutionGraph& graph = job_.graph(members.there.front());
    text += fmt::format("  communicator '{}', call {}: {} of {}: {} come, {} not\n",
                        printable(job_.communicators[index_of(call.first)].name), call.second + 1,
                        name_of(graph.collective_kind(members.node)), rounded(graph.bytes(members.node)),
                        who_have(members.there), who_have(members.missing));
  }
  return text;
}

// Follows one wait from rank to rank until a rank comes again.
std::string StuckReport::describe_circle() const {
  std::vector<bool> visited(waits_.size());
  for (std::uint32_t first = 0; first < waits_.size(); ++first) {
    std::vector<const Wait*> path;
    std::map<RankId, std::size_t> at;
    for (RankId rank{first}; !waits_[index_of(rank)].empty();) {
      if (const auto seen = at.find(rank); seen != at.end()) {
        std::string text = "they wait for one another in a circle:\n";
        for (std::size_t i = seen->second; i < path.size(); ++i) text += describe(*path[i]);
        return text;
      }
      if (visited[index_of(rank)]) break;
      visited[index_of(rank)] = true;
      at[rank] = path.size();
      path.push_back(&waits_[index_of(rank)].front());
      rank = path.back()->for_rank;
    }
  }
  return {};
}

StuckError StuckReport::error(bool is_timed) const {
  const RankId rank = unfinished_.front();
  const std::vector<Wait>& waits = waits_[index_of(rank)];
  return StuckError(text(is_timed), index_of(rank), waits.empty() ? "" : job_.describe(rank, waits.front().node));
}

std::string StuckReport::text(bool is_timed) const {
  const std::string when =
      is_timed ? fmt::format(" at {}", rounded(agents_.last_step().time_since_epoch())) : std::string();
  std::string text = fmt::format("the job is stuck{}: {} of {} ranks can never finish ({})\n", when, unfinished_.size(),
                                 waits_.size(), named(unfinished_));
  text += describe_calls();
  std::size_t shown = 0;
  for (const RankId rank : unfinished_)
    for (const Wait& wait : waits_[index_of(rank)])
      if (workload::is_transfer(job_.graph(rank).kind(wait.node)) && shown++ < kShown) text += describe(wait);
  if (shown > kShown)
    text += fmt::format("  ... and {} more {}\n", shown - kShown, sends_wait_ ? "sends and receives" : "receives");
  text += describe_circle();
  text +=
      "  hint: no order that the dependencies allow finishes the job: whatever is left waits for a rank that waits as "
      "well. "
      "Every rank must issue the calls that depend on one another in the same order";
  if (sends_wait_)
    text +=
        ". A send of more than NCCL's buffer (`send_buffer`) ends after its receive is posted: a rank that sends and "
        "receives must not make the one wait for the other (ncclGroupStart, batch_isend_irecv)";
  return text;
}

StuckError stuck_error(const workload::Job& job, const CollectivePlans& plans, const Agents& agents, bool is_timed) {
  return StuckReport(job, plans, agents).error(is_timed);
}

}  // namespace orrery::system
