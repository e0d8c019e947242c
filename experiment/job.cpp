// SPDX-License-Identifier: MIT
#include "experiment/job.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "system/devices/operator_model.h"
#include "system/plans/involved_dimensions.h"

namespace orrery::experiment {
namespace {

// The most replicas that the cluster has room for and nothing else speaks against; none if that is no more than there
// are.
std::optional<std::int64_t> more_replicas(const workload::TrainingSpec& training, std::int64_t devices) {
  const workload::Parallelism& parallel = training.parallel;
  const std::int64_t servers = parallel.ranks() - parallel.workers();
  const std::int64_t of_replica = parallel.workers() / parallel.data();
  workload::TrainingSpec other = training;
  std::int64_t& data = other.parallel.degrees[static_cast<std::size_t>(workload::ParallelDimension::kData)];
  for (data = (devices - servers) / of_replica; data > parallel.data(); --data) {
    if (training.global_batch % (data * training.micro_batch) != 0) continue;
    Diagnostics problems;
    workload::check_training(other, devices, problems);
    if (!problems.has_errors()) return data;
  }
  return std::nullopt;
}

std::string use_of_all(const Experiment& experiment, std::int64_t ranks, std::int64_t devices) {
  if (const auto& training = experiment.workload.training) {
    const std::int64_t of_replica = training->parallel.workers() / training->parallel.data();
    const std::int64_t servers = training->parallel.ranks() - training->parallel.workers();
    if (const auto data = more_replicas(*training, devices)) {
      const std::int64_t used = *data * of_replica + servers;
      if (used == devices) return fmt::format("workload.parallel.data: {}, or rest, uses all of them", *data);
      return fmt::format("workload.parallel.data: {} uses {} of them", *data, used);
    }
  }
  const ConfigEntry* nodes = experiment.resolved.find("nodes");
  const auto given = nodes == nullptr ? std::nullopt : parse_whole_number(nodes->value.scalar);
  if (given && devices % *given == 0) {
    const std::int64_t of_node = devices / *given;
    const std::int64_t needed = (ranks + of_node - 1) / of_node;
    if (needed < *given) return fmt::format("nodes: {} is as much as the job needs", needed);
  }
  return experiment.workload.training ? "raise workload.parallel.data or another degree, or take a smaller cluster"
                                      : "take a smaller cluster, or traces of as many ranks";
}

// Says so where devices of the cluster have nothing to do, as when `data` was forgotten.
void warn_of_idle_devices(const Experiment& experiment, std::int64_t ranks, Diagnostics& diagnostics) {
  const std::int64_t devices = experiment.fabric.device_count();
  if (ranks >= devices) return;
  const auto& training = experiment.workload.training;
  diagnostics.warning(training ? training->where : Location{experiment.file},
                      fmt::format("the job has {}: {} of the cluster's {} devices have nothing to do",
                                  counted(static_cast<std::uint64_t>(ranks), "rank"), devices - ranks, devices),
                      use_of_all(experiment, ranks, devices));
}

std::vector<std::uint32_t> types_of(const Experiment& experiment, std::span<const DeviceId> placement) {
  std::vector<std::uint32_t> types;
  for (const DeviceId device : placement) types.push_back(experiment.fabric.type_of(device));
  return types;
}

}  // namespace

std::string model_text(const workload::ModelSpec& model) {
  return fmt::format("{} of {} parameters", model.name.empty() ? "model" : printable(model.name),
                     rounded_count(workload::parameter_count(model)));
}

ExperimentJob load_experiment_job(const Experiment& experiment, Diagnostics& diagnostics,
                                  const workload::LoadProgress& progress, workload::Loops loops) {
  const auto placed = [&](const workload::Job& job) {
    warn_of_idle_devices(experiment, static_cast<std::int64_t>(job.ranks.size()), diagnostics);
    return place_ranks(experiment.placement, static_cast<std::uint32_t>(job.ranks.size()), experiment.fabric);
  };
  if (!experiment.workload.training) {
    workload::Job job = workload::load_chakra_job(experiment.workload.trace, diagnostics, progress);
    std::vector<DeviceId> placement = placed(job);
    system::split_by_dimensions(job, experiment.fabric, placement, experiment.simulation.collectives, experiment.file,
                                diagnostics);
    return {std::move(job), {}, std::move(placement)};
  }
  const workload::TrainingSpec& training = *experiment.workload.training;
  std::vector<workload::TrainingJob> of_types;
  for (const system::DeviceSpec& device : experiment.devices) {
    const system::OperatorModel times(device, training.software.rates_on(device.architecture));
    of_types.push_back(workload::generate_job(training, times, loops));
  }
  std::vector<DeviceId> placement = placed(of_types.front().job);
  workload::TrainingJob generated = of_types.size() == 1
                                        ? std::move(of_types.front())
                                        : workload::join_types(std::move(of_types), types_of(experiment, placement));
  return {std::move(generated.job), std::move(generated.facts), std::move(placement)};
}

}  // namespace orrery::experiment
