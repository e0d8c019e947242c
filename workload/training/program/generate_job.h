// SPDX-License-Identifier: MIT
// From a model and a parallelism to a job in memory: one program for each pipeline stage, shared by its ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "workload/graph/job.h"
#include "workload/training/program/kernel_uses.h"
#include "workload/training/program/memory_need.h"
#include "workload/training/program/pass_marks.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/program/stage_requests.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// Ranks with the same program.
struct ProgramMemory {
  RankId first_rank{};
  MemoryNeed need;
  MemoryCourse changes;  // of the activations
};

// Kernels that a number of ranks run.
struct ProgramKernels {
  std::int64_t ranks = 0;
  std::vector<KernelUse> uses;  // of each of them
};

// Facts of a training job that its graphs do not contain.
struct TrainingFacts {
  std::vector<ProgramMemory> memory;    // by graph
  std::vector<ProgramKernels> kernels;  // likewise
  double model_flops = 0;               // of a step of all ranks
  std::int64_t tokens = 0;              // of a step; samples where a model has no tokens
  bool has_tokens = true;
  std::int64_t iterations = 1;
  std::int64_t workers = 0;  // ranks that are no servers
  // Updates, by graph, of weights that others may have updated since they were read. Empty lists where none can.
  std::vector<std::vector<WeightUpdate>> updates;
  std::vector<std::shared_ptr<const ProgramMarks>> marks;  // by graph, none null
  std::vector<PipelineFacts> pipelines;                    // of several jobs one each, in their order
};

struct TrainingJob {
  Job job;
  TrainingFacts facts;
};

// Form of repeated parts of a program: written out, or a Repetition. A job with repetitions is the same job.
enum class Loops : std::uint8_t { kWrittenOut, kRepeated };

// `training` has passed check_training().
TrainingJob generate_job(const TrainingSpec& training, const OperatorTimes& times, Loops loops = Loops::kWrittenOut);

// Memory that the ranks of each graph of such a job need, without generating the job.
std::vector<MemoryNeed> memory_needs(const TrainingSpec& training);
std::vector<MemoryNeed> memory_needs(const TrainingSpec& training, const StageRequests& requests);
// The graph of each rank.
std::vector<std::uint32_t> programs_of_ranks(const TrainingSpec& training);

// The same job on devices of several types: `jobs` of one `training`, by type, and the type of each rank. A rank has
// the program of its stage with the times of its device.
TrainingJob join_types(const std::vector<TrainingJob>& jobs, std::span<const std::uint32_t> type_of_rank);

}  // namespace orrery::workload
