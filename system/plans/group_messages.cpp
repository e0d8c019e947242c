// SPDX-License-Identifier: MIT
#include "system/plans/group_messages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "network/fabric/fabric.h"
#include "system/plans/node_ports.h"

namespace orrery::system {
namespace {

// In the first tree node 0 is the root, with one child; the others hang by their lowest set bit: xx01 and xx11 under
// xx10, or, where that is beyond the last node, under xx00.
std::uint32_t parent_of(std::uint32_t node, std::uint32_t nodes) {
  const std::uint32_t lowest = node & (~node + 1);
  const std::uint32_t without = node ^ lowest;
  const std::uint64_t above = without | std::uint64_t{lowest} << 1;
  return above < nodes ? static_cast<std::uint32_t>(above) : without;
}

constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 18;  // of all pairs
// On a node with more members, links are searched between neighbours only, since there cannot be others.
constexpr std::size_t kFewMembers = 64;

using Visit = std::function<void(const GroupMessage&)>;

// ceil(bytes * part / whole)
Bytes portion(Bytes bytes, Int128 part, Int128 whole) {
  return Bytes(static_cast<std::int64_t>((Int128{bytes.count()} * part + whole - 1) / whole));
}

// A link from a member of a node to another, by places.
struct DirectLink {
  std::uint32_t to = 0;
  std::int64_t bandwidth = 0;
};
using DirectLinks = std::vector<std::vector<DirectLink>>;

// The members of one node, and the links from device to device among them.
class NodeLinks {
 public:
  NodeLinks(std::span<const std::uint32_t> members, std::span<const DeviceId> devices, const network::Fabric& fabric)
      : links_(members.size()) {
    const std::string_view topology = fabric.dimensions().front().topology;
    if (topology == "switch" || topology == "fat-tree" || topology == "rail-optimised") return;
    const auto size = static_cast<std::uint32_t>(members.size());
    const bool is_line = topology == "ring" || topology == "mesh" || topology == "torus";
    const bool neighbours_only = is_line && size > kFewMembers;
    std::vector<LinkId> route;
    for (std::uint32_t from = 0; from < size; ++from)
      for (std::uint32_t step = 1; step < size; ++step) {
        if (neighbours_only && step == 2) step = size - 1;
        const std::uint32_t to = (from + step) % size;
        fabric.route(devices[members[from]], devices[members[to]], route);
        if (route.size() == 1) links_[from].push_back({to, fabric.link(route.front()).bandwidth.count()});
      }
  }

  const std::vector<DirectLink>& from(std::uint32_t place) const { return links_[place]; }

  bool are_even() const {
    std::vector<Int128> out(links_.size()), in(links_.size());
    for (std::uint32_t from = 0; from < links_.size(); ++from)
      for (const DirectLink& link : links_[from]) {
        out[from] += link.bandwidth;
        in[link.to] += link.bandwidth;
      }
    const auto is_like_first = [&](Int128 sum) { return sum == out.front(); };
    return std::ranges::all_of(out, is_like_first) && std::ranges::all_of(in, is_like_first);
  }

  // True if the members are connected; links are symmetric, so one direction suffices.
  bool are_connected() const {
    std::vector<bool> seen(links_.size());
    std::vector<std::uint32_t> open = {0};
    seen[0] = true;
    std::size_t reached = 1;
    while (!open.empty()) {
      const std::uint32_t place = open.back();
      open.pop_back();
      for (const DirectLink& link : links_[place]) {
        if (seen[link.to]) continue;
        seen[link.to] = true;
        open.push_back(link.to);
        ++reached;
      }
    }
    return reached == links_.size();
  }

  bool join_neighbours() const {
    const auto size = static_cast<std::uint32_t>(links_.size());
    const auto has = [&](std::uint32_t from, std::uint32_t to) {
      return std::ranges::any_of(links_[from], [&](const DirectLink& link) { return link.to == to; });
    };
    for (std::uint32_t place = 0; place < size; ++place)
      if (!has(place, (place + 1) % size) || !has((place + 1) % size, place)) return false;
    return true;
  }

