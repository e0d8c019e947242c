// SPDX-License-Identifier: MIT
#include "tests/collectives/phase_exchange.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "collectives/algorithms.h"

namespace orrery {
namespace {

using collectives::Exchange;
using collectives::Message;
using enum CollectiveKind;
using Coordinates = std::vector<std::uint32_t>;

// Which units of the cuboid's data a local piece of a phase stands for, at a rank with these coordinates.
class Units {
 public:
  // `order`: the axes as the slice goes up them; `cut`: those on which an all-reduce hands out shards.
  Units(const Cuboid& cuboid, CollectiveKind kind, collectives::PieceId piece_kinds, std::vector<std::uint32_t> order,
        std::set<std::uint32_t> cut)
      : cuboid_(cuboid), kind_(kind), piece_kinds_(piece_kinds), order_(std::move(order)), cut_(std::move(cut)) {}

  std::vector<collectives::PieceId> of(std::uint32_t axis, const Coordinates& at, collectives::PieceId piece,
                                       collectives::PieceId local_kinds) const {
    switch (kind_) {
      case kBroadcast:
      case kReduce:
        return part(piece, local_kinds);
      case kAllReduce:
        return part_of_held(axis, at, piece, local_kinds);
      case kReduceScatter:
      case kAllGather:
        return matching([&](const Coordinates& u) { return below(u, at, axis) && u[axis] == piece; });
      case kGather:
      case kScatter:
      case kBarrier:
        return matching([&](const Coordinates& u) { return above(u, at, axis) && u[axis] == piece; });
      case kAllToAll:
        return pairs(axis, at, piece);
    }
    return {};
  }

 private:
  // Of what a rank has come to hold of the buffer: in an all-reduce each coordinate of the cuboid has as many units.
  std::vector<collectives::PieceId> part_of_held(std::uint32_t axis, const Coordinates& at, collectives::PieceId piece,
                                                 collectives::PieceId parts) const {
    std::vector<collectives::PieceId> held;
    const collectives::PieceId each = piece_kinds_ / cuboid_.ranks();
    const bool is_shard = cut_.contains(axis) && order_.size() > 1;
    for (collectives::PieceId u = 0; u < piece_kinds_; ++u) {
      const Coordinates of = cuboid_.coordinates(static_cast<std::uint32_t>(u / each));
      const bool is_held = std::all_of(order_.begin(), place(axis), [&](std::uint32_t other) {
        return !cut_.contains(other) || of[other] == at[other];
      });
      if (is_held && (!is_shard || of[axis] == piece)) held.push_back(u);
    }
    if (is_shard) return held;
    const auto bound = [&](collectives::PieceId p) {
      return held.begin() + static_cast<std::ptrdiff_t>(p * held.size() / parts);
    };
    return {bound(piece), bound(piece + 1)};
  }

  // Coordinates on the axes before and after agree.
  bool below(const Coordinates& a, const Coordinates& b, std::uint32_t axis) const {
    return std::all_of(order_.begin(), place(axis), [&](std::uint32_t other) { return a[other] == b[other]; });
  }
  bool above(const Coordinates& a, const Coordinates& b, std::uint32_t axis) const {
    return std::all_of(place(axis) + 1, order_.end(), [&](std::uint32_t other) { return a[other] == b[other]; });
  }
  std::vector<std::uint32_t>::const_iterator place(std::uint32_t axis) const { return std::ranges::find(order_, axis); }

  std::vector<collectives::PieceId> part(collectives::PieceId piece, collectives::PieceId parts) const {
    std::vector<collectives::PieceId> units;
    for (collectives::PieceId u = piece * piece_kinds_ / parts; u < (piece + 1) * piece_kinds_ / parts; ++u)
      units.push_back(u);
    return units;
  }

  template <class Predicate>
  std::vector<collectives::PieceId> matching(Predicate is_wanted) const {
    std::vector<collectives::PieceId> units;
    for (std::uint32_t u = 0; u < cuboid_.ranks(); ++u)
      if (is_wanted(cuboid_.coordinates(u))) units.push_back(u);
    return units;
  }

  // All-to-all upwards: destinations are already right on the axes before, sources still the rank's own on those after.
  std::vector<collectives::PieceId> pairs(std::uint32_t axis, const Coordinates& at, collectives::PieceId piece) const {
    const collectives::PieceId from = piece / cuboid_.sizes[axis];
    const collectives::PieceId to = piece % cuboid_.sizes[axis];
    std::vector<collectives::PieceId> units;
    for (const collectives::PieceId source :
         matching([&](const Coordinates& s) { return above(s, at, axis) && s[axis] == from; }))
      for (const collectives::PieceId destination :
           matching([&](const Coordinates& t) { return below(t, at, axis) && t[axis] == to; }))
        units.push_back(source * cuboid_.ranks() + destination);
    return units;
  }

