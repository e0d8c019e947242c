// SPDX-License-Identifier: MIT
// The fewest steps that make one sequence another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace orrery::workload {

struct Step {
  enum class Kind : std::uint8_t { kInsert, kRemove, kReplace, kSwap };

  Kind kind = Kind::kInsert;
  std::size_t here = 0;   // place in the sequence that is changed; kInsert: the item goes before it
  std::size_t there = 0;  // place in the other; kSwap: the second place in the one that is changed

  bool operator==(const Step&) const = default;
};

// Difference of items that are not the same.
inline constexpr std::uint32_t kDiffers = 1'000;
// 0 for items that are the same, a few for those that are and look a little different, else kDiffers.
using Difference = std::function<std::uint32_t(std::size_t here, std::size_t there)>;

// Returns the steps by ascending places: as few as can be, and among those such that what is left looks most alike; a
// swap of two items counts once where it alone makes the sequences the same. Nothing where that takes too long: after
// common beginnings and ends thousands of items differ, or more than `left` pairs of items would have to be compared,
// which loses those that are.
std::optional<std::vector<Step>> alignment(std::size_t here, std::size_t there, const Difference& difference,
                                           std::size_t& left);

}  // namespace orrery::workload
