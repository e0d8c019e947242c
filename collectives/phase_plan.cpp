// SPDX-License-Identifier: MIT
#include "collectives/phase_plan.h"

#include <algorithm>
#include <bit>

#include "collectives/request.h"
#include "core/assert.h"

namespace orrery::collectives {
namespace {

using enum CollectiveKind;

constexpr std::size_t kMostAxes = 32;  // bits of Phase::aligned

enum class Direction { kUp, kDown };

// Size of a rank's data after it has passed an axis.
using Passed = Bytes (*)(Bytes bytes, std::uint32_t size);
Bytes same(Bytes bytes, std::uint32_t) { return bytes; }
Bytes scattered(Bytes bytes, std::uint32_t size) { return ceil_div(bytes, size); }
Bytes gathered(Bytes bytes, std::uint32_t size) { return bytes * size; }

// One axis on the way of a part up its dimension.
struct Leg {
  std::uint32_t axis;
  std::uint32_t size;
  bool descending;
  std::uint32_t aligned;
};
using Part = std::vector<Leg>;
using Stage = std::vector<Part>;  // the parts of one dimension

class Planner {
 public:
  Planner(std::span<const PlanAxis> axes, std::span<const std::uint32_t> root, std::span<const std::uint32_t> order,
          bool is_cut)
      : root_(root) {
    for (std::uint32_t first = 0, last = 0; first < axes.size(); first = last) {
      while (last < axes.size() && axes[last].dimension == axes[first].dimension) ++last;
      add_stage(axes, first, last, is_cut);
    }
    const auto place = [&](const Stage& stage) {
      return std::ranges::find(order, axes[stage.front().front().axis].dimension) - order.begin();
    };
    if (!order.empty()) std::ranges::stable_sort(stages_, {}, place);
  }

  std::uint32_t axes() const { return static_cast<std::uint32_t>(std::popcount(aligned_)); }

  void add(CollectiveKind kind, Direction direction, Bytes bytes, Passed passed, bool is_rooted = false) {
    std::vector<std::uint32_t> before;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const Stage& stage = stages_[direction == Direction::kUp ? i : stages_.size() - 1 - i];
      add_stage_phases(stage, {kind, direction, passed, is_rooted}, bytes, before);
    }
  }

  // The way down undoes the way up, the last phase first, with the shards as they were rounded on the way up. A part of
  // the topmost dimension turns round by itself, or is reduced as a whole.
  void all_reduce(std::span<const PlanAxis> axes, Bytes bytes) {
    std::ranges::stable_sort(stages_, {}, [&](const Stage& stage) {
      return axes[stage.front().front().axis].all_reduce == AllReduceBy::kLast;
    });
    std::vector<std::uint32_t> before;
    std::uint32_t rooted = 0;  // the axes on which only the root's coordinate goes on
    for (const Stage& stage : stages_) {
      const AllReduceBy by = axes[stage.front().front().axis].all_reduce;
      const auto first = phases_.size();
      if (by == AllReduceBy::kShards) {
        add_stage_phases(stage, {kReduceScatter, Direction::kUp, scattered}, bytes, before);
      } else {
        ORRERY_ASSERT(stage.front().size() == 1);
        const bool is_root = by == AllReduceBy::kRoot && &stage != &stages_.back();
        add_stage_phases(stage, {is_root ? kReduce : kAllReduce, Direction::kUp, same}, bytes, before);
      }
      for (std::size_t i = first; i < phases_.size(); ++i) phases_[i].aligned = rooted;
      if (phases_.back().kind == kReduce) {
        rooted |= 1U << phases_.back().axis;
        for (std::size_t i = first; i < phases_.size(); ++i) phases_[i].root = root_of(phases_[i].axis);
      }
    }
    undo_all(axes);
  }

  std::vector<Phase> phases() && { return std::move(phases_); }

 private:
  // Collective that the parts of a dimension run.
  struct Pass {
    CollectiveKind kind;
    Direction direction;
    Passed passed;
    bool is_rooted = false;
  };

  std::uint32_t root_of(std::uint32_t axis) const { return root_.empty() ? 0 : root_[axis]; }

  // `bytes` and `before`, the ends of the parts of the stage before, become those of this stage.
  void add_stage_phases(const Stage& stage, const Pass& pass, Bytes& bytes, std::vector<std::uint32_t>& before) {
    std::vector<std::uint32_t> ends;
    for (std::uint32_t part = 0; part < stage.size(); ++part) {
      std::vector<std::uint32_t> after = before;
      Bytes part_bytes = ceil_div(bytes, static_cast<std::int64_t>(stage.size()));
      for (std::size_t j = 0; j < stage[part].size(); ++j) {
        const Leg& leg = stage[part][pass.direction == Direction::kUp ? j : stage[part].size() - 1 - j];
        phases_.push_back({leg.axis, pass.kind, part_bytes, pass.is_rooted ? root_of(leg.axis) : 0,
                           pass.is_rooted ? leg.aligned : 0, leg.descending, part,
                           static_cast<std::uint32_t>(stage.size()), std::move(after)});
        part_bytes = pass.passed(part_bytes, leg.size);
        after = {static_cast<std::uint32_t>(phases_.size() - 1)};
      }
      ends.push_back(after.front());
    }
    for (const Leg& leg : stage.front()) bytes = pass.passed(bytes, leg.size);
    before = std::move(ends);
  }

