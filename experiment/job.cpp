// SPDX-License-Identifier: MIT
#include "experiment/job.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/files/read_file.h"
#include "experiment/job_cache.h"
#include "report/result.h"
#include "system/devices/operator_model.h"
#include "system/plans/involved_dimensions.h"
#include "workload/chakra/file.h"
#include "workload/import/format.h"
#include "workload/import/goal/goal.h"
#include "workload/import/kineto/kineto.h"

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
  const bool is_alone = experiment.jobs.size() == 1;
  const std::optional<workload::TrainingSpec>& training = experiment.jobs.front().workload.training;
  const std::optional<Packing> packing = packing_of(experiment);
  if (const std::optional<CallSource>& call = experiment.jobs.front().workload.call; is_alone && call)
    return fmt::format("without workload.{} more of them take part",
                       call->ranks_per_node > 0 ? "ranks_per_node" : "ranks");
  if (is_alone && training) {
    const std::int64_t of_replica = training->parallel.workers() / training->parallel.data();
    const std::int64_t servers = training->parallel.ranks() - training->parallel.workers();
    const std::int64_t packed = packing ? devices / packing->per_node * packing->of_node : devices;
    if (const auto data = more_replicas(*training, packed)) {
      const std::int64_t used = *data * of_replica + servers;
      if (used == devices) return fmt::format("workload.parallel.data: {}, or rest, uses all of them", *data);
      return fmt::format("workload.parallel.data: {} uses {} of them", *data, used);
    }
  }
  const ConfigEntry* nodes = experiment.resolved.find("nodes");
  const auto given = nodes == nullptr ? std::nullopt : parse_whole_number(nodes->value.scalar);
  if (given && devices % *given == 0) {
    const std::int64_t of_node = devices / *given;
    const std::int64_t needed = packing ? packing->nodes : (ranks + of_node - 1) / of_node;
    if (needed < *given)
      return fmt::format("nodes: {} is as much as the job{}", needed, is_alone ? " needs" : "s need");
  }
  if (!is_alone) return "give a job more ranks, or take a smaller cluster";
  return training ? "raise workload.parallel.data or another degree, or take a smaller cluster"
                  : "take a smaller cluster, or a job of as many ranks";
}

// A job that is on no device yet: of a model to train one for each type of devices, else that of the traces.
struct UnplacedJob {
  std::vector<workload::TrainingJob> of_types;
  std::vector<Duration> product_times;  // of a product, by type of devices
  std::size_t product_ranks = 0;
  workload::Job traces;

  std::size_t ranks() const {
    if (!product_times.empty()) return product_ranks;
    return of_types.empty() ? traces.ranks.size() : of_types.front().job.ranks.size();
  }
};

UnplacedJob load_product(const Experiment& experiment, const CallSource& call) {
  UnplacedJob job;
  try {
    job.product_times = product_times(*call.product, experiment.devices);
  } catch (const InputError& error) {
    throw located(error, experiment.file);
  }
  job.product_ranks = call.ranks;
  return job;
}

UnplacedJob load(const Experiment& experiment, const WorkloadSource& source, Diagnostics& diagnostics,
                 const workload::LoadProgress& progress, workload::Loops loops) {
  if (source.call && source.call->product) return load_product(experiment, *source.call);
  UnplacedJob job;
  if (!source.training) job.traces = load_replay(experiment, source, diagnostics, progress);
  for (std::size_t type = 0; source.training && type < experiment.devices.size(); ++type) {
    const system::DeviceSpec& device = experiment.devices[type];
    workload::TrainingSpec training = *source.training;
    const system::OperatorModel times(device, training.software.rates_on(device.architecture));
    training.offload.host = device.host;
    Duration& launch = training.software.host.launch;
    launch = Duration(std::llround(static_cast<double>(launch.count()) * device.host_launch));
    job.of_types.push_back(experiment.made_jobs == nullptr ? workload::generate_job(training, times, loops)
                                                           : *experiment.made_jobs->get(training, times, loops));
  }
  return job;
}

std::vector<std::uint32_t> types_of(const Experiment& experiment, std::span<const DeviceId> placement) {
  std::vector<std::uint32_t> types;
  for (const DeviceId device : placement) types.push_back(experiment.fabric.type_of(device));
  return types;
}

