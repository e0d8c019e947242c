// SPDX-License-Identifier: MIT
#include "experiment/runs/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "experiment/evidence/time_share.h"
#include "experiment/job.h"
#include "experiment/several_jobs.h"
#include "experiment/warnings.h"
#include "report/path/culprits.h"
#include "report/path_links.h"
#include "report/timeline/timeline.h"
#include "system/execution/repetitions.h"
#include "system/plans/plans.h"
#include "workload/matching/matching.h"
#include "workload/traces/files.h"

namespace orrery::experiment {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

bool takes_measured_times(const WorkloadSource& workload, const workload::Job& job) {
  return !workload.training && !workload.call &&
         std::ranges::any_of(job.graphs, [&](const workload::ExecutionGraph& graph) {
           return system::has_measured_time(graph, workload.compute);
         });
}

// Requests to a run beside its result.
struct Wanted {
  RunFigures figures{};
  std::span<const report::RankChoice> ranks{};  // that will be written
  bool path = false;
  bool slack = false;
  std::optional<report::RankChoice> link_rates{};
  std::span<const report::RankChoice> told{};  // in full
};

std::optional<report::Slack> find_slack(const workload::Job& job, const workload::Matching& matching,
                                        const system::SimulationTotals& totals, const report::OperationLog& log) {
  std::size_t operations = 0;
  for (const RankId rank : std::set<RankId>(totals.acting.begin(), totals.acting.end())) operations += log.count(rank);
  if (operations > report::kMostSlackOperations) return std::nullopt;
  return report::find_slack(job, matching, log, totals.acting, totals.finish);
}

report::CriticalPath find_path(const Experiment& experiment, const ExperimentJob& whole,
                               const system::LinkUsages& usage, const system::SimulationTotals& totals,
                               const report::OperationLog& log, report::PathLinks& links, report::Result& result) {
  const system::Perturbation perturbation =
      system::by_rank(experiment.simulation.perturbation, experiment.fabric, whole.placement);
  report::CriticalPath path = report::critical_path(whole.job, log, totals.acting, result, {.links = &links});
  result.path = path.parts;
  result.culprits = report::find_culprits(
      path, result, {whole.job, experiment.fabric, whole.placement, perturbation, usage, log, totals.acting});
  return path;
}

// Programs of each job, whose graphs stand one behind the other in `whole`. An only job has been moved there.
std::vector<JobPrograms> programs_of(const Experiment& experiment, const std::vector<ExperimentJob>& jobs,
                                     const ExperimentJob& whole) {
  std::vector<JobPrograms> programs;
  std::size_t first = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ExperimentJob& job = jobs.size() == 1 ? whole : jobs[i];
    programs.push_back(
        {first, job.training ? &*job.training : nullptr, takes_measured_times(experiment.jobs[i].workload, job.job)});
    first += job.job.graphs.size();
  }
  return programs;
}

// Most changes of link rates in a timeline, over all ranks shown.
constexpr std::size_t kMostLinkRates = 8'000;

std::vector<report::RankLinkRates> find_link_rates(const workload::Job& job, const system::SimulationTotals& totals,
                                                   const report::OperationLog& log, const report::Result& result,
                                                   const report::RankChoice& choice, report::PathLinks& links) {
  std::vector<report::ChosenRank> ranks = report::chosen_ranks(choice, result.class_of_rank);
  if (ranks.size() > report::kMostTimelineRanks) ranks.resize(report::kMostTimelineRanks);
  return report::link_rates(job, log, totals.acting, ranks, totals.finish,
                            kMostLinkRates / std::max<std::size_t>(ranks.size(), 1), links);
}

// Peak of each rank's device, in the precision that FLOPs of its program are counted in.
std::vector<std::optional<FlopRate>> peaks_of(const Experiment& experiment, const ExperimentJob& whole,
                                              std::span<const system::ComputeOptions> compute) {
  std::vector<std::optional<FlopRate>> peaks;
  for (std::size_t rank = 0; rank < whole.job.ranks.size(); ++rank)
    peaks.push_back(experiment.device_of(whole.placement[rank]).peak(compute[whole.job.ranks.graph(rank)].precision));
  return peaks;
}

report::MachineFacts find_machine_facts(const ExperimentJob& whole, const report::Result& result,
                                        std::span<const report::RankChoice> told,
                                        std::vector<std::optional<FlopRate>> peaks, report::PathLinks& links) {
  std::vector<report::ChosenRank> ranks;
  for (const report::RankChoice& choice : told)
    std::ranges::copy(report::chosen_ranks(choice, result.class_of_rank), std::back_inserter(ranks));
  return {whole.job, ranks, links, std::move(peaks)};
}

report::CallFigures figures_of(const CallSource& call, Time finish) {
  report::CallFigures figures{call.name, call.size};
  if (finish == Time{}) return figures;
  figures.algorithm_bandwidth = static_cast<double>(call.size.count()) / seconds(finish);
  figures.bus_bandwidth = figures.algorithm_bandwidth * workload::bus_factor(call.operation, call.ranks);
  return figures;
}

