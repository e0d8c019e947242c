// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/draw.h"
#include "experiment/experiment.h"
#include "experiment/sections.h"
#include "workload/training/program/rank_grid.h"

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

// The devices of each node that are listed: each once, and there.
void check_devices_of_nodes(const Placement& placement, std::uint32_t per_node) {
  std::vector<bool> used(per_node);
  for (const std::uint32_t device : placement.list) {
    if (device >= per_node)
      throw InputError(placement.where, fmt::format("placement names device {} of each node, which has devices 0 to {}",
                                                    device, per_node - 1));
    if (used[device]) throw InputError(placement.where, fmt::format("placement names device {} twice", device));
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
  if (std::vector<std::uint32_t> chosen = devices_of_each_node(word); !chosen.empty()) {
    placement.kind = PlacementKind::kOfNodes;
    placement.list = std::move(chosen);
    return true;
  }
  if (word == "packed") return true;
  if (word == "dense") {
    placement.kind = PlacementKind::kDense;
    return true;
  }
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

using Block = std::pair<std::int64_t, workload::GroupFamily>;

// Blocks of ranks in which groups of a family are whole, of families for which a node has room, the innermost first.
std::vector<Block> blocks_of(const workload::RankGrid& grid, std::int64_t per_node) {
  using workload::GroupFamily;
  std::vector<Block> blocks;
  for (const GroupFamily family :
       {GroupFamily::kTensor, GroupFamily::kContextInner, GroupFamily::kContext, GroupFamily::kExpert})
    if (const std::int64_t block = grid.block_of(family, per_node); block > 0) blocks.emplace_back(block, family);
  std::ranges::stable_sort(blocks, {}, &Block::first);
  return blocks;
}

std::optional<Packing> wanted_by(const workload::Parallelism& parallel, const network::Fabric& fabric) {
  if (!fabric.is_of_nodes()) return std::nullopt;
  const std::int64_t per_node = fabric.dimensions().front().size;
  if (parallel.ranks() <= per_node) return std::nullopt;
  std::int64_t block = 1;  // of ranks in which groups of all families taken so far are whole
  std::optional<workload::GroupFamily> outermost;
  for (const auto& [of_family, family] : blocks_of(workload::RankGrid(parallel), per_node)) {
    const std::int64_t both = std::lcm(block, of_family);
    if (both > per_node) continue;
    block = both;
    if (per_node % of_family != 0) outermost = family;
  }
  if (!outermost) return std::nullopt;
  const std::int64_t of_node = per_node / block * block;
  return Packing{*outermost, static_cast<std::uint32_t>(of_node), static_cast<std::uint32_t>(per_node),
                 (parallel.ranks() + of_node - 1) / of_node};
}

}  // namespace

std::vector<std::uint32_t> devices_of_each_node(std::string_view word) {
  constexpr std::string_view kDevices = "devices(";
  std::vector<std::uint32_t> chosen;
  if (!word.starts_with(kDevices) || !word.ends_with(")")) return chosen;
  std::string_view rest = word.substr(kDevices.size(), word.size() - kDevices.size() - 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string_view one = rest.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    const auto device = number(one);
    if (!device || *device > UINT32_MAX) return {};
    chosen.push_back(static_cast<std::uint32_t>(*device));
    if (comma == std::string_view::npos) return chosen;
    rest.remove_prefix(comma + 1);
  }
}

void read_placement(Section& section, Placement& placement) {
  const ConfigValue* value = section.raw(
      "placement", "packed | dense | strided | random(seed) | devices(list) | list of devices", "packed",
      "device that each rank runs on; packed: one node after another, of each so many devices that tensor, context and "
      "expert groups of a model stay inside a node if the cluster has the nodes for it, dense: rank i on device i, "
      "strided: round-robin over the nodes, "
      "random(seed): a random permutation, devices(list): one node after another, of each the devices of the list, as "
      "CUDA_VISIBLE_DEVICES names them. Example: `random(7)`, `devices(0,1,4,5)` or `[0, 2, 1, 3]`");
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
    section.error(
        "placement", "not a placement",
        "write packed, dense, strided, random(7), devices(0,1,4,5) or a list of device numbers, one per rank");
}

void check_rank_count(const Placement& placement, std::uint32_t ranks, const network::Fabric& fabric) {
  const std::uint32_t devices = fabric.device_count();
  const std::uint32_t per_node = fabric.dimensions().front().size;
  const bool is_of_nodes = placement.kind == PlacementKind::kOfNodes;
  if (is_of_nodes) check_devices_of_nodes(placement, per_node);
  const auto of_node = is_of_nodes ? static_cast<std::uint32_t>(placement.list.size()) : per_node;
  if (is_of_nodes && ranks > devices / per_node * of_node)
    throw InputError(placement.where,
                     fmt::format("{}, and placement names {} of each of {}", ranks_text(placement, ranks),
                                 counted(of_node, "device"), counted(devices / per_node, "node")),
                     "name more devices, or give the cluster more nodes");
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
      case PlacementKind::kDense:
        device_of.push_back(DeviceId(rank / of_node * per_node + rank % of_node));
        break;
      case PlacementKind::kStrided:
        device_of.push_back(DeviceId(rank % nodes * per_node + rank / nodes));
        break;
      case PlacementKind::kRandom:
        device_of.push_back(DeviceId(random[rank]));
        break;
      case PlacementKind::kOfNodes: {
        const auto listed = static_cast<std::uint32_t>(placement.list.size());
        device_of.push_back(DeviceId(rank / listed * per_node + placement.list[rank % listed]));
        break;
      }
      case PlacementKind::kList:
        device_of.push_back(DeviceId(placement.list[rank]));
        break;
    }
  }
  return device_of;
}

std::optional<Packing> packing_wanted(const Experiment& experiment) {
  if (experiment.jobs.size() != 1 || !experiment.jobs.front().workload.training) return std::nullopt;
  return wanted_by(experiment.jobs.front().workload.training->parallel, experiment.fabric);
}

std::optional<Packing> packing_of(const Experiment& experiment, const workload::Parallelism& parallel) {
  const bool has_spare_devices = parallel.ranks() < experiment.fabric.device_count();
  if (experiment.placement.kind != PlacementKind::kPacked || !has_spare_devices) return std::nullopt;
  const std::int64_t nodes = experiment.fabric.device_count() / experiment.fabric.dimensions().front().size;
  const std::optional<Packing> wanted = wanted_by(parallel, experiment.fabric);
  return wanted && wanted->nodes <= nodes ? wanted : std::nullopt;
}

std::optional<Packing> packing_of(const Experiment& experiment) {
  if (experiment.jobs.size() != 1 || !experiment.jobs.front().workload.training) return std::nullopt;
  return packing_of(experiment, experiment.jobs.front().workload.training->parallel);
}

std::vector<DeviceId> place_jobs(const Experiment& experiment, std::uint32_t ranks) {
  Placement placement = experiment.placement;
  if (const std::optional<Packing> packing = packing_of(experiment)) placement.of_node = packing->of_node;
  return place_ranks(placement, ranks, experiment.fabric);
}

}  // namespace orrery::experiment
