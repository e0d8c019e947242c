// SPDX-License-Identifier: MIT
#include "study/search/bound.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "system/plans/group_library.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/program/rank_grid.h"

namespace orrery::study {
namespace {

// Closed forms and simulations may differ by rounding, not by more.
constexpr double kSurely = 0.999;

bool is_power_of_two(std::int64_t number) { return std::has_single_bit(static_cast<std::uint64_t>(number)); }

// Whether the groups of a family lie alike on the nodes: they begin anywhere in a node, but at whole multiples.
bool are_groups_alike(const workload::Parallelism& parallel) {
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
                          is_power_of_two(fabric.device_count()) && is_power_of_two(fabric.dimensions().front().size);
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
  const bool are_alike = !placement_.empty() && are_groups_alike(training.parallel);
  std::map<std::tuple<workload::GroupFamily, CollectiveKind, std::int64_t>, Duration> known;
  bound.time =
      workload::least_iteration(requests, times, [&](workload::GroupFamily family, CollectiveKind kind, Bytes bytes) {
        if (!are_alike) return Duration{};
        const auto [found, is_new] = known.try_emplace({family, kind, bytes.count()});
        if (is_new) found->second = least_collective(training, requests.grid(), family, kind, bytes);
        return found->second;
      });
  return bound;
}

Duration PlanBounds::least_collective(const workload::TrainingSpec& training, const workload::RankGrid& grid,
                                      workload::GroupFamily family, CollectiveKind kind, Bytes bytes) {
  // Libraries of their own dispatch tokens; and uneven shares are what the fullest rank has, not all.
  if (family == workload::GroupFamily::kExpert &&
      (training.experts.dispatch.kind != DispatchKind::kAllToAll || training.parallel.expert_skew > 0))
    return {};
  const std::int64_t size = grid.group_size(family);
  if (size < 2) return {};
  const std::int64_t group = grid.group_of(family, grid.place(0));
  std::vector<DeviceId> devices;
  for (std::int64_t rank = 0; static_cast<std::int64_t>(devices.size()) < size; ++rank)
    if (grid.group_of(family, grid.place(rank)) == group) devices.push_back(placement_[static_cast<std::size_t>(rank)]);
  const auto [shape, is_new] = shapes_.try_emplace(devices);
  if (is_new) shape->second = system::lay_out_group(devices, experiment_.fabric).shape;
  const double least = kSurely * experiment_.nccl->choice(kind, bytes, shape->second).seconds;
  constexpr double kPicoseconds = 1e12;
  return least * kPicoseconds < static_cast<double>(Duration::max().count())
             ? Duration(std::llround(least * kPicoseconds))
             : Duration::max();
}

}  // namespace orrery::study
