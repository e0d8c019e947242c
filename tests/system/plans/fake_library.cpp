// SPDX-License-Identifier: MIT
#include "tests/system/plans/fake_library.h"

namespace orrery::test {
namespace {

double seconds(const collectives::Aggregate& transfer, const system::GroupLayout& layout) {
  return collectives::lone_seconds(transfer, layout.shape).together +
         static_cast<double>(transfer.latency.count()) * 1e-12;
}

}  // namespace

collectives::Aggregate FakeLibrary::transfer(CollectiveKind kind, Bytes bytes, std::uint32_t root,
                                             const system::GroupLayout& layout) const {
  if (kind == CollectiveKind::kAllToAll)
    return {collectives::NodePattern::kAllPairs,
            bytes,
            bytes,
            layout.shape.within_latency + layout.shape.between_latency,
            {},
            {16, 100'000'000'000}};
  const auto nodes = static_cast<std::int64_t>(layout.nodes.size());
  const Bytes between = ceil_div(bytes * 2, layout.shape.fullest);
  const bool is_even_root = root % 2 == 0;
  const collectives::Aggregate ring{
      collectives::NodePattern::kRing, bytes * 2, between,
      layout.shape.within_latency * layout.shape.fullest + layout.shape.between_latency * nodes};
  const collectives::Aggregate tree{
      collectives::NodePattern::kDoubleTree, bytes * (is_even_root ? 2 : 1), ceil_div(between, 4),
      layout.shape.within_latency * layout.shape.fullest + layout.shape.between_latency * 2};
  collectives::Aggregate chosen = seconds(ring, layout) < seconds(tree, layout) ? ring : tree;
  // Those who gather are no faster than 20 GB/s.
  if (kind == CollectiveKind::kAllGather) chosen.least = bytes / Bandwidth(20'000'000'000);
  chosen.takes = {2 * layout.shape.fullest, kind == CollectiveKind::kAllReduce ? 300'000'000'000 : 0};
  return chosen;
}

system::PointToPoint FakeLibrary::point_to_point(Bytes bytes, bool is_same_node, Duration route_latency) const {
  const bool is_small = bytes < Bytes(1'000'000);
  const bool is_awaited = bytes > send_buffer_;
  if (is_same_node)
    return {is_small ? Duration(300'000) : Duration::zero(), is_small ? bytes * 2 : bytes, is_awaited, 8};
  return {route_latency + Duration(1'000'000), bytes + ceil_div(bytes, 16), is_awaited, 2};
}

}  // namespace orrery::test
