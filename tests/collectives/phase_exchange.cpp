#include "tests/collectives/phase_exchange.h"

#include <fmt/format.h>

#include "collectives/algorithms.h"
#include "collectives/phase_plan.h"

namespace orrery {
namespace {

using enum CollectiveKind;
using Coordinates = std::vector<std::uint32_t>;

// Which units of the cuboid's data a local piece of a phase stands for, at a rank with these coordinates.
class Units {
 public:
  Units(const Cuboid& cuboid, CollectiveKind kind, PieceId piece_kinds)
      : cuboid_(cuboid), kind_(kind), piece_kinds_(piece_kinds) {}

  std::vector<PieceId> of(std::uint32_t d, const Coordinates& at, PieceId piece, PieceId local_kinds) const {
    switch (kind_) {
      case kBroadcast:
      case kReduce: return part(piece, local_kinds);
      case kAllReduce:  // of one dimension has as many units as local pieces
        if (piece_kinds_ != cuboid_.ranks() || local_kinds == piece_kinds_) return part(piece, local_kinds);
        if (local_kinds == 1)  // all that the rank has come to hold
          return matching([&](const Coordinates& u) { return below(u, at, d); });
        return matching([&](const Coordinates& u) { return below(u, at, d) && u[d] == piece; });
      case kReduceScatter:
      case kAllGather: return matching([&](const Coordinates& u) { return below(u, at, d) && u[d] == piece; });
      case kGather:
      case kScatter:
      case kBarrier: return matching([&](const Coordinates& u) { return above(u, at, d) && u[d] == piece; });
      case kAllToAll: return pairs(d, at, piece);
    }
    return {};
  }

 private:
  // Coordinates in lower and in higher dimensions agree.
  static bool below(const Coordinates& a, const Coordinates& b, std::uint32_t d) {
    return std::equal(a.begin(), a.begin() + d, b.begin());
  }
  static bool above(const Coordinates& a, const Coordinates& b, std::uint32_t d) {
    return std::equal(a.begin() + d + 1, a.end(), b.begin() + d + 1);
  }

  std::vector<PieceId> part(PieceId piece, PieceId parts) const {
    std::vector<PieceId> units;
    for (PieceId u = piece * piece_kinds_ / parts; u < (piece + 1) * piece_kinds_ / parts; ++u) units.push_back(u);
    return units;
  }

  template <class Predicate>
  std::vector<PieceId> matching(Predicate is_wanted) const {
    std::vector<PieceId> units;
    for (std::uint32_t u = 0; u < cuboid_.ranks(); ++u)
      if (is_wanted(cuboid_.coordinates(u))) units.push_back(u);
    return units;
  }

  // All-to-all upwards: destinations are already right below d, sources still the rank's own above d.
  std::vector<PieceId> pairs(std::uint32_t d, const Coordinates& at, PieceId piece) const {
    const PieceId from = piece / cuboid_.sizes[d];
    const PieceId to = piece % cuboid_.sizes[d];
    std::vector<PieceId> units;
    for (const PieceId source : matching([&](const Coordinates& s) { return above(s, at, d) && s[d] == from; }))
      for (const PieceId destination : matching([&](const Coordinates& t) { return below(t, at, d) && t[d] == to; }))
        units.push_back(source * cuboid_.ranks() + destination);
    return units;
  }

  const Cuboid& cuboid_;
  CollectiveKind kind_;
  PieceId piece_kinds_;
};

class PlanExpander {
 public:
  PlanExpander(CollectiveKind kind, const Cuboid& cuboid, std::uint32_t root, PieceId piece_kinds)
      : cuboid_(cuboid), units_(cuboid, kind, piece_kinds), root_(cuboid.coordinates(root)) {
    result_.exchange = {kind, cuboid.ranks(), root, piece_kinds, {}, 0};
  }

  void add_phase(const Phase& phase, const Schedule& schedule) {
    const auto before = static_cast<std::uint32_t>(result_.exchange.messages.size());
    for (std::uint32_t first = 0; first < cuboid_.ranks(); ++first) {
      const Coordinates at = cuboid_.coordinates(first);
      if (at[phase.dimension] == 0 && participates(phase, at, root_)) add_line(phase, schedule, at, before);
    }
  }

