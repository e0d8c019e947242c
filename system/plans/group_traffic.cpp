#include "system/plans/group_traffic.h"

#include <algorithm>
#include <unordered_map>

namespace orrery {

GroupTraffic traffic_by_link(const Aggregate& transfer, const NodeMembers& nodes, std::span<const DeviceId> devices,
                             const Fabric& fabric) {
  GroupTraffic traffic;
  std::vector<LinkTraffic>& links = traffic.links;
  std::unordered_map<std::uint32_t, std::size_t> number;               // by link
  std::vector<Bytes> within(devices.size()), between(devices.size());  // sent, by member
  std::vector<LinkId> route;
  for_each_message(transfer, nodes, devices, fabric, [&](const GroupMessage& message) {
    const auto add = [&](Bytes& sum) { sum = saturating_add(sum, message.bytes); };
    add(message.is_within ? within[message.from] : between[message.from]);
    fabric.route(devices[message.from], devices[message.to], route);
    for (const LinkId link : route) {
      const auto [known, is_new] = number.try_emplace(index_of(link), links.size());
      if (is_new) links.push_back({link, Bytes(0), Bytes(0)});
      add(message.is_within ? links[known->second].within : links[known->second].between);
    }
  });
  std::ranges::sort(links, {}, &LinkTraffic::link);
  if (links.empty()) return traffic;
  traffic.most_within = *std::ranges::max_element(within);
  traffic.most_between = *std::ranges::max_element(between);
  return traffic;
}

LineTraffic group_traffic(const Aggregate& transfer, const NodeMembers& nodes, std::span<const DeviceId> devices,
                          const Fabric& fabric) {
  const GroupTraffic by_link = traffic_by_link(transfer, nodes, devices, fabric);
  LineTraffic traffic;
  traffic.latency = transfer.latency;
  for (const LinkTraffic& link : by_link.links) {
    const Bytes load = saturating_add(link.within, link.between);
    require_countable_load(load);
    traffic.loads.push_back({link.link, load,
                             std::max(connections_of(link.within, by_link.most_within),
                                      connections_of(link.between, by_link.most_between))});
  }
  return traffic;
}

}  // namespace orrery
