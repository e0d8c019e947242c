// SPDX-License-Identifier: MIT
// Perturbations: ranks of a job that are slower, later or noisier than their devices. Ranks that are disturbed alike
// may still be simulated once: what disturbs a rank is in its colour from the start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "workload/graph/job.h"

namespace orrery::system {

// Noise of computation, drawn from a hash of where it falls: the same on every machine, in any order, folded or not.
using TimeFactor = Quantity<struct TimeFactorTag>;  // in millionths
inline constexpr TimeFactor kUnchanged{1'000'000};

// Rounded half up to a picosecond, but a time that is not zero stays so; at most Duration::max().
Duration operator*(Duration time, TimeFactor factor);
// Rounded half up to a millionth, at least one.
TimeFactor operator*(TimeFactor a, TimeFactor b);

// Unit that draws one factor of jitter.
enum class JitterUnit : std::uint8_t {
  kNode,       // all ranks of a node of the cluster the same, in every iteration anew
  kRank,       // in every iteration anew
  kOperation,  // every computation of every rank
};

struct Jitter {
  JitterUnit per = JitterUnit::kNode;
  std::int64_t sigma = 0;  // in millionths, at most a million; 0: none
  std::uint64_t seed = 1;
};

// exp(sigma z - sigma^2 / 2) with z from the standard normal distribution: log-normal with mean 1 and, while sigma is
// small, a standard deviation of sigma. In integers, to a millionth.
TimeFactor draw(const Jitter& jitter, std::uint64_t unit, std::uint64_t number);

// Perturbation of one rank.
struct RankPerturbation {
  TimeFactor compute = kUnchanged;  // of all its computations
  Duration start{};                 // none of its operations starts before
  Location where;                   // in the configuration
};

struct Perturbation {
  std::map<RankId, RankPerturbation> ranks;
  std::map<std::uint32_t, RankPerturbation> nodes;  // of the cluster: of all ranks there, on top of their own
  Jitter jitter;
  std::uint32_t first_rank = 0;  // added to the ranks where they draw noise

  bool disturbs_ranks() const { return !ranks.empty() || !nodes.empty() || jitter.sigma > 0; }
  // True if equal operations of one rank take different times, within an iteration too.
  bool disturbs_operations() const { return jitter.sigma > 0 && jitter.per == JitterUnit::kOperation; }
};

// True if a rank may take another time when it repeats an operation: iterations draw anew, and so may operations.
bool may_change_times(const Perturbation& perturbation, const workload::Job& job);

// Perturbation of `ranks` ranks from `first` on, as a job of their own: each is disturbed as before.
Perturbation part_of(const Perturbation& perturbation, std::uint32_t first, std::size_t ranks);

// The same with what is said of nodes said of the ranks there. `placement` by rank.
Perturbation by_rank(const Perturbation& perturbation, const network::Fabric& fabric,
                     std::span<const DeviceId> placement);

// InputError where a rank is perturbed that the job does not have.
void check_perturbed_ranks(const Perturbation& perturbation, std::uint32_t ranks);

// A perturbation of the ranks of a job.
class Disturbance {
 public:
  // `job` outlives it; `placement` by rank.
  Disturbance(const Perturbation& perturbation, const workload::Job& job, const network::Fabric& fabric,
              std::span<const DeviceId> placement);

  // Time of a computation on this rank that takes `time` undisturbed.
  Duration disturbed(RankId rank, NodeId node, Duration time);
  Time start(RankId rank) const { return start_[index_of(rank)]; }
  // Equal for ranks that are disturbed alike; 0 for those that are not at all.
  std::uint64_t colour(RankId rank) const;

 private:
  // The latest factor of a rank that draws once an iteration: its operations come iteration by iteration.
  struct Drawn {
    std::optional<std::uint32_t> iteration{};
    TimeFactor factor = kUnchanged;
  };

  std::uint32_t iteration_of(RankId rank, NodeId node) const;

  const workload::Job& job_;
  Jitter jitter_;
  std::vector<TimeFactor> compute_;  // by rank
  std::vector<Time> start_;          // by rank
  std::vector<std::uint32_t> unit_;  // by rank: who draws for it; empty without jitter
  std::vector<Drawn> drawn_;         // likewise
};

}  // namespace orrery::system
