#include "system/collective_plans.h"

#include <algorithm>

namespace orrery {

CollectivePlans::CollectivePlans(const Job& job, const Matching& matching, const Fabric& fabric,
                                 std::span<const DeviceId> placement, const CollectiveOptions& options)
    : matching_(matching), options_(options) {
  std::vector<std::uint32_t> sizes;
  for (const LogicalDimension& dimension : fabric.dimensions()) {
    sizes.push_back(dimension.size);
    topologies_.push_back(dimension.topology);
  }
  for (const Communicator& communicator : job.communicators) {
    std::vector<DeviceId>& devices = devices_.emplace_back();
    for (const RankId rank : communicator.members) devices.push_back(placement[index_of(rank)]);
    layout_of_.push_back(&shared(lay_out(devices, sizes)));
  }
  find_models(job);
}

// What members with equal graphs call is the same but for roots and sizes of others, so only those are compared.
void CollectivePlans::find_models(const Job& job) {
  std::map<std::tuple<const CommunicatorLayout*, std::uint32_t, std::uint32_t>, std::vector<GroupId>> models;
  for (std::uint32_t i = 0; i < job.communicators.size(); ++i) {
    model_of_.push_back(GroupId(i));
    const std::vector<RankId>& members = job.communicators[i].members;
    if (members.empty()) continue;
    const RankBinding& first = job.ranks[index_of(members.front())];
    const auto slot =
        static_cast<std::uint32_t>(std::ranges::find(first.communicators, GroupId(i)) - first.communicators.begin());
    std::vector<GroupId>& alike = models[{layout_of_[i], first.graph, slot}];
    const auto model = std::ranges::find_if(
        alike, [&](GroupId group) { return matching_.calls[index_of(group)] == matching_.calls[i]; });
    if (model == alike.end())
      alike.push_back(GroupId(i));
    else
      model_of_.back() = *model;
  }
}

const CommunicatorLayout& CollectivePlans::shared(CommunicatorLayout layout) {
  LayoutKey key{layout.sizes, layout.dimensions, layout.position_of};
  return layouts_.try_emplace(std::move(key), std::move(layout)).first->second;
}

const CollectivePlan& CollectivePlans::plan(GroupId group, std::uint32_t index) {
  const CollectiveCall& call = matching_.calls[index_of(group)][index];
  if (!call.bytes_of_member.empty()) return uneven_plan(group, index);
  const CommunicatorLayout& layout = *layout_of_[index_of(group)];
  const PlanKey key{&layout, call.kind, call.bytes, call.root};
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  const PlanRequest request{call.kind, call.bytes, call.root, {}};
  return plans_.emplace(key, plan_collective(request, layout, options_, topologies_)).first->second;
}

const CollectivePlan& CollectivePlans::uneven_plan(GroupId group, std::uint32_t index) {
  const auto found = uneven_plans_.find({group, index});
  if (found != uneven_plans_.end()) return found->second;
  const CollectiveCall& call = matching_.calls[index_of(group)][index];
  const CommunicatorLayout& own = *layout_of_[index_of(group)];
  const CommunicatorLayout& flat = own.sizes.size() > 1 ? shared(logical_ring(own.size())) : own;
  const PlanRequest request{call.kind, call.bytes, call.root, call.bytes_of_member};
  return uneven_plans_.emplace(std::pair(group, index), plan_collective(request, flat, options_, topologies_))
      .first->second;
}

}  // namespace orrery
