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

}  // namespace
}  // namespace orrery
