#include "system/group_traffic.h"

#include <algorithm>
#include <unordered_map>

namespace orrery {
namespace {

// So that no share of a link is more than weight_of() takes.
constexpr int kMostWeightBits = 30;

Bytes sum(const LinkLoad& load) { return saturating_add(load.within, load.between); }

// Of links that take equally long, the most loaded.
Bytes load_of_slowest(std::span<const LinkLoad> loads, const Fabric& fabric) {
  Int128 slowest = 0, rate = 1;
  Bytes most(0);
  for (const LinkLoad& load : loads) {
    const Int128 bytes = sum(load).count(), own_rate = fabric.link(load.link).bandwidth.count();
    most = std::max(most, sum(load));
    const Int128 longer = bytes * rate - slowest * own_rate;
    if (longer < 0 || (longer == 0 && bytes <= slowest)) continue;
    slowest = bytes;
    rate = own_rate;
  }
  return std::max(Bytes(static_cast<std::int64_t>(slowest)), ceil_div(most, std::int64_t{1} << kMostWeightBits));
}

}  // namespace

std::vector<LinkLoad> link_loads(const GroupTransfer& transfer, const NodeMembers& nodes,
                                 std::span<const DeviceId> devices, const Fabric& fabric) {
  std::vector<LinkLoad> loads;
  std::unordered_map<std::uint32_t, std::size_t> number;  // by link
  std::vector<LinkId> route;
  for_each_message(transfer, nodes, devices, fabric, [&](const GroupMessage& message) {
    fabric.route(devices[message.from], devices[message.to], route);
    for (const LinkId link : route) {
      const auto [known, is_new] = number.try_emplace(index_of(link), loads.size());
      if (is_new) loads.push_back({link, Bytes(0), Bytes(0)});
      Bytes& load = message.is_within ? loads[known->second].within : loads[known->second].between;
      load = saturating_add(load, message.bytes);
    }
  });
  std::ranges::sort(loads, {}, &LinkLoad::link);
  return loads;
}

LineTraffic group_traffic(const GroupTransfer& transfer, const NodeMembers& nodes, std::span<const DeviceId> devices,
                          const Fabric& fabric) {
  const std::vector<LinkLoad> loads = link_loads(transfer, nodes, devices, fabric);
  for (const LinkLoad& load : loads) require_countable_load(sum(load));
  LineTraffic traffic;
  traffic.busiest = load_of_slowest(loads, fabric);
  traffic.latency = transfer.latency;
  for (const LinkLoad& load : loads) traffic.shares.push_back({load.link, weight_of(sum(load), traffic.busiest)});
  return traffic;
}

}  // namespace orrery
