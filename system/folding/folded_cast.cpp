// SPDX-License-Identifier: MIT
// One rank acts for all of its class, by the classes of what has been used so far (Symmetry, Folding).
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "system/folding/cast.h"
#include "system/folding/symmetry.h"
#include "system/plans/transfer_slots.h"

namespace orrery::system {
namespace {

class HomeCast final : public CallCast {
 public:
  HomeCast(const CastInput& input, const Folding& folding, CallKey call, const CollectivePlan& plan)
      : CallCast(plan, input.plans.devices(call.group)),
        home_(folding.home(call.group)),
        tables_(folding.tables(call.group, call.index)) {}

  void fast_forward(PrivateCalls::Kind kind) { fast_forwarded_ = kind; }

  std::uint32_t seats() const override { return static_cast<std::uint32_t>(home_.member_of_seat.size()); }
  std::uint32_t member(std::uint32_t seat) const override { return home_.member_of_seat[seat]; }
  bool is_fast_forwarded() const override {
    using enum PrivateCalls::Kind;
    return fast_forwarded_ == kRing || (fast_forwarded_ == kLockstep && seats() == 1);
  }
  const LineClass& line(std::uint32_t phase, std::uint32_t seat) override { return tables_.line(phase, seat); }
  std::vector<const MessageClass*> messages(std::uint32_t phase, std::uint32_t seat) const override {
    return tables_.messages(phase, seat);
  }
  Outgoing outgoing(std::uint32_t phase, std::uint32_t seat, std::uint32_t send, std::uint32_t) const override {
    const MessageClass* of = tables_.message(phase, seat, send);
    if (of == nullptr) return {0, {}, 0, nullptr};
    return {of->receiver, of->path, of->count, of};
  }

 private:
  const Home& home_;
  const PatternTables& tables_;
  PrivateCalls::Kind fast_forwarded_ = PrivateCalls::Kind::kNone;
};

// True if each call of a communicator slot waits for the one before, directly or not, so that two never run at once.
bool calls_are_in_sequence(const workload::ExecutionGraph& graph, std::uint32_t communicator_slot) {
  std::vector<std::uint32_t> after(graph.size());  // how many calls a node comes after: all of them, if in sequence
  for (const NodeId node : graph.order()) {
    std::uint32_t calls = after[index_of(node)];
    if (graph.kind(node) == workload::NodeKind::kCollective && graph.communicator_slot(node) == communicator_slot) {
      if (calls < graph.call_index(node)) return false;
      calls = graph.call_index(node) + 1;
    }
    for (const NodeId successor : graph.successors(node))
      after[index_of(successor)] = std::max(after[index_of(successor)], calls);
  }
  return true;
}

class FoldedCast final : public Cast {
 public:
  FoldedCast(const CastInput& input, bool fast_forward, Granularity granularity, const RankColours& own)
      : Cast(input),
        fast_forward_(fast_forward),
        told_apart_by_(own.what),
        symmetry_(input.job, input.matching, input.fabric, input.placement, input.plans, granularity, own.colours),
        folding_(input.job, input.placement, input.plans, symmetry_, input.network) {}

  std::uint32_t agents() const override { return folding_.actors().agent_count(); }
  std::uint32_t agent_of(RankId rank) const override { return folding_.actors().agent_of(rank); }
  RankId first_rank(std::uint32_t agent) const override { return folding_.actors().first_rank(agent); }
  LinkId acting(LinkId link) const override { return folding_.actors().acting(link); }
  LinkBlock block_of(LinkId link) const override { return symmetry_.replicas().block_of(link); }
  std::uint32_t link_classes() const override { return folding_.actors().link_class_count(); }
  GroupId home_of(GroupId group) const override { return folding_.actors().home_of(group); }
  Membership membership(RankId rank, std::uint32_t communicator_slot) const override {
    const GroupId group = input_.job.ranks.communicator(index_of(rank), communicator_slot);
    return {home_of(group), folding_.seat_of(rank, group)};
  }

  bool is_alone(GroupId home) const override;

  std::uint64_t started_by(RankId from, NodeId send) const override {
    const MessageClass& message = message_class(from, send);
    return message.sends.front() == input_.job.graph(from).peer_slot(send) ? message.count : 0;
  }
  network::PathId path(RankId from, NodeId send) const override { return message_class(from, send).path; }
  Sends sends_with(RankId from, NodeId send) const override;
  Ends ends_of(RankId from, NodeId send) const override;

  bool is_in_use(RankId rank, NodeId node) const override;
  std::vector<FirstUse> parts_of(RankId from, NodeId send) const override;
  bool is_folded() const override { return true; }
  std::string text() const override;

 private:
  std::unique_ptr<CallCast> make_call(CallKey call, const CollectivePlan& plan) override;
  std::uint32_t use(FirstUse use) override;
  ClassSplit refine() override {
    is_alone_.clear();
    symmetry_.refine();
    return folding_.update();
  }
  const MessageClass& message_class(RankId from, NodeId send) const {
    return folding_.sends(from, input_.job.graph(from).peer_slot(send));
  }
  bool may_fast_forward(CallKey call, const CallCast& cast);

