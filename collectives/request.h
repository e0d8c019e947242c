// SPDX-License-Identifier: MIT
// Request of a group to a collective algorithm. Ranks here are positions in the group, 0 .. ranks-1.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/collective_kind.h"
#include "core/units.h"

namespace orrery::collectives {

// The most ranks that a group may have.
inline constexpr std::uint32_t kMostRanks = 1U << 30;

struct Request {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::uint32_t ranks = 1;
  std::uint32_t root = 0;  // of broadcast, reduce, gather and scatter; the others ignore it

  // The input buffer of one rank, as Chakra counts it:
  //   all_reduce, broadcast, reduce: S, the whole buffer;    reduce_scatter: S, of which S/n is the result;
  //   all_gather, gather: S, one rank's contribution;        scatter: S, the root's, of which each rank gets S/n;
  //   all_to_all: S, the buffer of which each peer gets S/n; barrier: ignored.
  Bytes bytes{0};

  // Per-rank sizes where they differ: all_to_all, gather; scatter reads the root's. Empty when all are `bytes`, and for
  // all other kinds.
  std::vector<Bytes> bytes_of_rank;

  // Number of sends that a rank may have in flight, for algorithms with a window (`direct`); 0: all at once; empty: the
  // algorithm's choice.
  std::optional<std::uint32_t> window;

  // The other way round, from rank to rank - 1, in the algorithms of a ring.
  bool descending = false;

  // True if halving-doubling sends its largest messages to the nearest ranks rather than to the farthest.
  bool nearest_first = false;
};

// Throws InputError when the buffers of all ranks together pass 2^62 bytes, so that bytes of messages cannot overflow.
void require_countable(CollectiveKind kind, std::uint32_t ranks, Bytes bytes);

}  // namespace orrery::collectives
