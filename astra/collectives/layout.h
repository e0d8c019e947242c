// SPDX-License-Identifier: MIT
// Neighbours within one dimension: rings of ranks, and the trees of doubleBinaryTree.
#pragma once

#include <cstdint>
#include <vector>

#include "astra/input/inputs.h"

namespace orrery::astra {

// The ranks of one ring as seen by one of them: `members` in order, or `size` ranks from `first` on at a stride.
struct Ring {
  std::uint32_t size = 0;
  std::uint32_t index = 0;  // the own place
  std::uint32_t first = 0;
  std::uint32_t stride = 1;
  const std::vector<std::uint32_t>* members = nullptr;

  std::uint32_t rank(std::uint32_t place) const {
    return members != nullptr ? (*members)[place] : first + place * stride;
  }
  // Rank `steps` places ahead.
  std::uint32_t ahead(std::uint32_t steps) const { return rank((index + steps) % size); }
};

// The ring of a dimension in which `rank` is; of all NPUs if it is `flat`.
Ring ring_of(const NetworkFile& network, std::uint32_t dimension, std::uint32_t rank, bool flat);
// The ring of a communicator group.
Ring ring_of(const std::vector<std::uint32_t>& members, std::uint32_t rank);

// A place in the tree that is numbered in order, with one more place as its root: the last one, or the first.
struct TreePlace {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t parent = kNone;  // places of the ring
  std::uint32_t left = kNone;
  std::uint32_t right = kNone;
};
// `size` is a power of two.
TreePlace tree_place(std::uint32_t size, std::uint32_t place, bool root_is_last);

}  // namespace orrery::astra
