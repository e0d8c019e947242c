// SPDX-License-Identifier: MIT
#include "experiment/plans/bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <type_traits>
#include <variant>

#include "system/plans/group_library.h"
#include "workload/training/program/expert_loads.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/program/rank_grid.h"

namespace orrery::experiment {
namespace {

// Closed forms and simulations differ by rounding, and by less than this.
constexpr double kWithoutRounding = 0.999;
// An odd number with bits all over: the fraction of the golden ratio.
constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;

// Replicas whose pipelines are examined: the first few, whose groups may lie across nodes one after the other, and some
// that are evenly spread.
std::set<std::int64_t> replicas_to_look_at(std::int64_t replicas) {
  std::set<std::int64_t> chosen;
  for (const std::int64_t first : {0, 1, 2, 3}) chosen.insert(std::min<std::int64_t>(first, replicas - 1));
  for (const std::int64_t quarter : {1, 2, 3}) chosen.insert(quarter * replicas / 4);
  chosen.insert(replicas - 1);
  return chosen;
}

// True if a rank calls groups of the family, other than at the start, with no less than others of the group.
// `is_fullest`: its experts have no less to do than others.
bool calls(const workload::TrainingSpec& training, workload::GroupFamily family, bool is_fullest) {
  const workload::TransformerSpec* model = training.transformer();
  const bool has_experts = model != nullptr && model->experts > 0;
  switch (family) {
    case workload::GroupFamily::kExpert:
      // Libraries of their own dispatch tokens; and a call takes as long as that of the fullest rank.
      return has_experts && training.experts.dispatch.kind == DispatchKind::kAllToAll && is_fullest;
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

// Load of the experts of each replica's first rank, by StageRequests::loads().
template <typename PlaceOf>
std::vector<std::size_t> loads_of(const workload::TrainingSpec& training, const workload::RankGrid& grid,
                                  std::size_t loads, std::int64_t replicas, const PlaceOf& place_of) {
  std::vector<std::size_t> of_replica(static_cast<std::size_t>(replicas));
  if (loads == 1) return of_replica;
  const std::vector<std::uint32_t> programs = workload::programs_of_ranks(training);
  for (std::int64_t replica = 0; replica < replicas; ++replica)
    of_replica[static_cast<std::size_t>(replica)] =
        programs[static_cast<std::size_t>(grid.rank_at(place_of(replica)))] % loads;
  return of_replica;
}

bool may_exchange(workload::GroupFamily family) {
  using enum workload::GroupFamily;
  return family == kContext || family == kContextInner || family == kExpert || family == kWorld;
}

}  // namespace

std::size_t PlanBounds::OperatorHash::operator()(const workload::Operator& op) const {
  std::uint64_t hash = op.index();
  const auto add = [&](std::int64_t value) { hash = (std::rotl(hash, 23) ^ static_cast<std::uint64_t>(value)) * kMix; };
  std::visit(
      [&](const auto& one) {
        using Kind = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Kind, workload::Gemm>)
          add(one.m), add(one.n), add(one.k), add(one.batch);
        else if constexpr (std::is_same_v<Kind, workload::FlashAttention>)
          add(one.batch), add(one.queries), add(one.keys), add(one.head_size);
        else
          add(static_cast<std::int64_t>(one.kind)), add(one.bytes.count());
      },
      op);
  return hash ^ hash >> 32;
}

class PlanBounds::FastestDevice final : public workload::OperatorTimes {
 public:
  explicit FastestDevice(PlanBounds& bounds) : models_(bounds.models_), known_(bounds.operators_) {}

  Duration time(const workload::Operator& op) const override {
    const auto [known, is_new] = known_.try_emplace(op);
    if (!is_new) return known->second;
    Duration least = models_.front().time(op);
    for (const system::OperatorModel& model : models_.subspan(1)) least = std::min(least, model.time(op));
    return known->second = least;
  }
  std::int64_t processors() const override { return models_.front().processors(); }

