// SPDX-License-Identifier: MIT
// A collective over a cuboid of ranks, axis by axis: each phase is a one-dimensional collective in every line of ranks
// along its axis (which differ in that coordinate only).
//
//   all_reduce      reduce_scatter up the axes, all_gather down      all_to_all   up, the whole buffer in each
//                   (or as AllReduceBy says)
//   reduce_scatter  up                                               all_gather   down
//   reduce, gather  up, in the lines that hold what the root needs   barrier      up
//   broadcast, scatter  down, in the lines that already hold data
//
// The axes of one dimension (those of a torus) are all in use at once: the data is cut into as many parts, and each
// part goes through them beginning with another one. Where an axis goes both ways there are two parts for each, one for
// each direction. From one dimension to the next the parts come together.
//
// Axes of size 1 are skipped; with one axis left, a part of the plan is the collective itself. All ranks must have the
// same size: an all-to-all, gather or scatter with sizes that differ runs on one axis (one logical ring).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/collective_kind.h"
#include "core/units.h"

namespace orrery::collectives {

// Part of one dimension in an all-reduce over several.
enum class AllReduceBy : std::uint8_t {
  kShards,  // reduce-scatter on the way up, all-gather on the way down
  kRoot,    // reduce to the rank with coordinate 0, which alone goes on, and broadcast; whole on the last dimension
  kWhole,   // an all-reduce on the way up, of what a rank has there
  kLast,    // the same, but after all dimensions that do otherwise, of what they leave of the buffer
};

struct PlanAxis {
  std::uint32_t size = 1;
  std::uint32_t dimension = 0;                    // those of one dimension are side by side
  bool both_ways = false;                         // a ring in each direction
  AllReduceBy all_reduce = AllReduceBy::kShards;  // of all axes of a dimension alike; of several of them kShards

  bool operator==(const PlanAxis&) const = default;
};

struct Phase {
  std::uint32_t axis = 0;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes{0};             // input of one rank, as in Request::bytes
  std::uint32_t root = 0;     // position of the line's root in its line: the root's coordinate on this axis
  std::uint32_t aligned = 0;  // a bit for each axis: only ranks with the root's coordinate on all of them take part
  bool descending = false;    // as Request::descending
  // Part `part` of `parts` of its dimension's data.
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
  std::vector<std::uint32_t> after{};  // phases of the plan, all of them earlier ones, that a rank has behind it then

  // Phases of one axis and one direction use the same links.
  std::uint32_t queue() const { return 2 * axis + (descending ? 1 : 0); }

  bool operator==(const Phase&) const = default;
};

// The phases of a collective of `bytes` input per rank (as in Request::bytes), in order. Sizes are split by ceil(S/n).
// `root` are the root's coordinates, one per axis; may be empty for kinds without a root. At most 32 axes. Throws
// InputError when the result of a gather would pass 2^62 bytes. `order`: the dimensions from the first to the last
// where it is not that of `axes`, for all_reduce, reduce_scatter and all_gather.
std::vector<Phase> plan_phases(CollectiveKind kind, std::span<const PlanAxis> axes, Bytes bytes,
                               std::span<const std::uint32_t> root = {}, std::span<const std::uint32_t> order = {});

// True if the rank at `coordinates` takes part in `phase`; `root` as given to plan_phases.
bool participates(const Phase& phase, std::span<const std::uint32_t> coordinates, std::span<const std::uint32_t> root);

}  // namespace orrery::collectives