  // All-gathers after reduce-scatters, broadcasts after reduces; an all-reduce has nothing to undo.
  void undo_all(std::span<const PlanAxis> axes) {
    const std::size_t count = phases_.size();
    std::vector<std::vector<std::uint32_t>> done(count);  // the phases with which all from that one on is done
    for (std::size_t i = count; i-- > 0;) {
      std::vector<std::uint32_t> after;
      for (std::size_t later = i + 1; later < count; ++later)
        if (std::ranges::find(phases_[later].after, i) != phases_[later].after.end())
          for (const std::uint32_t end : done[later])
            if (std::ranges::find(after, end) == after.end()) after.push_back(end);
      if (after.empty()) after = {static_cast<std::uint32_t>(i)};
      done[i] = after;
      if (phases_[i].kind == kAllReduce) continue;
      Phase undo = phases_[i];
      const bool is_shard = undo.kind == kReduceScatter;
      undo.kind = is_shard ? kAllGather : kBroadcast;
      if (is_shard) undo.bytes = scattered(undo.bytes, axes[undo.axis].size);
      undo.after = std::move(after);
      done[i] = {static_cast<std::uint32_t>(phases_.size())};
      phases_.push_back(std::move(undo));
    }
  }

  void add_stage(std::span<const PlanAxis> axes, std::uint32_t first, std::uint32_t last, bool is_cut) {
    std::vector<std::uint32_t> turn;  // axes of the dimension with more than one rank
    bool both_ways = false;
    for (std::uint32_t axis = first; axis < last; ++axis) {
      if (axes[axis].size == 1) continue;
      turn.push_back(axis);
      both_ways = both_ways || axes[axis].both_ways;
    }
    if (turn.empty()) return;
    const std::size_t parts = is_cut ? turn.size() * (both_ways ? 2 : 1) : 1;
    Stage& stage = stages_.emplace_back(parts);
    for (std::size_t part = 0; part < parts; ++part) {
      std::uint32_t aligned = aligned_;
      for (std::size_t i = 0; i < turn.size(); ++i) {
        const std::uint32_t axis = turn[(part + i) % turn.size()];
        const bool descending = part >= turn.size() && axes[axis].both_ways;
        stage[part].push_back({axis, axes[axis].size, descending, aligned});
        aligned |= 1U << axis;
      }
    }
    for (const std::uint32_t axis : turn) aligned_ |= 1U << axis;
  }

  std::span<const std::uint32_t> root_;
  std::vector<Stage> stages_;  // up
  std::uint32_t aligned_ = 0;  // all axes of the stages
  std::vector<Phase> phases_;
};

std::uint32_t rank_count(std::span<const PlanAxis> axes) {
  std::uint64_t ranks = 1;
  for (const PlanAxis& axis : axes) {
    ORRERY_ASSERT(axis.size > 0 && axis.size <= kMostRanks);
    ranks *= axis.size;
    ORRERY_ASSERT(ranks <= kMostRanks);
  }
  return static_cast<std::uint32_t>(ranks);
}

}  // namespace

std::vector<Phase> plan_phases(CollectiveKind kind, std::span<const PlanAxis> axes, Bytes bytes,
                               std::span<const std::uint32_t> root, std::span<const std::uint32_t> order) {
  using enum Direction;
  ORRERY_ASSERT(bytes >= Bytes(0) && axes.size() <= kMostAxes);
  require_countable(kind, rank_count(axes), bytes);
  ORRERY_ASSERT(root.empty() || root.size() == axes.size());
  if (kind == kBarrier) bytes = Bytes(0);
  ORRERY_ASSERT(order.empty() || kind == kAllReduce || kind == kReduceScatter || kind == kAllGather);
  Planner planner(axes, root, order, bytes > Bytes(0));
  constexpr bool kRooted = true;
  switch (kind) {
    case kAllReduce:
      planner.axes() == 1 ? planner.add(kind, kUp, bytes, same) : planner.all_reduce(axes, bytes);
      break;
    case kReduceScatter:
      planner.add(kind, kUp, bytes, scattered);
      break;
    case kAllGather:
      planner.add(kind, kDown, bytes, gathered);
      break;
    case kGather:
      planner.add(kind, kUp, bytes, gathered, kRooted);
      break;
    case kScatter:
      planner.add(kind, kDown, bytes, scattered, kRooted);
      break;
    case kReduce:
      planner.add(kind, kUp, bytes, same, kRooted);
      break;
    case kBroadcast:
      planner.add(kind, kDown, bytes, same, kRooted);
      break;
    case kAllToAll:
    case kBarrier:
      planner.add(kind, kUp, bytes, same);
      break;
  }
  return std::move(planner).phases();
}

bool participates(const Phase& phase, std::span<const std::uint32_t> coordinates, std::span<const std::uint32_t> root) {
  for (std::uint32_t axis = 0; axis < coordinates.size(); ++axis)
    if ((phase.aligned >> axis & 1) != 0 && coordinates[axis] != (root.empty() ? 0 : root[axis])) return false;
  return true;
}

}  // namespace orrery::collectives
