#include "system/communicator_layout.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace orrery {
namespace {

std::vector<std::uint32_t> coordinates_of(DeviceId device, std::span<const std::uint32_t> sizes) {
  std::vector<std::uint32_t> coordinates;
  std::uint32_t rest = index_of(device);
  for (const std::uint32_t size : sizes) {
    coordinates.push_back(rest % size);
    rest /= size;
  }
  return coordinates;
}

// Per fabric dimension, whether the group uses more than one coordinate; false as a whole when it is no cuboid.
bool find_extent(std::span<const DeviceId> devices, std::span<const std::uint32_t> sizes, std::vector<bool>& whole) {
  const std::vector<std::uint32_t> first = coordinates_of(devices.front(), sizes);
  whole.assign(sizes.size(), false);
  for (const DeviceId device : devices) {
    const std::vector<std::uint32_t> coordinates = coordinates_of(device, sizes);
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (coordinates[d] != first[d]) whole[d] = true;
  }
  std::uint64_t volume = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) volume *= whole[d] ? sizes[d] : 1;
  return volume == devices.size();  // devices are distinct, so equal counts mean equal sets
}

// Whether all are at different places of the fabric's last dimension.
bool are_apart(std::span<const DeviceId> devices, std::span<const std::uint32_t> sizes) {
  std::set<std::uint32_t> places;
  for (const DeviceId device : devices)
    if (!places.insert(coordinates_of(device, sizes).back()).second) return false;
  return true;
}

}  // namespace

std::vector<std::uint32_t> CommunicatorLayout::coordinates(std::uint32_t position) const {
  std::vector<std::uint32_t> result;
  for (std::size_t d = 0; d < sizes.size(); ++d) result.push_back(coordinate(position, d));
  return result;
}

CommunicatorLayout logical_ring(std::uint32_t members) {
  CommunicatorLayout layout;
  layout.sizes = {members};
  layout.strides = {1};
  layout.position_of.resize(members);
  std::iota(layout.position_of.begin(), layout.position_of.end(), 0u);
  layout.member_at = layout.position_of;
  return layout;
}

CommunicatorLayout lay_out(std::span<const DeviceId> devices, std::span<const std::uint32_t> fabric_sizes) {
  const auto members = static_cast<std::uint32_t>(devices.size());
  std::vector<bool> whole;
  if (members == 1 || !find_extent(devices, fabric_sizes, whole)) {
    CommunicatorLayout ring = logical_ring(members);
    ring.apart = are_apart(devices, fabric_sizes);
    return ring;
  }
  CommunicatorLayout layout;
  layout.cuboid = true;
  std::uint32_t stride = 1;
  for (std::uint32_t d = 0; d < fabric_sizes.size(); ++d) {
    if (!whole[d]) continue;
    layout.sizes.push_back(fabric_sizes[d]);
    layout.dimensions.push_back(d);
    layout.strides.push_back(stride);
    stride *= fabric_sizes[d];
  }
  layout.position_of.resize(members);
  layout.member_at.resize(members);
  for (std::uint32_t member = 0; member < members; ++member) {
    const std::vector<std::uint32_t> coordinates = coordinates_of(devices[member], fabric_sizes);
    std::uint32_t position = 0;
    for (std::size_t i = 0; i < layout.dimensions.size(); ++i)
      position += coordinates[layout.dimensions[i]] * layout.strides[i];
    layout.position_of[member] = position;
    layout.member_at[position] = member;
  }
  return layout;
}

}  // namespace orrery
