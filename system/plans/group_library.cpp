#include "system/plans/group_library.h"

#include <algorithm>

#include "network/fabric/fabric.h"
#include "system/plans/line_traffic.h"

namespace orrery {
namespace {

// So many that rounding to whole bytes does not show, and so few that those of all ranks can be counted.
constexpr Bytes kMany{std::int64_t{1} << 32};

void note_latencies(GroupLayout& layout, NodePattern pattern, std::span<const DeviceId> devices, const Fabric& fabric) {
  for_each_message({pattern, Bytes(1), Bytes(1), {}}, layout.nodes, devices, fabric, [&](const GroupMessage& message) {
    Duration& longest = message.is_within ? layout.shape.within_latency : layout.shape.between_latency;
    longest = std::max(longest, route_latency(fabric, devices[message.from], devices[message.to]));
  });
}

// Without those that another link is slower than in both respects.
std::vector<LinkCost> paces(NodePattern pattern, const NodeMembers& nodes, std::span<const DeviceId> devices,
                            const Fabric& fabric) {
  std::vector<LinkCost> all;
  for (const LinkTraffic& load : traffic_by_link({pattern, kMany, kMany, {}}, nodes, devices, fabric).links) {
    const double byte =
        1.0 / static_cast<double>(kMany.count()) / static_cast<double>(fabric.link(load.link).bandwidth.count());
    all.push_back({static_cast<double>(load.within.count()) * byte, static_cast<double>(load.between.count()) * byte});
  }
  std::ranges::sort(all, [](const LinkCost& a, const LinkCost& b) { return a > b; });
  std::vector<LinkCost> slowest;
  for (const LinkCost& pace : all)
    if (slowest.empty() || pace.between > slowest.back().between) slowest.push_back(pace);
  return slowest;
}

}  // namespace

Aggregate NcclLibrary::transfer(CollectiveKind kind, Bytes bytes, std::uint32_t, const GroupLayout& layout) const {
  return choice(kind, bytes, layout.shape).transfer;
}

PointToPoint NcclLibrary::point_to_point(Bytes bytes, bool is_same_node, Duration) const {
  const NcclSend sent = send(bytes, is_same_node);
  return {sent.latency, sent.bytes};
}

NcclTiming NcclLibrary::choice(CollectiveKind kind, Bytes bytes, const GroupShape& shape) const {
  return fastest_nccl_timing({kind, bytes, &shape, machine_}, options_, constants_);
}

std::string NcclLibrary::name() const { return "nccl " + to_text(options_.version); }

NcclSend NcclLibrary::send(Bytes bytes, bool is_same_node) const {
  return nccl_send(bytes, is_same_node, machine_, options_, constants_);
}

GroupLayout lay_out_group(std::span<const DeviceId> devices, const Fabric& fabric) {
  GroupLayout layout;
  layout.nodes = members_of_nodes(devices, fabric);
  layout.shape.ranks = static_cast<std::uint32_t>(devices.size());
  for (const std::vector<std::uint32_t>& node : layout.nodes)
    layout.shape.fullest = std::max(layout.shape.fullest, static_cast<std::uint32_t>(node.size()));
  layout.shape.nodes = static_cast<std::uint32_t>(layout.nodes.size());
  for (const NodePattern pattern : {NodePattern::kRing, NodePattern::kDoubleTree, NodePattern::kAllPairs}) {
    layout.shape.paces[static_cast<std::size_t>(pattern)] = paces(pattern, layout.nodes, devices, fabric);
    if (pattern != NodePattern::kAllPairs) note_latencies(layout, pattern, devices, fabric);
  }
  return layout;
}

}  // namespace orrery
