// SPDX-License-Identifier: MIT
// What tells training jobs apart, and collectives, as far as how well they are predicted goes.
#pragma once

#include <cstdint>
#include <optional>

#include "core/machine_kind.h"
#include "core/units.h"
#include "experiment/experiment.h"
#include "study/benchmark/operation.h"
#include "study/benchmark/study.h"
#include "study/interval/interval.h"

namespace orrery::study {

// By model ("transformer", "experts", "lora", "dlrm", ...), architecture of the devices, software.
const RunSchema& training_runs();
// Of a job that trains a model; nothing of traces and of several jobs.
std::optional<RunKind> job_kind(const experiment::Experiment& experiment);

// By operation, size, within a node or between several, architecture of the GPUs.
const RunSchema& collective_runs();
RunKind collective_kind(const BenchmarkOperation& operation, Bytes size, std::int64_t nodes, std::int64_t ranks,
                        Architecture architecture);
// Of NCCL's algorithms, and of sizes that are the same on every rank; other tables stay as they are. InputError.
void add_intervals(CollectiveTable& table, const ConfigFiles& files);

}  // namespace orrery::study
