// SPDX-License-Identifier: MIT
#include "study/goodput/study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "experiment/experiment.h"
#include "experiment/runs/run.h"
#include "workload/training/layers/model_layers.h"
#include "workload/training/program/memory_need.h"

namespace orrery::study {
namespace {

// Useful time of a run if the experiment does not say how many tokens the training has.
constexpr double kUsualWork = 30 * kDay;

std::size_t nodes_of(const experiment::Experiment& experiment, std::size_t ranks) {
  std::set<std::uint32_t> nodes;
  for (const DeviceId device : experiment::place_jobs(experiment, static_cast<std::uint32_t>(ranks)))
    nodes.insert(network::node_of(experiment.fabric, device));
  return nodes.size();
}

// Bytes from which training can go on: parameters in the precision of training, and the states of the optimizer.
Bytes checkpoint_of(const workload::TrainingSpec& training) {
  constexpr std::array<std::string_view, 6> kMatrices = {"attention", "linear attention", "mlp",
                                                         "router",    "experts",          "shared experts"};
  std::int64_t matrices = 0;
  if (training.optimizer.matrices && training.transformer() != nullptr)
    for (const workload::ParameterPart& part : workload::parameter_parts(training.model))
      if (std::ranges::find(kMatrices, part.name) != kMatrices.end()) matrices += part.count;
  return workload::checkpoint_bytes(training, workload::parameter_count(training.model), matrices);
}

double write_time(const experiment::Reliability& reliability, std::optional<Bytes> checkpoint) {
  if (reliability.write) return *reliability.write;
  if (!checkpoint)
    throw InputError(reliability.where, "how large a checkpoint of a job without a model is, is not known",
                     "write reliability.checkpoint.time in place of bandwidth");
  return static_cast<double>(checkpoint->count()) / static_cast<double>(reliability.storage->count());
}

void check_jobs(const experiment::Experiment& experiment) {
  if (experiment.jobs.size() > 1)
    throw InputError({experiment.file}, "goodput is of one job, and the experiment has several",
                     "write an experiment for each");
  if (!experiment.reliability)
    throw InputError({experiment.file}, "the experiment does not say what fails: it has no 'reliability'",
                     "--mtbf '50000 h' --restart '10 min' --checkpoint-time '30 s', or reliability: {mtbf: 50000 h, "
                     "restart: 10 min, checkpoint: {time: 30 s}}");
}

IntervalGoodput goodput_of(const Goodput& goodput, std::int64_t every) {
  const FailureModel& model = goodput.model;
  const Intervals intervals = intervals_of(goodput.iterations, seconds(goodput.iteration), every);
  IntervalGoodput result;
  result.iterations = every;
  result.work = intervals.work;
  const double expected = model.expected(intervals);
  result.goodput = intervals.total() / expected;
  result.checkpoints = static_cast<double>(intervals.checkpoints()) * model.write / expected;
  result.failures = 1 - result.goodput - result.checkpoints;
  result.simulated = simulate_runs(model, intervals);
  if (result.simulated) result.simulated_goodput = intervals.total() / result.simulated->mean;
  return result;
}

// Eighths to eightfold of the best interval, but no longer than the training, and the one that is taken.
std::vector<std::int64_t> intervals_around(std::int64_t best, std::int64_t taken, std::int64_t all) {
  std::set<std::int64_t> intervals = {best, taken};
  for (const std::int64_t factor : {2, 4, 8}) {
    intervals.insert(std::max<std::int64_t>(1, best / factor));
    intervals.insert(best > all / factor ? all : best * factor);
  }
  return {intervals.begin(), intervals.end()};
}

// Iterations of the whole training, or of a usual time.
std::int64_t iterations_of(const std::optional<workload::TrainingSpec>& training, double iteration) {
  if (!training || !training->tokens)
    return static_cast<std::int64_t>(std::max(std::ceil(kUsualWork / iteration), 1.0));
  constexpr std::int64_t kMost = 1'000'000'000'000'000'000;  // exact enough as a double, and back
  const std::int64_t tokens = training->tokens->count(), step = workload::tokens_per_step(*training);
  return std::min(tokens / step + (tokens % step > 0 ? 1 : 0), kMost);
}

// Interval as given, rounded up to whole iterations; one that is longer than the training is the training.
std::int64_t given_iterations(const experiment::Reliability& reliability, Goodput& goodput) {
  constexpr double kRounding = 1 - 1e-12;  // an interval of whole iterations is that many
  const double count = std::ceil(*reliability.interval / seconds(goodput.iteration) * kRounding);
  if (count <= static_cast<double>(goodput.iterations))
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(count));
  goodput.warnings.push_back({Severity::kWarning, reliability.where,
                              fmt::format("checkpoint.interval: {} is longer than the whole training, {}",
                                          long_time_text(*reliability.interval), long_time_text(goodput.useful)),
                              "there is one checkpoint, at its end"});
  return goodput.iterations;
}

// A thousand times what it takes without failures is no time that a training takes.
bool is_hopeless(const IntervalGoodput& interval) { return !(interval.goodput + interval.checkpoints >= 1e-3); }

void check_hope(const Goodput& goodput) {
  const IntervalGoodput& taken = goodput.taken;
  if (!is_hopeless(taken)) return;
  const auto best = std::ranges::find(goodput.intervals, goodput.best, &IntervalGoodput::iterations);
  const std::string hint = is_hopeless(*best)
                               ? "no interval helps: fewer failures, or shorter iterations, checkpoints and restarts"
                               : fmt::format("a checkpoint every {} has a goodput of {}", long_time_text(best->work),
                                             percent(best->goodput, 2));
  throw StuckError(fmt::format(
      "the training does not come to an end: it fails more often than it gets on; an interval of {} and its checkpoint "
      "of {} have to pass without a failure, a restart takes {}, and the job fails every {}\n  hint: {}",
      long_time_text(taken.work), long_time_text(goodput.model.write), long_time_text(goodput.model.restart),
      long_time_text(goodput.model.mtbf), hint));
}

void add_units(const experiment::Reliability& reliability, Goodput& goodput) {
  constexpr std::array<const char*, 3> kUnits = {"device", "node", "job"};
  goodput.unit = kUnits[static_cast<std::size_t>(reliability.per)];
  goodput.unit_mtbf = reliability.mtbf;
  goodput.units = reliability.per == experiment::FailureUnit::kDevice ? goodput.ranks
                  : reliability.per == experiment::FailureUnit::kNode ? goodput.nodes
                                                                      : 1;
  goodput.model.mtbf = reliability.mtbf / static_cast<double>(goodput.units);
  goodput.model.restart = reliability.restart;
}

}  // namespace

