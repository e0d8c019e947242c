// SPDX-License-Identifier: MIT
// Layout of a communicator in the fabric's dimensions: a cuboid, in which collectives run axis by axis, or one logical
// ring. A dimension is one axis, but for a torus or a mesh, which have several.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "network/fabric/fabric.h"

namespace orrery::system {

// Members are addressed by position: 0 .. size-1, mixed-radix over `sizes`, the first axis fastest.
struct CommunicatorLayout {
  bool cuboid = false;  // else one axis in the order of the members
  bool apart = false;   // of no cuboid: all differ in the fabric's last dimension, each is on a node of its own
  std::vector<std::uint32_t> sizes;       // members along each axis; all of them > 1, unless the group has one member
  std::vector<std::uint32_t> dimensions;  // the fabric's dimension that each axis is of; empty for a logical ring
  std::vector<bool> open;                 // whether the way from its last member to the first leads back along the axis
  std::vector<std::uint32_t> strides;     // distance in positions between neighbours along each axis
  std::vector<std::uint32_t> position_of;  // by member
  std::vector<std::uint32_t> member_at;    // by position

  std::uint32_t size() const { return static_cast<std::uint32_t>(member_at.size()); }
  std::uint32_t coordinate(std::uint32_t position, std::size_t axis) const {
    return position / strides[axis] % sizes[axis];
  }
  // All of them, as phase plans take them.
  std::vector<std::uint32_t> coordinates(std::uint32_t position) const;
  // The position that differs from `position` only in having the coordinate `to` along `axis`.
  std::uint32_t moved_to(std::uint32_t position, std::size_t axis, std::uint32_t to) const {
    return position + (to - coordinate(position, axis)) * strides[axis];
  }
};

// `devices` are those of the members, in the order of the group. A group is a cuboid when it is all combinations of
// some coordinates on each axis: of one or of all of them, on an axis of a grid also of equally spaced ones.
CommunicatorLayout lay_out(std::span<const DeviceId> devices, std::span<const network::LogicalDimension> dimensions);

// The same group with the axes of a dimension as one where `is_one(dimension)`; nothing if it is so already.
std::optional<CommunicatorLayout> merge_axes(const CommunicatorLayout& layout,
                                             const std::function<bool(std::uint32_t dimension)>& is_one);

// The same group as one logical ring in the order of its members.
CommunicatorLayout logical_ring(std::uint32_t members);

}  // namespace orrery::system
