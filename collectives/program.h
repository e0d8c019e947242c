// SPDX-License-Identifier: MIT
// Program of an algorithm for one kind of collective: four pure functions of the layout. An algorithm is a `.cpp` that
// defines a function from kind to Program, and one line in the table of algorithms.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/layout.h"
#include "collectives/step.h"
#include "core/collective_kind.h"

namespace orrery::collectives {

struct Program {
  CollectiveKind kind;
  Split split;
  // Functions with the meaning of those of Schedule with the same names.
  std::uint32_t (*sends)(const Layout&, std::uint32_t rank);
  std::uint32_t (*receives)(const Layout&, std::uint32_t rank);
  Step (*step)(const Layout&, std::uint32_t rank, std::uint32_t index);
  std::vector<PieceId> (*pieces)(const Layout&, std::uint32_t rank, std::uint32_t index);
  std::string_view cost;             // time on links of latency a and bandwidth b; c is ceil(S/n)
  std::uint32_t default_window = 0;  // 0 is all sends at once
  bool is_uniform_ring = false;      // as Schedule::is_uniform_ring, where all pieces weigh the same
  bool is_in_network = false;        // as Schedule::is_in_network
  // Equals Schedule::is_complete_exchange, where all pieces weigh the same and no window holds sends back.
  bool is_complete_exchange = false;
};

// Trees and chains towards or from a root: what `ring` and `halving-doubling` do for broadcast, reduce, gather and
// scatter; a tree also all-reduces. Null for the other kinds.
const Program* chain(CollectiveKind kind);
const Program* binomial_tree(CollectiveKind kind);

// The program of `kind` in an algorithm's array, or null.
const Program* program_of(std::span<const Program> programs, CollectiveKind kind);

// The parts of a step that every algorithm fills in the same way.
constexpr Step make_step(std::uint32_t to, std::uint32_t slot, std::uint32_t piece_count, Bytes bytes,
                         Combine combine) {
  Step step;
  step.to = to;
  step.slot = slot;
  step.piece_count = piece_count;
  step.bytes = bytes;
  step.combine = combine;
  if (combine == Combine::kReduce) step.reduce_bytes = bytes;
  return step;
}

// `index - distance` where there is such a send: sends in order, at most `distance` of them in flight.
constexpr std::optional<std::uint32_t> earlier(std::uint32_t index, std::uint32_t distance) {
  if (index < distance) return std::nullopt;
  return index - distance;
}

constexpr SlotRange one_slot(std::uint32_t slot) { return {slot, slot + 1}; }

// `distance` ranks further and back around the ring of ranks; distance <= ranks.
constexpr std::uint32_t ahead(const Layout& layout, std::uint32_t rank, std::uint32_t distance) {
  if (layout.descending) distance = layout.ranks - distance;
  return distance < layout.ranks - rank ? rank + distance : rank - (layout.ranks - distance);
}
constexpr std::uint32_t behind(const Layout& layout, std::uint32_t rank, std::uint32_t distance) {
  return ahead(layout, rank, layout.ranks - distance);
}
// Distance from `from` up to `to` in the ring.
constexpr std::uint32_t distance(const Layout& layout, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t up = to >= from ? to - from : to + (layout.ranks - from);
  return layout.descending && up > 0 ? layout.ranks - up : up;
}

// The pieces of `count` ranks from `first` on, around the ring of ranks.
std::vector<PieceId> pieces_of_ranks(const Layout& layout, std::uint32_t first, std::uint32_t count);

}  // namespace orrery::collectives
