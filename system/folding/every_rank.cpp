// SPDX-License-Identifier: MIT
// Nobody acts for others: the identity partition, computed when asked.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "system/folding/cast.h"
#include "system/plans/line_traffic.h"

namespace orrery::system {
namespace {

class EveryMember final : public CallCast {
 public:
  EveryMember(const CastInput& input, const CollectivePlan& plan, GroupId group)
      : CallCast(plan, input.plans.devices(group)), fabric_(input.fabric), network_(input.network) {}

  std::uint32_t seats() const override { return plan().layout->size(); }
  std::uint32_t member(std::uint32_t seat) const override { return seat; }
  bool is_fast_forwarded() const override { return false; }
  std::vector<const MessageClass*> messages(std::uint32_t, std::uint32_t) const override { return {}; }

  Outgoing outgoing(std::uint32_t phase, std::uint32_t seat, std::uint32_t, std::uint32_t to) const override {
    const CommunicatorLayout& layout = *plan().layout;
    const std::uint32_t axis = plan().phases[phase].phase.axis;
    const std::uint32_t receiver = layout.member_at[layout.moved_to(layout.position_of[seat], axis, to)];
    return {receiver, network_.path(devices()[seat], devices()[receiver])};
  }

  const LineClass& line(std::uint32_t phase, std::uint32_t seat) override {
    const CommunicatorLayout& layout = *plan().layout;
    const std::uint32_t axis = plan().phases[phase].phase.axis;
    const std::uint32_t first = layout.moved_to(layout.position_of[seat], axis, 0);
    if (lines_.empty()) lines_.resize(plan().phases.size());
    std::vector<std::unique_ptr<LineClass>>& of_phase = lines_[phase];
    if (first >= of_phase.size()) of_phase.resize(first + 1);
    if (of_phase[first] == nullptr) of_phase[first] = make_line(phase, axis, first);
    return *of_phase[first];
  }

 private:
  std::unique_ptr<LineClass> make_line(std::uint32_t phase, std::uint32_t axis, std::uint32_t first) const {
    const CommunicatorLayout& layout = *plan().layout;
    auto line = std::make_unique<LineClass>();
    std::vector<DeviceId> on_line;
    for (std::uint32_t coordinate = 0; coordinate < layout.sizes[axis]; ++coordinate) {
      line->seats.push_back(layout.member_at[layout.moved_to(first, axis, coordinate)]);
      on_line.push_back(devices()[line->seats.back()]);
    }
    const LineTraffic traffic = traffic_of(plan(), phase, on_line, fabric_);
    line->path = network_.group_path(traffic.loads, traffic.latency);
    return line;
  }

  const network::Fabric& fabric_;
  network::Network& network_;
  std::vector<std::vector<std::unique_ptr<LineClass>>> lines_;  // by phase, by the position of their first members
};

class EveryRank final : public Cast {
 public:
  EveryRank(const CastInput& input, std::string why) : Cast(input), why_(std::move(why)) {
    first_slot_.reserve(input.job.ranks.size() + 1);
    for (std::size_t rank = 0; rank < input.job.ranks.size(); ++rank) {
      first_slot_.push_back(memberships_.size());
      const auto& binding = input.job.ranks[rank];
      for (const GroupId group : binding.communicators) memberships_.push_back({group, 0});
    }
    first_slot_.push_back(memberships_.size());
    for (std::uint32_t group = 0; group < input.job.communicators.size(); ++group) {
      const workload::Members& members = input.job.communicators[group].members;
      for (std::uint32_t seat = 0; seat < members.size(); ++seat) {
        const RankId rank = members[seat];
        const std::size_t at = first_slot_[index_of(rank)] + input.plans.slot_of(rank, GroupId(group));
        if (at < first_slot_[index_of(rank) + 1]) memberships_[at].seat = seat;  // else it has no calls
      }
    }
  }

  std::uint32_t agents() const override { return static_cast<std::uint32_t>(input_.job.ranks.size()); }
  std::uint32_t agent_of(RankId rank) const override { return index_of(rank); }
  RankId first_rank(std::uint32_t agent) const override { return RankId(agent); }
  LinkId acting(LinkId link) const override { return link; }
  LinkBlock block_of(LinkId link) const override { return {link}; }
  std::uint32_t link_classes() const override {
    std::uint32_t used = 0;
    input_.network.usage().for_each_own(
        [&](std::size_t, const network::LinkUsage& link) { used += link.bytes > Bytes(0) ? 1U : 0U; });
    return used;
  }

  GroupId home_of(GroupId group) const override { return group; }
  bool is_alone(GroupId home) const override { return input_.job.communicators[index_of(home)].members.size() == 1; }
  Membership membership(RankId rank, std::uint32_t communicator_slot) const override {
    return memberships_[first_slot_[index_of(rank)] + communicator_slot];
  }

  std::uint64_t started_by(RankId, NodeId) const override { return 1; }
  network::PathId path(RankId from, NodeId send) const override {
    const std::uint32_t slot = input_.job.graph(from).peer_slot(send);
    const RankId to = input_.job.ranks.peer(index_of(from), slot);
    return input_.network.path(input_.placement[index_of(from)], input_.placement[index_of(to)]);
  }
  Sends sends_with(RankId, NodeId send) const override { return Sends(send); }
  Ends ends_of(RankId from, NodeId send) const override {
    return Ends(input_.matching.end(from, input_.job.graph(from).transfer_index(send)));
  }

  bool is_in_use(RankId, NodeId) const override { return true; }
  std::vector<FirstUse> parts_of(RankId from, NodeId send) const override { return {{from, send}}; }
  bool is_folded() const override { return false; }
  std::string text() const override { return why_; }

 private:
  std::unique_ptr<CallCast> make_call(CallKey call, const CollectivePlan& plan) override {
    return std::make_unique<EveryMember>(input_, plan, call.group);
  }
  std::uint32_t use(FirstUse) override { ORRERY_ASSERT(false); }
  ClassSplit refine() override { ORRERY_ASSERT(false); }

  std::string why_;
  std::vector<std::size_t> first_slot_;  // by rank, in memberships_
  std::vector<Membership> memberships_;  // by rank and slot
};

}  // namespace

std::unique_ptr<Cast> every_rank(const CastInput& input, std::string why) {
  return std::make_unique<EveryRank>(input, std::move(why));
}

}  // namespace orrery::system
