// SPDX-License-Identifier: MIT
// The parts of check_training (workload/training/spec/training_spec.h), and what they say alike.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// What only a transformer has: heads, a sequence, layers in stages, experts, a schedule.
void check_transformer(const TrainingSpec& training, Diagnostics& diagnostics);

// The divisors of `of` up to `most`, those about `wanted` if they are many: "1, 2, 4".
std::string divisors_text(std::int64_t of, std::int64_t most, std::int64_t wanted = 1);
// "workload.parallel.tensor: one of 1, 2, 4" of a key below `workload`.
std::string divisors_of(std::string_view key, std::int64_t of, std::int64_t most, std::int64_t wanted = 1);

// Whether every replica has a whole number of micro-batches.
bool batch_divides(const TrainingSpec& training);
// Sequences that the schedule takes at once from all replicas: of the interleaved one a micro-batch for every stage.
std::int64_t batch_unit(const TrainingSpec& training);
// "batch.global: 16 or 24": what would divide.
std::string batches_near(const TrainingSpec& training);

// How much there is to count in a training job, before anything is generated: numbers that 64 bits cannot hold and
// programs that memory cannot are refused.
// About how many operations the programs of all graphs have, and how many numbers ranks fill into them; an upper bound.
double operations_of(const TrainingSpec& training);

// The degrees have passed their checks, so that they make no more ranks than there are devices.
void check_training_size(const TrainingSpec& training, Diagnostics& diagnostics);

}  // namespace orrery::workload
