// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/draw.h"
#include "experiment/experiment.h"
#include "experiment/sections.h"

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

// A number that fits a device or a seed.
std::optional<std::uint64_t> number(std::string_view text) {
  const auto whole = parse_whole_number(text);
  if (!whole || *whole < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*whole);
}

bool read_placement_word(const std::string& word, Placement& placement) {
  if (word == "packed") return true;
  if (word == "strided") {
    placement.kind = PlacementKind::kStrided;
    return true;
  }
  constexpr std::string_view kRandom = "random(";
  if (!word.starts_with(kRandom) || !word.ends_with(")")) return false;
  const auto seed = number(std::string_view(word).substr(kRandom.size(), word.size() - kRandom.size() - 1));
  placement.kind = PlacementKind::kRandom;
  placement.seed = seed.value_or(0);
  return seed.has_value();
}

}  // namespace

void read_placement(Section& section, Placement& placement) {
  const ConfigValue* value =
      section.raw("placement", "packed | strided | random(seed) | list of devices", "packed",
                  "device that each rank runs on; packed: rank i on device i, strided: round-robin over the nodes, "
                  "random(seed): a random permutation. Example: `random(7)` or `[0, 2, 1, 3]`");
  placement.where = section.where("placement");
  if (value == nullptr) return;
  bool right = value->kind == ConfigValue::Kind::kList ||
               (value->kind == ConfigValue::Kind::kScalar && read_placement_word(value->scalar, placement));
  if (value->kind == ConfigValue::Kind::kList) {
    placement.kind = PlacementKind::kList;
    for (const ConfigValue& item : value->items) {
      const auto device = number(item.scalar);
      right = right && device && *device <= UINT32_MAX;
      placement.list.push_back(static_cast<std::uint32_t>(device.value_or(0)));
    }
  }
  if (!right)
    section.error("placement", "not a placement",
                  "write packed, strided, random(7) or a list of device numbers, one per rank");
}

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
