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
    const auto [known, is_new] = lines_.try_emplace({phase, first});
    if (!is_new) return known->second;
    std::vector<DeviceId> on_line;
    for (std::uint32_t coordinate = 0; coordinate < layout.sizes[axis]; ++coordinate) {
      known->second.seats.push_back(layout.member_at[layout.moved_to(first, axis, coordinate)]);
      on_line.push_back(devices()[known->second.seats.back()]);
    }
    const LineTraffic traffic = traffic_of(plan(), phase, on_line, fabric_);
    known->second.path = network_.group_path(traffic.loads, traffic.latency);
    return known->second;
  }

 private:
  const network::Fabric& fabric_;
  network::Network& network_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, LineClass> lines_;  // by phase and the position of the first
};

class EveryRank final : public Cast {
 public:
  EveryRank(const CastInput& input, std::string why) : Cast(input), why_(std::move(why)) {}

  std::uint32_t agents() const override { return static_cast<std::uint32_t>(input_.job.ranks.size()); }
  std::uint32_t agent_of(RankId rank) const override { return index_of(rank); }
  RankId first_rank(std::uint32_t agent) const override { return RankId(agent); }
  LinkId acting(LinkId link) const override { return link; }
  std::uint32_t link_classes() const override {
    const auto is_used = [](const network::LinkUsage& link) { return link.bytes > Bytes(0); };
    return static_cast<std::uint32_t>(std::ranges::count_if(input_.network.link_usage(), is_used));
  }

  GroupId home_of(GroupId group) const override { return group; }
  bool is_alone(GroupId home) const override { return input_.job.communicators[index_of(home)].members.size() == 1; }
  std::uint32_t seat_of(RankId rank, GroupId group) const override {
    return *input_.job.communicators[index_of(group)].position_of(rank);
  }

  std::uint64_t started_by(RankId, NodeId) const override { return 1; }
  network::PathId path(RankId from, NodeId send) const override {
    const std::uint32_t slot = input_.job.graph(from).peer_slot(send);
    const RankId to = input_.job.ranks[index_of(from)].peers[slot];
    return input_.network.path(input_.placement[index_of(from)], input_.placement[index_of(to)]);
  }
  std::vector<NodeId> sends_with(RankId, NodeId send) const override { return {send}; }
  std::vector<workload::TransferEnd> ends_of(RankId from, NodeId send) const override {
    return {input_.matching.end(from, input_.job.graph(from).transfer_index(send))};
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
};

}  // namespace

std::unique_ptr<Cast> every_rank(const CastInput& input, std::string why) {
  return std::make_unique<EveryRank>(input, std::move(why));
}

}  // namespace orrery::system
