// SPDX-License-Identifier: MIT
#include "system/plans/line_traffic.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "collectives/longest_chain.h"
#include "core/error.h"
#include "core/hash.h"
#include "network/fabric/fabric.h"

namespace orrery::system {
namespace {

constexpr Bytes kTooMany{std::int64_t{1} << 62};

// Bytes that one rank sends to each of the others.
class SentBy {
 public:
  explicit SentBy(std::uint32_t ranks) : bytes_(ranks) {}

  void count(const collectives::Schedule& schedule, std::uint32_t rank) {
    for (const std::uint32_t to : receivers_) bytes_[to] = Bytes(0);
    receivers_.clear();
    const std::uint32_t sends = schedule.sends(rank);
    if (sends == 0) return;
    if (schedule.is_uniform_ring()) {
      const collectives::Step step = schedule.step(rank, 0);
      return add(step.to, step.bytes, sends);
    }
    for (std::uint32_t send = 0; send < sends; ++send) {
      const collectives::Step step = schedule.step(rank, send);
      add(step.to, step.bytes, 1);
    }
  }

  std::span<const std::uint32_t> receivers() const { return receivers_; }
  Bytes to(std::uint32_t receiver) const { return bytes_[receiver]; }

 private:
  void add(std::uint32_t to, Bytes bytes, std::uint32_t times) {
    if (bytes == Bytes(0)) return;
    if (bytes_[to] == Bytes(0)) receivers_.push_back(to);
    const Int128 sum = Int128{bytes_[to].count()} + Int128{bytes.count()} * times;
    bytes_[to] = sum < kTooMany.count() ? Bytes(static_cast<std::int64_t>(sum)) : kTooMany;
  }

  std::vector<Bytes> bytes_;
  std::vector<std::uint32_t> receivers_;
};

// Bytes per link, in a flat hash table.
class LinkSums {
 public:
  LinkTraffic& of(LinkId link) {
    if (2 * links_.size() >= numbers_.size()) grow();
    std::uint32_t& number = place_of(link);
    if (number == 0) {
      links_.push_back({link, Bytes(0), Bytes(0)});
      number = static_cast<std::uint32_t>(links_.size());
    }
    return links_[number - 1];
  }
  std::vector<LinkTraffic> take() { return std::move(links_); }

 private:
  // Slot of the link's number, or the empty slot (0) where it belongs.
  std::uint32_t& place_of(LinkId link) {
    std::size_t place = mixed(index_of(link));
    while (true) {
      std::uint32_t& number = numbers_[place++ & (numbers_.size() - 1)];
      if (number == 0 || links_[number - 1].link == link) return number;
    }
  }
  void grow() {
    numbers_.assign(std::max<std::size_t>(64, 2 * numbers_.size()), 0);
    for (std::uint32_t link = 0; link < links_.size(); ++link) place_of(links_[link].link) = link + 1;
  }

