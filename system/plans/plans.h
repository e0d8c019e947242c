// SPDX-License-Identifier: MIT
// Layout of every communicator of a job on the fabric, and the plans of its calls. Communicators that lie alike (up to
// where they are) share their layout, and calls that ask for the same share their plan. With a library they are logical
// rings that lie alike if their GroupLayouts are equal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "system/plans/communicator_layout.h"
#include "system/plans/group_library.h"
#include "system/plans/plan.h"
#include "system/plans/repeats.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {

class CollectivePlans {
 public:
  // All outlive it. `placement`: the device of each rank. Throws InputError for a library at granularity `step`.
  CollectivePlans(const workload::Job& job, const workload::Matching& matching, const network::Fabric& fabric,
                  std::span<const DeviceId> placement, const CollectiveOptions& options);

  std::span<const DeviceId> devices(GroupId group) const;  // by member; stays where it is
  // Parts of the job, as it is placed, that repeat; none without a library.
  const Repeats& repeats() const { return repeats_; }
  // Slot of the communicator among those of the rank; their number if it is none of them.
  std::uint32_t slot_of(RankId rank, GroupId group) const;
  // A member's part in a call.
  NodeId node_of(GroupId group, std::uint32_t call, RankId member) const {
    return job_.graph(member).calls(slot_of(member, group))[call];
  }
  const CommunicatorLayout& layout(GroupId group) const { return *layout_of_[index_of(group)]; }
  // The first communicator that lies as this one does and makes the same calls: it has the same plans.
  GroupId model_of(GroupId group) const { return model_of_[index_of(group)]; }
  // Dimensions along which collectives run.
  std::span<const network::LogicalDimension> dimensions() const { return dimensions_; }
  const GroupLibrary* library() const { return options_.library; }
  // The same object for calls that are planned alike; stays where it is.
  const CollectivePlan& plan(GroupId group, std::uint32_t call);
  // Equal for calls of a communicator that have the same plan, and small. Worked out once for communicators of one
  // model.
  std::uint32_t plan_number(GroupId group, std::uint32_t call);
  // Names of what the call is done by; none in a group of one rank.
  CallWay way(GroupId group, std::uint32_t call) const;
  // True if DimensionOrder::kThemis was asked for and no planned call got orders of its own.
  bool balanced_in_vain() const;

 private:
  using LayoutKey = std::tuple<std::vector<std::uint32_t>, std::vector<std::uint32_t>, std::vector<bool>,
                               std::vector<std::uint32_t>, bool>;
  using PlanKey = std::tuple<const CommunicatorLayout*, const GroupLayout*, CollectiveKind, Bytes, std::uint32_t,
                             std::optional<TokenExchange>, std::uint32_t>;

  std::vector<DeviceId> find_devices(GroupId group) const;
  // The group of digit 0 that this is like, a number of digits before; itself if it is none such.
  GroupId first_of(GroupId group) const;
  void lay_out_all(const network::Fabric& fabric);
  const GroupLayout* group_layout(GroupId group, const network::Fabric& fabric, bool exchanges);
  std::optional<TokenExchange> exchange_of(GroupId group) const;
  void find_models();
  const CommunicatorLayout& shared(CommunicatorLayout layout);
  CollectivePlan make_plan(GroupId group, const workload::CollectiveCall& call);
  const CollectivePlan& uneven_plan(GroupId group, std::uint32_t call);

  const workload::Job& job_;
  // Slots by rank and communicator, for ranks with more communicators than are soon searched.
  std::unordered_map<std::uint64_t, std::uint32_t> slots_of_many_;
  const workload::Matching& matching_;
  const CollectiveOptions& options_;
  std::vector<network::LogicalDimension> dimensions_;
  const network::Fabric& fabric_;
  const bool differ_by_place_;  // plans of groups of one layout may
  std::span<const DeviceId> placement_;
  const Repeats repeats_;
  mutable std::unordered_map<std::uint32_t, std::vector<DeviceId>> devices_;  // by communicator, of those asked for
  // Layouts by sizes, dimensions, openness and positions of the members, and whether they are apart.
  std::map<LayoutKey, CommunicatorLayout> layouts_;
  std::vector<const CommunicatorLayout*> layout_of_;  // by communicator
  std::set<GroupLayout> group_layouts_;
  std::map<std::vector<std::uint32_t>, const GroupLayout*>
      layout_of_congruent_;  // by Fabric::congruence() and whether it exchanges
  // Layouts of groups of all digits, by their lattice and the congruence of their members of digit 0.
  std::map<std::pair<const workload::Lattice*, std::vector<std::uint32_t>>, const GroupLayout*> layout_of_repeated_;
  std::vector<const GroupLayout*> group_layout_of_;  // by communicator; null without a library or without calls
  std::vector<GroupId> model_of_;                    // by communicator
  std::map<PlanKey, CollectivePlan> plans_;
  // Numbers of the plans of a model's calls.
  struct Numbering {
    std::vector<std::uint32_t> of_call;  // + 1; 0: not yet known
    std::map<const CollectivePlan*, std::uint32_t> of_plan;
  };
  std::unordered_map<GroupId, Numbering> numbers_;
  std::map<std::pair<GroupId, std::uint32_t>, CollectivePlan> uneven_plans_;  // calls whose sizes differ by member
};

}  // namespace orrery::system
