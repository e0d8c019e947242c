// SPDX-License-Identifier: MIT
#include "system/plans/group_library.h"

#include <algorithm>
#include <set>

#include "network/fabric/fabric.h"
#include "system/plans/line_traffic.h"

namespace orrery::system {
namespace {

// Test size: large enough to hide rounding to whole bytes, small enough for the sum of all ranks not to overflow.
constexpr Bytes kMany{std::int64_t{1} << 32};

void note_latencies(GroupLayout& layout, collectives::NodePattern pattern, std::span<const DeviceId> devices,
                    const network::Fabric& fabric) {
  // Two of the nodes, if they are alike, show all messages that there are.
  const bool few = layout.alike && layout.nodes.size() > 2;
  const NodeMembers two = few ? NodeMembers{layout.nodes[0], layout.nodes[1]} : NodeMembers{};
  for_each_message({few ? collectives::NodePattern::kRing : pattern, Bytes(1), Bytes(1), {}, {}},
                   few ? two : layout.nodes, devices, fabric, [&](const GroupMessage& message) {
                     Duration& longest = message.is_within ? layout.shape.within_latency : layout.shape.between_latency;
                     longest =
                         std::max(longest, network::route_latency(fabric, devices[message.from], devices[message.to]));
                   });
}

// Each link's, or one for all that carry the same.
std::vector<LinkTraffic> loads_of(collectives::NodePattern pattern, const GroupLayout& layout,
                                  std::span<const DeviceId> devices, const network::Fabric& fabric) {
  const collectives::Aggregate transfer{pattern, kMany, kMany, {}, {}};
  if (!layout.alike || pattern == collectives::NodePattern::kAllPairs)
    return traffic_by_link(transfer, layout.nodes, devices, fabric).links;
  const NodeTraffic one = traffic_of_node(
      transfer, layout.nodes, [&](std::uint32_t member) { return devices[member]; }, fabric);
  const std::vector<std::uint32_t> neighbours = neighbours_of_nodes(pattern, layout.shape.nodes);
  std::vector<LinkTraffic> loads;
  for (const std::uint32_t number : std::set<std::uint32_t>(neighbours.begin(), neighbours.end()))
    for (const LinkTraffic& link : one.links)
      loads.push_back({link.link, link.within, saturating_multiply_add(Bytes(0), link.between, number)});
  return loads;
}

// Without those that another link is as slow as in both respects, the slowest within a node first.
std::vector<collectives::LinkCost> paces(collectives::NodePattern pattern, const GroupLayout& layout,
                                         std::span<const DeviceId> devices, const network::Fabric& fabric) {
  std::vector<collectives::LinkCost> slowest;
  for (const LinkTraffic& load : loads_of(pattern, layout, devices, fabric)) {
    const double byte =
        1.0 / static_cast<double>(kMany.count()) / static_cast<double>(fabric.link(load.link).bandwidth.count());
    const collectives::LinkCost pace{static_cast<double>(load.within.count()) * byte,
                                     static_cast<double>(load.between.count()) * byte};
    const auto hides = [](const collectives::LinkCost& a, const collectives::LinkCost& b) {
      return a.within >= b.within && a.between >= b.between;
    };
    if (std::ranges::any_of(slowest, [&](const auto& known) { return hides(known, pace); })) continue;
    std::erase_if(slowest, [&](const auto& known) { return hides(pace, known); });
    slowest.push_back(pace);
  }
  std::ranges::sort(slowest, [](const collectives::LinkCost& a, const collectives::LinkCost& b) { return a > b; });
  return slowest;
}

}  // namespace

collectives::Aggregate NcclLibrary::transfer(CollectiveKind kind, Bytes bytes, std::uint32_t,
                                             const GroupLayout& layout) const {
  return choice(kind, bytes, layout.shape).transfer;
}

CallWay NcclLibrary::way(CollectiveKind kind, Bytes bytes, const GroupLayout& layout) const {
  const collectives::NcclTiming chosen = choice(kind, bytes, layout.shape);
  return {std::string(chosen.algorithm ? collectives::name_of(*chosen.algorithm) : kSendsAndReceives),
          std::string(collectives::name_of(chosen.protocol))};
}

PointToPoint NcclLibrary::point_to_point(Bytes bytes, bool is_same_node, Duration) const {
  const collectives::NcclSend sent = send(bytes, is_same_node);
  return {sent.latency, sent.bytes, sent.exceeds_buffer, sent.processors, collectives::name_of(sent.protocol)};
}

collectives::NcclTiming NcclLibrary::choice(CollectiveKind kind, Bytes bytes,
                                            const collectives::GroupShape& shape) const {
  return collectives::fastest_nccl_timing({kind, bytes, &shape, machine_of(machines_, shape)}, options_, constants_);
}

std::string NcclLibrary::name() const { return "nccl " + collectives::to_text(options_.version); }

collectives::NcclSend NcclLibrary::send(Bytes bytes, bool is_same_node) const {
  return collectives::nccl_send(bytes, is_same_node, machine_, options_, constants_);
}

MachineKind machine_of(std::span<const MachineKind> machines, const collectives::GroupShape& shape) {
  if (shape.types.empty()) return common_machine(machines);
  std::vector<MachineKind> of_group;
  for (const std::uint32_t type : shape.types) of_group.push_back(machines[type]);
  return common_machine(of_group);
}

namespace {

// Number of NICs by which the members of the fullest node send to others; each has its own where there are no NICs.
std::uint32_t nics_of_fullest(const NodeMembers& nodes, std::span<const DeviceId> devices,
                              const network::Fabric& fabric) {
  const auto fullest = std::ranges::max_element(nodes, {}, &std::vector<std::uint32_t>::size);
  if (!fabric.is_of_nodes()) return static_cast<std::uint32_t>(fullest->size());
  std::set<std::uint32_t> nics;
  for (const std::uint32_t member : *fullest) nics.insert(fabric.nics_of(devices[member]).out);
  return static_cast<std::uint32_t>(nics.size());
}

}  // namespace

GroupLayout lay_out_group(std::span<const DeviceId> devices, const network::Fabric& fabric, bool exchanges) {
  GroupLayout layout;
  layout.nodes = members_of_nodes(devices, fabric);
  layout.shape.ranks = static_cast<std::uint32_t>(devices.size());
  for (const std::vector<std::uint32_t>& node : layout.nodes)
    layout.shape.fullest = std::max(layout.shape.fullest, static_cast<std::uint32_t>(node.size()));
  if (fabric.type_count() > 1) {
    auto& types = layout.shape.types;
    for (const DeviceId device : devices) types.push_back(fabric.type_of(device));
    std::ranges::sort(types);
    types.erase(std::unique(types.begin(), types.end()), types.end());
  }
  layout.shape.nodes = static_cast<std::uint32_t>(layout.nodes.size());
  layout.alike = layout.shape.nodes > 1 && are_nodes_alike(layout.nodes, devices, fabric);
  if (layout.shape.nodes > 1) layout.shape.nics = nics_of_fullest(layout.nodes, devices, fabric);
  for (const collectives::NodePattern pattern :
       {collectives::NodePattern::kRing, collectives::NodePattern::kDoubleTree, collectives::NodePattern::kAllPairs}) {
    if (pattern == collectives::NodePattern::kAllPairs && !exchanges) continue;
    layout.shape.paces[static_cast<std::size_t>(pattern)] = paces(pattern, layout, devices, fabric);
    if (pattern != collectives::NodePattern::kAllPairs) note_latencies(layout, pattern, devices, fabric);
  }
  return layout;
}

}  // namespace orrery::system