  const Cuboid& cuboid_;
  CollectiveKind kind_;
  collectives::PieceId piece_kinds_;
  std::vector<std::uint32_t> order_;
  std::set<std::uint32_t> cut_;
};

// A plan, and which of its phases a slice goes through.
struct SlicedPlan {
  std::vector<collectives::Phase> phases;
  std::uint32_t slices = 1;

  bool has(std::uint32_t phase, std::uint32_t slice) const {
    return phases[phase].part == slice * phases[phase].parts / slices;
  }
  // The axes as the slice goes up them.
  std::vector<std::uint32_t> order(CollectiveKind kind, std::uint32_t slice) const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < phases.size(); ++i)
      if (has(i, slice) && std::ranges::find(order, phases[i].axis) == order.end()) order.push_back(phases[i].axis);
    if (kind == kAllGather || kind == kBroadcast || kind == kScatter) std::ranges::reverse(order);
    return order;
  }
  // The axes on which shards are handed out.
  std::set<std::uint32_t> cut() const {
    std::set<std::uint32_t> cut;
    for (const collectives::Phase& phase : phases)
      if (phase.kind == kReduceScatter) cut.insert(phase.axis);
    return cut;
  }
  // Whether a phase comes after another one.
  bool is_after(std::uint32_t phase, std::uint32_t earlier) const {
    return std::ranges::any_of(phases[phase].after,
                               [&](std::uint32_t before) { return before == earlier || is_after(before, earlier); });
  }
};

class PlanExpander {
 public:
  PlanExpander(CollectiveKind kind, const Cuboid& cuboid, std::uint32_t root, collectives::PieceId piece_kinds,
               const SlicedPlan& plan, std::uint32_t slice)
      : cuboid_(cuboid),
        plan_(plan),
        units_(cuboid, kind, piece_kinds, plan.order(kind, slice), plan.cut()),
        root_(cuboid.coordinates(root)) {
    result_.exchange = {kind, cuboid.ranks(), root, piece_kinds, {}, 0};
  }

  void add_phase(std::uint32_t number, const collectives::Schedule& schedule) {
    const collectives::Phase& phase = plan_.phases[number];
    const auto before = static_cast<std::uint32_t>(result_.exchange.messages.size());
    for (std::uint32_t first = 0; first < cuboid_.ranks(); ++first) {
      const Coordinates at = cuboid_.coordinates(first);
      if (at[phase.axis] == 0 && collectives::participates(phase, at, root_)) add_line(number, schedule, at, before);
    }
  }

  PhaseExchange result() { return std::move(result_); }

 private:
  void add_line(std::uint32_t number, const collectives::Schedule& schedule, Coordinates at, std::uint32_t before) {
    const collectives::Phase& phase = plan_.phases[number];
    std::vector<std::uint32_t> members;
    for (at[phase.axis] = 0; at[phase.axis] < schedule.ranks(); ++at[phase.axis])
      members.push_back(cuboid_.rank_at(at));
    const Exchange line = expand(schedule);
    for (std::uint32_t i = 0; i < line.switches; ++i) members.push_back(cuboid_.ranks() + result_.exchange.switches++);
    const auto offset = static_cast<std::uint32_t>(result_.exchange.messages.size());
    for (const Message& local : line.messages) {
      Message message{members[local.from], members[local.to], {}, local.combine, {}};
      for (const collectives::PieceId piece : local.pieces)
        for (const collectives::PieceId unit : units_.of(phase.axis, at, piece, line.piece_kinds))
          message.pieces.push_back(unit);
      for (const std::uint32_t earlier : local.after) message.after.push_back(earlier + offset);
      for (std::uint32_t m = 0; m < before; ++m) {
        const Message& past = result_.exchange.messages[m];
        if (past.from != message.from && past.to != message.from) continue;
        if (plan_.is_after(number, phase_of_[m])) message.after.push_back(m);
      }
      result_.exchange.messages.push_back(std::move(message));
      phase_of_.push_back(number);
    }
    check_sizes(phase, schedule, offset);
  }

