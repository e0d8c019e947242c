// SPDX-License-Identifier: MIT
#include "astra/collectives/layout.h"

#include <algorithm>
#include <bit>

#include "core/assert.h"

namespace orrery::astra {

Ring ring_of(const NetworkFile& network, std::uint32_t dimension, std::uint32_t rank, bool flat) {
  if (flat) return {.size = network.npus, .index = rank};
  std::uint32_t stride = 1;
  for (std::uint32_t d = 0; d < dimension; ++d) stride *= network.dimensions[d].size;
  const std::uint32_t size = network.dimensions[dimension].size;
  const std::uint32_t index = rank / stride % size;
  return {.size = size, .index = index, .first = rank - index * stride, .stride = stride};
}

Ring ring_of(const std::vector<std::uint32_t>& members, std::uint32_t rank) {
  const auto found = std::ranges::find(members, rank);
  ORRERY_ASSERT(found != members.end());
  return {.size = static_cast<std::uint32_t>(members.size()),
          .index = static_cast<std::uint32_t>(found - members.begin()),
          .members = &members};
}

TreePlace tree_place(std::uint32_t size, std::uint32_t place, bool root_is_last) {
  ORRERY_ASSERT(std::has_single_bit(size) && place < size);
  // The perfect tree of size - 1 places, numbered from 1: a place of height h is an odd multiple of 2^h.
  const std::uint32_t shift = root_is_last ? 1 : 0;  // from the ring's places to those numbers
  const std::uint32_t root = root_is_last ? size - 1 : 0;
  const auto at = [&](std::uint32_t number) { return number - shift; };
  const std::uint32_t middle = size / 2;
  if (place == root) {
    TreePlace own;
    (root_is_last ? own.left : own.right) = at(middle);
    return own;
  }
  const std::uint32_t number = place + shift;
  const std::uint32_t step = number & (~number + 1);  // 2^height
  TreePlace own;
  // The parent is one of the places a step before and after, namely that of one height more.
  const std::uint32_t before = number - step;
  own.parent = number == middle ? root : at((before & (step << 1)) != 0 ? before : number + step);
  if (step > 1) {
    own.left = at(number - step / 2);
    own.right = at(number + step / 2);
  }
  return own;
}

}  // namespace orrery::astra
