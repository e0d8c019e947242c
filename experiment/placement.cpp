// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/draw.h"
#include "experiment/experiment.h"

namespace orrery::experiment {
namespace {

std::string ranks_text(const Placement& placement, std::uint32_t ranks) {
  const std::string who = placement.jobs > 1 ? fmt::format("{} jobs have", placement.jobs) : "job has";
  return fmt::format("the {} {}", who, counted(ranks, "rank"));
}

void check_list(const Placement& placement, std::uint32_t ranks, std::uint32_t devices) {
  if (placement.list.size() != ranks)
    throw InputError(placement.where, fmt::format("placement lists {}, {}", counted(placement.list.size(), "device"),
                                                  ranks_text(placement, ranks)));
  std::vector<bool> used(devices);
  for (std::size_t rank = 0; rank < placement.list.size(); ++rank) {
    const std::uint32_t device = placement.list[rank];
    if (device >= devices)
      throw InputError(placement.where,
                       fmt::format("placement puts rank {} on device {}; the cluster has devices 0 to {}", rank, device,
                                   devices - 1));
    if (used[device]) throw InputError(placement.where, fmt::format("placement puts two ranks on device {}", device));
    used[device] = true;
  }
}

}  // namespace

void check_rank_count(const Placement& placement, std::uint32_t ranks, const network::Fabric& fabric) {
  const std::uint32_t devices = fabric.device_count();
  const std::uint32_t per_node = fabric.dimensions().front().size;
  if (ranks > devices)
    throw InputError(placement.devices_at,
                     fmt::format("{}, the cluster only {}", ranks_text(placement, ranks), counted(devices, "device")),
                     placement.has_nodes ? fmt::format("write `nodes: {}` or more", (ranks + per_node - 1) / per_node)
                                         : "raise the sizes of `cluster.dims`");
}

std::vector<DeviceId> place_ranks(const Placement& placement, std::uint32_t ranks, const network::Fabric& fabric) {
  check_rank_count(placement, ranks, fabric);
  const std::uint32_t devices = fabric.device_count();
  const std::uint32_t per_node = fabric.dimensions().front().size;
  const std::uint32_t nodes = devices / per_node;
  const std::vector<std::uint32_t> random =
      placement.kind == PlacementKind::kRandom ? shuffled(devices, placement.seed) : std::vector<std::uint32_t>{};
  const std::uint32_t of_node = placement.of_node == 0 ? per_node : placement.of_node;
  if (placement.kind == PlacementKind::kList) check_list(placement, ranks, devices);
  std::vector<DeviceId> device_of;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    switch (placement.kind) {
      case PlacementKind::kPacked:
        device_of.push_back(DeviceId(rank / of_node * per_node + rank % of_node));
        break;
      case PlacementKind::kStrided:
        device_of.push_back(DeviceId(rank % nodes * per_node + rank / nodes));
        break;
      case PlacementKind::kRandom:
        device_of.push_back(DeviceId(random[rank]));
        break;
      case PlacementKind::kList:
        device_of.push_back(DeviceId(placement.list[rank]));
        break;
    }
  }
  return device_of;
}

}  // namespace orrery::experiment
