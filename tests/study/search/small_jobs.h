// SPDX-License-Identifier: MIT
// Small training jobs whose plans are simulated in no time.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "experiment/runs/run.h"
#include "study/search/plan.h"
#include "tests/shipped_files.h"

namespace orrery::study {

// A model that no list has, with little of everything.
struct JobText {
  std::string cluster = "dgx-a100";
  int nodes = 2;
  int batch = 64;
  std::string model = "{layers: 8, hidden: 1024, heads: 16, vocab: 32000, sequence: 2048}";
  std::string more = "";
};

inline const std::string kSmallExperts =
    "{layers: 4, hidden: 1024, heads: 16, vocab: 32000, sequence: 2048, experts: 8, experts_per_token: 2}";

// The file that has the job, until the next one is written. Each test program has its own.
inline std::string file_of(const JobText& job, const std::string& test) {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / test;
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "job.yaml").string();
  const bool has_parallel = job.more.find("  parallel:") != std::string::npos;
  std::ofstream(file) << fmt::format(
      "cluster: {}\nnodes: {}\nworkload:\n  model: {}\n  batch: {{global: {}, micro: 1}}\n{}{}", job.cluster, job.nodes,
      job.model, job.batch, has_parallel ? "" : "  parallel: {data: 1, zero: 0, sequence: false}\n", job.more);
  return file;
}

inline experiment::Experiment read(const std::string& file) {
  Diagnostics diagnostics;
  return experiment::load_experiment(file, {}, kFiles, diagnostics);
}

inline const workload::TrainingSpec& training_of(const experiment::Experiment& experiment) {
  return *experiment.jobs.front().workload.training;
}

// Plans that pass the checks of the workload.
inline std::vector<Plan> sound_plans(const experiment::Experiment& experiment) {
  std::vector<Plan> plans;
  for (const Plan& plan : all_plans(training_of(experiment), experiment.fabric.device_count(), {})) {
    Diagnostics problems;
    workload::check_training(with_plan(training_of(experiment), plan), experiment.fabric.device_count(), problems);
    if (!problems.has_errors()) plans.push_back(plan);
  }
  return plans;
}

inline Duration time_of(experiment::Experiment& experiment, const workload::TrainingSpec& training) {
  experiment.jobs.front().workload.training = training;
  Diagnostics diagnostics;
  return report::iteration_time(experiment::run_experiment(experiment, true, diagnostics).result);
}

}  // namespace orrery::study
