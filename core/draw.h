// SPDX-License-Identifier: MIT
// Random draws by a law and a seed: the same on every platform, unlike those of the standard library's distributions.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace orrery {

// Zipf's law: how popular the place-th of many is, from 0 on, over the first. Exponent 0: all alike.
inline double zipf_popularity(std::int64_t place, double exponent) {
  return std::pow(static_cast<double>(place + 1), -exponent);
}

// SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// The numbers below `count` in a random order.
inline std::vector<std::uint32_t> shuffled(std::uint32_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  for (std::uint32_t i = count; i > 1; --i) std::swap(numbers[i - 1], numbers[next_random(seed) % i]);
  return numbers;
}

}  // namespace orrery