 private:
  DirectLinks links_;
};

void send_around(std::span<const std::uint32_t> members, Bytes bytes, std::span<const DeviceId> devices,
                 const network::Fabric& fabric, const Visit& visit) {
  if (members.size() == 1 || bytes == Bytes(0)) return;
  const auto size = static_cast<std::uint32_t>(members.size());
  const NodeLinks links(members, devices, fabric);
  const bool over_all = links.are_connected() && links.are_even();
  const bool both_ways = !over_all && links.join_neighbours();
  for (std::uint32_t place = 0; place < size; ++place) {
    const auto send = [&](std::uint32_t to, Bytes part) { visit({members[place], members[to], part, true}); };
    if (over_all) {
      Int128 sum = 0;
      for (const DirectLink& link : links.from(place)) sum += link.bandwidth;
      for (const DirectLink& link : links.from(place)) send(link.to, portion(bytes, link.bandwidth, sum));
    } else if (both_ways) {
      send((place + 1) % size, ceil_div(bytes, 2));
      send((place + size - 1) % size, ceil_div(bytes, 2));
    } else {
      send((place + 1) % size, bytes);
    }
  }
}

// A node's members, and the places of those whose NICs carry what goes between nodes.
struct Node {
  std::span<const std::uint32_t> members;
  std::span<const std::uint32_t> ports;

  std::uint32_t at(std::size_t port) const { return members[ports[port]]; }
};

// `bytes` for each member of `from`. Ports of one place send to each other; those that are left, in turn to those that
// are left, or to all if none are.
void send_to_node(const Node& from, const Node& to, Bytes bytes, const Visit& visit) {
  const auto has = [](const Node& node, std::uint32_t place) { return std::ranges::binary_search(node.ports, place); };
  const Bytes part = portion(bytes, static_cast<Int128>(from.members.size()), static_cast<Int128>(from.ports.size()));
  std::vector<std::uint32_t> left;  // members
  for (const std::uint32_t place : to.ports)
    if (!has(from, place)) left.push_back(to.members[place]);
  std::size_t turn = 0;
  for (std::size_t port = 0; port < from.ports.size(); ++port) {
    const std::uint32_t place = from.ports[port];
    const bool is_on_rail = has(to, place);
    const std::uint32_t other = left.empty() ? to.at(port % to.ports.size()) : left[turn % left.size()];
    if (!is_on_rail) ++turn;
    visit({from.at(port), is_on_rail ? to.members[place] : other, part, false});
  }
}

// At most `most` of 1 .. count - 1, evenly spread; at least one.
std::vector<std::uint32_t> offsets(std::uint64_t count, std::uint64_t most) {
  std::vector<std::uint32_t> result;
  const std::uint64_t chosen = std::min(count - 1, std::max<std::uint64_t>(most, 1));
  for (std::uint64_t i = 0; i < chosen; ++i) result.push_back(static_cast<std::uint32_t>(1 + i * (count - 1) / chosen));
  return result;
}

void send_to_all_of_node(std::span<const std::uint32_t> members, Bytes bytes, std::uint64_t most, const Visit& visit) {
  if (members.size() == 1 || bytes == Bytes(0)) return;
  const std::vector<std::uint32_t> steps = offsets(members.size(), most);
  const Bytes part = ceil_div(bytes, static_cast<std::int64_t>(steps.size()));
  for (std::size_t place = 0; place < members.size(); ++place)
    for (const std::uint32_t step : steps)
      visit({members[place], members[(place + step) % members.size()], part, true});
}

void send_to_all_other_nodes(const NodeMembers& nodes, std::size_t members, Bytes bytes, const Visit& visit) {
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    const Bytes part = ceil_div(bytes, static_cast<std::int64_t>(members - nodes[a].size()));
    for (const std::uint32_t from : nodes[a])
      for (std::size_t b = 0; b < nodes.size(); ++b)
        if (a != b)
          for (const std::uint32_t to : nodes[b]) visit({from, to, part, false});
  }
}

void send_to_some_of_other_nodes(const NodeMembers& nodes, Bytes bytes, std::uint64_t most, const Visit& visit) {
  const std::vector<std::uint32_t> steps = offsets(nodes.size(), most);
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    Int128 members = 0;
    for (const std::uint32_t step : steps) members += static_cast<Int128>(nodes[(a + step) % nodes.size()].size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::vector<std::uint32_t>& there = nodes[(a + steps[i]) % nodes.size()];
      const Bytes part = portion(bytes, static_cast<Int128>(there.size()), members);
      for (std::size_t place = 0; place < nodes[a].size(); ++place)
        visit({nodes[a][place], there[(place + i) % there.size()], part, false});
    }
  }
}

