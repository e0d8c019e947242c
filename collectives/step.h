// SPDX-License-Identifier: MIT
// One message of a schedule, seen from its sender.
#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"

namespace orrery::collectives {

// Effect of a message on the receiver's copy: overwrite it or add to it.
enum class Combine : std::uint8_t { kCopy, kReduce };

// Receive slots [begin, end) of one rank.
struct SlotRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  constexpr bool empty() const { return begin == end; }
  constexpr bool operator==(const SlotRange&) const = default;
};

struct Step {
  std::uint32_t to = 0;           // receiving rank, never the sender
  std::uint32_t slot = 0;         // which of the receiver's receives this is, 0 .. receives(to)-1
  std::uint32_t piece_count = 0;  // pieces of the split that it carries (all_to_all: of a rank's n-way split)
  Bytes bytes{0};
  Combine combine = Combine::kCopy;
  Bytes reduce_bytes{0};                    // bytes that the receiver combines: `bytes` for kReduce, 0 for kCopy
  SlotRange needs;                          // the sender's own receives that must be there first
  std::optional<std::uint32_t> after_send;  // the sender's own earlier send that must be released first

  bool operator==(const Step&) const = default;
};

// A piece of the data, see Schedule::pieces().
using PieceId = std::uint64_t;

}  // namespace orrery::collectives
