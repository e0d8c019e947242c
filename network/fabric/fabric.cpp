#include "network/fabric/fabric.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery {

Fabric::Fabric(FabricParts parts) : parts_(std::move(parts)) {
  std::uint64_t product = 1;
  for (const LogicalDimension& dimension : parts_.dimensions) product *= dimension.size;
  ORRERY_ASSERT(product == parts_.devices);
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

void Fabric::set(LinkId link, const Link& kind) {
  const auto known = std::ranges::find(parts_.link_kinds, kind);
  const auto number = static_cast<std::uint32_t>(known - parts_.link_kinds.begin());
  if (known == parts_.link_kinds.end()) parts_.link_kinds.push_back(kind);
  parts_.kind_of_link[index_of(link)] = number;
}

LinkEnds Fabric::ends(LinkId link) const {
  ORRERY_ASSERT(index_of(link) < link_count());
  return std::visit([&](const auto& layout) { return layout.ends(link); }, parts_.layout);
}

std::string Fabric::vertex_name(VertexId vertex) const {
  ORRERY_ASSERT(index_of(vertex) < vertex_count());
  return std::visit([&](const auto& layout) { return layout.vertex_name(vertex); }, parts_.layout);
}

void Fabric::route(DeviceId from, DeviceId to, std::vector<LinkId>& out) const {
  ORRERY_ASSERT(index_of(from) < device_count() && index_of(to) < device_count());
  out.clear();
  std::visit([&](const auto& layout) { layout.route(from, to, out); }, parts_.layout);
}

std::size_t Fabric::memory_bytes() const {
  return parts_.kind_of_link.capacity() * sizeof(std::uint32_t) + parts_.link_kinds.capacity() * sizeof(Link);
}

}  // namespace orrery