report::ProductFigures figures_of(const Experiment& experiment, const ProductCall& product,
                                  std::span<const DeviceId> placement, Time finish) {
  const workload::Operator op = product.gemm;
  report::ProductFigures figures{workload::sizes_of(op), 0, std::nullopt};
  if (finish > Time{}) figures.rate = static_cast<double>(workload::flops_of(op).count()) / seconds(finish);
  // The slowest device sets the time, but on several types none stands for all.
  if (const auto peak = experiment.device_of(placement.front()).peak(product.gemm.precision);
      peak && experiment.devices.size() == 1)
    figures.peak_share = figures.rate / static_cast<double>(peak->count());
  return figures;
}

// Says what was simulated on which machine.
void describe(const Experiment& experiment, report::Result& result) {
  result.experiment = experiment.resolved;
  result.device = experiment.devices_text();
  result.devices = experiment.fabric.device_count();
  if (const std::optional<Packing> packing = packing_of(experiment))
    result.packed = {std::string(name_of(packing->family)), packing->of_node, packing->per_node};
  result.network_model = system::network_model_names()[static_cast<std::size_t>(experiment.network)];
  result.granularity =
      system::granularity_names()[static_cast<std::size_t>(experiment.simulation.collectives.granularity)];
  if (experiment.nccl) result.library = experiment.nccl->name();
}

struct Simulated {
  const Experiment& experiment;
  const std::vector<ExperimentJob>& jobs;
  const ExperimentJob& whole;
  const system::SimulationTotals& totals;
  const report::OperationLog& log;
  bool has_passes = true;
};

// Adds figures of training, of a collective or of a product; of several jobs what each is and takes alone.
template <class Progress>
void add_figures(const Simulated& run, const Progress& progress, report::Result& result) {
  const JobSource& only = run.experiment.jobs.front();
  if (run.jobs.size() > 1) {
    add_jobs(run.experiment, run.jobs, run.whole.job, run.totals, run.log, run.has_passes, result, progress);
  } else if (run.whole.training) {
    result.iterations = run.whole.training->iterations;
    result.training =
        figures_of(run.experiment, only.workload, run.whole, run.totals.finish.time_since_epoch() - result.initial,
                   run.totals, run.has_passes ? &run.log : nullptr);
  } else if (const std::optional<CallSource>& call = only.workload.call) {
    if (call->product)
      result.product = figures_of(run.experiment, *call->product, run.whole.placement, run.totals.finish);
    else
      result.call = figures_of(*call, run.totals.finish);
  }
}

// Throws NotRepeatable where `loops` have to be written out to be exact.
Run simulate_job(const Experiment& experiment, const Wanted& wanted, workload::Loops loops, Diagnostics& diagnostics,
                 Clock::time_point started, const RunProgress& progress) {
  const auto show = [&](std::string_view what) {
    return [&progress, what](std::uint64_t done, std::uint64_t total) {
      if (progress) progress(what, done, total);
    };
  };
  // 1. What is asked, and whether it can be.
  std::vector<ExperimentJob> jobs = load_experiment_jobs(experiment, diagnostics, show("reading traces"), loops);
  const system::SimulationOptions options = simulation_options(experiment, jobs);
  bool computes_as_measured = false;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    computes_as_measured = computes_as_measured || takes_measured_times(experiment.jobs[i].workload, jobs[i].job);
  ExperimentJob whole = together(experiment, jobs);
  const workload::Job& job = whole.job;
  for (const report::RankChoice& choice : wanted.ranks) report::check_rank_choice(choice, job.ranks.size());
  const workload::Matching matching = workload::match(job);
  warn_before_run(experiment, job, matching, whole.placement, options.compute_by_graph, diagnostics);
  // 2. Simulate.
  report::OperationLog log(job.ranks.size(), wanted.figures.any() ? UINT32_MAX : report::initial_nodes(job));
  system::Simulation simulation({whole.job, matching, experiment.fabric, experiment.devices, whole.placement}, options,
                                network_of(experiment), log);
  const system::SimulationTotals totals = simulation.run(show("simulating"));
  warn_after_run(experiment, simulation.plans(), diagnostics);
  // 3. Report.
  report::Result result =
      report::make_result(whole.job, experiment.fabric, simulation, totals, log, wanted.figures.parts);
  warn_of_unused_links(experiment, result.links, diagnostics);
  add_figures({experiment, jobs, whole, totals, log, wanted.figures.passes}, show("simulating each job alone"), result);
  report::CriticalPath path;
  std::vector<report::RankLinkRates> rates;
  report::MachineFacts machine;
  if (wanted.path || wanted.link_rates || !wanted.told.empty()) {
    const system::LinkUsages usage = simulation.usage();
    report::PathLinks links(experiment.fabric, simulation.plans(), matching, usage, whole.placement);
    if (wanted.path) {
      path = find_path(experiment, whole, usage, totals, log, links, result);
      result.evidence = find_evidence(experiment, whole, programs_of(experiment, jobs, whole), path, links);
    }
    if (!wanted.told.empty())
      machine =
          find_machine_facts(whole, result, wanted.told, peaks_of(experiment, whole, options.compute_by_graph), links);
    if (wanted.link_rates) rates = find_link_rates(job, totals, log, result, *wanted.link_rates, links);
  }
  if (!wanted.path && wanted.figures.parts && wanted.figures.path)
    result.path = report::critical_path(whole.job, log, totals.acting, result, {.matching = &matching}).parts;
  std::optional<report::Slack> slack = wanted.slack ? find_slack(job, matching, totals, log) : std::nullopt;
  result.computes_as_measured = computes_as_measured;
  result.roofline = roofline_figures(experiment, whole, options.compute_by_graph);
  describe(experiment, result);
  result.warnings.assign(diagnostics.problems().begin(), diagnostics.problems().end());
  result.wall_seconds = std::chrono::duration<double>(Clock::now() - started).count();
  result.peak_rss_bytes = peak_memory();
  return {std::move(result), std::move(whole.job), std::move(whole.training), std::move(log),    totals.acting,
          std::move(path),   std::move(slack),     std::move(rates),          std::move(machine)};
}

