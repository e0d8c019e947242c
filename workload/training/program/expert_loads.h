// SPDX-License-Identifier: MIT
// Numbers of tokens that come to each expert and to each expert-parallel rank where experts are not equally popular.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// Chance of each expert to be among the `picks` that a token goes to, which are all different: they are drawn one
// after the other, each among those that are left, in proportion to `popularity` (Plackett and Luce; Yates and Grundy
// 1953, "successive sampling"). The sum is `picks`, none is above 1. `popularity` is positive; at least `picks` of
// them.
std::vector<double> chances_of_experts(std::span<const double> popularity, std::int64_t picks);

// Load of each expert-parallel rank over the mean of all without drops: popularity is by Zipf's law, and the places of
// experts on the ranks are drawn by `parallel.expert_seed`. With redundant experts it is the
// ranks' places that are drawn. An expert takes tokens up to its capacity; one that pads has as many. One load where
// all experts are alike. Ranks of a stage with one load have one program.
std::vector<double> expert_loads(const TrainingSpec& training);

}  // namespace orrery::workload