// `first_rank`: of the job, counted over all jobs.
ExperimentJob placed(const Experiment& experiment, UnplacedJob job, std::span<const DeviceId> placement,
                     std::uint32_t first_rank, Diagnostics& diagnostics) {
  const std::vector<DeviceId> devices(placement.begin(), placement.end());
  if (!job.product_times.empty())
    return {product_job(job.product_times, types_of(experiment, placement)), {}, devices, first_rank};
  if (job.of_types.empty()) {
    system::split_by_dimensions(job.traces, experiment.fabric, devices, experiment.simulation.collectives,
                                experiment.file, diagnostics);
    return {std::move(job.traces), {}, devices, first_rank};
  }
  workload::TrainingJob training = job.of_types.size() == 1
                                       ? std::move(job.of_types.front())
                                       : workload::join_types(job.of_types, types_of(experiment, placement));
  for (workload::ProgramMemory& program : training.facts.memory)
    program.first_rank = RankId(index_of(program.first_rank) + first_rank);
  for (workload::PipelineFacts& pipeline : training.facts.pipelines)
    for (RankId& rank : pipeline.ranks) rank = RankId(index_of(rank) + first_rank);
  return {std::move(training.job), std::move(training.facts), devices, first_rank};
}

// InputError where kernels that connect the ranks of one node would have to reach another.
void check_reach(const Experiment& experiment, const ExperimentJob& job, const WorkloadSource& source) {
  if (!source.kernels_of_node) return;
  const auto node = [&](RankId rank) { return network::node_of(experiment.fabric, job.placement[index_of(rank)]); };
  for (const workload::Communicator& group : job.job.communicators) {
    if (!group.exchange || group.members.empty()) continue;
    const RankId first = group.members.front();
    const auto other = std::ranges::find_if(group.members, [&](RankId rank) { return node(rank) != node(first); });
    if (other == group.members.end()) continue;
    throw InputError(
        *source.kernels_of_node,
        fmt::format("'{}' connects the ranks of one node only, but of {}group {} rank {} is on node {}, rank {} on "
                    "node {}",
                    printable(group.exchange->library.name), source.call ? "" : "expert-parallel ",
                    printable(group.name), index_of(first), node(first), index_of(*other), node(*other)),
        source.call ? "dispatch: deepep, or fewer ranks"
                    : "workload.experts.dispatch: deepep, or a smaller workload.parallel.expert");
  }
}

// Devices that stay idle so that groups stay inside the nodes that the job has: the summary says so.
std::int64_t packed_idle_devices(const Experiment& experiment) {
  const std::optional<Packing> packing = packing_of(experiment);
  return packing ? packing->nodes * (packing->per_node - packing->of_node) : 0;
}

// Says so where other devices of the cluster have nothing to do, as when `data` was forgotten.
void warn_of_idle_devices(const Experiment& experiment, std::int64_t ranks, Diagnostics& diagnostics) {
  const std::int64_t devices = experiment.fabric.device_count();
  const std::int64_t idle = devices - ranks - packed_idle_devices(experiment);
  if (idle <= 0) return;
  const std::size_t jobs = experiment.jobs.size();
  const auto& training = experiment.jobs.front().workload.training;
  diagnostics.warning(jobs == 1 && training ? training->where : Location{experiment.file},
                      fmt::format("the {} {}: {} of the cluster's {} devices have nothing to do",
                                  jobs == 1 ? "job has" : fmt::format("{} jobs have", jobs),
                                  counted(static_cast<std::uint64_t>(ranks), "rank"), idle, devices),
                      use_of_all(experiment, ranks, devices));
}

workload::Job load_text(const TextSource& source, Diagnostics& diagnostics) {
  if (source.format == workload::WorkloadFormat::kGoal) return workload::import_goal(source.file, diagnostics);
  const std::string text = read_text(source.file);
  const auto format = source.format ? source.format : workload::workload_format_of(text.substr(0, 4096));
  const bool is_simai = format == workload::WorkloadFormat::kSimai;
  if (!is_simai && format != workload::WorkloadFormat::kAstraText)
    throw InputError({source.file}, "is no table of layers of ASTRA-sim 1.0 or SimAI",
                     "its first line begins with a parallelism, such as DATA; workload.goal and workload.profile take "
                     "other formats");
  return workload::import_layers(source.file, text,
                                 is_simai ? workload::TextDialect::kSimai : workload::TextDialect::kAstra,
                                 source.layers, diagnostics);
}

}  // namespace

workload::Job load_replay(const Experiment& experiment, const WorkloadSource& source, Diagnostics& diagnostics,
                          const workload::LoadProgress& progress) {
  if (source.text) return load_text(*source.text, diagnostics);
  if (source.call) return job_of(*source.call);
  if (!source.profile) return workload::load_chakra_job(source.trace, diagnostics, progress);
  const auto check_world = [&](std::uint32_t ranks) {
    Placement alone = experiment.placement;
    alone.jobs = 1;
    check_rank_count(alone, ranks, experiment.fabric);
  };
  return workload::import_kineto(source.profile->files, diagnostics, {source.profile->symmetric, check_world});
}

