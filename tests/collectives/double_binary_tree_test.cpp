// SPDX-License-Identifier: MIT
// The two trees complement each other: what a rank has to pass on, it has to pass on in one of them.
#include <bit>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/collectives/every_schedule.h"

namespace orrery {
namespace {

// By rank, how many ranks it passes the data on to.
std::vector<std::uint32_t> children(std::uint32_t ranks, std::uint32_t root, bool descending) {
  const collectives::Schedule tree =
      schedule_of({"double-binary-tree", CollectiveKind::kBroadcast, descending}, ranks, root);
  std::vector<std::uint32_t> children;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) children.push_back(tree.sends(rank) / collectives::kSegments);
  return children;
}

TEST_CASE("an inner rank of one tree is a leaf of the other, and the root has one child in each") {
  for (std::uint32_t ranks = 3; ranks <= 65; ++ranks)
    for (const std::uint32_t root : {0U, ranks / 2, ranks - 1}) {
      const std::vector<std::uint32_t> up = children(ranks, root, false);
      const std::vector<std::uint32_t> down = children(ranks, root, true);
      INFO(ranks << " ranks, root " << root);
      CHECK(up[root] == 1);
      CHECK(down[root] == 1);
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        CHECK((up[rank] <= 2 && down[rank] <= 2));
        if (rank != root) CHECK((up[rank] == 0 || down[rank] == 0));
      }
    }
}

}  // namespace
}  // namespace orrery
