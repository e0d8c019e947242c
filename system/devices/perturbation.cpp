#include "system/devices/perturbation.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/hash.h"
#include "system/plans/routes.h"

namespace orrery {

void check_perturbed_ranks(const Perturbation& perturbation, std::uint32_t ranks) {
  for (const auto& [rank, perturbed] : perturbation.ranks)
    if (index_of(rank) >= ranks)
      throw InputError(perturbed.where, fmt::format("perturb.ranks.{}: the job has no such rank", index_of(rank)),
                       ranks == 1 ? "its only rank is 0" : fmt::format("its ranks are 0 to {}", ranks - 1));
}

Disturbance::Disturbance(const Perturbation& perturbation, const Job& job, const Fabric& fabric,
                         std::span<const DeviceId> placement)
    : job_(job), jitter_(perturbation.jitter), compute_(job.ranks.size(), kUnchanged), start_(job.ranks.size()) {
  check_perturbed_ranks(perturbation, static_cast<std::uint32_t>(job.ranks.size()));
  for (const auto& [rank, perturbed] : perturbation.ranks) {
    compute_[index_of(rank)] = perturbed.compute;
    start_[index_of(rank)] = Time(perturbed.start);
  }
  if (jitter_.sigma == 0) return;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    unit_.push_back(jitter_.per == JitterUnit::kNode ? node_of(fabric, placement[rank]) : rank);
}

Duration Disturbance::disturbed(RankId rank, NodeId node, Duration time) const {
  const TimeFactor factor = compute_[index_of(rank)];
  if (unit_.empty()) return time * factor;
  const std::uint32_t number = jitter_.per == JitterUnit::kOperation ? index_of(node) : iteration_of(rank, node);
  return time * (factor * draw(jitter_, unit_[index_of(rank)], number));
}

std::uint32_t Disturbance::iteration_of(RankId rank, NodeId node) const {
  if (job_.iteration_starts.empty()) return 0;
  const std::vector<NodeId>& starts = job_.iteration_starts[job_.ranks[index_of(rank)].graph];
  return static_cast<std::uint32_t>(std::ranges::upper_bound(starts, node) - starts.begin());
}

std::uint64_t Disturbance::colour(RankId rank) const {
  const TimeFactor factor = compute_[index_of(rank)];
  const Duration start = start_[index_of(rank)].time_since_epoch();
  if (unit_.empty() && factor == kUnchanged && start == Duration::zero()) return 0;
  return hash_of({static_cast<std::uint64_t>(factor.count()), static_cast<std::uint64_t>(start.count()),
                  unit_.empty() ? 0 : unit_[index_of(rank)] + std::uint64_t{1}});
}

}  // namespace orrery
