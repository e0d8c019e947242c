// SPDX-License-Identifier: MIT
#include "experiment/several_jobs.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "report/passes/passes.h"
#include "workload/matching/matching.h"

namespace orrery::experiment {
namespace {

// "gpt3-13b of 12.9 B parameters, megatron-2022, plain attention".
std::string job_text(const workload::TrainingSpec& training) {
  const std::string name = fmt::format("{}, {}", model_text(training.model), printable(training.software.name));
  if (training.transformer() == nullptr) return name;
  return fmt::format("{}, {} attention", name,
                     workload::attention_of(training) == workload::AttentionKind::kFlash ? "flash" : "plain");
}

// "tensor 4, data 8 (fills the devices), ZeRO 1 (default of megatron-2024); 1 micro-batch of 8, the largest that fits".
std::string plan_text(const workload::TrainingSpec& training) {
  const workload::Parallelism& parallel = training.parallel;
  const std::string by_default = fmt::format(" (default of {})", printable(training.software.name, 40));
  std::vector<std::string> parts;
  for (const auto dimension : {workload::ParallelDimension::kTensor, workload::ParallelDimension::kContext,
                               workload::ParallelDimension::kPipeline, workload::ParallelDimension::kData})
    if (parallel.degree(dimension) > 1)
      parts.push_back(fmt::format("{} {}", workload::name_of(dimension), parallel.degree(dimension)));
  if (training.fills_devices && parallel.data() > 1) parts.back() += " (fills the devices)";
  if (parallel.expert > 1) parts.push_back(fmt::format("expert {}", parallel.expert));
  if (parallel.zero > 0 && parallel.replicas() > 1)
    parts.push_back(fmt::format("ZeRO {}{}", parallel.zero, training.is_by_software.zero ? by_default : ""));
  if (parallel.sequence)
    parts.push_back(fmt::format("sequence parallelism{}", training.is_by_software.sequence ? by_default : ""));
  std::string text =
      fmt::format("{}{}{} micro-batch{} of {}", fmt::join(parts, ", "), parts.empty() ? "" : "; ",
                  training.micro_batches(), training.micro_batches() == 1 ? "" : "es", training.micro_batch);
  const bool could_be_larger = training.global_batch / parallel.data() > 1 && parallel.pipeline() == 1;
  if (training.chooses_micro_batch && could_be_larger)
    text += training.micro_batch == 1 ? ", as nothing larger fits" : ", the largest that fits";
  return text;
}

std::string workload_text(const WorkloadSource& workload) {
  if (workload.training) return job_text(*workload.training);
  return workload.call ? call_text(*workload.call) : "traces";
}

// The mean over devices: of all the same, that.
template <class Figure, class FigureOf>
Figure mean(std::span<const DeviceId> devices, const FigureOf& figure_of) {
  Int128 sum = 0;
  for (const DeviceId device : devices) sum += figure_of(device).count();
  return Figure(static_cast<std::int64_t>(sum / static_cast<Int128>(devices.size())));
}

report::DevicesInUse devices_in_use(const Experiment& experiment, const ExperimentJob& job, Precision precision) {
  const std::span<const DeviceId> placement = job.placement;
  const auto peak = [&](DeviceId device) { return experiment.device_of(device).peak(precision).value_or(FlopRate(1)); };
  report::DevicesInUse devices;
  devices.count = experiment.fabric.device_count();
  devices.peak = mean<FlopRate>(placement.first(static_cast<std::size_t>(job.training->workers)), peak);
  std::vector<DeviceId> all;
  for (std::uint32_t device = 0; device < devices.count; ++device) all.push_back(DeviceId(device));
  devices.peak_of_all = mean<FlopRate>(all, peak);
  for (const workload::ProgramMemory& program : job.training->memory) {
    const DeviceId device = placement[index_of(program.first_rank) - job.first_rank];
    devices.capacities.push_back(experiment.device_of(device).memory_capacity);
  }
  if (std::ranges::all_of(placement, [&](DeviceId device) { return experiment.device_of(device).power.has_value(); }))
    devices.power = mean<Power>(placement, [&](DeviceId device) { return *experiment.device_of(device).power; });
  return devices;
}

// Options of one job by itself, cut from those of all jobs.
system::SimulationOptions part_of(const system::SimulationOptions& options, const ExperimentJob& job,
                                  const WorkloadSource& workload) {
  system::SimulationOptions part = options;
  part.compute_by_graph.assign(job.job.graphs.size(), workload.compute);
  part.perturbation = system::part_of(options.perturbation, job.first_rank, job.job.ranks.size());
  return part;
}

// All iterations of a job: what comes before the first does not count.
Duration time_of(Duration start, Duration initial, Time finish) {
  return finish.time_since_epoch() - std::max(start, initial);
}

struct Alone {
  Duration iterations{};
  std::vector<network::LinkUsage> links;
};

Alone simulate_alone(const Experiment& experiment, const JobSource& source, const ExperimentJob& job,
                     const system::SimulationOptions& options, const system::SimulationProgress& progress) {
  const workload::Matching matching = workload::match(job.job);
  report::OperationLog log(job.job.ranks.size(), report::initial_nodes(job.job));
  system::Simulation simulation({job.job, matching, experiment.fabric, experiment.devices, job.placement}, options,
                                network_of(experiment), log);
  const system::SimulationTotals totals = simulation.run(progress);
  return {time_of(source.start, report::initial_time(job.job, totals.acting, log), totals.finish),
          simulation.link_usage()};
}

report::JobFigures place_of(const Experiment& experiment, const JobSource& source, const ExperimentJob& job) {
  report::JobFigures figures;
  figures.name = source.name;
  std::set<std::uint32_t> nodes;
  for (std::size_t rank = 0; rank < job.placement.size(); ++rank) {
    figures.ranks.push_back(job.first_rank + rank);
    figures.devices.push_back(index_of(job.placement[rank]));
    nodes.insert(network::node_of(experiment.fabric, job.placement[rank]));
  }
  std::ranges::sort(figures.devices);
  figures.nodes = nodes.size();
  figures.workload = workload_text(source.workload);
  return figures;
}

}  // namespace

system::SimulationOptions simulation_options(const Experiment& experiment, std::span<const ExperimentJob> jobs) {
  system::SimulationOptions options = experiment.simulation;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobSource& source = experiment.jobs[i];
    options.compute_by_graph.insert(options.compute_by_graph.end(), jobs[i].job.graphs.size(), source.workload.compute);
    if (source.start == Duration::zero()) continue;
    for (std::uint32_t rank = 0; rank < jobs[i].job.ranks.size(); ++rank) {
      Duration& start = options.perturbation.ranks[RankId(jobs[i].first_rank + rank)].start;
      start = std::max(start, source.start);
    }
  }
  return options;
}

