// SPDX-License-Identifier: MIT
#include "system/plans/communicator_layout.h"

#include <algorithm>
#include <numeric>

namespace orrery::system {
namespace {

// An axis of the fabric, and which of its coordinates a group has.
struct Axis {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;  // in device numbers
  std::uint32_t dimension = 0;
  bool is_grid = false;
  bool closed = true;
  std::uint32_t first = 0;
  std::uint32_t spacing = 1;
  std::uint32_t count = 0;

  std::uint32_t coordinate(DeviceId device) const { return index_of(device) / stride % size; }
  std::uint32_t place(DeviceId device) const { return (coordinate(device) - first) / spacing; }
  bool is_closed() const { return closed && count * spacing == size; }
};

std::vector<Axis> axes_of(std::span<const network::LogicalDimension> dimensions) {
  std::vector<Axis> axes;
  std::uint32_t stride = 1;
  for (std::uint32_t d = 0; d < dimensions.size(); ++d) {
    for (const network::GridAxis& axis : dimensions[d].axes) {
      axes.push_back({.size = axis.size, .stride = stride, .dimension = d, .is_grid = true, .closed = axis.closed});
      stride *= axis.size;
    }
    if (!dimensions[d].axes.empty()) continue;
    axes.push_back({.size = dimensions[d].size, .stride = stride, .dimension = d});
    stride *= dimensions[d].size;
  }
  return axes;
}

// The coordinates that the group has on an axis, ascending. Groups are many and mostly small, axes may be long.
std::vector<std::uint32_t> coordinates_on(const Axis& axis, std::span<const DeviceId> devices) {
  std::vector<std::uint32_t> coordinates;
  const std::uint32_t first = axis.coordinate(devices.front());
  if (std::ranges::all_of(devices, [&](DeviceId device) { return axis.coordinate(device) == first; })) return {first};
  if (axis.size <= devices.size()) {
    std::vector<bool> has(axis.size);
    for (const DeviceId device : devices) has[axis.coordinate(device)] = true;
    for (std::uint32_t coordinate = 0; coordinate < axis.size; ++coordinate)
      if (has[coordinate]) coordinates.push_back(coordinate);
    return coordinates;
  }
  for (const DeviceId device : devices) coordinates.push_back(axis.coordinate(device));
  std::ranges::sort(coordinates);
  coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
  return coordinates;
}

// Finds which coordinates the group has on an axis; false if a cuboid has others.
bool find_extent(std::span<const DeviceId> devices, Axis& axis) {
  const std::vector<std::uint32_t> coordinates = coordinates_on(axis, devices);
  axis.first = coordinates.front();
  axis.count = static_cast<std::uint32_t>(coordinates.size());
  if (axis.count == 1) return true;
  axis.spacing = coordinates[1] - coordinates[0];
  for (std::uint32_t i = 0; i < axis.count; ++i)
    if (coordinates[i] != axis.first + i * axis.spacing) return false;
  return axis.is_grid || axis.count == axis.size;
}

// The axes along which a cuboid lies; nothing if the group is none.
std::optional<std::vector<Axis>> find_axes(std::span<const DeviceId> devices,
                                           std::span<const network::LogicalDimension> dimensions) {
  std::vector<Axis> axes = axes_of(dimensions);
  std::uint64_t volume = 1;
  for (Axis& axis : axes) {
    if (!find_extent(devices, axis)) return std::nullopt;
    volume *= axis.count;
  }
  if (volume != devices.size()) return std::nullopt;  // devices are distinct, so equal counts mean equal sets
  std::erase_if(axes, [](const Axis& axis) { return axis.count == 1; });
  return axes;
}

// True if all devices are at different places of the fabric's last dimension.
bool are_apart(std::span<const DeviceId> devices, std::span<const network::LogicalDimension> dimensions) {
  Axis last{.size = dimensions.back().size};
  for (const network::LogicalDimension& dimension : dimensions.first(dimensions.size() - 1))
    last.stride *= dimension.size;
  return coordinates_on(last, devices).size() == devices.size();
}

}  // namespace

std::vector<std::uint32_t> CommunicatorLayout::coordinates(std::uint32_t position) const {
  std::vector<std::uint32_t> result;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) result.push_back(coordinate(position, axis));
  return result;
}

CommunicatorLayout logical_ring(std::uint32_t members) {
  CommunicatorLayout layout;
  layout.sizes = {members};
  layout.open = {false};
  layout.strides = {1};
  layout.position_of.resize(members);
  std::iota(layout.position_of.begin(), layout.position_of.end(), 0u);
  layout.member_at = layout.position_of;
  return layout;
}

CommunicatorLayout lay_out(std::span<const DeviceId> devices, std::span<const network::LogicalDimension> dimensions) {
  const auto members = static_cast<std::uint32_t>(devices.size());
  if (members == 1) return logical_ring(members);
  const std::optional<std::vector<Axis>> axes = find_axes(devices, dimensions);
  if (!axes) {
    CommunicatorLayout ring = logical_ring(members);
    ring.apart = are_apart(devices, dimensions);
    return ring;
  }
  CommunicatorLayout layout;
  layout.cuboid = true;
  layout.position_of.resize(members);
  layout.member_at.resize(members);
  std::uint32_t stride = 1;
  for (const Axis& axis : *axes) {
    layout.sizes.push_back(axis.count);
    layout.dimensions.push_back(axis.dimension);
    layout.open.push_back(!axis.is_closed());
    layout.strides.push_back(stride);
    for (std::uint32_t member = 0; member < members; ++member)
      layout.position_of[member] += axis.place(devices[member]) * stride;
    stride *= axis.count;
  }
  for (std::uint32_t member = 0; member < members; ++member) layout.member_at[layout.position_of[member]] = member;
  return layout;
}

std::optional<CommunicatorLayout> merge_axes(const CommunicatorLayout& layout,
                                             const std::function<bool(std::uint32_t dimension)>& is_one) {
  std::optional<CommunicatorLayout> merged;
  for (std::size_t axis = layout.dimensions.size(); axis-- > 1;) {
    if (layout.dimensions[axis] != layout.dimensions[axis - 1] || !is_one(layout.dimensions[axis])) continue;
    if (!merged) merged = layout;
    merged->sizes[axis - 1] *= merged->sizes[axis];
    merged->open[axis - 1] = false;
    const auto at = static_cast<std::ptrdiff_t>(axis);
    merged->sizes.erase(merged->sizes.begin() + at);
    merged->dimensions.erase(merged->dimensions.begin() + at);
    merged->open.erase(merged->open.begin() + at);
    merged->strides.erase(merged->strides.begin() + at);
  }
  return merged;
}

}  // namespace orrery::system
