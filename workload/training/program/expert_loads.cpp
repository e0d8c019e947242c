// SPDX-License-Identifier: MIT
#include "workload/training/program/expert_loads.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/assert.h"
#include "core/draw.h"

namespace orrery::workload {
namespace {

// Numbers of experts that have come, each by itself: chance of 0, 1, ... `picks` - 1 of them.
using Counts = std::vector<double>;

void add_expert(Counts& counts, double chance) {
  for (std::size_t k = counts.size(); k-- > 1;) counts[k] = counts[k] * (1 - chance) + counts[k - 1] * chance;
  counts[0] *= 1 - chance;
}

// Adds to `sums` the rate at which each expert comes at `time` while fewer than `picks` of the others have come.
// Returns the chance that fewer than that have come of all.
double add_arrivals(std::span<const double> rates, double time, std::size_t picks, std::vector<double>& sums) {
  Counts none(picks);
  none[0] = 1;
  std::vector<Counts> before = {none};  // experts 0 to i - 1
  for (const double rate : rates) {
    before.push_back(before.back());
    add_expert(before.back(), -std::expm1(-rate * time));
  }
  Counts behind = none;  // experts i + 1 to the last
  for (std::size_t i = rates.size(); i-- > 0;) {
    double others = 0, at_most = 0;
    for (std::size_t k = 0; k < picks; ++k) {
      at_most += behind[k];
      others += before[i][picks - 1 - k] * at_most;
    }
    sums[i] += rates[i] * time * std::exp(-rates[i] * time) * others;
    add_expert(behind, -std::expm1(-rates[i] * time));
  }
  return std::accumulate(behind.begin(), behind.end(), 0.0);
}

}  // namespace

// Experts that come after times of their own, exponential with rates in proportion to their popularity, come in the
// order of successive draws. So the chance of an expert is the integral over the time at which it comes of the chance
// that fewer than `picks` others have come. The trapezoidal rule over the logarithm of time is exact to 15 digits at
// this step, as the integrand is analytic for arguments of time below a quarter turn and vanishes at both ends.
std::vector<double> chances_of_experts(std::span<const double> popularity, std::int64_t picks) {
  ORRERY_ASSERT(picks > 0 && static_cast<std::size_t>(picks) <= popularity.size());
  constexpr double kStep = 0.25, kEarliest = 1e-13, kNothing = 1e-15;
  if (static_cast<std::size_t>(picks) == popularity.size()) return std::vector<double>(popularity.size(), 1);
  const double sum = std::accumulate(popularity.begin(), popularity.end(), 0.0);
  std::vector<double> rates, chances(popularity.size());
  for (const double one : popularity) rates.push_back(one / sum);
  for (double time = kEarliest;; time *= std::exp(kStep))
    if (add_arrivals(rates, time, static_cast<std::size_t>(picks), chances) < kNothing) break;
  const double scale = static_cast<double>(picks) / std::accumulate(chances.begin(), chances.end(), 0.0);
  for (double& chance : chances) chance = std::min(1.0, chance * scale);
  return chances;
}

std::vector<double> expert_loads(const TrainingSpec& training) {
  const TransformerSpec* model = training.transformer();
  const Parallelism& parallel = training.parallel;
  if (model == nullptr || model->experts == 0 || parallel.expert_skew == 0) return {1};
  std::vector<double> popularity, loads(static_cast<std::size_t>(parallel.expert));
  for (std::int64_t i = 0; i < model->experts; ++i) popularity.push_back(zipf_popularity(i, parallel.expert_skew));
  const std::vector<double> chances = chances_of_experts(popularity, model->experts_per_token);
  const std::vector<std::uint32_t> places = shuffled(static_cast<std::uint32_t>(model->experts), parallel.expert_seed);
  const auto local = static_cast<std::size_t>(model->experts / parallel.expert);
  const double share = static_cast<double>(parallel.expert) / static_cast<double>(model->experts_per_token);
  for (std::size_t i = 0; i < chances.size(); ++i) loads[places[i] / local] += chances[i] * share;
  return loads;
}

}  // namespace orrery::workload
