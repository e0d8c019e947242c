// SPDX-License-Identifier: MIT
#include "study/goodput/study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/experiment.h"
#include "experiment/run.h"
#include "workload/training/layers/model_layers.h"
#include "workload/training/program/memory_need.h"

namespace orrery::study {
namespace {

// What a run works for where the experiment does not say how many tokens the training has.
constexpr double kUsualWork = 30 * report::kDay;

std::size_t nodes_of(const experiment::Experiment& experiment, std::size_t ranks) {
  std::set<std::uint32_t> nodes;
  for (const DeviceId device :
       experiment::place_ranks(experiment.placement, static_cast<std::uint32_t>(ranks), experiment.fabric))
    nodes.insert(network::node_of(experiment.fabric, device));
  return nodes.size();
}

// What training has to go on with: parameters in the precision of training, and the states of the optimizer.
Bytes checkpoint_of(const workload::TrainingSpec& training) {
  const Bytes each = training.parameter_size() + workload::optimizer_state(training.precision);
  return each * workload::parameter_count(training.model);
}

double write_time(const experiment::Reliability& reliability, std::optional<Bytes> checkpoint) {
  if (reliability.write) return seconds(*reliability.write);
  if (!checkpoint)
    throw InputError(reliability.where, "how large a checkpoint of traces is, is not known",
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

IntervalGoodput goodput_of(const FailureModel& model, std::int64_t iterations, double iteration, double useful) {
  IntervalGoodput result;
  result.iterations = iterations;
  result.work = static_cast<double>(iterations) * iteration;
  const double expected = model.expected(result.work);
  result.goodput = result.work / expected;
  result.checkpoints = model.write / expected;
  result.failures = 1 - result.goodput - result.checkpoints;
  const double segments = std::ceil(useful / result.work);
  if (segments < 1e15) result.simulated = simulate_runs(model, result.work, static_cast<std::int64_t>(segments));
  if (result.simulated) result.simulated_goodput = segments * result.work / result.simulated->mean;
  return result;
}

// Eighths to eightfold of the best interval, and the one that is taken.
std::vector<std::int64_t> intervals_around(std::int64_t best, std::int64_t taken) {
  std::set<std::int64_t> intervals = {best, taken};
  for (const std::int64_t factor : {2, 4, 8}) {
    intervals.insert(std::max<std::int64_t>(1, best / factor));
    intervals.insert(best * factor);
  }
  return {intervals.begin(), intervals.end()};
}

void add_units(const experiment::Reliability& reliability, Goodput& goodput) {
  constexpr std::array<const char*, 3> kUnits = {"device", "node", "job"};
  goodput.unit = kUnits[static_cast<std::size_t>(reliability.per)];
  goodput.unit_mtbf = reliability.mtbf;
  goodput.units = reliability.per == experiment::FailureUnit::kDevice ? goodput.ranks
                  : reliability.per == experiment::FailureUnit::kNode ? goodput.nodes
                                                                      : 1;
  goodput.model.mtbf = reliability.mtbf / static_cast<double>(goodput.units);
  goodput.model.restart = seconds(reliability.restart);
}

}  // namespace

std::optional<double> Goodput::tokens_per_day() const {
  if (!tokens_per_iteration) return std::nullopt;
  return *tokens_per_iteration * report::kDay / seconds(iteration);
}

std::optional<double> Goodput::effective_tokens_per_day() const {
  const auto all = tokens_per_day();
  return all ? std::optional(*all * taken.goodput) : std::nullopt;
}

Goodput find_goodput(const GoodputRequest& request, const ConfigFiles& files, const GoodputProgress& progress) {
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
  const experiment::Run run = experiment::run_experiment(experiment, request.allow_oom, diagnostics, progress);
  goodput.warnings = run.result.warnings;
  goodput.iteration = report::iteration_time(run.result);
  goodput.ranks = run.result.class_of_rank.size();
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
  const double iteration = seconds(goodput.iteration);
  goodput.best = best_iterations(goodput.model, iteration);
  goodput.has_given_interval = reliability.interval.has_value();
  const std::int64_t given = reliability.interval
                                 ? (*reliability.interval + goodput.iteration - Duration(1)) / goodput.iteration
                                 : goodput.best;
  goodput.useful = goodput.tokens && goodput.tokens_per_iteration
                       ? std::ceil(*goodput.tokens / *goodput.tokens_per_iteration) * iteration
                       : kUsualWork;
  for (const std::int64_t count : intervals_around(goodput.best, given)) {
    goodput.intervals.push_back(goodput_of(goodput.model, count, iteration, goodput.useful));
    if (count == given) goodput.taken = goodput.intervals.back();
  }
  goodput.segments = std::ceil(goodput.useful / goodput.taken.work);
  return goodput;
}

}  // namespace orrery::study
