// SPDX-License-Identifier: MIT
// A request worked out once for the programs of an algorithm: into how many pieces the data is cut, what they weigh,
// and the power of two inside the group.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/request.h"
#include "core/units.h"

namespace orrery::collectives {

// Into how many parts an algorithm cuts a buffer that has no parts of its own (all_reduce, broadcast, reduce). The
// other kinds always have one piece per rank (all_to_all: per pair of ranks).
enum class Split : std::uint8_t { kWhole, kPerRank, kPowerOfTwo, kSegments };

// Number of segments in kSegments: enough to keep all levels of a tree busy.
inline constexpr std::uint32_t kSegments = 16;

class MessageTable;

struct Layout {
  std::uint32_t ranks = 1;
  std::uint32_t root = 0;
  std::uint32_t window = 0;   // sends in flight per rank; 0 is all at once
  std::uint32_t parts = 1;    // pieces of one rank's buffer
  std::uint32_t rounds = 0;   // floor(log2(ranks))
  std::uint32_t surplus = 0;  // ranks - 2^rounds
  bool descending = false;    // as in Request
  bool nearest_first = false;

  Bytes piece{0};                       // weight of a piece where all weigh the same: ceil(S / parts)
  const MessageTable* table = nullptr;  // of an algorithm that a file gives, which outlives the layout
  Bytes buffer{0};                      // Request::bytes, which the table has the shares of
  std::vector<Bytes> running_sum;  // where they differ: [r] = weight of one piece of each rank before r; ranks + 1 long

  // One piece of each of `count` ranks from `first` on, around the ring of ranks; count <= ranks.
  Bytes weight(std::uint32_t first, std::uint32_t count) const;
  Bytes weight_of(std::uint32_t rank) const { return weight(rank, 1); }
};

// Asserts that the request is consistent; throws InputError when sizes pass 2^62 bytes.
Layout make_layout(const Request& request, Split split, std::uint32_t window);
// The same for messages of which each has its share of the buffer.
Layout make_layout(const Request& request, const MessageTable& table);

}  // namespace orrery::collectives