void send_to_all(const collectives::Aggregate& transfer, const NodeMembers& nodes, std::size_t members,
                 const Visit& visit) {
  const std::uint64_t most = kMostMessages / members;
  for (const std::vector<std::uint32_t>& node : nodes) send_to_all_of_node(node, transfer.within, most, visit);
  if (transfer.between == Bytes(0) || nodes.size() == 1) return;
  if (members <= most) return send_to_all_other_nodes(nodes, members, transfer.between, visit);
  send_to_some_of_other_nodes(nodes, transfer.between, most, visit);
}

}  // namespace

std::vector<TreeEdge> double_tree(std::uint32_t nodes) {
  std::vector<TreeEdge> edges;
  for (std::uint32_t child = 1; child < nodes; ++child) edges.push_back({parent_of(child, nodes), child});
  // The second is the first mirrored, or moved by one where mirroring would leave the middle node where it is.
  const auto moved = [nodes](std::uint32_t node) { return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes; };
  for (std::uint32_t child = 1; child < nodes; ++child) edges.push_back({moved(parent_of(child, nodes)), moved(child)});
  return edges;
}

NodeMembers members_of_nodes(std::span<const DeviceId> devices, const network::Fabric& fabric) {
  NodeMembers nodes;
  std::map<std::uint32_t, std::size_t> number;  // by node of the fabric
  for (std::uint32_t member = 0; member < devices.size(); ++member) {
    const auto [node, is_new] = number.try_emplace(network::node_of(fabric, devices[member]), nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[node->second].push_back(member);
  }
  return nodes;
}

void for_each_message(const collectives::Aggregate& transfer, const NodeMembers& nodes,
                      std::span<const DeviceId> devices, const network::Fabric& fabric, const Visit& visit) {
  if (transfer.pattern == collectives::NodePattern::kAllPairs)
    return send_to_all(transfer, nodes, devices.size(), visit);
  for (const std::vector<std::uint32_t>& node : nodes) send_around(node, transfer.within, devices, fabric, visit);
  if (transfer.between == Bytes(0) || nodes.size() == 1) return;
  const std::vector<std::vector<std::uint32_t>> ports = ports_of_nodes(nodes, devices, fabric);
  std::vector<std::uint32_t> all(std::ranges::max(nodes, {}, &std::vector<std::uint32_t>::size).size());
  std::iota(all.begin(), all.end(), 0U);
  const auto node_at = [&](std::size_t node) {
    return Node{nodes[node], ports.empty() ? std::span(all).first(nodes[node].size()) : std::span(ports[node])};
  };
  if (transfer.pattern == collectives::NodePattern::kRing) {
    for (std::size_t node = 0; node < nodes.size(); ++node)
      send_to_node(node_at(node), node_at((node + 1) % nodes.size()), transfer.between, visit);
    return;
  }
  for (const TreeEdge& edge : double_tree(static_cast<std::uint32_t>(nodes.size()))) {
    send_to_node(node_at(edge.child), node_at(edge.parent), transfer.between, visit);
    send_to_node(node_at(edge.parent), node_at(edge.child), transfer.between, visit);
  }
}

}  // namespace orrery::system
