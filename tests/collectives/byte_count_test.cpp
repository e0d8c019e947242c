// SPDX-License-Identifier: MIT
// What schedules weigh, for sizes that do not divide.
#include <bit>
#include <functional>

#include <catch2/catch.hpp>

#include "collectives/request.h"
#include "core/error.h"
#include "tests/collectives/every_schedule.h"

namespace orrery {
namespace {

using enum CollectiveKind;

const std::string kHalvingDoubling = "halving-doubling";

std::vector<Bytes> odd_sizes(std::uint32_t ranks) {
  return {Bytes(0), Bytes(1), Bytes(ranks - 1), Bytes(ranks), Bytes(ranks + 1), Bytes(1000003)};
}

Bytes total_bytes(const collectives::Schedule& schedule) {
  Bytes total{0};
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
    for (std::uint32_t i = 0; i < schedule.sends(rank); ++i) total += schedule.step(rank, i).bytes;
  return total;
}

// What one piece weighs, from the request alone; `parts` of the buffer where the algorithm chooses them.
Bytes weight_of_piece(const collectives::Request& request, collectives::PieceId piece, collectives::PieceId parts) {
  const auto bytes_of = [&](std::size_t rank) {
    return request.bytes_of_rank.empty() ? request.bytes : request.bytes_of_rank[rank];
  };
  switch (request.kind) {
    case kBarrier:
      return Bytes(0);
    case kAllGather:
    case kGather:
      return bytes_of(piece);
    case kScatter:
      return ceil_div(bytes_of(request.root), request.ranks);
    case kAllToAll:
      return ceil_div(bytes_of(piece / request.ranks), request.ranks);
    case kReduceScatter:
      return ceil_div(request.bytes, request.ranks);
    case kAllReduce:
    case kReduce:
    case kBroadcast:
      return ceil_div(request.bytes, static_cast<std::int64_t>(parts));
  }
  FAIL("no such kind");
  return Bytes(0);
}

void check_steps_weigh_their_pieces(const collectives::Schedule& schedule) {
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
    for (std::uint32_t i = 0; i < schedule.sends(rank); ++i) {
      const collectives::Step step = schedule.step(rank, i);
      const std::vector<collectives::PieceId> pieces = schedule.pieces(rank, i);
      Bytes expected{0};
      for (const collectives::PieceId piece : pieces)
        expected += weight_of_piece(schedule.request(), piece, schedule.piece_kinds());
      REQUIRE(step.piece_count == pieces.size());
      REQUIRE(step.bytes == expected);
      REQUIRE(step.reduce_bytes == (step.combine == collectives::Combine::kReduce ? expected : Bytes(0)));
    }
}

TEST_CASE("a call whose messages could be more than 2^62 bytes together is refused") {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const auto require = [](std::uint32_t ranks, std::int64_t bytes) {
    collectives::require_countable(kAllToAll, ranks, Bytes(bytes));
  };
  // Ranks times the buffer with a byte more for each of its parts: exactly 2^62, and one more, which is divisible by 5.
  CHECK_NOTHROW(require(2, kMost / 2 - 2));
  CHECK_NOTHROW(require(5, kMost / 5 - 5));
  CHECK_THROWS_AS(require(5, kMost / 5 + 1 - 5), InputError);
  CHECK_THROWS_AS(require(2, kMost / 2), InputError);
}

TEST_CASE("a step weighs what its pieces weigh") {
  for (const Case& c : every_case())
    for (std::uint32_t ranks = 1; ranks <= 19; ++ranks)
      for (const Bytes bytes : odd_sizes(ranks)) {
        INFO(title(c, ranks, ranks / 2) << ", bytes " << bytes.count());
        check_steps_weigh_their_pieces(schedule_of(c, ranks, ranks / 2, bytes));
      }
}

TEST_CASE("a step weighs what its pieces weigh when ranks bring different sizes") {
  for (const Case& c : every_case()) {
    if (c.kind != kAllToAll && c.kind != kGather && c.kind != kScatter) continue;
    for (std::uint32_t ranks = 1; ranks <= 19; ++ranks)
      for (const std::uint32_t root : some_roots(c.kind, ranks)) {
        collectives::Request request{
            .kind = c.kind, .ranks = ranks, .root = root, .bytes = {}, .bytes_of_rank = {}, .window = {}};
        for (std::uint32_t rank = 0; rank < ranks; ++rank) request.bytes_of_rank.emplace_back(rank * rank * 37 % 101);
        INFO(title(c, ranks, root));
        check_steps_weigh_their_pieces(
            collectives::make_schedule(collectives::find_algorithm(c.algorithm).value(), request));
      }
  }
}

// Bytes that cross the network in all, with n ranks, input S and c = ceil(S/n).
using Total = std::function<std::int64_t(std::int64_t n, std::int64_t S, std::int64_t c)>;
struct ByteLaw {
  std::string algorithm;
  CollectiveKind kind;
  Total total;
};

std::vector<ByteLaw> total_laws() {
  const auto log2 = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
  };
  return {
      // 2(n-1) steps of c on each of n ranks
      {"ring", kAllReduce, [](auto n, auto, auto c) { return 2 * n * (n - 1) * c; }},
      {"ring", kReduceScatter, [](auto n, auto, auto c) { return n * (n - 1) * c; }},
      {"ring", kAllGather, [](auto n, auto S, auto) { return n * (n - 1) * S; }},
      // the piece for distance d crosses d links, d = 1 .. n-1, from each of n ranks
      {"ring", kAllToAll, [](auto n, auto, auto c) { return n * n * (n - 1) / 2 * c; }},
      // n pieces over n-1 links
      {"ring", kBroadcast, [](auto n, auto, auto c) { return n * (n - 1) * c; }},
      {"ring", kReduce, [](auto n, auto, auto c) { return n * (n - 1) * c; }},
      // the piece of distance d crosses d links
      {"ring", kGather, [](auto n, auto S, auto) { return n * (n - 1) / 2 * S; }},
      {"ring", kScatter, [](auto n, auto, auto c) { return n * (n - 1) / 2 * c; }},
      {"ring", kBarrier, [](auto, auto, auto) { return 0; }},
      {"direct", kAllReduce, [](auto n, auto, auto c) { return 2 * n * (n - 1) * c; }},
      {"direct", kReduceScatter, [](auto n, auto, auto c) { return n * (n - 1) * c; }},
      {"direct", kAllGather, [](auto n, auto S, auto) { return n * (n - 1) * S; }},
      {"direct", kAllToAll, [](auto n, auto, auto c) { return n * (n - 1) * c; }},
      {"direct", kBroadcast, [](auto n, auto S, auto) { return (n - 1) * S; }},
      {"direct", kReduce, [](auto n, auto S, auto) { return (n - 1) * S; }},
      {"direct", kGather, [](auto n, auto S, auto) { return (n - 1) * S; }},
      {"direct", kScatter, [](auto n, auto, auto c) { return (n - 1) * c; }},
      {"direct", kBarrier, [](auto, auto, auto) { return 0; }},
      // per rank n/2 + n/4 + ... + 1 = n-1 pieces each way
      {kHalvingDoubling, kAllReduce, [](auto n, auto, auto c) { return 2 * n * (n - 1) * c; }},
      {kHalvingDoubling, kReduceScatter, [](auto n, auto, auto c) { return n * (n - 1) * c; }},
      {kHalvingDoubling, kAllGather, [](auto n, auto S, auto) { return n * (n - 1) * S; }},
      // log2(n) rounds of n/2 pieces on each of n ranks
      {kHalvingDoubling, kAllToAll, [=](auto n, auto, auto c) { return n * log2(n) * (n / 2) * c; }},
      {kHalvingDoubling, kBroadcast, [](auto n, auto S, auto) { return (n - 1) * S; }},
      {kHalvingDoubling, kReduce, [](auto n, auto S, auto) { return (n - 1) * S; }},
      // a piece crosses as many links as its place has bits set: n/2 log2(n) for all places together
      {kHalvingDoubling, kGather, [=](auto n, auto S, auto) { return n / 2 * log2(n) * S; }},
      {kHalvingDoubling, kScatter, [=](auto n, auto, auto c) { return n / 2 * log2(n) * c; }},
      {kHalvingDoubling, kBarrier, [](auto, auto, auto) { return 0; }},
  };
}

TEST_CASE("the bytes of all messages together follow the closed forms") {
  const std::vector<ByteLaw> laws = total_laws();
  CHECK(laws.size() == 3 * 9);
  for (const ByteLaw& law : laws)
    for (std::uint32_t ranks = 1; ranks <= 33; ++ranks) {
      if (law.algorithm == kHalvingDoubling && !std::has_single_bit(ranks)) continue;
      for (const Bytes bytes : odd_sizes(ranks)) {
        const Case c{law.algorithm, law.kind};
        INFO(title(c, ranks, 0) << ", bytes " << bytes.count());
        CHECK(total_bytes(schedule_of(c, ranks, 0, bytes)).count() ==
              law.total(ranks, bytes.count(), ceil_div(bytes, ranks).count()));
      }
    }
}

TEST_CASE("folding the surplus of halving-doubling costs only what the folded ranks bring and get") {
  // m = 2^k corners and n-m folded ranks, c = ceil(S/m): 2m(m-1) pieces among the corners, m from and m to each folded
  // rank.
  for (std::uint32_t ranks = 2; ranks <= 33; ++ranks) {
    const std::int64_t m = std::bit_floor(ranks);
    const std::int64_t c = ceil_div(Bytes(1000003), m).count();
    const collectives::Schedule all_reduce = schedule_of({kHalvingDoubling, kAllReduce}, ranks, 0, Bytes(1000003));
    CHECK(total_bytes(all_reduce).count() == (2 * m * (m - 1) + 2 * (ranks - m) * m) * c);
  }
  // An all-gather has to bring n-1 pieces to each of n ranks, and no algorithm here brings one twice.
  for (std::uint32_t ranks = 1; ranks <= 33; ++ranks) {
    const collectives::Schedule all_gather = schedule_of({kHalvingDoubling, kAllGather}, ranks, 0, Bytes(10));
    CHECK(total_bytes(all_gather).count() == std::int64_t{ranks} * (ranks - 1) * 10);
  }
}

}  // namespace
}  // namespace orrery
