// SPDX-License-Identifier: MIT
#include "network/fabric/compose.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery::network {
namespace {

// The one place where an efficiency takes effect.
Link link_of(Bandwidth nominal, Efficiency efficiency, Duration latency, std::size_t link_class) {
  return {nominal * efficiency, latency, static_cast<std::uint16_t>(link_class), nominal, efficiency};
}

// The kind of such a link among those from `first` on: a tier has few.
std::uint32_t kind_of(FabricParts& parts, std::size_t first, const Link& link) {
  const auto found =
      std::find(parts.link_kinds.begin() + static_cast<std::ptrdiff_t>(first), parts.link_kinds.end(), link);
  const auto kind = static_cast<std::uint32_t>(found - parts.link_kinds.begin());
  if (found == parts.link_kinds.end()) parts.link_kinds.push_back(link);
  return kind;
}

std::vector<std::string_view> classes_of(const TopologyShape& shape, const TopologyParameters& parameters) {
  if (!shape.link_classes.empty()) return {shape.link_classes.begin(), shape.link_classes.end()};
  const std::vector<std::string>& classes = parameters.own.graph.spec().link_classes;
  return {classes.begin(), classes.end()};
}

std::uint32_t link_total(const FabricParts& parts) { return static_cast<std::uint32_t>(parts.kind_of_link.size()); }

std::uint64_t device_count(std::span<const DimensionSpec> dimensions) {
  std::uint64_t devices = 1;
  for (const DimensionSpec& spec : dimensions) devices *= spec.size;
  return devices;
}

}  // namespace

Tier add_tier(FabricParts& parts, const Topology& topology, const TopologyParameters& parameters,
              std::uint32_t instances, std::string_view name, const std::string& key) {
  ORRERY_ASSERT(parameters.size >= 1 && parameters.size <= topology.most);
  const TopologyShape& shape = *topology.shape;
  const auto links = static_cast<std::uint32_t>(shape.links(parameters));
  const std::uint32_t switches = shape.switches(parameters);
  const Tier tier{&topology, parameters,     link_total(parts), links,
                  instances, parts.vertices, switches,          std::string(name)};
  parts.vertices += switches * instances;

  const std::size_t first_class = parts.link_classes.size();
  const std::size_t first_kind = parts.link_kinds.size();
  if (links > 0)
    for (const std::string_view link_class : classes_of(shape, parameters))
      parts.link_classes.push_back(name.empty() ? std::string(link_class) : fmt::format("{}.{}", name, link_class));
  parts.link_keys.resize(parts.link_classes.size(), key);
  if (links > 0 && writes_out_links(topology))
    std::ranges::copy(parameters.own.graph.spec().class_keys,
                      parts.link_keys.begin() + static_cast<std::ptrdiff_t>(first_class));

  parts.kind_of_link.resize(parts.kind_of_link.size() + std::size_t{links} * instances);
  const auto begin = parts.kind_of_link.begin() + tier.first_link;
  for (std::uint32_t i = 0; i < links && instances > 0; ++i) {
    const TopologyLink link = shape.link(parameters, i);
    const Efficiency efficiency = writes_out_links(topology) ? link.efficiency : parameters.efficiency;
    begin[i] =
        kind_of(parts, first_kind, link_of(link.bandwidth, efficiency, link.latency, first_class + link.link_class));
  }
  for (std::uint32_t instance = 1; instance < instances; ++instance)
    std::copy_n(begin, links, begin + static_cast<std::ptrdiff_t>(instance) * links);
  return tier;
}

std::uint32_t add_links(FabricParts& parts, std::uint32_t count, Bandwidth nominal, Efficiency efficiency,
                        Duration latency, std::string link_class, const std::string& key) {
  const std::uint32_t first = link_total(parts);
  const auto kind = static_cast<std::uint32_t>(parts.link_kinds.size());
  parts.link_kinds.push_back(link_of(nominal, efficiency, latency, parts.link_classes.size()));
  parts.link_classes.push_back(std::move(link_class));
  parts.link_keys.push_back(key);
  parts.kind_of_link.resize(parts.kind_of_link.size() + count, kind);
  return first;
}

TopologyParameters parameters_of(const DimensionSpec& spec, const Routing& routing) {
  return {spec.size, spec.bandwidth, spec.latency, spec.own, routing, spec.efficiency};
}

std::uint64_t link_count(std::span<const DimensionSpec> dimensions, const Routing& routing) {
  const std::uint64_t devices = device_count(dimensions);
  std::uint64_t links = 0;
  for (const DimensionSpec& spec : dimensions)
    links += spec.topology->shape->links(parameters_of(spec, routing)) * (devices / spec.size);
  return links;
}

Fabric compose(std::span<const DimensionSpec> dimensions, const Routing& routing) {
  ORRERY_ASSERT(!dimensions.empty() && dimensions.size() <= kMostDimensions);
  const std::uint64_t devices = device_count(dimensions);
  ORRERY_ASSERT(devices >= 1 && devices <= kMostDevices);
  const std::uint64_t links = link_count(dimensions, routing);
  ORRERY_ASSERT(links <= kMostLinks);

  FabricParts parts;
  parts.devices = parts.vertices = static_cast<std::uint32_t>(devices);
  parts.kind_of_link.reserve(links);
  ComposedLayout layout;
  std::uint32_t stride = 1;
  for (const DimensionSpec& spec : dimensions) {
    const std::string name = spec.name.empty() ? fmt::format("dim{}", layout.tiers.size()) : spec.name;
    layout.tiers.push_back(
        add_tier(parts, *spec.topology, parameters_of(spec, routing), parts.devices / spec.size, name, spec.key));
    layout.strides.push_back(stride);
    parts.dimensions.push_back(
        {name, std::string(spec.topology->name), spec.size, axes_of(*spec.topology, parameters_of(spec, routing))});
    stride *= spec.size;
  }
  parts.layout = std::move(layout);
  return Fabric(std::move(parts));
}

}  // namespace orrery::network
