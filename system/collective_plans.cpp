#include "system/collective_plans.h"

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
  find_models();
}

void CollectivePlans::find_models() {
  std::map<std::pair<const CommunicatorLayout*, std::uint32_t>, GroupId> models;  // by layout and list of calls
  for (std::uint32_t i = 0; i < layout_of_.size(); ++i)
    model_of_.push_back(models.try_emplace({layout_of_[i], matching_.call_list(GroupId(i))}, GroupId(i)).first->second);
}

const CommunicatorLayout& CollectivePlans::shared(CommunicatorLayout layout) {
  LayoutKey key{layout.sizes, layout.dimensions, layout.position_of};
  return layouts_.try_emplace(std::move(key), std::move(layout)).first->second;
}

const CollectivePlan& CollectivePlans::plan(GroupId group, std::uint32_t index) {
  const CollectiveCall& call = matching_.calls(group)[index];
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
  const CollectiveCall& call = matching_.calls(group)[index];
  const CommunicatorLayout& own = *layout_of_[index_of(group)];
  const CommunicatorLayout& flat = own.sizes.size() > 1 ? shared(logical_ring(own.size())) : own;
  const PlanRequest request{call.kind, call.bytes, call.root, call.bytes_of_member};
  return uneven_plans_.emplace(std::pair(group, index), plan_collective(request, flat, options_, topologies_))
      .first->second;
}

}  // namespace orrery