  bool fast_forward_;
  std::string told_apart_by_;
  Symmetry symmetry_;
  Folding folding_;
  mutable std::map<GroupId, bool> is_alone_;  // of homes that were asked for, since the latest refine()
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> in_sequence_;  // by graph and slot: calls_are_in_sequence()
};

std::unique_ptr<CallCast> FoldedCast::make_call(CallKey call, const CollectivePlan& plan) {
  auto cast = std::make_unique<HomeCast>(input_, folding_, call, plan);
  if (may_fast_forward(call, *cast)) cast->fast_forward(folding_.private_kind(call.group, call.index));
  return cast;
}

bool FoldedCast::may_fast_forward(CallKey call, const CallCast& cast) {
  const CollectivePlan& plan = cast.plan();
  if (!fast_forward_ || plan.chunks > 1) return false;
  if (folding_.private_kind(call.group, call.index) == PrivateCalls::Kind::kNone) return false;
  if (plan.phases.front().schedule().step(0, 0).bytes == Bytes(0)) return false;  // all in one instant
  for (std::uint32_t seat = 0; seat < cast.seats(); ++seat) {
    const RankId rank = input_.job.communicators[index_of(call.group)].members[cast.member(seat)];
    const std::uint32_t graph = input_.job.ranks.graph(index_of(rank)), slot = input_.plans.slot_of(rank, call.group);
    const auto [known, is_new] = in_sequence_.try_emplace({graph, slot});
    if (is_new) known->second = calls_are_in_sequence(input_.job.graphs[graph], slot);
    if (!known->second) return false;
  }
  return true;
}

bool FoldedCast::is_alone(GroupId home) const {
  const auto [known, is_new] = is_alone_.try_emplace(home);
  if (is_new) known->second = folding_.home(home).member_of_seat.size() == 1 && symmetry_.is_alone(home);
  return known->second;
}

Cast::Sends FoldedCast::sends_with(RankId from, NodeId send) const {
  const TransferSlots& slots = symmetry_.transfer_slots(from);
  Sends sends;
  for (const std::uint32_t slot : message_class(from, send).sends)
    sends.push_back(slots.sends(slot)[slots.ordinal(input_.job.graph(from), send)]);
  return sends;
}

// The receives of whoever acts for the receiver.
Cast::Ends FoldedCast::ends_of(RankId from, NodeId send) const {
  const workload::TransferEnd end = input_.matching.end(from, input_.job.graph(from).transfer_index(send));
  const MessageClass& message = message_class(from, send);
  const RankId acting = folding_.actors().first_rank(message.receiver);
  if (message.slots.size() == 1) return Ends({acting, end.node});
  const TransferSlots& slots = symmetry_.transfer_slots(acting);
  const std::uint32_t ordinal = slots.ordinal(input_.job.graph(end.rank), end.node);
  Ends ends;
  for (const std::uint32_t slot : message.slots) ends.push_back({acting, slots.receives(slot)[ordinal]});
  return ends;
}

bool FoldedCast::is_in_use(RankId rank, NodeId node) const {
  switch (input_.job.graph(rank).kind(node)) {
    case workload::NodeKind::kCollective:
      return folding_.is_in_use(input_.job.communicator(rank, node));
    case workload::NodeKind::kSend:
      return message_class(rank, node).count > 0;
    default:
      return true;
  }
}

// Brings all of the class into use; returns how many communicators or pairs of ranks that are.
std::uint32_t FoldedCast::use(FirstUse use) {
  const workload::ExecutionGraph& graph = input_.job.graph(use.rank);
  const bool is_send = graph.kind(use.node) == workload::NodeKind::kSend;
  std::uint32_t used = 0;
  for (const Symmetry::Vertex vertex : folding_.actors().vertices_of(agent_of(use.rank))) {
    const RankId rank = symmetry_.rank_of(vertex);
    used += is_send ? symmetry_.use_sends(rank, graph.peer_slot(use.node))
                    : symmetry_.use_communicator(input_.job.communicator(rank, use.node));
  }
  return used;
}

std::vector<Cast::FirstUse> FoldedCast::parts_of(RankId from, NodeId send) const {
  std::vector<FirstUse> parts{{from, send}};
  const workload::ExecutionGraph& graph = input_.job.graph(from);
  const std::uint32_t agent = agent_of(from);
  const auto before = latest_split().sends_before.find({agent, graph.peer_slot(send)});
  if (before == latest_split().sends_before.end()) return parts;
  const auto add_parts_of = [&](RankId rank) {
    const TransferSlots& slots = symmetry_.transfer_slots(rank);
    for (const std::uint32_t slot : before->second) {
      const NodeId part = slots.sends(slot)[slots.ordinal(graph, send)];
      if (folding_.sends(rank, slot).sends.front() == slot && !(rank == from && part == send))
        parts.push_back({rank, part});
    }
  };
  add_parts_of(from);
  for (const std::uint32_t part : latest_split().parts_of(agent)) add_parts_of(first_rank(part));
  return parts;
}

std::string FoldedCast::text() const {
  const Symmetry::Stages& stages = symmetry_.stages();
  return fmt::format(
      "{} class{} of {} ranks: {} by program{}, +{} by communication partners and distance, +{} by shared links",
      agents(), agents() == 1 ? "" : "es", input_.job.ranks.size(), stages.programs, told_apart_by_, stages.partners,
      stages.links);
}

}  // namespace

std::unique_ptr<Cast> folded_cast(const CastInput& input, bool fast_forward, Granularity granularity,
                                  const RankColours& own) {
  return std::make_unique<FoldedCast>(input, fast_forward, granularity, own);
}

}  // namespace orrery::system
