// SPDX-License-Identifier: MIT
// The shapes and sizes of plans.
#include <array>

#include <catch2/catch.hpp>

#include "collectives/phase_plan.h"
#include "core/error.h"

namespace orrery {
namespace {

using collectives::plan_phases;
using enum CollectiveKind;
constexpr std::array<collectives::PlanAxis, 3> kAxes = {collectives::PlanAxis{2, 0}, collectives::PlanAxis{3, 1},
                                                        collectives::PlanAxis{4, 2}};
constexpr std::array<std::uint32_t, 3> kRoot = {1, 2, 0};

std::vector<collectives::Phase> plan(CollectiveKind kind, std::int64_t bytes) {
  return collectives::plan_phases(kind, kAxes, Bytes(bytes), kRoot);
}

// What a phase does, when phases follow one another and have one part each.
struct Move {
  std::uint32_t axis;
  CollectiveKind kind;
  std::int64_t bytes;
  std::uint32_t root = 0;
  std::uint32_t aligned = 0;  // bits

  bool operator==(const Move&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Move& move) {
  return out << name_of(move.kind) << " of " << move.bytes << " on axis " << move.axis << ", root " << move.root
             << ", aligned " << move.aligned;
}

std::vector<Move> moves_of(const std::vector<collectives::Phase>& phases) {
  std::vector<Move> moves;
  for (std::uint32_t i = 0; i < phases.size(); ++i) {
    const collectives::Phase& phase = phases[i];
    CHECK(phase.parts == 1);
    CHECK_FALSE(phase.descending);
    CHECK(phase.after == (i == 0 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{i - 1}));
    moves.push_back({phase.axis, phase.kind, phase.bytes.count(), phase.root, phase.aligned});
  }
  return moves;
}

TEST_CASE("an all-reduce scatters up the axes and gathers down, with sizes rounded up") {
  // ceil(100/2) = 50, ceil(50/3) = 17, ceil(17/4) = 5
  CHECK(moves_of(plan(kAllReduce, 100)) == std::vector<Move>{{0, kReduceScatter, 100},
                                                             {1, kReduceScatter, 50},
                                                             {2, kReduceScatter, 17},
                                                             {2, kAllGather, 5},
                                                             {1, kAllGather, 17},
                                                             {0, kAllGather, 50}});
}

TEST_CASE("a reduce-scatter goes up, an all-gather down, an all-to-all takes its whole buffer along") {
  CHECK(moves_of(plan(kReduceScatter, 100)) ==
        std::vector<Move>{{0, kReduceScatter, 100}, {1, kReduceScatter, 50}, {2, kReduceScatter, 17}});
  CHECK(moves_of(plan(kAllGather, 5)) ==
        std::vector<Move>{{2, kAllGather, 5}, {1, kAllGather, 20}, {0, kAllGather, 60}});
  CHECK(moves_of(plan(kAllToAll, 100)) ==
        std::vector<Move>{{0, kAllToAll, 100}, {1, kAllToAll, 100}, {2, kAllToAll, 100}});
  CHECK(moves_of(plan(kBarrier, 100)) == std::vector<Move>{{0, kBarrier, 0}, {1, kBarrier, 0}, {2, kBarrier, 0}});
}

TEST_CASE("from the root data comes down the axes, to the root it goes up") {
  CHECK(moves_of(plan(kBroadcast, 100)) ==
        std::vector<Move>{{2, kBroadcast, 100, 0, 0b011}, {1, kBroadcast, 100, 2, 0b001}, {0, kBroadcast, 100, 1}});
  CHECK(moves_of(plan(kReduce, 100)) ==
        std::vector<Move>{{0, kReduce, 100, 1}, {1, kReduce, 100, 2, 0b001}, {2, kReduce, 100, 0, 0b011}});
  CHECK(moves_of(plan(kScatter, 100)) ==
        std::vector<Move>{{2, kScatter, 100, 0, 0b011}, {1, kScatter, 25, 2, 0b001}, {0, kScatter, 9, 1}});
  CHECK(moves_of(plan(kGather, 5)) ==
        std::vector<Move>{{0, kGather, 5, 1}, {1, kGather, 10, 2, 0b001}, {2, kGather, 30, 0, 0b011}});
}

TEST_CASE("a ring that goes both ways has half of the data each way, at once") {
  const std::array<collectives::PlanAxis, 1> ring = {collectives::PlanAxis{5, 0, true}};
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    const std::vector<collectives::Phase> phases = collectives::plan_phases(kind, ring, Bytes(101));
    INFO(name_of(kind));
    REQUIRE(phases.size() == (kind == kBarrier ? 1 : 2));  // nothing to halve
    for (std::uint32_t i = 0; i < phases.size(); ++i) {
      CHECK(phases[i].kind == kind);
      CHECK(phases[i].bytes == Bytes(kind == kBarrier ? 0 : 51));
      CHECK(phases[i].descending == (i == 1));
      CHECK(phases[i].after.empty());
    }
  }
}

TEST_CASE("on a torus every axis has a part of the data in each direction all the time") {
  // 2 x 4 x 4, where the first axis has one link each way: three parts that begin with x, y and z, and three more that
  // go the other way round on y and z.
  const std::array<collectives::PlanAxis, 3> torus = {collectives::PlanAxis{2, 0}, collectives::PlanAxis{4, 0, true},
                                                      collectives::PlanAxis{4, 0, true}};
  const std::vector<collectives::Phase> phases = collectives::plan_phases(kAllReduce, torus, Bytes(600));
  REQUIRE(phases.size() == 6 * 6);
  std::vector<std::vector<collectives::Phase>> parts(6);
  for (const collectives::Phase& phase : phases) {
    REQUIRE(phase.parts == 6);
    // Each part is a chain of its own.
    CHECK(phase.after.size() == (parts[phase.part].empty() ? 0 : 1));
    if (!phase.after.empty()) CHECK(phases[phase.after.front()] == parts[phase.part].back());
    parts[phase.part].push_back(phase);
  }
  for (std::uint32_t part = 0; part < 6; ++part) {
    const std::vector<collectives::Phase>& legs = parts[part];
    REQUIRE(legs.size() == 6);
    Bytes bytes(100);
    for (std::uint32_t i = 0; i < 3; ++i) {
      CHECK(legs[i].axis == (part + i) % 3);
      CHECK(legs[i].kind == kReduceScatter);
      CHECK(legs[i].descending == (part >= 3 && legs[i].axis > 0));
      CHECK(legs[i].bytes == bytes);
      bytes = ceil_div(bytes, torus[legs[i].axis].size);
      const collectives::Phase& undo = legs[5 - i];
      CHECK(undo.axis == legs[i].axis);
      CHECK(undo.kind == kAllGather);
      CHECK(undo.descending == legs[i].descending);
      CHECK(undo.bytes == bytes);
    }
  }
}

TEST_CASE("between two dimensions the parts come together, and their shards go on as one") {
  const std::array<collectives::PlanAxis, 3> axes = {collectives::PlanAxis{3, 0, true},
                                                     collectives::PlanAxis{3, 0, true}, collectives::PlanAxis{2, 1}};
  const std::vector<collectives::Phase> up = collectives::plan_phases(kReduceScatter, axes, Bytes(720));
  REQUIRE(up.size() == 4 * 2 + 1);
  CHECK(up[8].axis == 2);
  CHECK(up[8].bytes == Bytes(80));  // 720 / 9
  CHECK(up[8].parts == 1);
  CHECK(up[8].after == std::vector<std::uint32_t>{1, 3, 5, 7});
  const std::vector<collectives::Phase> both = collectives::plan_phases(kAllReduce, axes, Bytes(720));
  REQUIRE(both.size() == 18);
  CHECK(both[9].kind == kAllGather);
  CHECK(both[9].after == std::vector<std::uint32_t>{8});
  for (const std::uint32_t first : {10U, 12U, 14U, 16U}) CHECK(both[first].after == std::vector<std::uint32_t>{9});
  for (const std::uint32_t last : {11U, 13U, 15U, 17U}) CHECK(both[last].after == std::vector<std::uint32_t>{last - 1});
}

TEST_CASE("one axis with more than one rank is the collective itself") {
  const std::array<collectives::PlanAxis, 3> line = {collectives::PlanAxis{1, 0}, collectives::PlanAxis{6, 1},
                                                     collectives::PlanAxis{1, 1}};
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    const std::vector<collectives::Phase> phases = collectives::plan_phases(kind, line, Bytes(100));
    INFO(name_of(kind));
    REQUIRE(phases.size() == 1);
    CHECK(phases[0].kind == kind);
    CHECK(phases[0].axis == 1);
    CHECK(phases[0].bytes == Bytes(kind == kBarrier ? 0 : 100));
  }
}

TEST_CASE("a single rank has no phases") {
  const std::array<collectives::PlanAxis, 2> ones = {collectives::PlanAxis{1, 0}, collectives::PlanAxis{1, 0, true}};
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    CHECK(plan_phases(kind, ones, Bytes(100)).empty());
    CHECK(plan_phases(kind, {}, Bytes(100)).empty());
  }
}

TEST_CASE("only ranks that agree with the root on all lower axes take part in rooted phases") {
  // In a 2x3x4 cuboid with the root at (1, 2, 0): 24 ranks on axis 0, 12 on 1 (x = 1), 4 on 2 (x = 1, y = 2).
  std::array<int, 3> taking_part = {0, 0, 0};
  for (const collectives::Phase& phase : plan(kBroadcast, 100))
    for (std::uint32_t x = 0; x < 2; ++x)
      for (std::uint32_t y = 0; y < 3; ++y)
        for (std::uint32_t z = 0; z < 4; ++z)
          taking_part[phase.axis] += collectives::participates(phase, std::array{x, y, z}, kRoot) ? 1 : 0;
  CHECK(taking_part == std::array<int, 3>{24, 12, 4});
  CHECK(participates(plan(kAllReduce, 100)[2], std::array{0U, 0U, 0U}, kRoot));
}

TEST_CASE("sizes that could pass 2^62 bytes are refused") {
  CHECK_THROWS_AS(plan(kAllGather, std::int64_t{1} << 60), InputError);
  CHECK_THROWS_AS(plan_phases(kAllReduce, {}, Bytes::max()), InputError);
}

}  // namespace
}  // namespace orrery
