// Noise of computation, drawn from a hash of where it falls: the same on every machine, in any order, folded or not.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace orrery {

using TimeFactor = Quantity<struct TimeFactorTag>;  // in millionths
inline constexpr TimeFactor kUnchanged{1'000'000};

// Rounded half up to a picosecond, but a time that is not zero stays so; at most Duration::max().
Duration operator*(Duration time, TimeFactor factor);
// Rounded half up to a millionth, at least one.
TimeFactor operator*(TimeFactor a, TimeFactor b);

// Who draws a factor of its own.
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

}  // namespace orrery
