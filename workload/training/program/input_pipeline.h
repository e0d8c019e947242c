// SPDX-License-Identifier: MIT
// Work beside the passes of an iteration: batches that come from storage, checkpoints that go there, and the parameters
// that replicas get before the first iteration.
#pragma once

#include <vector>

#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/program_writer.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// The batches of a rank of the first stage. At the beginning those of `prefetch` iterations are ready; an iteration
// takes one and asks for another, and at the end as many are ready again. So the mean over iterations is the pace that
// lasts, whatever their number.
class InputPipeline {
 public:
  // All outlive it.
  InputPipeline(const StageRequest& request, ProgramWriter& writer);

  // The iteration that follows waits for its batch.
  void begin_iteration();
  // All batches that were asked for are waited for.
  void finish();

 private:
  void fetch(const ProgramWriter::Nodes& after);

  const TrainingSpec& training_;
  ProgramWriter& writer_;
  const InputSpec* input_ = nullptr;          // of a stage that takes samples
  std::int64_t samples_ = 0;                  // of a rank and iteration
  std::int64_t parts_ = 1;                    // ranks that share their bytes
  std::int64_t started_ = 0;                  // iterations
  std::vector<ProgramWriter::Nodes> starts_;  // of the iterations: what asks for a batch
};

// Broadcast of all parameters of a rank, from the first of its replicas (Megatron-LM: broadcast_params() with
// --data-parallel-random-init). Then all ranks of the job meet, so that a rank that comes late delays the first
// iteration of all alike, and the time of one iteration does not depend on it (Megatron-LM: train() starts its timer
// 'interval-time' with a barrier).
void write_initial_broadcast(const TrainingSpec& training, const GroupSizes& sizes, const ParameterCount& parameters,
                             ProgramWriter& writer);

// Its share of parameters and optimizer states, if one is due after iteration `number` (from 0).
void write_checkpoint(const TrainingSpec& training, const GroupSizes& sizes, const ParameterCount& parameters,
                      const ParameterCount& matrices, std::int64_t number, ProgramWriter& writer);

}  // namespace orrery::workload
