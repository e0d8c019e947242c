// SPDX-License-Identifier: MIT
#include "system/plans/repeats.h"

namespace orrery::system {

Repeats find_repeats(const workload::Job& job, std::span<const DeviceId> placement, const network::Fabric& fabric) {
  const workload::Period ranks = job.ranks.period();
  if (!ranks.any() || !fabric.has_nodes_alike()) return {};
  const std::uint32_t per_node = fabric.dimensions().front().size, all_nodes = fabric.device_count() / per_node;
  const std::uint32_t shift = index_of(placement[ranks.stride]) - index_of(placement[0]);  // of devices, by a digit
  const workload::Period nodes{shift / per_node, ranks.count};
  if (shift % per_node != 0 || nodes.stride == 0 || nodes.stride > all_nodes / ranks.count ||
      all_nodes % (nodes.stride * nodes.count) != 0)
    return {};
  for (std::uint32_t place = 0; place < placement.size() / ranks.count; ++place) {
    const std::uint32_t first = ranks.at(place), device = index_of(placement[first]);
    if (nodes.digit(device / per_node) != 0) return {};
    for (std::uint32_t digit = 1; digit < ranks.count; ++digit)
      if (index_of(placement[first + digit * ranks.stride]) != device + digit * shift) return {};
  }
  return {ranks, nodes};
}

}  // namespace orrery::system
