// SPDX-License-Identifier: MIT
// Every schedule does what its collective means, and its receive slots are consistent.
#include <algorithm>

#include <catch2/catch.hpp>

#include "collectives/oracle/meaning.h"
#include "collectives/oracle/oracle.h"
#include "tests/collectives/every_schedule.h"

namespace orrery {
namespace {

using collectives::Verdict;
// The larger the group, the fewer orders are tried here; the slow tests try more.
std::vector<std::uint64_t> seeds(std::uint32_t ranks) {
  return ranks <= 12 ? std::vector<std::uint64_t>{1, 2, 3} : std::vector<std::uint64_t>{1};
}

TEST_CASE("every algorithm does every kind for 1 to 33 ranks") {
  // bidirectional-ring, direct, direct3, halving-doubling in two orders, ring; nine kinds each; binomial-tree five,
  // in-network and swing four, recursive-doubling, server and each tree of double-binary-tree three, bruck two,
  // pairwise and one-by-one one
  CHECK(every_case().size() == 6 * 9 + 5 + 2 * 4 + 4 * 3 + 2 + 2 * 1);
  for (const Case& c : every_case())
    for (std::uint32_t ranks = 1; ranks <= 33; ++ranks)
      for (const std::uint32_t root : some_roots(c.kind, ranks)) {
        const Verdict verdict = check_meaning(expand(schedule_of(c, ranks, root)), seeds(ranks));
        INFO(title(c, ranks, root));
        CHECK(verdict.reason == "");
        CHECK(verdict.correct);
      }
}

TEST_CASE("every algorithm does every kind for 64 ranks") {
  for (const Case& c : every_case()) {
    INFO(title(c, 64, 21));
    CHECK(check_meaning(expand(schedule_of(c, 64, is_rooted(c.kind) ? 21 : 0)), seeds(64)).reason == "");
  }
}

TEST_CASE("each receive slot is filled by exactly one send") {
  for (const Case& c : every_case())
    for (std::uint32_t ranks = 1; ranks <= 33; ++ranks)
      for (const std::uint32_t root : some_roots(c.kind, ranks)) {
        const collectives::Schedule schedule = schedule_of(c, ranks, root);
        std::vector<std::vector<int>> filled(ranks);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) filled[rank].resize(schedule.receives(rank));
        INFO(title(c, ranks, root));
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
          for (std::uint32_t i = 0; i < schedule.sends(rank); ++i) {
            const collectives::Step step = schedule.step(rank, i);
            REQUIRE(step.to < ranks);
            REQUIRE(step.to != rank);
            REQUIRE(step.slot < filled[step.to].size());
            ++filled[step.to][step.slot];
            REQUIRE(step.needs.end <= schedule.receives(rank));
            if (step.after_send) REQUIRE(*step.after_send < i);
          }
        for (const std::vector<int>& slots : filled)
          REQUIRE(std::all_of(slots.begin(), slots.end(), [](int count) { return count == 1; }));
      }
}

TEST_CASE("pieces that are cut into shares mean, share by share, what the whole piece means") {
  for (const CollectiveKind kind : kAllCollectiveKinds)
    for (const bool in_place : {false, true}) {
      collectives::Exchange whole{kind, 3, 1, 9, {}};
      whole.buffers = collectives::Buffers{.input = 9, .output = 9, .scratch = 1, .in_place = in_place, .share = 1};
      collectives::Exchange cut = whole;
      cut.buffers = collectives::Buffers{.input = 18, .output = 18, .scratch = 2, .in_place = in_place, .share = 2};
      CHECK(collectives::fixed_piece_kinds(cut) == 2 * collectives::fixed_piece_kinds(whole));
      const collectives::PieceId pieces = std::max<collectives::PieceId>(collectives::fixed_piece_kinds(cut), 4);
      for (std::uint32_t rank = 0; rank < whole.ranks; ++rank)
        for (collectives::PieceId piece = 0; piece < pieces; ++piece) {
          INFO(name_of(kind) << ", rank " << rank << ", piece " << piece);
          CHECK(has_input(cut, rank, piece) == has_input(whole, rank, piece / 2));
          CHECK(promise(cut, rank, piece).content == promise(whole, rank, piece / 2).content);
          CHECK(promise(cut, rank, piece).owner == promise(whole, rank, piece / 2).owner);
          CHECK(place_of_input(cut, rank, piece) == 2 * place_of_input(whole, rank, piece / 2) + piece % 2);
          CHECK(place_of_result(cut, rank, piece) == 2 * place_of_result(whole, rank, piece / 2) + piece % 2);
        }
    }
}

TEST_CASE("a kind has a root if its data come from one rank or go to one") {
  using enum CollectiveKind;
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    INFO(name_of(kind));
    CHECK(has_root(kind) == is_rooted(kind));
    CHECK(is_to_root(kind) == (kind == kReduce || kind == kGather));
  }
}

TEST_CASE("a group of one rank sends nothing") {
  for (const Case& c : every_case()) {
    const collectives::Schedule schedule = schedule_of(c, 1);
    CHECK(schedule.sends(0) == 0);
    CHECK(schedule.receives(0) == 0);
    CHECK(expand(schedule).messages.empty());
  }
}

}  // namespace
}  // namespace orrery
