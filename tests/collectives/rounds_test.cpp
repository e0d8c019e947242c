// SPDX-License-Identifier: MIT
// Rounds and fan-in against the counts of textbooks, for P ranks.
#include <catch2/catch.hpp>

#include "collectives/algorithms.h"
#include "collectives/rounds.h"

namespace orrery {
namespace {

using enum CollectiveKind;

void check(const std::string& algorithm, CollectiveKind kind, std::uint32_t ranks, std::uint32_t count,
           std::uint32_t fan_in) {
  collectives::Request request;
  request.kind = kind;
  request.ranks = ranks;
  const collectives::Rounds rounds =
      collectives::rounds_of(collectives::find_algorithm(algorithm).value(), std::move(request));
  INFO(algorithm << " " << name_of(kind) << " of " << ranks);
  CHECK(rounds.count == count);
  CHECK(rounds.fan_in == fan_in);
}

TEST_CASE("all-reduces have the rounds and the fan-in of the lecture") {
  for (const std::uint32_t ranks : {4U, 8U, 16U}) {
    check("server", kAllReduce, ranks, 2, ranks - 1);
    check("sharded-server", kAllReduce, ranks, 2, ranks - 1);
    check("one-by-one", kAllReduce, ranks, ranks - 1, 1);
    check("one-by-one-partitioned", kAllReduce, ranks, 2 * (ranks - 1), 1);
    check("ring", kAllReduce, ranks, 2 * (ranks - 1), 1);
    check("bidirectional-ring", kAllReduce, ranks, 2 * (ranks - 1), 2);  // one from each side
  }
  check("halving-doubling", kAllReduce, 16, 8, 1);
  check("rabenseifner", kAllReduce, 16, 8, 1);
  check("swing", kAllReduce, 16, 8, 1);
  check("recursive-doubling", kAllReduce, 16, 4, 1);
  check("binomial-tree", kAllReduce, 16, 8, 1);
  check("in-network", kAllReduce, 16, 1, 1);
}

TEST_CASE("other kinds have theirs") {
  check("bruck", kAllGather, 9, 4, 1);
  check("bruck", kAllToAll, 9, 4, 1);
  check("pairwise", kAllToAll, 9, 8, 1);
  check("direct", kAllToAll, 17, 2, 8);  // eight at a time
  check("direct", kGather, 9, 1, 8);
  check("ring", kBroadcast, 8, 7 + 7, 1);  // 8 pieces over 7 links
  check("in-network", kReduce, 16, 1, 1);
  // Four levels and 15 more segments; an inner rank gets a segment from each of two, as a leaf of the other tree none.
  check("double-binary-tree", kReduce, 16, 19, 2);
  check("double-binary-tree", kBroadcast, 16, 19, 2);  // one from each tree
  check("ring", kAllReduce, 1, 0, 0);
}

// Contents of a piece: how often the contribution of each rank is in it.
using Sum = std::vector<std::uint32_t>;

// Plays an all-reduce round by round, as its steps are printed: all messages of a round carry what their senders had
// before it.
std::vector<std::vector<Sum>> played(const collectives::Schedule& schedule) {
  const std::uint32_t ranks = schedule.ranks();
  const auto pieces = static_cast<std::size_t>(schedule.piece_kinds());
  std::vector<std::vector<Sum>> has(ranks, std::vector<Sum>(pieces, Sum(ranks)));
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (Sum& sum : has[rank]) sum[rank] = 1;
  const collectives::Rounds rounds = collectives::rounds_of({&schedule, 1});
  for (std::uint32_t round = 0; round < rounds.count; ++round) {
    const std::vector<std::vector<Sum>> before = has;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t send = 0; send < schedule.sends(rank); ++send) {
        if (rounds.of_message[rank][send] != round) continue;
        const collectives::Step step = schedule.step(rank, send);
        for (const collectives::PieceId piece : schedule.pieces(rank, send)) {
          Sum& there = has[step.to][static_cast<std::size_t>(piece)];
          if (step.combine == collectives::Combine::kCopy) std::ranges::fill(there, 0U);
          for (std::uint32_t from = 0; from < ranks; ++from)
            there[from] += before[rank][static_cast<std::size_t>(piece)][from];
        }
      }
  }
  return has;
}

// Six ranks by recursive doubling: rank 5 hands 4 + 5 on in the second round, in which rank 0 sends 0 + 1 to rank 2;
// rank 4's sum is for the exchange after that. Shown in the second round, rank 0 would send it back to rank 4 in the
// third.
TEST_CASE("exchanges played round by round count every contribution once, for any number of ranks") {
  for (const std::string algorithm : {"recursive-doubling", "halving-doubling", "swing", "ring", "binomial-tree"})
    for (std::uint32_t ranks = 2; ranks <= 33; ++ranks) {
      collectives::Request request;
      request.ranks = ranks;
      request.bytes = Bytes(1 << 20);
      const collectives::Schedule schedule =
          collectives::make_schedule(collectives::find_algorithm(algorithm).value(), request);
      INFO(algorithm << " of " << ranks);
      for (const std::vector<Sum>& of_rank : played(schedule))
        for (const Sum& sum : of_rank) CHECK(sum == Sum(ranks, 1));
    }
}

}  // namespace
}  // namespace orrery
