// SPDX-License-Identifier: MIT
#include "system/plans/dimensions.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>

#include "core/assert.h"

namespace orrery::system {
namespace {

using collectives::PlanAxis;

// Where a part of the members is joined as all of them are.
bool is_alike_in_parts(std::string_view topology) {
  constexpr std::array<std::string_view, 4> kTopologies = {"fat-tree", "fully-connected", "rail-optimised", "switch"};
  return std::ranges::find(kTopologies, topology) != kTopologies.end();
}

network::LogicalDimension logical_dimension(const network::Fabric& fabric, std::uint64_t stride, std::uint32_t size) {
  std::uint64_t first = 1;
  for (const network::LogicalDimension& dimension : fabric.dimensions()) {
    if (first == stride && dimension.size == size) return dimension;
    const bool is_inside = first <= stride && stride * size <= first * dimension.size;
    if (is_inside && is_alike_in_parts(dimension.topology)) return {dimension.name, dimension.topology, size};
    first *= dimension.size;
  }
  return {"logical", "edge-list", size};
}

// How long the links of a dimension are busy with a reduce-scatter of `bytes`, all of its rings and axes at once.
Duration time_along(std::span<const PlanAxis> axes, Bytes bytes, Bandwidth bandwidth) {
  std::map<std::uint32_t, Bytes> sent;  // by queue
  for (const collectives::Phase& phase : collectives::plan_phases(CollectiveKind::kReduceScatter, axes, bytes))
    sent[phase.queue()] += ceil_div(phase.bytes, axes[phase.axis].size) * (axes[phase.axis].size - 1);
  Bytes most{0};
  for (const auto& [queue, of_queue] : sent) most = std::max(most, of_queue);
  return most / bandwidth;
}

struct Load {
  std::uint32_t dimension = 0;
  std::span<const PlanAxis> axes;
  std::uint32_t size = 1;
  Duration time{};
};

std::vector<Load> no_loads(std::span<const PlanAxis> axes) {
  std::vector<Load> loads;
  for (std::size_t first = 0, last = 0; first < axes.size(); first = last) {
    Load load{axes[first].dimension, {}, 1, {}};
    for (; last < axes.size() && axes[last].dimension == load.dimension; ++last) load.size *= axes[last].size;
    load.axes = axes.subspan(first, last - first);
    loads.push_back(load);
  }
  return loads;
}

}  // namespace

std::vector<network::LogicalDimension> collective_dimensions(const network::Fabric& fabric,
                                                             std::span<const std::uint32_t> logical) {
  if (logical.empty()) return {fabric.dimensions().begin(), fabric.dimensions().end()};
  std::vector<network::LogicalDimension> dimensions;
  std::uint64_t stride = 1;
  for (const std::uint32_t size : logical) {
    dimensions.push_back(logical_dimension(fabric, stride, size));
    stride *= size;
  }
  ORRERY_ASSERT(stride == fabric.device_count());
  return dimensions;
}

std::vector<Bandwidth> bandwidths_along(const network::Fabric& fabric,
                                        std::span<const network::LogicalDimension> dimensions) {
  std::vector<Bandwidth> bandwidths;
  std::vector<LinkId> route;
  std::uint32_t stride = 1;
  for (const network::LogicalDimension& dimension : dimensions) {
    Bandwidth least = Bandwidth::max();
    if (dimension.size > 1) fabric.route(DeviceId(0), DeviceId(stride), route);
    for (const LinkId link : route) least = std::min(least, fabric.link(link).bandwidth);
    bandwidths.push_back(least);
    stride *= dimension.size;
  }
  return bandwidths;
}

std::vector<std::vector<std::uint32_t>> balanced_orders(std::span<const PlanAxis> axes, Bytes bytes,
                                                        std::uint32_t chunks, std::span<const Bandwidth> bandwidths) {
  constexpr std::int64_t kThreshold = 16;
  std::vector<Load> loads = no_loads(axes);
  std::vector<std::vector<std::uint32_t>> orders(chunks);
  for (std::vector<std::uint32_t>& order : orders) {
    std::vector<std::size_t> by_load(loads.size());
    std::iota(by_load.begin(), by_load.end(), std::size_t{0});
    std::ranges::stable_sort(by_load, {}, [&](std::size_t i) { return loads[i].time; });
    const Load& least = loads[by_load.front()];
    const Duration threshold = time_along(least.axes, ceil_div(bytes, kThreshold), bandwidths[least.dimension]);
    if (loads[by_load.back()].time - least.time < threshold) std::ranges::sort(by_load);
    Bytes left = bytes;
    for (const std::size_t next : by_load) {
      Load& load = loads[next];
      order.push_back(load.dimension);
      load.time = saturating_add(load.time, time_along(load.axes, left, bandwidths[load.dimension]));
      left = ceil_div(left, load.size);
    }
  }
  return orders;
}

}  // namespace orrery::system
