// SPDX-License-Identifier: MIT
#include "study/search/bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "system/plans/group_library.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/program/rank_grid.h"

namespace orrery::study {
namespace {

// Closed forms and simulations differ by rounding, and by less than this.
constexpr double kWithoutRounding = 0.999;

bool is_power_of_two(std::int64_t number) { return std::has_single_bit(static_cast<std::uint64_t>(number)); }

// Whether every group of a family lies as one that has a device of the first node, some nodes further.
bool are_groups_regular(const workload::Parallelism& parallel) {
  return std::ranges::all_of(parallel.degrees, is_power_of_two) && is_power_of_two(parallel.expert);
}

}  // namespace

class PlanBounds::FastestDevice final : public workload::OperatorTimes {
 public:
  explicit FastestDevice(std::span<const system::OperatorModel> models) : models_(models) {}

  Duration time(const workload::Operator& op) const override {
    Duration least = models_.front().time(op);
    for (const system::OperatorModel& model : models_.subspan(1)) least = std::min(least, model.time(op));
    return least;
  }
  std::int64_t processors() const override { return models_.front().processors(); }

 private:
  const std::span<const system::OperatorModel> models_;
};

PlanBounds::PlanBounds(const experiment::Experiment& experiment) : experiment_(experiment) {
  const workload::TrainingSpec& training = *experiment.jobs.front().workload.training;
  for (const system::DeviceSpec& device : experiment.devices)
    models_.emplace_back(device, training.software.rates_on(device.architecture));
  const network::Fabric& fabric = experiment.fabric;
  const bool is_regular = experiment.nccl != nullptr && experiment.devices.size() == 1 &&
                          experiment.placement.kind == experiment::PlacementKind::kPacked && fabric.is_of_nodes() &&
                          experiment.resolved.find("perturb") == nullptr && is_power_of_two(fabric.device_count()) &&
                          is_power_of_two(fabric.dimensions().front().size);
  if (is_regular) placement_ = experiment::place_ranks(experiment.placement, fabric.device_count(), fabric);
}

PlanBounds::Bound PlanBounds::of(const workload::TrainingSpec& training, Bytes most) {
  const FastestDevice times(models_);
  const workload::StageRequests requests(training, times);
  Bound bound;
  for (const workload::MemoryNeed& need : workload::memory_needs(training, requests)) {
    bound.memory = std::max(bound.memory, need.total());
    bound.in_use = std::max(bound.in_use, need.in_use());
  }
  if (bound.memory > most || experiment_.simulation.perturbation.disturbs_ranks()) return bound;
  const bool are_regular = !placement_.empty() && are_groups_regular(training.parallel);
  std::map<workload::GroupFamily, std::vector<const collectives::GroupShape*>> shapes;
  std::map<std::tuple<workload::GroupFamily, CollectiveKind, std::int64_t>, Duration> known;
  bound.time =
      workload::least_iteration(requests, times, [&](workload::GroupFamily family, CollectiveKind kind, Bytes bytes) {
        // Libraries of their own dispatch tokens; and uneven shares are what the fullest rank has, not all.
        const bool has_own_times =
            training.experts.dispatch.kind != DispatchKind::kAllToAll || training.parallel.expert_skew > 0;
        if (!are_regular || (family == workload::GroupFamily::kExpert && has_own_times)) return Duration{};
        const auto [of_family, is_new_family] = shapes.try_emplace(family);
        if (is_new_family) of_family->second = shapes_of(requests.grid(), family);
        const auto [found, is_new] = known.try_emplace({family, kind, bytes.count()});
        if (is_new) found->second = least_collective(of_family->second, kind, bytes);
        return found->second;
      });
  return bound;
}

std::vector<const collectives::GroupShape*> PlanBounds::shapes_of(const workload::RankGrid& grid,
                                                                  workload::GroupFamily family) {
  const std::int64_t size = grid.group_size(family);
  if (size < 2) return {};
  const network::Fabric& fabric = experiment_.fabric;
  const std::int64_t in_node = std::min<std::int64_t>(fabric.dimensions().front().size, grid.ranks());
  std::map<std::int64_t, std::vector<DeviceId>> groups;  // those with a device of the first node
  for (std::int64_t rank = 0; rank < in_node; ++rank) groups[grid.group_of(family, grid.place(rank))];
  std::size_t missing = groups.size() * static_cast<std::size_t>(size);
  for (std::int64_t rank = 0; missing > 0 && rank < grid.ranks(); ++rank)
    if (const auto group = groups.find(grid.group_of(family, grid.place(rank))); group != groups.end()) {
      group->second.push_back(placement_[static_cast<std::size_t>(rank)]);
      --missing;
    }
  std::vector<const collectives::GroupShape*> shapes;
  for (const auto& [number, devices] : groups) {
    if (!fabric.has_nodes_alike() &&
        network::node_of(fabric, devices.front()) != network::node_of(fabric, devices.back()))
      return {};
    const auto [shape, is_new] = shapes_.try_emplace(devices);
    if (is_new) shape->second = system::lay_out_group(devices, fabric).shape;
    shapes.push_back(&shape->second);
  }
  return shapes;
}

Duration PlanBounds::least_collective(std::span<const collectives::GroupShape* const> shapes, CollectiveKind kind,
                                      Bytes bytes) const {
  if (shapes.empty()) return {};
  double least = std::numeric_limits<double>::infinity();
  for (const collectives::GroupShape* shape : shapes)
    least = std::min(least, kWithoutRounding * experiment_.nccl->choice(kind, bytes, *shape).seconds);
  constexpr double kPicoseconds = 1e12;
  return least * kPicoseconds < static_cast<double>(Duration::max().count())
             ? Duration(std::llround(least * kPicoseconds))
             : Duration::max();
}

}  // namespace orrery::study
