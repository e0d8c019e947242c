// SPDX-License-Identifier: MIT
#include "workload/training/program/expert_loads.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "core/assert.h"
#include "core/draw.h"

namespace orrery::workload {
namespace {

// Numbers of experts that have come, each by itself: chance of 0, 1, ... of them.
using Counts = std::span<double>;

void add_expert(Counts counts, double chance) {
  for (std::size_t k = counts.size(); k-- > 1;) counts[k] = counts[k] * (1 - chance) + counts[k - 1] * chance;
  counts[0] *= 1 - chance;
}

// Adds to `sums` the rate at which each expert comes at `time` while fewer than `picks` of the others have come.
// Returns the chance that fewer than that have come of all.
double add_arrivals(std::span<const double> rates, double time, std::size_t picks, std::vector<double>& sums) {
  std::vector<double> arrived;  // chance of each
  for (const double rate : rates) arrived.push_back(-std::expm1(-rate * time));
  std::vector<double> all((rates.size() + 1) * picks);
  const auto before = [&](std::size_t i) { return Counts(all).subspan(i * picks, picks); };  // experts 0 to i - 1
  before(0)[0] = 1;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    std::ranges::copy(before(i), before(i + 1).begin());
    add_expert(before(i + 1), arrived[i]);
  }
  std::vector<double> behind(picks);  // experts i + 1 to the last
  behind[0] = 1;
  for (std::size_t i = rates.size(); i-- > 0;) {
    double others = 0, at_most = 0;
    for (std::size_t k = 0; k < picks; ++k) {
      at_most += behind[k];
      others += before(i)[picks - 1 - k] * at_most;
    }
    sums[i] += rates[i] * time * std::exp(-rates[i] * time) * others;
    add_expert(behind, arrived[i]);
  }
  return std::accumulate(behind.begin(), behind.end(), 0.0);
}

// Loads of experts and of `redundant` copies, each of which goes to the expert whose copies have most (DeepSeek's EPLB,
// replicate_experts).
std::vector<double> loads_of_slots(std::span<const double> loads, std::int64_t redundant) {
  std::vector<std::size_t> copies(loads.size(), 1);
  const auto of_copy = [&](std::size_t i) { return loads[i] / static_cast<double>(copies[i]); };
  for (std::int64_t added = 0; added < redundant; ++added) {
    std::size_t most = 0;
    for (std::size_t i = 1; i < loads.size(); ++i)
      if (of_copy(i) > of_copy(most)) most = i;
    ++copies[most];
  }
  std::vector<double> slots;
  for (std::size_t i = 0; i < loads.size(); ++i) slots.insert(slots.end(), copies[i], of_copy(i));
  return slots;
}

// Sums of slots on ranks that have equally many: the largest first, each to the rank with the least that has room
// (EPLB, balanced_packing).
std::vector<double> packed_evenly(std::vector<double> slots, std::size_t ranks) {
  std::ranges::sort(slots, std::greater<>());
  std::vector<double> sums(ranks);
  std::vector<std::size_t> room(ranks, slots.size() / ranks);
  for (const double slot : slots) {
    std::size_t least = ranks;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (room[rank] > 0 && (least == ranks || sums[rank] < sums[least])) least = rank;
    sums[least] += slot;
    --room[least];
  }
  return sums;
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
  const ExpertSpec& experts = training.experts;
  if (model == nullptr || model->experts == 0) return {1};
  const double capacity = experts.capacity > 0 ? experts.capacity : std::numeric_limits<double>::infinity();
  if (experts.pads) return {capacity};
  if (parallel.expert_skew == 0) return {std::min(1.0, capacity)};
  std::vector<double> popularity, loads(static_cast<std::size_t>(parallel.expert));
  for (std::int64_t i = 0; i < model->experts; ++i) popularity.push_back(zipf_popularity(i, parallel.expert_skew));
  const std::vector<double> chances = chances_of_experts(popularity, model->experts_per_token);
  const double share = static_cast<double>(parallel.expert) / static_cast<double>(model->experts_per_token);
  const auto local = static_cast<std::size_t>((model->experts + experts.redundant) / parallel.expert);
  // Load of one expert over the mean of the ranks.
  const double most = capacity * static_cast<double>(parallel.expert) / static_cast<double>(model->experts);
  if (experts.redundant > 0) {
    std::vector<double> slots = loads_of_slots(chances, experts.redundant);
    for (double& slot : slots) slot = std::min(slot * share, most);
    const std::vector<double> packed = packed_evenly(std::move(slots), loads.size());
    const std::vector<std::uint32_t> ranks =
        shuffled(static_cast<std::uint32_t>(parallel.expert), parallel.expert_seed);
    for (std::size_t i = 0; i < packed.size(); ++i) loads[ranks[i]] = packed[i];
    return loads;
  }
  const std::vector<std::uint32_t> places = shuffled(static_cast<std::uint32_t>(model->experts), parallel.expert_seed);
  for (std::size_t i = 0; i < chances.size(); ++i) loads[places[i] / local] += std::min(chances[i] * share, most);
  return loads;
}

}  // namespace orrery::workload
