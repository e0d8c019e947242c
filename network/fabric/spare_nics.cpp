// SPDX-License-Identifier: MIT
// Spare NICs: a device whose own NIC is dead uses another one of its node. The nearest comes first: by hops where the
// NICs are in the node's graph, then by the highest bit in which the numbers differ, since PCIe joins neighbours in
// pairs, pairs in fours. So of two neighbours that both lose theirs, each gets another.
//
// NICs may have host links of their own: then a device reaches another's NIC through the node's fabric and that device,
// as NCCL does over NVLink (PXN).
#include <algorithm>
#include <numeric>

#include "network/fabric/fabric.h"

namespace orrery::network {
namespace {

using IsDead = std::function<bool(LinkId)>;

// NICs that still have a link to, and one from, the fabric between the nodes.
struct LivingNics {
  std::vector<bool> out, in;
};

LivingNics living_nics(const ClusterLayout& layout, const IsDead& is_dead) {
  const std::uint32_t nics = layout.devices / layout.devices_per_node * layout.nics_per_node;
  LivingNics living{std::vector<bool>(nics), std::vector<bool>(nics)};
  for (std::uint32_t i = 0; i < layout.scale_out.links * layout.scale_out.instances; ++i) {
    const LinkId link{layout.scale_out.first_link + i};
    if (is_dead(link)) continue;
    const LinkEnds ends = layout.ends(link);
    if (layout.is_nic(ends.from)) living.out[index_of(ends.from) - layout.first_nic] = true;
    if (layout.is_nic(ends.to)) living.in[index_of(ends.to) - layout.first_nic] = true;
  }
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    std::vector<LinkId> staging;
    layout.stage(nic, staging);
    if (std::ranges::any_of(staging, is_dead)) living.out[nic] = living.in[nic] = false;
  }
  return living;
}

// The ways of one node in one direction.
class Ways {
 public:
  Ways(const ClusterLayout& layout, const IsDead& is_dead, const std::vector<bool>& living, bool is_out)
      : layout_(layout), is_dead_(is_dead), living_(living), is_out_(is_out) {}

  // The nearest that is not dead; the own one where all are.
  std::uint32_t of(std::uint32_t device) const {
    const std::uint32_t own = layout_.own_way(device);
    if (is_open(device, own)) return own;
    const std::uint32_t count = layout_.nics_inside ? layout_.nics_per_node : layout_.devices_per_node;
    const std::uint32_t first = own / count * count;
    std::vector<std::uint32_t> ways(count);
    std::iota(ways.begin(), ways.end(), first);
    std::ranges::sort(ways, {}, [&](std::uint32_t way) {
      return std::pair(layout_.nics_inside ? hops(device, way) : 0, (way - first) ^ (own - first));
    });
    const auto open = std::ranges::find_if(ways, [&](std::uint32_t way) { return is_open(device, way); });
    return open == ways.end() ? own : *open;
  }

 private:
  std::uint32_t member_of_nic(std::uint32_t nic) const {
    return layout_.devices_per_node + nic % layout_.nics_per_node;
  }
  std::uint32_t hops(std::uint32_t device, std::uint32_t nic) const {
    const std::uint32_t slot = device % layout_.devices_per_node, member = member_of_nic(nic);
    const RoutedGraph& graph = layout_.node.parameters.own.graph;
    return is_out_ ? graph.hops(slot, member) : graph.hops(member, slot);
  }
  // True if the NIC and all links between it and the device work.
  bool is_open(std::uint32_t device, std::uint32_t way) const {
    if (!living_[layout_.nic_of_way(way)]) return false;
    const std::uint32_t node = device / layout_.devices_per_node;
    const std::uint32_t slot = device % layout_.devices_per_node;
    const std::uint32_t member = layout_.nics_inside ? member_of_nic(way) : way % layout_.devices_per_node;
    const Endpoints ends{device, device};
    std::vector<LinkId> links;
    if (member != slot) layout_.node.route(node, is_out_ ? slot : member, is_out_ ? member : slot, ends, links);
    if (!layout_.nics_inside) links.push_back(LinkId(layout_.first_host_link + (is_out_ ? 0 : layout_.devices) + way));
    return std::ranges::none_of(links, is_dead_);
  }

  const ClusterLayout& layout_;
  const IsDead& is_dead_;
  const std::vector<bool>& living_;
  bool is_out_;
};

}  // namespace

void ClusterLayout::take_spare_nics(const IsDead& is_dead) {
  ways_out.clear();
  ways_in.clear();
  if (scale_out.topology == nullptr) return;
  const LivingNics living = living_nics(*this, is_dead);
  const Ways out(*this, is_dead, living.out, true), in(*this, is_dead, living.in, false);
  std::vector<std::uint32_t> by_out, by_in;
  bool is_own = true;
  for (std::uint32_t device = 0; device < devices; ++device) {
    by_out.push_back(out.of(device));
    by_in.push_back(in.of(device));
    is_own = is_own && by_out.back() == own_way(device) && by_in.back() == own_way(device);
  }
  if (is_own) return;
  ways_out = std::move(by_out);
  ways_in = std::move(by_in);
}

}  // namespace orrery::network
