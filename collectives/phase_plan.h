// A collective over a cuboid of ranks, dimension by dimension: each phase is a one-dimensional collective in every line
// of ranks along its dimension (which differ in that coordinate only).
//
//   all_reduce      reduce_scatter up the dimensions, all_gather down      all_to_all   up, the whole buffer in each
//   reduce_scatter  up                                                     all_gather   down
//   reduce, gather  up, in the lines that hold what the root needs         barrier      up
//   broadcast, scatter  down, in the lines that already hold data
//
// Dimensions of size 1 are skipped; with one dimension left, the plan is the collective itself. All ranks must have the
// same size: an all-to-all, gather or scatter with sizes that differ runs on one dimension (one logical ring).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/collective_kind.h"
#include "core/units.h"

namespace orrery {

// Who takes part in a phase.
enum class Participants : std::uint8_t {
  kEveryone,
  kAlignedWithRoot,  // whose coordinates in all lower dimensions are the root's
};

// How an all-reduce runs on the last of its dimensions.
enum class AllReduceTop : std::uint8_t { kHalves, kWhole };

struct Phase {
  std::uint32_t dimension = 0;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes{0};  // input of one rank, as in Request::bytes
  Participants participants = Participants::kEveryone;
  std::uint32_t root = 0;  // position of the line's root in its line: the root's coordinate in this dimension

  bool operator==(const Phase&) const = default;
};

// The phases of a collective of `bytes` input per rank (as in Request::bytes), in order. Sizes are split by ceil(S/n).
// `root` are the root's coordinates, one per dimension; may be empty for kinds without a root. Throws InputError when
// the result of a gather would pass 2^62 bytes.
// With `top` kWhole an all-reduce is one phase on the last dimension, between the halves on the others.
std::vector<Phase> plan_phases(CollectiveKind kind, std::span<const std::uint32_t> dimension_sizes, Bytes bytes,
                               std::span<const std::uint32_t> root = {}, AllReduceTop top = AllReduceTop::kHalves);

// Whether the rank at `coordinates` takes part in `phase`; `root` as given to plan_phases.
bool participates(const Phase& phase, std::span<const std::uint32_t> coordinates, std::span<const std::uint32_t> root);

}  // namespace orrery
