// SPDX-License-Identifier: MIT
// Kinds of jobs that are predicted about equally well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "experiment/experiment.h"
#include "experiment/recorded_run.h"
#include "study/interval/interval.h"
#include "workload/calls/operation.h"

namespace orrery::study {

// Kinds of training runs by model ("transformer", "experts", "lora", "dlrm", ...), architecture of the devices,
// software.
const RunSchema& training_runs();
// Kind of a job that trains a model; empty for traces and for several jobs.
std::optional<RunKind> job_kind(const experiment::Experiment& experiment);
// Shape of the same.
JobShape job_shape(const experiment::Experiment& experiment);

// Measured collectives, told apart by operation, size, span (within a node, between several, or between several by
// sockets, whose errors are others) and architecture.
const RunSchema& collective_runs();
// `network`, `architecture`: words of configurations.
RunKind collective_kind(const workload::CallOperation& operation, Bytes size, std::int64_t nodes, std::int64_t ranks,
                        std::string_view network, std::string_view architecture);
// Kind of a job that calls one collective of NCCL's, the same size on every rank; empty for all other jobs.
std::optional<RunKind> called_collective(const experiment::Experiment& experiment);

// The key of a cluster, a library of collectives, a network or software that was written out or changed by hand, so
// that no published run tells how far off a prediction with it is: "cluster.node.nics.bandwidth". Numbers of devices,
// nodes and NICs count as measured, and so do names of parts of the machine, what is written and is the default, what
// repeats a shipped file, in whatever unit, and constants that were calibrated (study/interval/shipped_values.h). Empty
// if all is as it ships. Of an experiment that a result holds only settings are told, and what its run told.
std::string key_by_hand(const experiment::Experiment& experiment, const ConfigFiles& files,
                        const std::optional<experiment::RecordedRun>& recorded = {});
// Keys of the job's `workload` that somebody wrote and that files of errors have no column for, without "workload.":
// "recompute", "software.fp8.operand". What published runs had there, they do not tell. `recorded`: the result that the
// experiment was read from, which kept them.
std::vector<std::string> keys_untold(const experiment::Experiment& experiment, const ConfigFiles& files,
                                     const std::optional<experiment::RecordedRun>& recorded = {});
// The same of settings alone (--set), where the rest of the experiment was made from options.
std::string setting_by_hand(const experiment::Experiment& experiment, const ConfigFiles& files);

}  // namespace orrery::study
