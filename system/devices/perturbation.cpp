// SPDX-License-Identifier: MIT
#include "system/devices/perturbation.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/hash.h"
#include "network/fabric/fabric.h"

namespace orrery::system {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
// Fixed point: 2^-40.
constexpr int kFraction = 40;
constexpr std::int64_t kOne = std::int64_t{1} << kFraction;
constexpr std::int64_t kLogOfTwo = 762'123'384'786;

// The number of ones in `bits`, by adding up pairs, fours and bytes (Hacker's Delight, 5-1): without the processor's
// own instruction, which not every machine of the architecture has, std::popcount() is a call of a library.
std::int64_t heads_of(std::uint64_t bits) {
  bits -= (bits >> 1) & 0x5555'5555'5555'5555;
  bits = (bits & 0x3333'3333'3333'3333) + ((bits >> 2) & 0x3333'3333'3333'3333);
  bits = (bits + (bits >> 4)) & 0x0f0f'0f0f'0f0f'0f0f;
  return static_cast<std::int64_t>((bits * 0x0101'0101'0101'0101) >> 56);
}

// The 1024 bits of 16 hashes are as many fair coins: their number of heads is binomial, of variance 256, and normal to
// four digits of probability within four standard deviations (de Moivre and Laplace). A uniform number spread over
// [-1/2, 1/2] fills the gaps and adds 1/12 to the variance. Cut at eight standard deviations, where one draw in 10^15
// gets to.
std::int64_t standard_normal(std::uint64_t key) {
  constexpr std::uint64_t kWords = 16;
  constexpr Int128 kDeviation = 16'002'603'955;  // sqrt(256 + 1/12), in 10^-9
  std::int64_t heads = -512;
  for (std::uint64_t word = 0; word < kWords; ++word) heads += heads_of(hash_of({key, word}));
  const auto uniform = static_cast<std::int64_t>(hash_of({key, kWords}) >> (64 - kFraction));
  const Int128 sum = Int128{heads} * kOne + uniform - kOne / 2;
  return std::clamp(static_cast<std::int64_t>(sum * 1'000'000'000 / kDeviation), -8 * kOne, 8 * kOne);
}

// e^x = 2^k e^r with 0 <= r < ln 2, of which the series ends soon.
std::int64_t exponential(std::int64_t x) {
  std::int64_t doublings = x / kLogOfTwo;
  if (x % kLogOfTwo < 0) --doublings;
  const std::int64_t rest = x - doublings * kLogOfTwo;
  std::int64_t term = kOne, sum = kOne;
  for (std::int64_t i = 1; term > 0; ++i) {
    term = static_cast<std::int64_t>(Int128{term} * rest / kOne / i);
    sum += term;
  }
  return doublings < 0 ? sum >> -doublings : sum << doublings;
}

}  // namespace

Duration operator*(Duration time, TimeFactor factor) {
  const Int128 product = (Int128{time.count()} * factor.count() + kMillion / 2) / kMillion;
  if (product > std::numeric_limits<std::int64_t>::max()) return Duration::max();
  return Duration(std::max<std::int64_t>(static_cast<std::int64_t>(product), time.count() > 0 ? 1 : 0));
}

TimeFactor operator*(TimeFactor a, TimeFactor b) {
  const Int128 product = (Int128{a.count()} * b.count() + kMillion / 2) / kMillion;
  return TimeFactor(std::max<std::int64_t>(1, static_cast<std::int64_t>(product)));
}

TimeFactor draw(const Jitter& jitter, std::uint64_t unit, std::uint64_t number) {
  ORRERY_ASSERT(jitter.sigma >= 0 && jitter.sigma <= kMillion);
  const std::int64_t normal = standard_normal(hash_of({jitter.seed, unit, number}));
  const Int128 sigma = jitter.sigma;
  const Int128 exponent = sigma * normal / kMillion - sigma * sigma * kOne / kMillion / kMillion / 2;
  const Int128 factor = (Int128{exponential(static_cast<std::int64_t>(exponent))} * kMillion + kOne / 2) / kOne;
  return TimeFactor(std::max<std::int64_t>(1, static_cast<std::int64_t>(factor)));
}

Perturbation part_of(const Perturbation& perturbation, std::uint32_t first, std::size_t ranks) {
  Perturbation part;
  part.nodes = perturbation.nodes;
  part.jitter = perturbation.jitter;
  part.first_rank = perturbation.first_rank + first;
  const auto end = perturbation.ranks.lower_bound(RankId(first + static_cast<std::uint32_t>(ranks)));
  for (auto at = perturbation.ranks.lower_bound(RankId(first)); at != end; ++at)
    part.ranks.emplace(RankId(index_of(at->first) - first), at->second);
  return part;
}

Perturbation by_rank(const Perturbation& perturbation, const network::Fabric& fabric,
                     std::span<const DeviceId> placement) {
  Perturbation whole = perturbation;
  whole.nodes.clear();
  if (perturbation.nodes.empty()) return whole;
  for (std::uint32_t rank = 0; rank < placement.size(); ++rank) {
    const auto node = perturbation.nodes.find(network::node_of(fabric, placement[rank]));
    if (node == perturbation.nodes.end()) continue;
    RankPerturbation& own =
        whole.ranks.try_emplace(RankId(rank), RankPerturbation{.where = node->second.where}).first->second;
    own.compute = own.compute * node->second.compute;
    own.start = std::max(own.start, node->second.start);
  }
  return whole;
}

void check_perturbed_ranks(const Perturbation& perturbation, std::uint32_t ranks) {
  for (const auto& [rank, perturbed] : perturbation.ranks)
    if (index_of(rank) >= ranks)
      throw InputError(perturbed.where, fmt::format("perturb.ranks.{}: the job has no such rank", index_of(rank)),
                       ranks == 1 ? "its only rank is 0" : fmt::format("its ranks are 0 to {}", ranks - 1));
}

bool may_change_times(const Perturbation& perturbation, const workload::Job& job) {
  const auto has_several = [](const workload::GraphFacts& facts) { return !facts.iteration_starts.empty(); };
  return perturbation.disturbs_operations() ||
         (perturbation.jitter.sigma > 0 && std::ranges::any_of(job.known_facts, has_several));
}

Disturbance::Disturbance(const Perturbation& perturbation, const workload::Job& job, const network::Fabric& fabric,
                         std::span<const DeviceId> placement)
    : job_(job), jitter_(perturbation.jitter), compute_(job.ranks.size(), kUnchanged), start_(job.ranks.size()) {
  check_perturbed_ranks(perturbation, static_cast<std::uint32_t>(job.ranks.size()));
  for (const auto& [rank, perturbed] : by_rank(perturbation, fabric, placement).ranks) {
    compute_[index_of(rank)] = perturbed.compute;
    start_[index_of(rank)] = Time(perturbed.start);
  }
  if (jitter_.sigma == 0) return;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    unit_.push_back(jitter_.per == JitterUnit::kNode ? network::node_of(fabric, placement[rank])
                                                     : perturbation.first_rank + rank);
  drawn_.resize(unit_.size());
}

Duration Disturbance::disturbed(RankId rank, NodeId node, Duration time) {
  const TimeFactor factor = compute_[index_of(rank)];
  if (unit_.empty()) return time * factor;
  if (jitter_.per == JitterUnit::kOperation)
    return time * (factor * draw(jitter_, unit_[index_of(rank)], index_of(node)));
  Drawn& drawn = drawn_[index_of(rank)];
  const std::uint32_t iteration = iteration_of(rank, node);
  if (drawn.iteration != iteration) drawn = {iteration, factor * draw(jitter_, unit_[index_of(rank)], iteration)};
  return time * drawn.factor;
}

std::uint32_t Disturbance::iteration_of(RankId rank, NodeId node) const {
  const std::vector<NodeId>& starts = job_.facts(job_.ranks.graph(index_of(rank))).iteration_starts;
  return static_cast<std::uint32_t>(std::ranges::upper_bound(starts, node) - starts.begin());
}

std::uint64_t Disturbance::colour(RankId rank) const {
  const TimeFactor factor = compute_[index_of(rank)];
  const Duration start = start_[index_of(rank)].time_since_epoch();
  if (unit_.empty() && factor == kUnchanged && start == Duration::zero()) return 0;
  return hash_of({static_cast<std::uint64_t>(factor.count()), static_cast<std::uint64_t>(start.count()),
                  unit_.empty() ? 0 : unit_[index_of(rank)] + std::uint64_t{1}});
}

}  // namespace orrery::system
