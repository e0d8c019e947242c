// SPDX-License-Identifier: MIT
#include "report/operations/machine_facts.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace orrery::report {

MachineFacts::MachineFacts(const workload::Job& job, std::span<const ChosenRank> ranks, PathLinks& links,
                           std::vector<std::optional<FlopRate>> peaks)
    : peaks_(std::move(peaks)) {
  for (std::uint32_t i = 0; i < job.communicators.size(); ++i) model_of_.push_back(links.model_of(GroupId(i)));
  for (const ChosenRank& chosen : ranks) {
    add_calls(job, chosen.rank, links);
    add_transfers(job, chosen.rank, links);
  }
}

const CommunicationWay* MachineFacts::way(const workload::Job& job, RankId rank, NodeId node) const {
  const workload::ExecutionGraph& graph = job.graph(rank);
  if (graph.kind(node) == workload::NodeKind::kCollective && !model_of_.empty()) {
    const auto calls = ways_of_calls_.find(model_of_[index_of(job.communicator(rank, node))]);
    return calls == ways_of_calls_.end() ? nullptr : &ways_[calls->second[graph.call_index(node)]];
  }
  if (!workload::is_transfer(graph.kind(node))) return nullptr;
  const auto messages = ways_of_messages_.find(rank);
  return messages == ways_of_messages_.end() ? nullptr : &ways_[messages->second[graph.transfer_index(node)]];
}

bool MachineFacts::are_alike(const workload::Job& job, RankId one, RankId other) const {
  const auto same = [](const auto& ways, const auto& key, const auto& other_key) {
    const auto of_one = ways.find(key), of_other = ways.find(other_key);
    if (of_one == ways.end() || of_other == ways.end()) return of_one == of_other;
    return of_one == of_other || of_one->second == of_other->second;
  };
  const auto calls_alike = [&](GroupId group, GroupId other_group) {
    return job.communicators[index_of(group)].members.size() ==
               job.communicators[index_of(other_group)].members.size() &&
           (model_of_.empty() || same(ways_of_calls_, model_of_[index_of(group)], model_of_[index_of(other_group)]));
  };
  return peak(one) == peak(other) && same(ways_of_messages_, one, other) &&
         std::ranges::equal(job.ranks[index_of(one)].communicators, job.ranks[index_of(other)].communicators,
                            calls_alike);
}

void MachineFacts::add_calls(const workload::Job& job, RankId rank, PathLinks& links) {
  const workload::ExecutionGraph& graph = job.graph(rank);
  for (std::uint32_t slot = 0; slot < graph.communicator_slots(); ++slot) {
    const GroupId model = model_of_[index_of(job.ranks.communicator(index_of(rank), slot))];
    const auto [known, is_new] = ways_of_calls_.try_emplace(model);
    if (!is_new) continue;
    std::map<const system::CollectivePlan*, std::uint32_t> of_plan;  // calls that are planned alike go alike
    for (std::uint32_t call = 0; call < graph.calls(slot).size(); ++call) {
      const auto [found, is_new_plan] = of_plan.try_emplace(&links.plans().plan(model, call), 0);
      if (is_new_plan) {
        const system::CallWay way = links.plans().way(model, call);
        found->second =
            number_of({way.algorithm, way.protocol, links.of_call(model, call, Duration::max()).moving, false});
      }
      known->second.push_back(found->second);
    }
  }
}

void MachineFacts::add_transfers(const workload::Job& job, RankId rank, PathLinks& links) {
  if (ways_of_messages_.contains(rank)) return;
  const workload::ExecutionGraph& graph = job.graph(rank);
  const system::GroupLibrary* library = links.plans().library();
  std::map<std::tuple<RankId, Bytes, bool>, std::uint32_t> known;  // by peer, size, and whether it is sent
  std::vector<std::uint32_t> ways;
  for (const NodeId node : graph.transfers()) {
    const RankId peer = job.peer(rank, node);
    const Bytes bytes = graph.bytes(node);
    const bool is_sent = graph.kind(node) == workload::NodeKind::kSend;
    const auto [found, is_new] = known.try_emplace({peer, bytes, is_sent}, 0);
    if (is_new) {
      const RankId from = is_sent ? rank : peer, to = is_sent ? peer : rank;
      const Duration moving = links.of_message(from, to, bytes, Duration::max()).moving;
      const system::PointToPoint costs = library == nullptr
                                             ? system::PointToPoint()
                                             : library->point_to_point(bytes, links.is_same_node(from, to), {});
      found->second =
          number_of({std::string(system::kSendsAndReceives), std::string(costs.protocol), moving, costs.is_awaited});
    }
    ways.push_back(found->second);
  }
  ways_of_messages_.emplace(rank, std::move(ways));
}

std::uint32_t MachineFacts::number_of(CommunicationWay way) {
  const auto [known, is_new] = numbers_.try_emplace(way, static_cast<std::uint32_t>(ways_.size()));
  if (is_new) ways_.push_back(std::move(way));
  return known->second;
}

}  // namespace orrery::report
