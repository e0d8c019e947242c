// SPDX-License-Identifier: MIT
// Checks a configuration file of any kind, or a job, without running anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "core/error.h"
#include "report/evidence/evidence.h"
#include "system/simulation.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::experiment {

// A key that no file gives.
struct DefaultedKey {
  std::string path;   // from the checked file on: "node.device.compute.clock"
  std::string value;  // that is taken
  std::string from;   // "default", or what the value follows from: "by `link`, else 100 %"
  std::string file;   // in which it could stand
};

struct CheckedConfig {
  std::string_view kind;                              // "experiment", "cluster", ...: told by the keys
  std::vector<DefaultedKey> defaults;                 // of a part of an experiment
  std::vector<report::EvidenceFigure> assumptions{};  // of an experiment with a job of a model: find_assumptions()
  std::string job{};                 // of an experiment: "gpt3-13b of 12.9 B parameters, 16 ranks on 16 devices"
  std::vector<std::string> notes{};  // on links that can never be full, which no warning tells
};

// True if `file` is a configuration rather than a trace: by its ending, or, for .json, by its keys.
bool is_configuration(const std::string& file, const ConfigFiles& files);

// Reads `file`, with `settings` (a.b=v) applied, as what it is; of an experiment also the traces, and whether its ranks
// agree. Problems go to `diagnostics` or are thrown as InputError; ranks that disagree throw StuckError.
CheckedConfig check_config(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                           Diagnostics& diagnostics);

// Bytes that a send puts into buffers before its receive is posted; a larger message waits for the receive (nccl.yaml:
// send_buffer). The first reads the shipped constants.
Bytes nccl_send_buffer(const ConfigFiles& files);
Bytes send_buffer_of(const collectives::NcclConstants& constants);

// Check that a job can finish: a simulation of it in which nothing takes time. Who waits for whom does not depend on
// times (workload/matching/stuck.h), so that it ends as every simulation of the job with this `send_buffer` does. Throws
// StuckError, with who waits for whom, when ranks are left that can never finish.
void check_order(const workload::Job& job, const workload::Matching& matching, Bytes send_buffer,
                 const system::SimulationProgress& progress = {});

}  // namespace orrery::experiment
