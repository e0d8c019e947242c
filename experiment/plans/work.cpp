// SPDX-License-Identifier: MIT
#include "experiment/plans/work.h"

#include <algorithm>

namespace orrery::experiment {
namespace {

// Fits by eye to the shipped studies on one core: a point takes some ten milliseconds to read and to report, and a
// microsecond for each event; each layer has some four in each pass over a micro-batch.
constexpr double kSecondsOfPoint = 0.01, kSecondsOfEvent = 1e-6, kEventsOfLayer = 8;

std::int64_t layers_of(const workload::ModelSpec& model) {
  const auto* transformer = std::get_if<workload::TransformerSpec>(&model.sizes);
  return transformer != nullptr ? transformer->layers : 1;
}

// Ranks of one pipeline act for all others where ranks fold.
double events_of(const workload::TrainingSpec& training, bool folds) {
  const double passes = static_cast<double>(training.micro_batches() * training.iterations);
  const double of_pipeline = passes * kEventsOfLayer * static_cast<double>(layers_of(training.model));
  const double pipelines = static_cast<double>(training.parallel.ranks()) /
                           static_cast<double>(std::max<std::int64_t>(training.parallel.pipeline(), 1));
  return folds ? of_pipeline : of_pipeline * std::max(pipelines, 1.0);
}

}  // namespace

double simulation_work(const Experiment& experiment) {
  const bool folds = experiment.simulation.fold == system::FoldMode::kAuto &&
                     !experiment.simulation.perturbation.disturbs_operations();
  double events = 0;
  for (const JobSource& job : experiment.jobs)
    if (job.workload.training) events += events_of(*job.workload.training, folds);
  return kSecondsOfPoint + kSecondsOfEvent * events;
}

}  // namespace orrery::experiment
