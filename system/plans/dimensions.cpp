// SPDX-License-Identifier: MIT
#include "system/plans/dimensions.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "core/assert.h"

namespace orrery::system {
namespace {

using collectives::PlanAxis;

// True for topologies that join a part of the members as they join all.
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

// Transfer time of `bytes` on the links of a dimension, which take `probe` for kProbe bytes.
Duration time_along(Duration probe, Bytes bytes) {
  const Int128 time = (Int128{probe.count()} * bytes.count() + kProbe.count() - 1) / kProbe.count();
  return Duration(static_cast<std::int64_t>(std::min<Int128>(time, Duration::max().count())));
}

struct Load {
  std::uint32_t dimension = 0;
  std::uint32_t size = 1;
  Duration time{};
};

std::vector<Load> no_loads(std::span<const PlanAxis> axes) {
  std::vector<Load> loads;
  for (std::size_t first = 0, last = 0; first < axes.size(); first = last) {
    Load load{axes[first].dimension, 1, {}};
    for (; last < axes.size() && axes[last].dimension == load.dimension; ++last) load.size *= axes[last].size;
    loads.push_back(load);
  }
  return loads;
}

using Orders = std::vector<std::vector<std::uint32_t>>;

Orders themis_orders(std::vector<Load> loads, Bytes bytes, std::uint32_t chunks, std::span<const Duration> probes) {
  constexpr std::int64_t kThreshold = 16;
  Orders orders(chunks);
  for (std::vector<std::uint32_t>& order : orders) {
    std::vector<std::size_t> by_load(loads.size());
    std::iota(by_load.begin(), by_load.end(), std::size_t{0});
    std::ranges::stable_sort(by_load, {}, [&](std::size_t i) { return loads[i].time; });
    const Load& least = loads[by_load.front()];
    const Duration threshold = time_along(probes[least.dimension], ceil_div(bytes, kThreshold));
    if (loads[by_load.back()].time - least.time < threshold) std::ranges::sort(by_load);
    Bytes left = bytes;
    for (const std::size_t next : by_load) {
      Load& load = loads[next];
      order.push_back(load.dimension);
      load.time = saturating_add(load.time, time_along(probes[load.dimension], left));
      left = ceil_div(left, load.size);
    }
  }
  return orders;
}

struct Stage {
  std::uint32_t dimension = 0;
  Duration time{};
};

// Stages of a chunk: up the dimensions in its order, down again, or one of the two.
std::vector<Stage> stages_of(CollectiveKind kind, std::span<const Load> dimensions,
                             std::span<const std::uint32_t> order, Bytes bytes, std::span<const Duration> probes) {
  std::vector<Stage> up;
  for (const std::uint32_t dimension : order) {
    up.push_back({dimension, time_along(probes[dimension], bytes)});
    bytes = ceil_div(bytes, std::ranges::find(dimensions, dimension, &Load::dimension)->size);
  }
  if (kind == CollectiveKind::kReduceScatter) return up;
  std::vector<Stage> down(up.rbegin(), up.rend());
  if (kind == CollectiveKind::kAllGather) return down;
  up.insert(up.end(), down.begin(), down.end());
  return up;
}

// Chunks on their way through the dimensions. Each dimension has so many of them at a time, in the order in which they
// come, which share its links.
class ChunkFlow {
 public:
  ChunkFlow(std::vector<std::vector<Stage>> stages, std::size_t dimensions, std::uint32_t active)
      : stages_(std::move(stages)), at_(stages_.size()), queues_(dimensions), active_(active) {}

  // When the last one is through.
  Duration finish() {
    for (std::size_t chunk = 0; chunk < stages_.size(); ++chunk) enter(chunk);
    Duration now{};
    for (;;) {
      std::optional<Duration> step;
      for (const std::vector<Part>& queue : queues_)
        for (std::size_t i = 0; i < served(queue); ++i)
          step = std::min(step.value_or(Duration::max()), times(queue[i].left, served(queue)));
      if (!step) return now;
      now = saturating_add(now, *step);
      advance(*step);
    }
  }

 private:
  struct Part {
    std::size_t chunk = 0;
    Duration left{};  // with all of the dimension for it
  };

  std::size_t served(const std::vector<Part>& queue) const { return std::min<std::size_t>(queue.size(), active_); }

  static Duration times(Duration time, std::size_t count) {
    const Int128 product = Int128{time.count()} * static_cast<std::int64_t>(count);
    return Duration(static_cast<std::int64_t>(std::min<Int128>(product, Duration::max().count())));
  }

  void enter(std::size_t chunk) {
    if (at_[chunk] == stages_[chunk].size()) return;
    const Stage& stage = stages_[chunk][at_[chunk]];
    queues_[stage.dimension].push_back({chunk, stage.time});
  }

  void advance(Duration step) {
    std::vector<std::size_t> through;
    for (std::vector<Part>& queue : queues_) {
      const auto count = static_cast<std::int64_t>(served(queue));
      for (std::int64_t i = 0; i < count; ++i) {
        Duration& left = queue[static_cast<std::size_t>(i)].left;
        left -= std::min(left, Duration(step.count() / count + (step.count() % count != 0 ? 1 : 0)));
      }
      std::erase_if(queue, [&](const Part& part) {
        if (part.left == Duration::zero()) through.push_back(part.chunk);
        return part.left == Duration::zero();
      });
    }
    std::ranges::sort(through);
    for (const std::size_t chunk : through) {
      ++at_[chunk];
      enter(chunk);
    }
  }

  std::vector<std::vector<Stage>> stages_;  // by chunk
  std::vector<std::size_t> at_;             // by chunk: the stage that it is at
  std::vector<std::vector<Part>> queues_;   // by dimension, those that are served first
  std::uint32_t active_;
};

Duration finish_of(CollectiveKind kind, std::span<const Load> dimensions, const Orders& orders, Bytes bytes,
                   std::span<const Duration> probes, std::uint32_t active) {
  std::vector<std::vector<Stage>> stages;
  for (const std::vector<std::uint32_t>& order : orders)
    stages.push_back(stages_of(kind, dimensions, order, bytes, probes));
  return ChunkFlow(std::move(stages), probes.size(), active).finish();
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

std::vector<std::vector<std::uint32_t>> balanced_orders(CollectiveKind kind, std::span<const PlanAxis> axes,
                                                        Bytes bytes, std::uint32_t chunks,
                                                        std::span<const Duration> probes, std::uint32_t active) {
  const std::vector<Load> dimensions = no_loads(axes);
  std::vector<std::vector<std::uint32_t>> orders = themis_orders(dimensions, bytes, chunks, probes);
  std::vector<std::uint32_t> own;
  for (const Load& load : dimensions) own.push_back(load.dimension);
  const std::vector<std::vector<std::uint32_t>> baseline(chunks, own);
  // Latencies are not part of it: what is saved has to be more than they may cost.
  const Duration unchanged = finish_of(kind, dimensions, baseline, bytes, probes, active);
  if (finish_of(kind, dimensions, orders, bytes, probes, active) < unchanged - unchanged / 100) return orders;
  return {};
}

}  // namespace orrery::system