report::TrainingFigures figures_of(const Experiment& experiment, const WorkloadSource& workload,
                                   const ExperimentJob& job, Duration iterations,
                                   const system::SimulationTotals& totals, const report::OperationLog* log) {
  const workload::TrainingSpec& training = *workload.training;
  const report::DevicesInUse devices = devices_in_use(experiment, job, workload.compute.precision);
  report::TrainingFigures figures = report::training_figures(*job.training, devices, iterations);
  figures.job = job_text(training);
  figures.plan = plan_text(training);
  figures.has_measured_kernels =
      std::ranges::any_of(experiment.devices, [](const auto& device) { return !device.measured.empty(); });
  if (figures.has_measured_kernels)
    figures.job += fmt::format(", {} of its kernels' time by measured kernels", percent(measured_share(figures), 0));
  if (log != nullptr) {
    figures.bubble = report::bubble_figures({job.job, job.first_rank, *job.training, 0, *log, totals.acting});
    figures.ages = report::weight_ages(*job.training, totals, *log);
  }
  figures.run = report::training_run(training, *job.training, static_cast<std::size_t>(training.parallel.ranks()),
                                     devices.power, iterations / job.training->iterations);
  return figures;
}

void add_jobs(const Experiment& experiment, std::span<const ExperimentJob> jobs, const workload::Job& whole,
              const system::SimulationTotals& totals, const report::OperationLog& log, bool has_passes,
              report::Result& result, const system::SimulationProgress& progress) {
  const system::SimulationOptions options = simulation_options(experiment, jobs);
  std::vector<std::vector<network::LinkUsage>> usage;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobSource& source = experiment.jobs[i];
    const ExperimentJob& job = jobs[i];
    Alone alone = simulate_alone(experiment, source, job, part_of(options, job, source.workload), progress);
    usage.push_back(std::move(alone.links));
    const std::size_t ranks = job.job.ranks.size();
    report::JobFigures figures = place_of(experiment, source, job);
    figures.finish = std::ranges::max(std::span(totals.rank_finish).subspan(job.first_rank, ranks));
    const Duration initial = report::initial_time(whole, std::span(totals.acting).subspan(job.first_rank, ranks), log);
    const Duration iterations = time_of(source.start, initial, figures.finish);
    if (job.training) {
      figures.iterations = job.training->iterations;
      figures.training = figures_of(experiment, source.workload, job, iterations, totals, has_passes ? &log : nullptr);
    }
    figures.alone = alone.iterations / figures.iterations;
    figures.together = iterations / figures.iterations;
    result.jobs.push_back(std::move(figures));
  }
  result.shared_links = report::shared_links(experiment.fabric, usage);
  result.initial = {};  // that of each is in its own times
}

}  // namespace orrery::experiment