std::optional<double> Goodput::tokens_per_day() const {
  if (!tokens_per_iteration) return std::nullopt;
  return *tokens_per_iteration * kDay / seconds(iteration);
}

std::optional<double> Goodput::effective_tokens_per_day() const {
  const auto all = tokens_per_day();
  return all ? std::optional(*all * taken.goodput) : std::nullopt;
}

Goodput find_goodput(const GoodputRequest& request, Points& points, const ConfigFiles& files) {
  // 1. What fails, and how long an iteration takes.
  Diagnostics diagnostics;
  const experiment::Experiment experiment =
      experiment::load_experiment(request.file, request.settings, files, diagnostics);
  check_jobs(experiment);
  const experiment::Reliability& reliability = *experiment.reliability;
  const std::optional<workload::TrainingSpec>& training = experiment.jobs.front().workload.training;
  Goodput goodput;
  goodput.file = request.file;
  if (training) goodput.checkpoint = checkpoint_of(*training);
  goodput.model.write = write_time(reliability, goodput.checkpoint);
  Point iteration;
  points.take_all("iterations", 1, [&](std::size_t, Points::Ask& ask) {
    const auto read = [&](Diagnostics& again) {
      return experiment::load_experiment(request.file, request.settings, files, again);
    };
    evaluate(ask, {"goodput", request.file, read, request.allow_oom, experiment::RunFigures::none()}, iteration);
  });
  throw_unless_ran(iteration);
  goodput.warnings = iteration.warnings;
  goodput.iteration = iteration.figures->iteration_time;
  goodput.ranks = iteration.figures->ranks;
  goodput.nodes = nodes_of(experiment, goodput.ranks);
  if (goodput.iteration <= Duration::zero())
    throw InputError({request.file}, "the iteration takes no time, so that nothing is to be lost", "");
  if (training) {
    goodput.tokens_per_iteration = static_cast<double>(workload::tokens_per_step(*training));
    goodput.has_tokens = training->transformer() != nullptr;
    if (training->tokens) goodput.tokens = static_cast<double>(training->tokens->count());
  }
  // 2. The closed form, and runs that are simulated.
  add_units(reliability, goodput);
  const double time = seconds(goodput.iteration);
  goodput.iterations = iterations_of(training, time);
  goodput.useful = static_cast<double>(goodput.iterations) * time;
  goodput.best = best_iterations(goodput.model, time, goodput.iterations);
  const std::int64_t taken = reliability.interval ? given_iterations(reliability, goodput) : goodput.best;
  for (const std::int64_t every : intervals_around(goodput.best, taken, goodput.iterations)) {
    goodput.intervals.push_back(goodput_of(goodput, every));
    if (every == taken) goodput.taken = goodput.intervals.back();
  }
  check_hope(goodput);
  return goodput;
}

}  // namespace orrery::study
