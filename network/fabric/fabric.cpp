// SPDX-License-Identifier: MIT
#include "network/fabric/fabric.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"

namespace orrery::network {
namespace {

// A link of a tier: the instance it belongs to, and what it is there.
struct Place {
  std::uint32_t instance;
  TopologyLink link;
};

Place place_of(const Tier& tier, LinkId link) {
  const std::uint32_t offset = index_of(link) - tier.first_link;
  return {offset / tier.links, tier.topology->shape->link(tier.parameters, offset % tier.links)};
}

// The ends of a link, given the vertex of each member of its instance.
template <class VertexOfMember>
LinkEnds ends_in(const Tier& tier, const Place& place, const VertexOfMember& vertex_of_member) {
  const auto vertex = [&](std::uint32_t local) {
    if (local < tier.parameters.size) return VertexId(vertex_of_member(local));
    return VertexId(tier.first_switch + place.instance * tier.switches + local - tier.parameters.size);
  };
  return {vertex(place.link.from), vertex(place.link.to)};
}

// Numbers things in the order in which they come.
class FirstSeen {
 public:
  std::uint32_t number(std::uint32_t thing) {
    return numbers_.try_emplace(thing, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
};

}  // namespace

void Tier::route(std::uint32_t instance, std::uint32_t from, std::uint32_t to, const Endpoints& ends,
                 std::vector<LinkId>& out) const {
  RouteBuilder builder{first_link + instance * links, out, ends};
  topology->shape->route(parameters, from, to, builder);
}

bool Tier::share_switches(std::span<const std::uint32_t> members) const {
  if (topology == nullptr || topology->shape->above == nullptr) return false;
  const auto above = [&](std::uint32_t member) { return topology->shape->above(parameters, member); };
  const std::optional<SwitchesAbove> first = above(members.front());
  return first && std::ranges::all_of(members, [&](std::uint32_t member) { return above(member) == first; });
}

std::string Tier::switch_name(VertexId vertex) const {
  const std::uint32_t index = (index_of(vertex) - first_switch) % switches;
  if (topology->shape->switch_name == nullptr) return fmt::format("switch{}", index);
  return topology->shape->switch_name(parameters, index);
}

void ComposedLayout::route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const {
  const Endpoints ends{index_of(from), index_of(to)};
  std::uint32_t at = ends.from;
  for (std::size_t dimension = 0; dimension < tiers.size(); ++dimension) {
    const Tier& tier = tiers[dimension];
    const std::uint32_t stride = strides[dimension];
    const std::uint32_t here = at / stride % tier.parameters.size;
    const std::uint32_t there = ends.to / stride % tier.parameters.size;
    if (here == there) continue;
    // Instances are numbered by the device number with this dimension's coordinate taken out.
    const std::uint32_t instance = at / stride / tier.parameters.size * stride + at % stride;
    tier.route(instance, here, there, ends, out);
    at = at - here * stride + there * stride;
  }
}

// In one slice along one dimension.
bool ComposedLayout::share_switches(std::span<const DeviceId> devices) const {
  const Tier* joining = nullptr;
  std::vector<std::uint32_t> members(devices.size());
  for (std::size_t dimension = 0; dimension < tiers.size(); ++dimension) {
    std::ranges::transform(devices, members.begin(), [&](DeviceId device) {
      return index_of(device) / strides[dimension] % tiers[dimension].parameters.size;
    });
    if (std::ranges::count(members, members.front()) == std::ssize(members)) continue;
    if (joining != nullptr || !tiers[dimension].share_switches(members)) return false;
    joining = &tiers[dimension];
  }
  return joining != nullptr;
}

LinkEnds ComposedLayout::ends(LinkId link) const {
  for (std::size_t dimension = 0; dimension < tiers.size(); ++dimension) {
    const Tier& tier = tiers[dimension];
    if (!tier.holds(link)) continue;
    const Place place = place_of(tier, link);
    const std::uint32_t stride = strides[dimension];
    const std::uint32_t first = place.instance / stride * stride * tier.parameters.size + place.instance % stride;
    return ends_in(tier, place, [&](std::uint32_t member) { return first + member * stride; });
  }
  ORRERY_ASSERT(false);
}

std::string ComposedLayout::vertex_name(VertexId vertex) const {
  for (const Tier& tier : tiers)
    if (tier.holds(vertex))
      return fmt::format("{}.{}.{}", tier.name, tier.instance_of(vertex), tier.switch_name(vertex));
  return fmt::format("gpu{}", index_of(vertex));
}

std::uint32_t ClusterLayout::nic_of(std::uint32_t device) const {
  const std::uint64_t slot = device % devices_per_node;
  if (!nic_of_slot.empty()) return device / devices_per_node * nics_per_node + nic_of_slot[slot];
  return device / devices_per_node * nics_per_node +
         static_cast<std::uint32_t>(slot * nics_per_node / devices_per_node);
}

void ClusterLayout::stage(std::uint32_t nic, std::vector<LinkId>& out) const {
  if (!first_staging_link) return;
  const std::uint32_t nics = devices / devices_per_node * nics_per_node;
  out.push_back(LinkId(*first_staging_link + nic));
  out.push_back(LinkId(*first_staging_link + nics + nic));
}

void ClusterLayout::pass_node(std::uint32_t from, std::uint32_t to, const Endpoints& ends,
                              std::vector<LinkId>& out) const {
  if (from != to) node.route(from / devices_per_node, from % devices_per_node, to % devices_per_node, ends, out);
}

void ClusterLayout::route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const {
  const std::uint32_t source = index_of(from);
  const std::uint32_t target = index_of(to);
  if (source == target) return;
  const Endpoints ends{source, target};
  const std::uint32_t source_node = source / devices_per_node;
  if (source_node == target / devices_per_node) {
    node.route(source_node, source % devices_per_node, target % devices_per_node, ends, out);
    return;
  }
  const auto member_of_nic = [&](std::uint32_t nic) { return devices_per_node + nic % nics_per_node; };
  const Exit exit = exit_of(source, target);
  const Endpoints ways{exit.way, way_in(target)};
  const std::uint32_t source_nic = nic_of_way(ways.from);
  const std::uint32_t target_nic = nic_of_way(ways.to);
  if (first_stack_link) out.push_back(LinkId(*first_stack_link + source));
  pass_node(source, exit.device, ends, out);
  if (nics_inside)
    node.route(source_node, exit.device % devices_per_node, member_of_nic(source_nic), ends, out);
  else
    out.push_back(LinkId(first_host_link + ways.from));
  stage(source_nic, out);
  scale_out.route(0, source_nic, target_nic, ends, out);
  stage(target_nic, out);
  if (nics_inside) {
    node.route(target / devices_per_node, member_of_nic(target_nic), target % devices_per_node, ends, out);
  } else {
    out.push_back(LinkId(first_host_link + devices + ways.to));
    pass_node(ways.to, target, ends, out);
  }
  if (first_stack_link) out.push_back(LinkId(*first_stack_link + devices + target));
}

// In one node, or each in a node of its own.
bool ClusterLayout::share_switches(std::span<const DeviceId> group) const {
  FirstSeen nodes;
  std::uint32_t seen = 0;
  std::vector<std::uint32_t> slots, nics;
  for (const DeviceId device : group) {
    seen = std::max(seen, nodes.number(index_of(device) / devices_per_node) + 1);
    slots.push_back(index_of(device) % devices_per_node);
    if (scale_out.topology != nullptr) nics.push_back(nic_of(index_of(device)));
  }
  if (seen == 1) return node.share_switches(slots);
  const auto is_on_rail = [&](std::uint32_t nic) { return nic % nics_per_node == nics.front() % nics_per_node; };
  if (!relays.empty() && !std::ranges::all_of(nics, is_on_rail)) return false;
  return seen == group.size() && scale_out.share_switches(nics);
}

bool ClusterLayout::passes(LinkId in, LinkId out) const {
  const VertexId at = ends(in).to;
  if (index_of(at) < devices) return index_of(ends(in).from) < devices && index_of(ends(out).to) < devices;
  return !is_nic(at) || scale_out.holds(in) != scale_out.holds(out);
}

Endpoints ClusterLayout::outer_ends(const Endpoints& ends) const {
  if (nics_inside || ends.from / devices_per_node == ends.to / devices_per_node) return ends;
  return {exit_of(ends.from, ends.to).way, way_in(ends.to)};
}

void ClusterLayout::pass_hosts(const Endpoints& between, std::vector<LinkId>& way) const {
  if (between.from / devices_per_node == between.to / devices_per_node) return;
  const Endpoints outer = outer_ends(between);
  std::vector<LinkId> links = std::move(way);
  way.clear();
  if (first_stack_link) way.push_back(LinkId(*first_stack_link + between.from));
  pass_node(between.from, outer.from, between, way);
  for (const LinkId link : links) {
    way.push_back(link);
    if (const VertexId at = ends(link).to; is_nic(at)) stage(index_of(at) - first_nic, way);
  }
  pass_node(outer.to, between.to, between, way);
  if (first_stack_link) way.push_back(LinkId(*first_stack_link + devices + between.to));
}

LinkEnds ClusterLayout::ends(LinkId link) const {
  if (node.holds(link)) {
    const Place place = place_of(node, link);
    return ends_in(node, place, [&](std::uint32_t member) {
      if (member < devices_per_node) return place.instance * devices_per_node + member;
      return first_nic + place.instance * nics_per_node + member - devices_per_node;
    });
  }
  if (scale_out.holds(link))
    return ends_in(scale_out, place_of(scale_out, link), [&](std::uint32_t nic) { return first_nic + nic; });
  if (first_stack_link && index_of(link) - *first_stack_link < 2 * devices) {
    const VertexId device{(index_of(link) - *first_stack_link) % devices};
    return {device, device};
  }
  const std::uint32_t nics = devices / devices_per_node * nics_per_node;
  if (first_staging_link && index_of(link) - *first_staging_link < 2 * nics) {
    const VertexId nic{first_nic + (index_of(link) - *first_staging_link) % nics};
    return {nic, nic};
  }
  const std::uint32_t offset = index_of(link) - first_host_link;
  ORRERY_ASSERT(offset < 2 * devices);
  const std::uint32_t device = offset % devices;
  const VertexId nic{first_nic + nic_of(device)};
  if (offset < devices) return {VertexId(device), nic};
  return {nic, VertexId(device)};
}

std::string ClusterLayout::vertex_name(VertexId vertex) const {
  const std::uint32_t index = index_of(vertex);
  if (index < devices) return fmt::format("node{}.gpu{}", index / devices_per_node, index % devices_per_node);
  if (node.holds(vertex)) return fmt::format("node{}.{}", node.instance_of(vertex), node.switch_name(vertex));
  if (scale_out.holds(vertex)) return scale_out.switch_name(vertex);
  const std::uint32_t nic = index - first_nic;
  return fmt::format("node{}.nic{}", nic / nics_per_node, nic % nics_per_node);
}

std::optional<std::uint32_t> ClusterLayout::node_of(LinkId link) const {
  const LinkEnds of = ends(link);
  for (const VertexId vertex : {of.from, of.to}) {
    if (index_of(vertex) < devices) return index_of(vertex) / devices_per_node;
    if (is_nic(vertex)) return (index_of(vertex) - first_nic) / nics_per_node;
    if (node.holds(vertex)) return node.instance_of(vertex);
  }
  return std::nullopt;
}

Fabric::Fabric(FabricParts parts) : parts_(std::move(parts)), has_odd_links_(!parts_.first_devices.empty()) {
  std::uint64_t product = 1;
  for (const LogicalDimension& dimension : parts_.dimensions) product *= dimension.size;
  ORRERY_ASSERT(product == parts_.devices);
}

std::uint32_t Fabric::type_count() const {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(parts_.first_devices.size()));
}

std::uint32_t Fabric::type_of(DeviceId device) const {
  if (parts_.first_devices.empty()) return 0;
  const auto after = std::ranges::upper_bound(parts_.first_devices, index_of(device));
  return static_cast<std::uint32_t>(after - parts_.first_devices.begin() - 1);
}

std::vector<std::uint32_t> Fabric::devices_of_types() const {
  if (parts_.first_devices.empty()) return {parts_.devices};
  std::vector<std::uint32_t> counts;
  for (std::size_t type = 0; type < parts_.first_devices.size(); ++type) {
    const bool is_last = type + 1 == parts_.first_devices.size();
    counts.push_back((is_last ? parts_.devices : parts_.first_devices[type + 1]) - parts_.first_devices[type]);
  }
  return counts;
}

void Fabric::set_bandwidth(LinkId link, Bandwidth bandwidth) {
  Link kind = this->link(link);
  kind.bandwidth = bandwidth;
  set(link, kind);
}

void Fabric::set_latency(LinkId link, Duration latency) {
  Link kind = this->link(link);
  kind.latency = latency;
  set(link, kind);
}

void Fabric::add_course(LinkId link, const LinkCourse& course) {
  Link kind = this->link(link);
  LinkCourse all = kind.is_steady() ? LinkCourse() : courses_[kind.course];
  all.steps.insert(all.steps.end(), course.steps.begin(), course.steps.end());
  all.traffic.insert(all.traffic.end(), course.traffic.begin(), course.traffic.end());
  // Courses that are alike come side by side, those of one name, unless each link draws its own.
  if (courses_.empty() || courses_.back() != all) courses_.push_back(std::move(all));
  kind.course = static_cast<std::uint32_t>(courses_.size() - 1);
  set(link, kind);
}

Bandwidth Fabric::bandwidth_at(LinkId link, Time time) const {
  const Link& kind = this->link(link);
  return kind.is_steady() ? kind.bandwidth : courses_[kind.course].bandwidth_at(kind.bandwidth, time);
}

Time Fabric::next_change(LinkId link, Time time) const {
  const Link& kind = this->link(link);
  return kind.is_steady() ? Time::max() : courses_[kind.course].next_change(time);
}

void Fabric::set(LinkId link, const Link& kind) {
  const auto known = std::ranges::find(parts_.link_kinds, kind);
  const auto number = static_cast<std::uint32_t>(known - parts_.link_kinds.begin());
  if (known == parts_.link_kinds.end()) parts_.link_kinds.push_back(kind);
  parts_.kind_of_link[index_of(link)] = number;
  has_odd_links_ = true;
}

std::optional<std::vector<std::uint32_t>> Fabric::congruence(std::span<const DeviceId> devices) const {
  const auto* layout = std::get_if<ClusterLayout>(&parts_.layout);
  if (layout == nullptr || has_odd_links_) return std::nullopt;
  const Tier& scale_out = layout->scale_out;
  const bool is_joined = scale_out.topology != nullptr;
  if (is_joined && scale_out.topology->shape->above == nullptr) return std::nullopt;
  FirstSeen nodes, leaves, pods;
  std::vector<std::uint32_t> result;
  const auto add_switches_above = [&](std::uint32_t nic) {
    const auto above = scale_out.topology->shape->above(scale_out.parameters, nic);
    if (!above) return false;
    result.push_back(leaves.number((*above)[0]));
    result.push_back(pods.number((*above)[1]));
    return true;
  };
  std::uint32_t seen = 0;  // nodes
  for (const DeviceId device : devices) {
    const std::uint32_t node = index_of(device) / layout->devices_per_node;
    const std::uint32_t number = nodes.number(node);
    result.push_back(index_of(device) % layout->devices_per_node);
    result.push_back(number);
    if (!is_joined) continue;
    if (layout->relays.empty()) {
      if (!add_switches_above(layout->nic_of(index_of(device)))) return std::nullopt;
      continue;
    }
    // A message may leave the node by any of its NICs.
    if (number < seen) continue;
    ++seen;
    for (std::uint32_t nic = 0; nic < layout->nics_per_node; ++nic)
      if (!add_switches_above(node * layout->nics_per_node + nic)) return std::nullopt;
  }
  return result;
}

bool Fabric::has_nodes_alike() const {
  const auto* layout = std::get_if<ClusterLayout>(&parts_.layout);
  if (layout == nullptr || has_odd_links_) return false;
  const Tier& scale_out = layout->scale_out;
  return scale_out.topology == nullptr || (scale_out.topology->shape->above != nullptr && scale_out.switches == 1 &&
                                           scale_out.links == 2 * scale_out.parameters.size);
}

Fabric::AtNode Fabric::at_node(LinkId link) const {
  const ClusterLayout& layout = std::get<ClusterLayout>(parts_.layout);
  if (layout.node.holds(link))
    return {(index_of(link) - layout.node.first_link) / layout.node.links, layout.node.links};
  if (layout.scale_out.holds(link)) {
    const TopologyLink joins = place_of(layout.scale_out, link).link;
    const std::uint32_t nic = std::min(joins.from, joins.to);  // the switch comes after the members
    return {nic / layout.nics_per_node, layout.nics_per_node};
  }
  const LinkEnds ends = layout.ends(link);
  const std::uint32_t end = index_of(std::min(ends.from, ends.to));
  if (end < layout.devices) return {end / layout.devices_per_node, layout.devices_per_node};
  return {(end - layout.first_nic) / layout.nics_per_node, layout.nics_per_node};
}

LinkEnds Fabric::ends(LinkId link) const {
  ORRERY_ASSERT(index_of(link) < link_count());
  return std::visit([&](const auto& layout) { return layout.ends(link); }, parts_.layout);
}

bool Fabric::joins_switches(LinkId link) const {
  const auto* cluster = std::get_if<ClusterLayout>(&parts_.layout);
  const auto is_switch = [&](VertexId vertex) {
    return index_of(vertex) >= parts_.devices && (cluster == nullptr || !cluster->is_nic(vertex));
  };
  const LinkEnds ends = this->ends(link);
  return is_switch(ends.from) && is_switch(ends.to);
}

std::string Fabric::vertex_name(VertexId vertex) const {
  ORRERY_ASSERT(index_of(vertex) < vertex_count());
  return std::visit([&](const auto& layout) { return layout.vertex_name(vertex); }, parts_.layout);
}

void Fabric::route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const {
  ORRERY_ASSERT(index_of(from) < device_count() && index_of(to) < device_count());
  out.clear();
  const auto* nodes = std::get_if<ClusterLayout>(&parts_.layout);
  if (nodes != nullptr && nodes->is_apart(index_of(from), index_of(to)))
    throw InputError(
        {},
        fmt::format("no way is left from {} to {}: nothing joins the rails of their NICs, and the NIC that "
                    "messages between them leave by is dead",
                    vertex_name(VertexId(index_of(from))), vertex_name(VertexId(index_of(to)))),
        "leave perturb.nics some other NIC, or write what the NIC still has: `bandwidth: 1 %`");
  std::visit([&](const auto& layout) { layout.route(from, to, out); }, parts_.layout);
  if (detours_ && std::ranges::any_of(out, [&](LinkId link) { return detours_->is_dead(link); }))
    go_round(from, to, out);
}

void Fabric::go_round(DeviceId from, DeviceId to, std::vector<LinkId>& out) const {
  const Endpoints ends{index_of(from), index_of(to)};
  std::visit(
      [&](const auto& layout) {
        detours_->find(layout.outer_ends(ends), layout.routing(), out);
        if (!out.empty()) layout.pass_hosts(ends, out);
      },
      parts_.layout);
  if (!out.empty()) return;
  const bool sprays = std::visit([](const auto& layout) { return !layout.routing().enumerates(); }, parts_.layout);
  throw InputError(
      {},
      fmt::format("no way is left from {} to {}: links between them are dead", vertex_name(VertexId(ends.from)),
                  vertex_name(VertexId(ends.to))),
      fmt::format("leave perturb.links some other link; or write what the link still has: `bandwidth: 1 %`{}",
                  sprays ? "; up-links that messages are sprayed over die as one, but single ones with "
                           "network.routing: ecmp"
                         : ""));
}

void Fabric::remove_links(std::span<const LinkId> links) {
  dead_.insert(dead_.end(), links.begin(), links.end());
  std::vector<Detours::Edge> edges;
  for (std::uint32_t link = 0; link < link_count(); ++link) {
    const LinkEnds of = ends(LinkId(link));
    edges.push_back({index_of(of.from), index_of(of.to)});
  }
  detours_ = std::make_shared<const Detours>(
      std::move(edges), vertex_count(), dead_, [layout = parts_.layout](LinkId in, LinkId out) {
        return std::visit([&](const auto& l) { return l.passes(in, out); }, layout);
      });
  has_odd_links_ = true;
  if (auto* layout = std::get_if<ClusterLayout>(&parts_.layout))
    layout->take_spare_nics([this](LinkId link) { return detours_->is_dead(link); });
}

bool Fabric::uses_spare_nics() const {
  const auto* layout = std::get_if<ClusterLayout>(&parts_.layout);
  return layout != nullptr && !layout->ways_out.empty();
}

bool Fabric::has_stack() const {
  const auto* layout = std::get_if<ClusterLayout>(&parts_.layout);
  return layout != nullptr && layout->first_stack_link;
}

Fabric::NicUse Fabric::nics_of(DeviceId device) const {
  const ClusterLayout& layout = std::get<ClusterLayout>(parts_.layout);
  const std::uint32_t out = layout.way_out(index_of(device)), in = layout.way_in(index_of(device));
  const std::uint32_t own = layout.own_way(index_of(device));
  return {layout.nic_of_way(out), layout.nic_of_way(in), out == own && in == own};
}

bool Fabric::share_switches(std::span<const DeviceId> devices) const {
  return !devices.empty() && !detours_ &&
         std::visit([&](const auto& layout) { return layout.share_switches(devices); }, parts_.layout);
}

std::size_t Fabric::memory_bytes() const {
  return parts_.kind_of_link.capacity() * sizeof(std::uint32_t) + parts_.link_kinds.capacity() * sizeof(Link);
}

Duration route_latency(const Fabric& fabric, DeviceId from, DeviceId to) {
  std::vector<LinkId> route;
  fabric.route(from, to, route);
  Duration latency{};
  for (const LinkId link : route) latency = saturating_add(latency, fabric.link(link).latency);
  return latency;
}

std::string without_direction(std::string_view link_class) {
  for (const std::string_view direction : {".up", ".down"})
    if (link_class.ends_with(direction)) link_class.remove_suffix(direction.size());
  return std::string(link_class);
}

}  // namespace orrery::network
