// How a communicator lies in the fabric's dimensions: as a cuboid, in which collectives run dimension by dimension, or
// as one logical ring.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"

namespace orrery {

// Members are addressed by position: 0 .. size-1, mixed-radix over `sizes`, the first dimension fastest.
struct CommunicatorLayout {
  bool cuboid = false;               // else one dimension in the order of the members
  bool apart = false;                // all members differ in the fabric's last dimension: each is on a node of its own
  std::vector<std::uint32_t> sizes;  // members along each dimension; all of them > 1, unless the group has one member
  std::vector<std::uint32_t> dimensions;   // the fabric's dimension behind each; empty for a logical ring
  std::vector<std::uint32_t> strides;      // distance in positions between neighbours along each dimension
  std::vector<std::uint32_t> position_of;  // by member
  std::vector<std::uint32_t> member_at;    // by position

  std::uint32_t size() const { return static_cast<std::uint32_t>(member_at.size()); }
  std::uint32_t coordinate(std::uint32_t position, std::size_t dimension) const {
    return position / strides[dimension] % sizes[dimension];
  }
  // All of them, as phase plans take them.
  std::vector<std::uint32_t> coordinates(std::uint32_t position) const;
  // The position that differs from `position` only in having `coordinate` along `dimension`.
  std::uint32_t moved_to(std::uint32_t position, std::size_t dimension, std::uint32_t to) const {
    return position + (to - coordinate(position, dimension)) * strides[dimension];
  }
};

// `devices` are those of the members, in the order of the group; `fabric_sizes` the sizes of the fabric's dimensions,
// the first fastest. A group is a cuboid when it holds, for each dimension, either all coordinates or one.
CommunicatorLayout lay_out(std::span<const DeviceId> devices, std::span<const std::uint32_t> fabric_sizes);

// The same group as one logical ring in the order of its members.
CommunicatorLayout logical_ring(std::uint32_t members);

}  // namespace orrery
