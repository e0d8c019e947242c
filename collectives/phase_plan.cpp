#include "collectives/phase_plan.h"

#include <algorithm>

#include "collectives/request.h"
#include "core/assert.h"

namespace orrery {
namespace {

using enum CollectiveKind;

struct Dimension {
  std::uint32_t number;
  std::uint32_t size;
};

struct Planner {
  std::span<const std::uint32_t> root;
  std::vector<Dimension> dimensions;  // those with more than one rank
  std::vector<Phase> phases;

  void add(CollectiveKind kind, Dimension dimension, Bytes bytes, Participants participants = Participants::kEveryone) {
    const bool is_rooted = participants == Participants::kAlignedWithRoot;
    const std::uint32_t line_root = is_rooted && !root.empty() ? root[dimension.number] : 0;
    phases.push_back({dimension.number, kind, bytes, participants, line_root});
  }

  // A whole buffer in every dimension, upwards or downwards.
  void same_up(CollectiveKind kind, Bytes bytes, Participants participants) {
    for (const Dimension dimension : dimensions) add(kind, dimension, bytes, participants);
  }
  void same_down(CollectiveKind kind, Bytes bytes, Participants participants) {
    same_up(kind, bytes, participants);
    std::ranges::reverse(phases);
  }

  void reduce_scatter_up(Bytes bytes) {
    for (const Dimension dimension : dimensions) {
      add(kReduceScatter, dimension, bytes);
      bytes = ceil_div(bytes, dimension.size);
    }
  }
  void all_gather_down(Bytes shard) {
    for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
      add(kAllGather, *dimension, shard);
      shard = shard * dimension->size;
    }
  }
  // The all-gathers undo the reduce-scatters, with the shards as they were rounded on the way up.
  void all_reduce(Bytes bytes, AllReduceTop top) {
    reduce_scatter_up(bytes);
    std::size_t halves = dimensions.size();
    if (top == AllReduceTop::kWhole) {
      phases.back().kind = kAllReduce;
      --halves;
    }
    for (std::size_t d = halves; d-- > 0;)
      add(kAllGather, dimensions[d], ceil_div(phases[d].bytes, dimensions[d].size));
  }
  void gather_up(Bytes bytes) {
    for (const Dimension dimension : dimensions) {
      add(kGather, dimension, bytes, Participants::kAlignedWithRoot);
      bytes = bytes * dimension.size;
    }
  }
  void scatter_down(Bytes bytes) {
    for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
      add(kScatter, *dimension, bytes, Participants::kAlignedWithRoot);
      bytes = ceil_div(bytes, dimension->size);
    }
  }
};

std::uint32_t rank_count(std::span<const std::uint32_t> dimension_sizes) {
  std::uint64_t ranks = 1;
  for (const std::uint32_t size : dimension_sizes) {
    ORRERY_ASSERT(size > 0 && size <= kMostRanks);
    ranks *= size;
    ORRERY_ASSERT(ranks <= kMostRanks);
  }
  return static_cast<std::uint32_t>(ranks);
}

}  // namespace

std::vector<Phase> plan_phases(CollectiveKind kind, std::span<const std::uint32_t> dimension_sizes, Bytes bytes,
                               std::span<const std::uint32_t> root, AllReduceTop top) {
  ORRERY_ASSERT(bytes >= Bytes(0));
  require_countable(kind, rank_count(dimension_sizes), bytes);
  ORRERY_ASSERT(root.empty() || root.size() == dimension_sizes.size());
  Planner planner{root, {}, {}};
  for (std::uint32_t d = 0; d < dimension_sizes.size(); ++d)
    if (dimension_sizes[d] > 1) planner.dimensions.push_back({d, dimension_sizes[d]});
  switch (kind) {
    case kAllReduce:
      if (planner.dimensions.size() == 1)
        planner.add(kAllReduce, planner.dimensions.front(), bytes);
      else
        planner.all_reduce(bytes, top);
      break;
    case kReduceScatter: planner.reduce_scatter_up(bytes); break;
    case kAllGather: planner.all_gather_down(bytes); break;
    case kGather: planner.gather_up(bytes); break;
    case kScatter: planner.scatter_down(bytes); break;
    case kReduce: planner.same_up(kind, bytes, Participants::kAlignedWithRoot); break;
    case kBroadcast: planner.same_down(kind, bytes, Participants::kAlignedWithRoot); break;
    case kAllToAll: planner.same_up(kind, bytes, Participants::kEveryone); break;
    case kBarrier: planner.same_up(kind, Bytes(0), Participants::kEveryone); break;
  }
  return std::move(planner.phases);
}

bool participates(const Phase& phase, std::span<const std::uint32_t> coordinates, std::span<const std::uint32_t> root) {
  if (phase.participants == Participants::kEveryone) return true;
  ORRERY_ASSERT(phase.dimension < coordinates.size());
  for (std::uint32_t d = 0; d < phase.dimension; ++d)
    if (coordinates[d] != (root.empty() ? 0 : root[d])) return false;
  return true;
}

}  // namespace orrery
