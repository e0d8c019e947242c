// SPDX-License-Identifier: MIT
#include "study/search/filling.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace orrery::study {
namespace {

// Numbers of ranks below that of the devices with which packed plans may fill all nodes.
std::set<std::int64_t> packed_ranks(const experiment::Experiment& experiment) {
  const workload::TrainingSpec& training = *experiment.jobs.front().workload.training;
  const workload::TransformerSpec* model = training.transformer();
  std::set<std::int64_t> ranks;
  if (experiment.placement.kind != experiment::PlacementKind::kPacked || !experiment.fabric.is_of_nodes()) return ranks;
  const std::int64_t devices = experiment.fabric.device_count();
  const std::int64_t per_node = experiment.fabric.dimensions().front().size;
  for (std::int64_t block = 2; model != nullptr && model->experts > 0 && block < per_node; ++block) {
    const std::int64_t of_node = per_node / block * block;
    if (model->experts % block == 0 && of_node < per_node && of_node * 4 >= per_node * 3)
      ranks.insert(devices / per_node * of_node);
  }
  if (training.parallel.ranks() < devices && fills(experiment, training.parallel))
    ranks.insert(training.parallel.ranks());
  return ranks;
}

}  // namespace

bool fills(const experiment::Experiment& experiment, const workload::Parallelism& parallel) {
  const std::int64_t devices = experiment.fabric.device_count();
  if (parallel.ranks() == devices) return true;
  const std::optional<experiment::Packing> packing = experiment::packing_of(experiment, parallel);
  return packing && devices / packing->per_node * packing->of_node == parallel.ranks();
}

std::vector<Plan> filling_plans(const experiment::Experiment& experiment, const PlanRanges& ranges) {
  const workload::TrainingSpec& training = *experiment.jobs.front().workload.training;
  std::vector<Plan> plans = all_plans(training, experiment.fabric.device_count(), ranges);
  for (const std::int64_t ranks : packed_ranks(experiment)) {
    std::vector<Plan> packed = all_plans(training, ranks, ranges);
    std::pair<Plan, bool> last{};  // degrees of the plan before, and whether it fills: neighbours have the same
    last.first[PlanKey::kTensor] = 0;
    std::erase_if(packed, [&](const Plan& plan) {
      Plan degrees;
      for (const PlanKey key :
           {PlanKey::kTensor, PlanKey::kPipeline, PlanKey::kContext, PlanKey::kData, PlanKey::kExpert})
        degrees[key] = plan[key];
      if (degrees != last.first) last = {degrees, fills(experiment, with_plan(training, plan).parallel)};
      return !last.second;
    });
    std::ranges::move(packed, std::back_inserter(plans));
  }
  return plans;
}

}  // namespace orrery::study
