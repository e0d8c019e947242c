// SPDX-License-Identifier: MIT
#include "study/benchmark/bound.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace orrery::study {
namespace {

// Traffic from each of `parts`, which together have `ranks`, to the other parts, in units of `size`.
std::optional<double> traffic(const workload::CallOperation& operation, double parts, double ranks) {
  if (!operation.kind) return std::nullopt;
  switch (*operation.kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (parts - 1);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return parts - 1;
    case CollectiveKind::kAllToAll:
      return ranks * (parts - 1) / parts;
    case CollectiveKind::kBarrier:
      return 0;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return std::nullopt;
  }
  return std::nullopt;
}

double bandwidth_of(const network::Fabric& fabric, std::uint32_t link) {
  return static_cast<double>(fabric.link(LinkId(link)).bandwidth.count());
}

// Total bandwidth of the links that begin at one of the devices.
double bandwidth_out(const network::Fabric& fabric, std::span<const DeviceId> devices) {
  std::vector<bool> takes_part(fabric.vertex_count());
  for (const DeviceId device : devices) takes_part[index_of(device)] = true;
  double total = 0;
  for (std::uint32_t link = 0; link < fabric.link_count(); ++link)
    if (takes_part[index_of(fabric.ends(LinkId(link)).from)]) total += bandwidth_of(fabric, link);
  return total;
}

// Bandwidth of the narrowest class of links that every route between nodes crosses; 0 if there is none.
double bandwidth_between_nodes(const network::Fabric& fabric, std::span<const DeviceId> devices) {
  std::optional<std::set<std::uint16_t>> classes;
  std::vector<LinkId> route;
  for (const DeviceId device : devices) {
    if (network::node_of(fabric, device) == network::node_of(fabric, devices.front())) continue;
    fabric.route(devices.front(), device, route);
    std::set<std::uint16_t> crossed;
    for (const LinkId link : route) crossed.insert(fabric.link(link).link_class);
    if (classes) std::erase_if(crossed, [&](std::uint16_t one) { return !classes->contains(one); });
    classes = std::move(crossed);
  }
  if (!classes || classes->empty()) return 0;
  std::vector<double> total(fabric.link_classes().size());
  for (std::uint32_t link = 0; link < fabric.link_count(); ++link)
    total[fabric.link(LinkId(link)).link_class] += bandwidth_of(fabric, link);
  double least = total[*classes->begin()];
  for (const std::uint16_t one : *classes) least = std::min(least, total[one]);
  return least;
}

}  // namespace

std::optional<Duration> least_time(const workload::CallOperation& operation, Bytes size, const network::Fabric& fabric,
                                   std::span<const DeviceId> devices) {
  const auto ranks = static_cast<double>(devices.size());
  const auto units = traffic(operation, ranks, ranks);
  if (!units) return std::nullopt;
  std::set<std::uint32_t> nodes;
  Duration latency{};
  for (const DeviceId device : devices) {
    nodes.insert(network::node_of(fabric, device));
    latency = std::max(latency, network::route_latency(fabric, devices.front(), device));
  }
  const auto bytes = static_cast<double>(size.count());
  double seconds = *units * bytes / bandwidth_out(fabric, devices);
  if (const double between = bandwidth_between_nodes(fabric, devices); between > 0)
    seconds = std::max(seconds, *traffic(operation, static_cast<double>(nodes.size()), ranks) * bytes / between);
  constexpr double kPicoseconds = 1e12;
  return std::max(latency, Duration(std::llround(seconds * kPicoseconds)));
}

}  // namespace orrery::study