  // A message has every slice of the phase's part.
  void check_sizes(const collectives::Phase& phase, const collectives::Schedule& schedule, std::uint32_t message) {
    const std::uint32_t slices = plan_.slices / phase.parts;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
      for (std::uint32_t i = 0; i < schedule.sends(rank); ++i, message += schedule.is_in_network() ? 0U : 1U) {
        const auto units = static_cast<std::int64_t>(result_.exchange.messages[message].pieces.size()) * slices;
        const Bytes expected = phase.kind == kBarrier ? Bytes(0) : kUnitBytes * units;
        if (schedule.step(rank, i).bytes == expected || !result_.wrong_size.empty()) continue;
        result_.wrong_size = fmt::format("{} on axis {}: {} bytes for {} units", name_of(phase.kind), phase.axis,
                                         schedule.step(rank, i).bytes.count(), units);
      }
  }

  const Cuboid& cuboid_;
  const SlicedPlan& plan_;
  Units units_;
  Coordinates root_;
  PhaseExchange result_;
  std::vector<std::uint32_t> phase_of_;  // by message
};

}  // namespace

std::uint32_t Cuboid::ranks() const {
  std::uint32_t product = 1;
  for (const std::uint32_t size : sizes) product *= size;
  return product;
}

std::vector<std::uint32_t> Cuboid::coordinates(std::uint32_t rank) const {
  std::vector<std::uint32_t> coordinates;
  for (const std::uint32_t size : sizes) {
    coordinates.push_back(rank % size);
    rank /= size;
  }
  return coordinates;
}

std::uint32_t Cuboid::rank_at(const std::vector<std::uint32_t>& coordinates) const {
  std::uint32_t rank = 0;
  for (std::size_t d = sizes.size(); d-- > 0;) rank = rank * sizes[d] + coordinates[d];
  return rank;
}

std::vector<collectives::PlanAxis> Cuboid::axes() const {
  std::vector<collectives::PlanAxis> axes;
  for (std::uint32_t i = 0; i < sizes.size(); ++i)
    axes.push_back({sizes[i], dimensions.empty() ? i : dimensions[i], both_ways});
  return axes;
}

std::uint32_t slices_of(CollectiveKind kind, const Cuboid& cuboid) {
  std::uint32_t slices = 1;
  for (const collectives::Phase& phase : collectives::plan_phases(kind, cuboid.axes(), Bytes(1)))
    slices = std::lcm(slices, phase.parts);
  return slices;
}

PhaseExchange expand_plan(CollectiveKind kind, const Cuboid& cuboid, std::uint32_t root,
                          const std::vector<std::string>& algorithm_of_axis, std::uint32_t slice) {
  const std::vector<std::uint32_t> root_at = cuboid.coordinates(root);
  const std::uint32_t slices = slices_of(kind, cuboid);
  const auto algorithm_of = [&](std::size_t axis) {
    return collectives::find_algorithm(algorithm_of_axis[axis]).value();
  };
  std::vector<collectives::PlanAxis> axes = cuboid.axes();
  for (std::size_t axis = 0; axis < axes.size(); ++axis) axes[axis].all_reduce = algorithm_of(axis).all_reduce_by();
  const auto plan_for = [&](collectives::PieceId units) {
    const bool is_shard = kind == kAllGather || kind == kGather;
    const Bytes bytes = kUnitBytes * slices * (is_shard ? 1 : static_cast<std::int64_t>(units));
    return SlicedPlan{collectives::plan_phases(kind, axes, bytes, root_at, cuboid.order), slices};
  };
  const auto schedule_for = [&](const collectives::Phase& phase) {
    collectives::Request request;
    request.kind = phase.kind;
    request.ranks = cuboid.sizes[phase.axis];
    request.root = phase.root;
    request.bytes = phase.bytes;
    request.descending = phase.descending;
    return collectives::make_schedule(algorithm_of(phase.axis), request);
  };
  collectives::PieceId units = cuboid.ranks();
  if (kind == kAllReduce || kind == kReduce || kind == kBroadcast) {
    // As many for each rank that every program can cut what its ranks hold.
    collectives::PieceId each = 1;
    for (const collectives::Phase& phase : plan_for(units).phases)
      if (phase.kind == kAllReduce || phase.kind == kReduce || phase.kind == kBroadcast)
        each = std::lcm(each, schedule_for(phase).piece_kinds());
    units *= each;
  }
  const SlicedPlan plan = plan_for(units);
  const collectives::PieceId piece_kinds = kind == kAllToAll ? units * units : units;
  PlanExpander expander(kind, cuboid, root, piece_kinds, plan, slice);
  for (std::uint32_t i = 0; i < plan.phases.size(); ++i)
    if (plan.has(i, slice)) expander.add_phase(i, schedule_for(plan.phases[i]));
  return expander.result();
}

}  // namespace orrery
