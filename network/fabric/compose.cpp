#include "network/fabric/compose.h"

#include <fmt/format.h>

#include "core/assert.h"
#include "network/fabric/parts.h"

namespace orrery {
namespace {

std::uint64_t device_count(std::span<const DimensionSpec> dimensions) {
  std::uint64_t devices = 1;
  for (const DimensionSpec& spec : dimensions) devices *= spec.size;
  return devices;
}

}  // namespace

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
        add_tier(parts, *spec.topology, parameters_of(spec, routing), parts.devices / spec.size, name));
    layout.strides.push_back(stride);
    parts.dimensions.push_back(
        {name, std::string(spec.topology->name), spec.size, axes_of(*spec.topology, parameters_of(spec, routing))});
    stride *= spec.size;
  }
  parts.layout = std::move(layout);
  return Fabric(std::move(parts));
}

}  // namespace orrery