  std::vector<LinkTraffic> links_;
  std::vector<std::uint32_t> numbers_;  // 0: none; that of link l is l + 1
};

}  // namespace

LineTraffic in_network_traffic(const collectives::Schedule& schedule, std::span<const DeviceId> devices,
                               const network::Fabric& fabric) {
  LineTraffic traffic;
  Bytes data(0);
  std::set<LinkId> crossed;
  std::vector<LinkId> route;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
    for (std::uint32_t send = 0; send < schedule.sends(rank); ++send) {
      const collectives::Step step = schedule.step(rank, send);
      data = std::max(data, step.bytes);
      traffic.latency = std::max(traffic.latency, network::route_latency(fabric, devices[rank], devices[step.to]));
      if (step.bytes == Bytes(0)) continue;
      fabric.route(devices[rank], devices[step.to], route);
      crossed.insert(route.begin(), route.end());
    }
  require_countable_load(data);
  for (const LinkId link : crossed) traffic.loads.push_back({link, data, 1});
  return traffic;
}

GroupTraffic traffic_by_link(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                             std::span<const DeviceId> devices, const network::Fabric& fabric) {
  GroupTraffic traffic;
  LinkSums sums;
  std::vector<Bytes> within(devices.size()), between(devices.size());  // sent, by member
  std::vector<LinkId> route;
  for_each_message(transfer, nodes, devices, fabric, [&](const GroupMessage& message) {
    Bytes& sent = (message.is_within ? within : between)[message.from];
    sent = saturating_add(sent, message.bytes);
    fabric.route(devices[message.from], devices[message.to], route);
    for (const LinkId link : route) {
      LinkTraffic& sum = sums.of(link);
      Bytes& bytes = message.is_within ? sum.within : sum.between;
      bytes = saturating_add(bytes, message.bytes);
    }
  });
  traffic.links = sums.take();
  if (traffic.links.empty()) return traffic;
  traffic.most_within = *std::ranges::max_element(within);
  traffic.most_between = *std::ranges::max_element(between);
  return traffic;
}

network::LinkLoad NodeTraffic::load(const LinkTraffic& link, std::uint32_t neighbours, std::uint32_t most) const {
  const Bytes between = saturating_multiply_add(Bytes(0), link.between, neighbours);
  const Bytes bytes = saturating_add(link.within, between);
  require_countable_load(bytes);
  return {link.link, bytes,
          std::max(connections_of(link.within, most_within),
                   connections_of(between, saturating_multiply_add(Bytes(0), most_between, most)))};
}

// Traffic on the links of the first of two nodes, each of which is the other's only neighbour.
NodeTraffic traffic_of_node(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                            const std::function<DeviceId(std::uint32_t)>& device_of_member,
                            const network::Fabric& fabric) {
  NodeMembers two;
  std::vector<DeviceId> devices;
  for (std::size_t node = 0; node < std::min<std::size_t>(nodes.size(), 2); ++node) {
    two.emplace_back();
    for (const std::uint32_t member : nodes[node]) {
      two.back().push_back(static_cast<std::uint32_t>(devices.size()));
      devices.push_back(device_of_member(member));
    }
  }
  collectives::Aggregate ring = transfer;
  ring.pattern = collectives::NodePattern::kRing;
  GroupTraffic traffic = traffic_by_link(ring, two, devices, fabric);
  NodeTraffic result{network::node_of(fabric, devices.front()), {}, traffic.most_within, traffic.most_between};
  for (const LinkTraffic& link : traffic.links)
    if (fabric.at_node(link.link).node == result.node) result.links.push_back(link);
  return result;
}

std::vector<std::uint32_t> neighbours_of_nodes(collectives::NodePattern pattern, std::uint32_t nodes) {
  if (pattern == collectives::NodePattern::kRing || nodes == 1)
    return std::vector<std::uint32_t>(nodes, nodes == 1 ? 0 : 1);
  std::vector<std::uint32_t> neighbours(nodes);
  for (const TreeEdge& edge : double_tree(nodes)) {
    ++neighbours[edge.parent];
    ++neighbours[edge.child];
  }
  return neighbours;
}

bool are_nodes_alike(const NodeMembers& nodes, std::span<const DeviceId> devices, const network::Fabric& fabric) {
  if (!fabric.has_nodes_alike()) return false;
  const std::uint32_t per_node = fabric.dimensions().front().size;
  const auto place = [&](std::uint32_t member) { return index_of(devices[member]) % per_node; };
  return std::ranges::all_of(nodes, [&](const std::vector<std::uint32_t>& node) {
    return std::ranges::equal(node, nodes.front(), {}, place, place);
  });
}

namespace {

LineTraffic traffic_of_nodes_alike(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                                   std::span<const DeviceId> devices, const network::Fabric& fabric) {
  const NodeTraffic one = traffic_of_node(
      transfer, nodes, [&](std::uint32_t member) { return devices[member]; }, fabric);
  const std::vector<std::uint32_t> neighbours =
      neighbours_of_nodes(transfer.pattern, static_cast<std::uint32_t>(nodes.size()));
  const std::uint32_t most = std::ranges::max(neighbours);
  LineTraffic traffic{{}, transfer.latency, transfer.least};
  for (const LinkTraffic& link : one.links) {
    const std::uint32_t stride = fabric.at_node(link.link).stride;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      network::LinkLoad load = one.load(link, neighbours[node], most);
      const std::uint32_t further = network::node_of(fabric, devices[nodes[node].front()]) - one.node;
      load.link = LinkId(index_of(link.link) + further * stride);
      if (load.bytes > Bytes(0)) traffic.loads.push_back(load);
    }
  }
  std::ranges::sort(traffic.loads, {}, &network::LinkLoad::link);
  return traffic;
}

}  // namespace

LineTraffic group_traffic(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                          std::span<const DeviceId> devices, const network::Fabric& fabric, bool alike) {
  if (alike && transfer.pattern != collectives::NodePattern::kAllPairs)
    return traffic_of_nodes_alike(transfer, nodes, devices, fabric);
  GroupTraffic by_link = traffic_by_link(transfer, nodes, devices, fabric);
  std::ranges::sort(by_link.links, {}, &LinkTraffic::link);
  LineTraffic traffic;
  traffic.latency = transfer.latency;
  traffic.least = transfer.least;
  for (const LinkTraffic& link : by_link.links) {
    const Bytes load = saturating_add(link.within, link.between);
    require_countable_load(load);
    traffic.loads.push_back({link.link, load,
                             std::max(connections_of(link.within, by_link.most_within),
                                      connections_of(link.between, by_link.most_between))});
  }
  return traffic;
}

void require_countable_load(Bytes load) {
  if (load >= kTooMany)
    throw InputError({}, "a collective would send 2^62 bytes or more over one link",
                     "look for a size that is off by orders of magnitude");
}

std::uint32_t connections_of(Bytes load, Bytes most) {
  if (load == Bytes(0)) return 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>((load.count() - 1) / most.count() + 1, UINT32_MAX));
}

LineTraffic line_traffic(const collectives::Schedule& schedule, std::span<const DeviceId> devices,
                         const network::Fabric& fabric) {
  std::map<LinkId, Bytes> loads;
  Bytes most(0);  // that a rank sends
  std::vector<LinkId> route;
  SentBy sent(schedule.ranks());
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    sent.count(schedule, rank);
    Bytes of_rank(0);
    for (const std::uint32_t to : sent.receivers()) {
      of_rank = saturating_add(of_rank, sent.to(to));
      fabric.route(devices[rank], devices[to], route);
      for (const LinkId link : route) loads[link] = saturating_add(loads[link], sent.to(to));
    }
    most = std::max(most, of_rank);
  }
  LineTraffic traffic;
  for (const auto& [link, load] : loads) {
    require_countable_load(load);
    traffic.loads.push_back({link, load, connections_of(load, most)});
  }
  traffic.latency = collectives::longest_chain(schedule, [&](std::uint32_t from, std::uint32_t to) {
    return network::route_latency(fabric, devices[from], devices[to]);
  });
  return traffic;
}

}  // namespace orrery::system
