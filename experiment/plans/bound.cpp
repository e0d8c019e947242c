// SPDX-License-Identifier: MIT
#include "experiment/plans/bound.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "system/plans/group_library.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/program/rank_grid.h"

namespace orrery::experiment {
namespace {

// Closed forms and simulations differ by rounding, and by less than this.
constexpr double kWithoutRounding = 0.999;

// Replicas whose pipelines are examined: the first few, whose groups may lie across nodes one after the other, and some
// that are evenly spread.
std::set<std::int64_t> replicas_to_look_at(std::int64_t replicas) {
  std::set<std::int64_t> chosen;
  for (const std::int64_t first : {0, 1, 2, 3}) chosen.insert(std::min<std::int64_t>(first, replicas - 1));
  for (const std::int64_t quarter : {1, 2, 3}) chosen.insert(quarter * replicas / 4);
  chosen.insert(replicas - 1);
  return chosen;
}

// True if ranks call groups of the family, other than at the start.
bool calls(const workload::TrainingSpec& training, workload::GroupFamily family) {
  const workload::TransformerSpec* model = training.transformer();
  const bool has_experts = model != nullptr && model->experts > 0;
  switch (family) {
    case workload::GroupFamily::kExpert:
      // Libraries of their own dispatch tokens; and uneven shares are what the fullest rank has, not all.
      return has_experts && training.experts.dispatch.kind == DispatchKind::kAllToAll &&
             training.parallel.expert_skew == 0;
    case workload::GroupFamily::kExpertData:
    case workload::GroupFamily::kExpertShard:
    case workload::GroupFamily::kExpertReplicate:
      return has_experts;
    case workload::GroupFamily::kEmbedding:
      return training.model_ties_stages();
    case workload::GroupFamily::kWorld:
      return model == nullptr;
    default:
      return true;
  }
}

// The faster of two rates; one that is not known takes no time.
std::optional<Bandwidth> faster(const std::optional<Bandwidth>& one, const std::optional<Bandwidth>& other) {
  return one && other ? std::max(one, other) : std::nullopt;
}

// Rates of the fastest host of all types of devices, each on its own; the capacity of the smallest.
workload::HostMemory best_host(std::span<const system::DeviceSpec> devices) {
  workload::HostMemory host = devices.front().host;
  for (const system::DeviceSpec& device : devices.subspan(1)) {
    host.to_device = faster(host.to_device, device.host.to_device);
    host.from_device = faster(host.from_device, device.host.from_device);
    host.update = faster(host.update, device.host.update);
    if (device.host.capacity) host.capacity = std::min(host.capacity.value_or(Bytes::max()), *device.host.capacity);
  }
  return host;
}

bool may_exchange(workload::GroupFamily family) {
  using enum workload::GroupFamily;
  return family == kContext || family == kContextInner || family == kExpert || family == kWorld;
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

PlanBounds::PlanBounds(const Experiment& experiment) : experiment_(experiment), host_(best_host(experiment.devices)) {
  const workload::TrainingSpec& training = *experiment.jobs.front().workload.training;
  for (const system::DeviceSpec& device : experiment.devices)
    models_.emplace_back(device, training.software.rates_on(device.architecture));
  placement_of(training.parallel);  // which may be an error
}

std::span<const DeviceId> PlanBounds::placement_of(const workload::Parallelism& parallel) {
  const network::Fabric& fabric = experiment_.fabric;
  const std::optional<Packing> packing = packing_of(experiment_, parallel);
  const auto [known, is_new] = placements_.try_emplace(packing ? packing->of_node : 0);
  if (is_new && experiment_.nccl != nullptr && fabric.is_steady()) {
    Placement placement = experiment_.placement;
    std::uint32_t ranks = fabric.device_count();
    if (packing) placement.of_node = packing->of_node, ranks = ranks / packing->per_node * packing->of_node;
    known->second = place_ranks(placement, ranks, fabric);
  }
  return known->second;
}

PlanBounds::Bound PlanBounds::of(const workload::TrainingSpec& plan, Bytes most) {
  const FastestDevice times(models_);
  workload::TrainingSpec training = plan;
  training.offload.host = host_;
  const workload::StageRequests requests(training, times);
  Bound bound;
  for (const workload::MemoryNeed& need : workload::memory_needs(training, requests)) {
    bound.memory = std::max(bound.memory, need.total());
    bound.in_use = std::max(bound.in_use, need.in_use());
    bound.host = std::max(bound.host, need.host);
  }
  if (bound.memory > most || experiment_.simulation.perturbation.disturbs_ranks()) return bound;
  const auto least = [&](std::uint32_t groups, workload::GroupFamily family, CollectiveKind kind, Bytes bytes) {
    const collectives::GroupShape* shape = groups_[groups][static_cast<std::size_t>(family)];
    return shape == nullptr ? Duration{} : least_collective(*shape, kind, bytes);
  };
  placement_ = placement_of(training.parallel);
  for (const workload::PipelineRanks& ranks : pipelines_of(training, requests))
    bound.time = std::max(bound.time, workload::least_iteration(requests, times, ranks, least));
  return bound;
}

std::vector<workload::PipelineRanks> PlanBounds::pipelines_of(const workload::TrainingSpec& training,
                                                              const workload::StageRequests& requests) {
  const workload::RankGrid& grid = requests.grid();
  const workload::Parallelism& parallel = training.parallel;
  const std::vector<std::uint32_t> programs =
      requests.loads() > 1 ? workload::programs_of_ranks(training) : std::vector<std::uint32_t>{};
  std::vector<workload::PipelineRanks> pipelines;
  for (const std::int64_t replica : replicas_to_look_at(parallel.context() * parallel.data())) {
    workload::PipelineRanks ranks;
    workload::RankGrid::Place place{};
    place[static_cast<std::size_t>(workload::ParallelDimension::kContext)] = replica % parallel.context();
    place[static_cast<std::size_t>(workload::ParallelDimension::kData)] = replica / parallel.context();
    if (!programs.empty()) ranks.load = programs[static_cast<std::size_t>(grid.rank_at(place))] % requests.loads();
    for (std::int64_t stage = 0; stage < parallel.depth(); ++stage) {
      place[static_cast<std::size_t>(workload::ParallelDimension::kPipeline)] = stage;
      ranks.groups.push_back(groups_of(training, grid, place));
    }
    const auto is_like = [&](const workload::PipelineRanks& other) {
      return other.groups == ranks.groups && other.load == ranks.load;
    };
    if (std::ranges::none_of(pipelines, is_like)) pipelines.push_back(std::move(ranks));
  }
  return pipelines;
}

std::uint32_t PlanBounds::groups_of(const workload::TrainingSpec& training, const workload::RankGrid& grid,
                                    const workload::RankGrid::Place& place) {
  Groups groups{};
  for (std::size_t i = 0; i < groups.size() && !placement_.empty(); ++i) {
    const auto family = static_cast<workload::GroupFamily>(i);
    if (calls(training, family) && grid.group_size(family) > 1) groups[i] = shape_of(grid, family, place);
  }
  const auto [number, is_new] = numbers_.try_emplace(groups, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back(groups);
  return number->second;
}

const collectives::GroupShape* PlanBounds::shape_of(const workload::RankGrid& grid, workload::GroupFamily family,
                                                    const workload::RankGrid::Place& place) {
  std::vector<DeviceId> devices;
  for (const RankId member : grid.members(family, place)) devices.push_back(placement_[index_of(member)]);
  if (devices.size() < 2) return nullptr;
  const network::Fabric& fabric = experiment_.fabric;
  std::vector<std::uint32_t> key;
  if (auto congruence = fabric.congruence(devices)) {
    key = std::move(*congruence);
    if (fabric.type_count() > 1)
      for (const DeviceId device : devices) key.push_back(fabric.type_of(device));
  } else {
    for (const DeviceId device : devices) key.push_back(index_of(device));
  }
  const auto [known, is_new] = layouts_.try_emplace({std::move(key), may_exchange(family)});
  if (is_new)
    known->second = &*shapes_.insert(experiment_.nccl->layout(devices, fabric, may_exchange(family)).shape).first;
  return known->second;
}

Duration PlanBounds::least_collective(const collectives::GroupShape& shape, CollectiveKind kind, Bytes bytes) {
  const auto [known, is_new] = collectives_.try_emplace({&shape, kind, bytes.count()});
  if (!is_new) return known->second;
  constexpr double kPicoseconds = 1e12;
  const double least = kWithoutRounding * experiment_.nccl->choice(kind, bytes, shape).seconds * kPicoseconds;
  known->second =
      least < static_cast<double>(Duration::max().count()) ? Duration(std::llround(least)) : Duration::max();
  return known->second;
}

}  // namespace orrery::experiment
