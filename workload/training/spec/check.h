// SPDX-License-Identifier: MIT
// The parts of check_training (workload/training/spec/training_spec.h), and what they say alike.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// Checks what only a transformer has: heads, a sequence, layers in stages, experts, a schedule.
void check_transformer(const TrainingSpec& training, Diagnostics& diagnostics);
// Checks how context-parallel ranks share its sequence and heads, and the chunks of its loss.
void check_context(const TrainingSpec& training, Diagnostics& diagnostics);

// The divisors of `of` up to `most`, those about `wanted` if they are many: "1, 2, 4".
std::string divisors_text(std::int64_t of, std::int64_t most, std::int64_t wanted = 1);
// "workload.parallel.tensor: one of 1, 2, 4" of a key below `workload`.
std::string divisors_of(std::string_view key, std::int64_t of, std::int64_t most, std::int64_t wanted = 1);

// True if every replica has a whole number of micro-batches.
bool batch_divides(const TrainingSpec& training);
// Sequences that the schedule takes at once from all replicas: of the interleaved one a micro-batch for every stage.
std::int64_t batch_unit(const TrainingSpec& training);
// "batch.global: 16 or 24": what would divide.
std::string batches_near(const TrainingSpec& training);

// Size estimates of a training job before anything is generated: numbers that 64 bits cannot hold and programs that
// memory cannot hold are refused. Upper bounds on the operations of all graphs' programs, and on the numbers that ranks
// fill into them.
double operations_of(const TrainingSpec& training);

// The degrees have passed their checks, so that they make no more ranks than there are devices.
void check_training_size(const TrainingSpec& training, Diagnostics& diagnostics);

}  // namespace orrery::workload
