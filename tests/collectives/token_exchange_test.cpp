// SPDX-License-Identifier: MIT
#include "collectives/token_exchange.h"

#include <catch2/catch.hpp>

using namespace orrery;
using namespace orrery::collectives;
using namespace std::chrono_literals;

namespace {

// All at 1 GB/s a multiprocessor, of which there are 10; half of NVLink, a quarter of the network.
TokenExchange exchange_of(const TokenRouting& routing) {
  DispatchLibrary library;
  library.kind = DispatchKind::kCopies;
  library.processors = 10;
  library.processor_rate = Bandwidth(1'000'000'000);
  library.within = Efficiency(500'000);
  library.between = Efficiency(250'000);
  library.launch = Duration(30'000'000);
  library.doubling = Duration(5'000'000);
  return {library, routing};
}

GroupShape shape_of(std::uint32_t nodes, std::uint32_t gpus) {
  GroupShape shape;
  shape.ranks = nodes * gpus;
  shape.nodes = nodes;
  shape.fullest = gpus;
  return shape;
}

}  // namespace

// Two of four experts: of two units, both are on one with a chance of 1/3.
TEST_CASE("a token reaches as many ranks as its experts lie on, on average") {
  CHECK(units_reached({4, 2, 1, 1}, 1) == Approx(1));
  CHECK(units_reached({4, 2, 1, 1}, 2) == Approx(5.0 / 3));
  CHECK(units_reached({4, 2, 1, 1}, 4) == Approx(2));
  CHECK(units_reached({8, 1, 1, 1}, 8) == Approx(1));
  CHECK(units_reached({8, 8, 1, 1}, 8) == Approx(8));
  // Of 256 experts 8, over 8 ranks of 32: 8 (1 - C(224, 8) / C(256, 8)), worked out by exact integers.
  CHECK(units_reached({256, 8, 1, 1}, 8) == Approx(5.29465).epsilon(1e-5));
}

TEST_CASE("a token reaches no more nodes than it may go to") {
  // One group of four, two experts of it: one node of four, both ranks of a group's two, and half of the nodes of two
  // groups.
  CHECK(units_reached({8, 2, 4, 1}, 4) == Approx(1));
  CHECK(units_reached({8, 2, 4, 1}, 8) == Approx(2));
  CHECK(units_reached({8, 2, 4, 1}, 2) == Approx(1));
  // Two of four groups, all of their experts: two nodes; or, of two groups each, 1 with a chance of 1/3, else 2.
  CHECK(units_reached({8, 4, 4, 2}, 4) == Approx(2));
  CHECK(units_reached({8, 4, 4, 2}, 2) == Approx(5.0 / 3));
  for (const std::int64_t limit : {1, 2, 4, 8})
    for (const std::uint32_t nodes : {1U, 2U, 4U, 8U}) {
      CHECK(units_reached({256, 8, 8, limit}, nodes) <=
            static_cast<double>(std::min<std::int64_t>(limit, nodes)) + 1e-9);
      CHECK(units_reached({256, 8, 8, limit}, 8 * nodes) >= units_reached({256, 8, 8, limit}, nodes));
    }
}

TEST_CASE("balanced tokens reach as many ranks as there are, or as they have experts") {
  CHECK(units_reached({256, 8, 1, 1, true}, 4) == 4);
  CHECK(units_reached({256, 8, 1, 1, true}, 64) == 8);
}

// 1000 tokens of 1000 bytes, all 8 experts on 8 ranks: 8 copies of which 7 leave the rank, on half of the wire, and
// each multiprocessor reads one row and writes eight.
TEST_CASE("within a node one copy goes to each rank") {
  const Aggregate transfer = token_exchange(exchange_of({8, 8, 1, 1}), Bytes(8'000'000), shape_of(1, 8));
  CHECK(transfer.pattern == NodePattern::kAllPairs);
  CHECK(transfer.within == Bytes(14'000'000));
  CHECK(transfer.between == Bytes(0));
  CHECK(transfer.least == Duration(900'000'000));  // 9 MB at 10 GB/s
  CHECK(transfer.latency == Duration(30'000'000));
}

TEST_CASE("the slowest link of a pattern determines how long a transfer takes within nodes, between them and in all") {
  GroupShape shape = shape_of(2, 8);
  shape.paces[static_cast<std::size_t>(NodePattern::kRing)] = {{1e-9, 4e-9}, {3e-9, 1e-9}};
  shape.paces[static_cast<std::size_t>(NodePattern::kDoubleTree)] = {{1, 1}};
  const TransferSeconds seconds = lone_seconds({NodePattern::kRing, Bytes(1000), Bytes(2000), {}}, shape);
  CHECK(seconds.within == Approx(3e-6));
  CHECK(seconds.between == Approx(8e-6));
  CHECK(seconds.together == Approx(9e-6));  // 1 + 8, where the other link takes 3 + 2
}

// The same on 4 nodes of 2, and a token may go to 2 of them: 4 of its ranks (all experts of both), 2 nodes, of which
// its own is one in four, and each copy goes on to the ranks there, of which every second is where it came in.
TEST_CASE("over the network one copy goes to each node") {
  const Aggregate transfer = token_exchange(exchange_of({8, 4, 4, 2}), Bytes(4'000'000), shape_of(4, 2));
  CHECK(transfer.between == Bytes(6'000'000));  // 1 MB * 2 * 3/4 * 4
  CHECK(transfer.within == Bytes(4'000'000));   // 1 MB * 4 * 1/2 * 2
  CHECK(transfer.least == Duration(700'000'000));
  CHECK(transfer.latency == Duration(40'000'000));
}
