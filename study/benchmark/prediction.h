// SPDX-License-Identifier: MIT
// Prediction of NCCL's time for one collective by itself in closed form: equal to a simulation of it, but fast enough
// to fit constants to measurements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/group_shape.h"
#include "collectives/nccl/candidates.h"
#include "collectives/nccl/constants.h"
#include "collectives/nccl/options.h"
#include "core/ids.h"
#include "core/machine_kind.h"
#include "core/units.h"
#include "experiment/experiment.h"
#include "workload/calls/operation.h"

namespace orrery::study {

// All about a benchmark that does not depend on the constants of the library.
struct NcclBenchmark {
  workload::CallOperation operation;
  collectives::GroupShape shape;
  MachineKind machine;
  collectives::NcclOptions options;
  Duration send_latency{};  // of the longest route of sendrecv
  Bandwidth send_rate{1};   // of its slowest link
  bool sends_between_nodes = false;
};

// Benchmark of the operation on `devices`, by rank, of an experiment with library `nccl`.
NcclBenchmark nccl_benchmark(const experiment::Experiment& experiment, const workload::CallOperation& operation,
                             std::span<const DeviceId> devices);

// Request to NCCL for a collective of `size`, counted as workload::CallSize says.
collectives::NcclCall call_of(const NcclBenchmark& benchmark, Bytes size);

// `size` as workload::CallSize says. InputError if NCCL is held to ways that it has not got.
double predicted_seconds(const NcclBenchmark& benchmark, Bytes size, const collectives::NcclConstants& constants);

// Predicts it by each way that NCCL has, in their order; the fastest of them is the prediction.
std::vector<double> possible_seconds(const NcclBenchmark& benchmark, Bytes size,
                                     const collectives::NcclConstants& constants);

}  // namespace orrery::study
