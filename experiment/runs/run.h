// SPDX-License-Identifier: MIT
// One experiment from file to result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "experiment/experiment.h"
#include "report/critical_path.h"
#include "report/operation_log.h"
#include "report/operations/machine_facts.h"
#include "report/path/slack.h"
#include "report/rank_choice.h"
#include "report/result.h"
#include "report/timeline/link_rates.h"
#include "workload/graph/job.h"
#include "workload/training/program/generate_job.h"

namespace orrery::experiment {

struct Run {
  report::Result result;
  workload::Job job;
  std::optional<workload::TrainingFacts> training;  // of a generated job
  report::OperationLog log;
  std::vector<RankId> acting;                     // by rank: whose operations the log has for it
  report::CriticalPath path;                      // with links and operations, if it was asked for
  std::optional<report::Slack> slack;             // likewise, unless there are more operations than are looked at
  std::vector<report::RankLinkRates> link_rates;  // if it was asked for
  report::MachineFacts machine;                   // of operations of the ranks that were asked for
};

// Called with the current activity and its progress.
using RunProgress = std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)>;

// Figures of a run that take more than to simulate it. Without any of them no operation is recorded; time, rates,
// memory, use of links and warnings are the same with and without.
struct RunFigures {
  bool parts = true;   // where the time of each rank went: Result::classes
  bool path = true;    // parts of the critical path: Result::path. With `parts` alone
  bool passes = true;  // of training jobs: bubbles of the pipeline, ages of weights

  bool any() const { return parts || passes; }
  static constexpr RunFigures none() { return {false, false, false}; }
};

struct RunRequest {
  std::string file;                         // an experiment, or a result
  std::vector<std::string> settings;        // a.b=v, applied to the file
  bool fast_forward = true;                 // SimulationOptions
  bool allow_oom = false;                   // simulate what does not fit the devices' memory, too
  std::vector<report::RankChoice> ranks{};  // what will be written; refused before the simulation
  std::function<void(const Experiment&)> when_read{};
  std::function<void(std::span<const Problem>)> when_stuck{};  // told what was warned of, which may be why
  RunFigures figures{};                                        // all, if operations or the path are wanted in full
  bool finds_path = false;                                     // all of the critical path, what holds the job up
  bool finds_slack = false;                                    // of all operations
  std::optional<report::RankChoice> link_rates_of{};           // of the first that a timeline shows
  std::vector<report::RankChoice> tells_of{};                  // ranks whose operations will be told in full
};

// Refuses, without a simulation, what is wrong with the configuration, a job that does not fit the devices' memory, and
// traces that are not there. Throws the InputError that run_experiment() would throw.
void check_experiment(const RunRequest& request, const ConfigFiles& files);

// Loads the experiment, simulates, and reports; warnings are in the result. Throws InputError and StuckError.
Run run_experiment(const RunRequest& request, const ConfigFiles& files, const RunProgress& progress = {});
// Runs an experiment that has been read; its warnings are in `diagnostics`. `allow_oom` and `figures` as in RunRequest.
Run run_experiment(const Experiment& experiment, bool allow_oom, Diagnostics& diagnostics,
                   const RunProgress& progress = {}, RunFigures figures = {});

}  // namespace orrery::experiment
