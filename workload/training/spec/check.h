// The parts of check_training (workload/training/spec/training_spec.h), and what they say alike.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "workload/training/spec/training_spec.h"

namespace orrery {

// What only a transformer has: heads, a sequence, layers in stages, experts, a schedule.
void check_transformer(const TrainingSpec& training, Diagnostics& diagnostics);

// The divisors of `of` up to `most`, those about `wanted` if they are many: "1, 2, 4".
std::string divisors_text(std::int64_t of, std::int64_t most, std::int64_t wanted = 1);

// Whether every replica has a whole number of micro-batches.
bool batch_divides(const TrainingSpec& training);
// Sequences that the schedule takes at once from all replicas: of the interleaved one a micro-batch for every stage.
std::int64_t batch_unit(const TrainingSpec& training);
// "batch.global: 16 or 24": what would divide.
std::string batches_near(const TrainingSpec& training);

}  // namespace orrery