  PhaseExchange result() { return std::move(result_); }

 private:
  void add_line(const Phase& phase, const Schedule& schedule, Coordinates at, std::uint32_t before) {
    std::vector<std::uint32_t> members;
    for (at[phase.dimension] = 0; at[phase.dimension] < schedule.ranks(); ++at[phase.dimension])
      members.push_back(cuboid_.rank_at(at));
    const Exchange line = expand(schedule);
    for (std::uint32_t i = 0; i < line.switches; ++i) members.push_back(cuboid_.ranks() + result_.exchange.switches++);
    const auto offset = static_cast<std::uint32_t>(result_.exchange.messages.size());
    for (const Message& local : line.messages) {
      Message message{members[local.from], members[local.to], {}, local.combine, {}};
      for (const PieceId piece : local.pieces)
        for (const PieceId unit : units_.of(phase.dimension, at, piece, line.piece_kinds))
          message.pieces.push_back(unit);
      for (const std::uint32_t earlier : local.after) message.after.push_back(earlier + offset);
      for (std::uint32_t m = 0; m < before; ++m) {
        const Message& past = result_.exchange.messages[m];
        if (past.from == message.from || past.to == message.from) message.after.push_back(m);
      }
      result_.exchange.messages.push_back(std::move(message));
    }
    check_sizes(phase, schedule, offset);
  }

  void check_sizes(const Phase& phase, const Schedule& schedule, std::uint32_t message) {
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
      for (std::uint32_t i = 0; i < schedule.sends(rank); ++i, message += schedule.is_in_network() ? 0 : 1) {
        const auto units = static_cast<std::int64_t>(result_.exchange.messages[message].pieces.size());
        const Bytes expected = phase.kind == kBarrier ? Bytes(0) : kUnitBytes * units;
        if (schedule.step(rank, i).bytes == expected || !result_.wrong_size.empty()) continue;
        result_.wrong_size = fmt::format("{} in dimension {}: {} bytes for {} units", name_of(phase.kind),
                                         phase.dimension, schedule.step(rank, i).bytes.count(), units);
      }
  }

  const Cuboid& cuboid_;
  Units units_;
  Coordinates root_;
  PhaseExchange result_;
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

PhaseExchange expand_plan(CollectiveKind kind, const Cuboid& cuboid, std::uint32_t root,
                          const std::vector<std::string>& algorithm_of_dimension) {
  const std::vector<std::uint32_t> root_at = cuboid.coordinates(root);
  const auto plan_for = [&](PieceId units) {
    const bool is_shard = kind == kAllGather || kind == kGather;
    const bool halves =
        cuboid.sizes.empty() || find_algorithm(algorithm_of_dimension[cuboid.sizes.size() - 1])->splits_all_reduce();
    return plan_phases(kind, cuboid.sizes, kUnitBytes * (is_shard ? 1 : static_cast<std::int64_t>(units)), root_at,
                       halves ? AllReduceTop::kHalves : AllReduceTop::kWhole);
  };
  const auto schedule_for = [&](const Phase& phase) {
    return make_schedule(find_algorithm(algorithm_of_dimension[phase.dimension]).value(),
                         Request{.kind = phase.kind,
                                 .ranks = cuboid.sizes[phase.dimension],
                                 .root = phase.root,
                                 .bytes = phase.bytes,
                                 .bytes_of_rank = {},
                                 .window = {}});
  };
  PieceId units = cuboid.ranks();
  std::vector<Phase> plan = plan_for(units);
  if (plan.size() == 1 && plan[0].kind == kAllReduce) units = schedule_for(plan[0]).piece_kinds();
  plan = plan_for(units);
  const PieceId piece_kinds = kind == kAllToAll ? units * units : units;
  PlanExpander expander(kind, cuboid, root, piece_kinds);
  for (const Phase& phase : plan) expander.add_phase(phase, schedule_for(phase));
  return expander.result();
}

}  // namespace orrery
