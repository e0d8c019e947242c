// SPDX-License-Identifier: MIT
// Edits that make the members of a communicator call the same.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "workload/matching/alignment.h"
#include "workload/matching/matching.h"
#include "workload/matching/mending.h"

namespace orrery::workload {
namespace {

// Request of a call, without what members may differ in.
using Request = std::tuple<CollectiveKind, std::int64_t, std::uint32_t>;  // kind, bytes, position of the root

// Members that ask for the same in all their calls.
struct Party {
  std::vector<Request> requests;
  std::vector<RankId> ranks;
  std::span<const NodeId> calls;  // of the first of them

  RankId first() const { return ranks.front(); }
};

class CallMender {
 public:
  CallMender(const Job& job, GroupId group, std::size_t& left) : job_(job), group_(group), left_(left) {
    std::map<std::vector<Request>, std::size_t> known;
    for (const RankId rank : job.communicators[index_of(group)].members) {
      const std::span<const NodeId> calls = calls_of(rank);
      std::vector<Request> requests;
      for (const NodeId node : calls) requests.push_back(request_of(rank, node));
      const auto [party, is_new] = known.try_emplace(requests, parties_.size());
      if (is_new) parties_.push_back({std::move(requests), {}, calls});
      parties_[party->second].ranks.push_back(rank);
    }
    std::ranges::stable_sort(parties_, [](const Party& a, const Party& b) { return a.ranks.size() > b.ranks.size(); });
  }

  Alternatives alternatives() const {
    constexpr std::size_t kModels = 4;
    Alternatives all;
    for (std::size_t model = 0; model < std::min(kModels, parties_.size()); ++model)
      if (std::optional<std::vector<Edit>> edits = follow(parties_[model])) all.push_back(*std::move(edits));
    if (std::vector<Edit> edits = without_silent(); !edits.empty()) all.push_back(std::move(edits));
    std::ranges::stable_sort(all, {}, &std::vector<Edit>::size);
    return all;
  }

 private:
  std::span<const NodeId> calls_of(RankId rank) const {
    const std::uint32_t slot = job_.ranks.slot_of(index_of(rank), group_);
    if (slot >= job_.graph(rank).communicator_slots()) return {};
    return job_.graph(rank).calls(slot);
  }

  Request request_of(RankId rank, NodeId node) const {
    const ExecutionGraph& graph = job_.graph(rank);
    const CollectiveKind kind = graph.collective_kind(node);
    const bool may_differ = can_be_one(kind, Bytes(0), kind, Bytes(1));
    return {kind, may_differ ? 0 : graph.bytes(node).count(), job_.root(rank, node)};
  }

  // Edits with which all others call as the model does; nothing where too much would have to be compared.
  std::optional<std::vector<Edit>> follow(const Party& model) const {
    std::vector<Edit> edits;
    for (const Party& party : parties_) {
      if (&party == &model) continue;
      const std::optional<std::vector<Step>> steps = align(party, model);
      if (!steps) return std::nullopt;
      for (const RankId rank : party.ranks)
        for (const Step& step : *steps) edits.push_back(edit_of(rank, model, step));
    }
    return edits;
  }

  // Names and ids tell which of several equal calls is missing.
  std::optional<std::vector<Step>> align(const Party& party, const Party& model) const {
    const NodeLabels &labels = job_.labels_of(party.first()), &others = job_.labels_of(model.first());
    const auto difference = [&](std::size_t i, std::size_t j) -> std::uint32_t {
      if (party.requests[i] != model.requests[j]) return kDiffers;
      const NodeId here = party.calls[i], there = model.calls[j];
      return std::uint32_t{labels.name(here) != others.name(there)} +
             std::uint32_t{labels.trace_id(here) != others.trace_id(there)};
    };
    return alignment(party.calls.size(), model.calls.size(), difference, left_);
  }

  Edit edit_of(RankId rank, const Party& model, const Step& step) const {
    const std::span<const NodeId> calls = calls_of(rank);
    const auto call = [&](std::size_t i) { return i < calls.size() ? std::optional(calls[i]) : std::nullopt; };
    switch (step.kind) {
      case Step::Kind::kRemove:
        return {Edit::Kind::kRemove, rank, call(step.here), {}, {}};
      case Step::Kind::kSwap:
        return {Edit::Kind::kSwap, rank, call(step.here), call(step.there), {}};
      case Step::Kind::kReplace:
        return {
            Edit::Kind::kChange, rank, call(step.here), {}, operation_of(job_, model.first(), model.calls[step.there])};
      case Step::Kind::kInsert:
        break;
    }
    return {Edit::Kind::kAdd, rank, step.here > 0 ? call(step.here - 1) : std::nullopt, call(step.here),
            operation_of(job_, model.first(), model.calls[step.there])};
  }

  // The members that never call leave, if the others agree.
  std::vector<Edit> without_silent() const {
    const auto silent = std::ranges::find_if(parties_, [](const Party& party) { return party.calls.empty(); });
    if (silent == parties_.end() || parties_.size() != 2) return {};
    std::vector<Edit> edits;
    for (const RankId rank : silent->ranks) {
      Edit edit{Edit::Kind::kLeave, rank, {}, {}, {}};
      edit.operation.group = group_;
      edits.push_back(edit);
    }
    return edits;
  }

  const Job& job_;
  GroupId group_;
  std::size_t& left_;
  std::vector<Party> parties_;  // the largest first
};

}  // namespace

Alternatives mend_calls(const Job& job, GroupId group, std::size_t& left) {
  return CallMender(job, group, left).alternatives();
}

}  // namespace orrery::workload