std::vector<DeviceId> devices_of_call(const Experiment& experiment) {
  return place_ranks(experiment.placement, experiment.jobs.front().workload.call->ranks, experiment.fabric);
}

std::string model_text(const workload::ModelSpec& model) {
  return fmt::format("{} of {} parameters", model.name.empty() ? "model" : printable(model.name),
                     rounded_count(workload::parameter_count(model)));
}

std::vector<ExperimentJob> load_experiment_jobs(const Experiment& experiment, Diagnostics& diagnostics,
                                                const workload::LoadProgress& progress, workload::Loops loops) {
  std::vector<UnplacedJob> unplaced;
  std::size_t ranks = 0;
  for (const JobSource& source : experiment.jobs) {
    unplaced.push_back(load(experiment, source.workload, diagnostics, progress, loops));
    ranks += unplaced.back().ranks();
  }
  warn_of_idle_devices(experiment, static_cast<std::int64_t>(ranks), diagnostics);
  const std::vector<DeviceId> placement = place_jobs(experiment, static_cast<std::uint32_t>(ranks));
  std::vector<ExperimentJob> jobs;
  std::size_t first_rank = 0;
  for (UnplacedJob& job : unplaced) {
    const std::span<const DeviceId> devices = std::span(placement).subspan(first_rank, job.ranks());
    jobs.push_back(placed(experiment, std::move(job), devices, static_cast<std::uint32_t>(first_rank), diagnostics));
    check_reach(experiment, jobs.back(), experiment.jobs[jobs.size() - 1].workload);
    first_rank += devices.size();
  }
  return jobs;
}

namespace {

// Adds what is known by graph, and of each job's own pipeline.
void add_facts(workload::TrainingFacts& whole, const workload::TrainingFacts& job) {
  whole.memory.insert(whole.memory.end(), job.memory.begin(), job.memory.end());
  whole.marks.insert(whole.marks.end(), job.marks.begin(), job.marks.end());
  whole.pipelines.insert(whole.pipelines.end(), job.pipelines.begin(), job.pipelines.end());
}

}  // namespace

ExperimentJob together(const Experiment& experiment, std::vector<ExperimentJob>& jobs) {
  if (jobs.size() == 1) return std::move(jobs.front());
  ExperimentJob whole;
  whole.training.emplace();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ExperimentJob& job = jobs[i];
    workload::append(whole.job, job.job, experiment.jobs[i].name);
    whole.placement.insert(whole.placement.end(), job.placement.begin(), job.placement.end());
    if (!job.training) whole.training.reset();
    if (whole.training) add_facts(*whole.training, *job.training);
  }
  return whole;
}

ExperimentJob load_experiment_job(const Experiment& experiment, Diagnostics& diagnostics) {
  std::vector<ExperimentJob> jobs = load_experiment_jobs(experiment, diagnostics);
  return together(experiment, jobs);
}

std::vector<report::RooflineFigures> roofline_figures(const Experiment& experiment, const ExperimentJob& whole,
                                                      std::span<const system::ComputeOptions> compute) {
  const auto is_used = [&](std::uint32_t number) {
    const workload::ExecutionGraph& graph = whole.job.graphs[number];
    for (std::uint32_t i = 0; i < graph.amount_numbers(); ++i)
      if (system::is_by_roofline(graph, graph.first_node(i), compute[number])) return true;
    return false;
  };
  std::vector<bool> used;
  for (std::uint32_t i = 0; i < whole.job.graphs.size(); ++i) used.push_back(is_used(i));
  std::set<std::pair<std::string, system::RooflineShares>> all;
  for (std::size_t rank = 0; rank < whole.job.ranks.size(); ++rank) {
    const std::uint32_t graph = whole.job.ranks.graph(rank);
    if (!used[graph]) continue;
    const system::DeviceSpec& device = experiment.device_of(whole.placement[rank]);
    all.emplace(device.name, system::roofline_shares(device, compute[graph]));
  }
  const auto share = [](Efficiency of) {
    return static_cast<double>(of.count()) / static_cast<double>(kFullEfficiency.count());
  };
  std::vector<report::RooflineFigures> figures;
  for (const auto& [device, shares] : all) figures.push_back({device, share(shares.peak), share(shares.memory)});
  return figures;
}

}  // namespace orrery::experiment