 private:
  const std::span<const system::OperatorModel> models_;
  std::unordered_map<workload::Operator, Duration, OperatorHash>& known_;
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

workload::TrainingSpec PlanBounds::with_best_host(const workload::TrainingSpec& plan) const {
  workload::TrainingSpec training = plan;
  training.offload.host = host_;
  return training;
}

workload::LeastCollective PlanBounds::collectives() {
  return [this](std::uint32_t groups, workload::GroupFamily family, CollectiveKind kind, Bytes bytes) {
    const collectives::GroupShape* shape = groups_[groups][static_cast<std::size_t>(family)];
    return shape == nullptr ? Duration{} : least_collective(*shape, kind, bytes);
  };
}

PlanBounds::Bound PlanBounds::of(const workload::TrainingSpec& plan, Bytes most) {
  const FastestDevice times(*this);
  const workload::TrainingSpec training = with_best_host(plan);
  const workload::StageRequests requests(training, times);
  Bound bound;
  for (const workload::MemoryNeed& need : workload::memory_needs(training, requests)) {
    bound.memory = std::max(bound.memory, need.total());
    bound.in_use = std::max(bound.in_use, need.in_use());
    bound.host = std::max(bound.host, need.host);
  }
  if (bound.memory > most || experiment_.simulation.perturbation.disturbs_ranks()) return bound;
  const workload::LeastCollective least = collectives();
  for (const Pipeline& pipeline : pipelines_of(training, requests))
    bound.time = std::max(bound.time, workload::least_iteration(requests, times, pipeline.ranks, least));
  return bound;
}

// One pipeline is enough: the one that has the most to do.
Duration PlanBounds::refined(const workload::TrainingSpec& plan, Duration least) {
  if (experiment_.simulation.perturbation.disturbs_ranks()) return least;
  const FastestDevice times(*this);
  const workload::TrainingSpec training = with_best_host(plan);
  const workload::StageRequests requests(training, times);
  const Pipeline* fullest = nullptr;
  Duration most{-1};
  for (const Pipeline& pipeline : pipelines_of(training, requests))
    if (const Duration time = workload::least_iteration(requests, times, pipeline.ranks, collectives()); time > most)
      most = time, fullest = &pipeline;
  const auto messages = [&](std::size_t from, std::size_t to, Bytes bytes) {
    const std::vector<DeviceId>& devices = fullest->devices;
    return devices.empty() ? workload::LeastMessage{} : message(devices[from], devices[to], bytes);
  };
  return std::max(least, workload::least_pipeline(requests, times, fullest->ranks, collectives(), messages));
}

workload::LeastMessage PlanBounds::message(DeviceId from, DeviceId to, Bytes bytes) const {
  const network::Fabric& fabric = experiment_.fabric;
  const Duration latency = network::route_latency(fabric, from, to);
  const bool is_same_node = network::node_of(fabric, from) == network::node_of(fabric, to);
  const system::PointToPoint sent = experiment_.nccl->point_to_point(bytes, is_same_node, latency);
  std::vector<LinkId> route;
  fabric.route(from, to, route);
  Duration transfer{};
  for (const LinkId link : route) transfer = std::max(transfer, sent.bytes / fabric.link(link).bandwidth);
  return {sent.latency + Duration(static_cast<std::int64_t>(kWithoutRounding * static_cast<double>(transfer.count()))),
          latency};
}

// Plans that differ in micro-batches, recomputation and the like have the same groups.
PlanBounds::Layout PlanBounds::layout_of(const workload::TrainingSpec& training, std::size_t loads) {
  const auto& [degrees, order, expert, expert_tensor, skew, seed, sequence, zero, shard, context_kind, balance, inner,
               node_devices, exchange, servers, asynchronous, both_ways] = training.parallel;
  Layout layout = {expert,
                   expert_tensor,
                   std::bit_cast<std::int64_t>(skew),
                   static_cast<std::int64_t>(seed),
                   zero,
                   shard,
                   static_cast<std::int64_t>(context_kind),
                   inner,
                   node_devices,
                   both_ways ? 1 : 0,
                   static_cast<std::int64_t>(loads)};
  layout.insert(layout.end(), degrees.begin(), degrees.end());
  for (const workload::ParallelDimension dimension : order) layout.push_back(static_cast<std::int64_t>(dimension));
  for (std::size_t i = 0; i < workload::kGroupFamilyCount; ++i)
    layout.push_back(calls(training, static_cast<workload::GroupFamily>(i), true) ? 1 : 0);
  return layout;
}

const std::vector<PlanBounds::Pipeline>& PlanBounds::pipelines_of(const workload::TrainingSpec& training,
                                                                  const workload::StageRequests& requests) {
  const auto [known, is_new] = pipelines_.try_emplace(layout_of(training, requests.loads()));
  if (is_new) {
    placement_ = placement_of(training.parallel);
    known->second = make_pipelines(training, requests);
  }
  return known->second;
}

std::vector<PlanBounds::Pipeline> PlanBounds::make_pipelines(const workload::TrainingSpec& training,
                                                             const workload::StageRequests& requests) {
  const workload::RankGrid& grid = requests.grid();
  const workload::Parallelism& parallel = training.parallel;
  const auto place_of = [&](std::int64_t replica) {
    workload::RankGrid::Place place{};
    place[static_cast<std::size_t>(workload::ParallelDimension::kContext)] = replica % parallel.context();
    place[static_cast<std::size_t>(workload::ParallelDimension::kData)] = replica / parallel.context();
    return place;
  };
  const std::int64_t replicas = parallel.context() * parallel.data();
  const std::vector<std::size_t> loads = loads_of(training, grid, requests.loads(), replicas, place_of);
  std::set<std::int64_t> chosen = replicas_to_look_at(replicas);
  const std::vector<double> shares = workload::expert_loads(training);
  const auto fullest = static_cast<std::size_t>(std::ranges::max_element(shares) - shares.begin());
  if (const auto first = std::ranges::find(loads, fullest); first != loads.end()) chosen.insert(first - loads.begin());
  std::vector<Pipeline> pipelines;
  for (const std::int64_t replica : chosen) {
    Pipeline pipeline;
    workload::RankGrid::Place place = place_of(replica);
    pipeline.ranks.load = loads[static_cast<std::size_t>(replica)];
    // The other half of a pipeline both ways may have other loads.
    const std::int64_t stages = requests.loads() > 1 ? parallel.depth() : parallel.pipeline();
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      place[static_cast<std::size_t>(workload::ParallelDimension::kPipeline)] = stage;
      pipeline.ranks.groups.push_back(groups_of(training, grid, place, pipeline.ranks.load == fullest));
      if (!placement_.empty()) pipeline.devices.push_back(placement_[static_cast<std::size_t>(grid.rank_at(place))]);
    }
    if (std::ranges::none_of(pipelines, [&](const Pipeline& other) { return other.is_like(pipeline); }))
      pipelines.push_back(std::move(pipeline));
  }
  return pipelines;
}

std::uint32_t PlanBounds::groups_of(const workload::TrainingSpec& training, const workload::RankGrid& grid,
                                    const workload::RankGrid::Place& place, bool is_fullest) {
  Groups groups{};
  for (std::size_t i = 0; i < groups.size() && !placement_.empty(); ++i) {
    const auto family = static_cast<workload::GroupFamily>(i);
    if (calls(training, family, is_fullest) && grid.group_size(family) > 1) groups[i] = shape_of(grid, family, place);
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