// Loops are tried as such where nothing tells their iterations apart from the start. Where something does on the way,
// the job is simulated once more, written out.
Run simulate_experiment(const Experiment& experiment, bool allow_oom, const Wanted& wanted, Diagnostics& diagnostics,
                        Clock::time_point started, const RunProgress& progress) {
  check_memory(experiment, allow_oom, diagnostics);
  const system::SimulationOptions& options = experiment.simulation;
  const bool has_loops =
      std::ranges::any_of(experiment.jobs, [](const JobSource& job) { return job.workload.training.has_value(); });
  const bool is_late =
      std::ranges::any_of(experiment.jobs, [](const JobSource& job) { return job.start > Duration::zero(); });
  if (has_loops && !is_late && !wanted.slack && options.fold == system::FoldMode::kAuto && options.fast_forward &&
      !options.perturbation.disturbs_operations() && experiment.fabric.is_steady()) {
    const Diagnostics before = diagnostics;
    try {
      return simulate_job(experiment, wanted, workload::Loops::kRepeated, diagnostics, started, progress);
    } catch (const system::NotRepeatable&) {
      diagnostics = before;  // the same will be said again
    }
  }
  return simulate_job(experiment, wanted, workload::Loops::kWrittenOut, diagnostics, started, progress);
}

// Adds the warnings before an error: what was warned of may be why it is one.
InputError with_warnings(const InputError& error, const Diagnostics& diagnostics, const std::string& file) {
  std::vector<Problem> problems;
  std::ranges::copy_if(diagnostics.problems(), std::back_inserter(problems),
                       [](const Problem& problem) { return problem.severity == Severity::kWarning; });
  problems.insert(problems.end(), error.problems().begin(), error.problems().end());
  return located(InputError(std::move(problems)), file);
}

}  // namespace

void check_experiment(const RunRequest& request, const ConfigFiles& files) {
  Diagnostics diagnostics;
  const Experiment experiment = load_experiment(request.file, request.settings, files, diagnostics);
  try {
    check_memory(experiment, request.allow_oom, diagnostics);
    for (const JobSource& job : experiment.jobs)
      if (!job.workload.profile) static_cast<void>(job.workload.files());
  } catch (const InputError& error) {
    throw with_warnings(error, diagnostics, request.file);
  }
}

Run run_experiment(const Experiment& experiment, bool allow_oom, Diagnostics& diagnostics, const RunProgress& progress,
                   RunFigures figures) {
  return simulate_experiment(experiment, allow_oom, {.figures = figures}, diagnostics, Clock::now(), progress);
}

Run run_experiment(const RunRequest& request, const ConfigFiles& files, const RunProgress& progress) {
  const Clock::time_point started = Clock::now();
  Diagnostics diagnostics;
  Experiment experiment = load_experiment(request.file, request.settings, files, diagnostics);
  if (request.when_read) request.when_read(experiment);
  experiment.simulation.fast_forward = request.fast_forward;
  try {
    const bool tells_all =
        request.finds_path || request.finds_slack || request.link_rates_of || !request.tells_of.empty();
    return simulate_experiment(experiment, request.allow_oom,
                               {tells_all ? RunFigures{} : request.figures, request.ranks, request.finds_path,
                                request.finds_slack, request.link_rates_of, request.tells_of},
                               diagnostics, started, progress);
  } catch (const InputError& error) {
    throw with_warnings(error, diagnostics, request.file);
  } catch (const StuckError&) {
    if (request.when_stuck) request.when_stuck(diagnostics.problems());
    throw;
  }
}

}  // namespace orrery::experiment
