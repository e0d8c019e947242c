// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <set>

#include "astra/collectives/layout.h"
#include "tests/astra/jobs.h"

namespace orrery::astra {

TEST_CASE("in both trees children know their parents, and every place but the root has one") {
  for (const std::uint32_t size : {2u, 4u, 8u, 64u})
    for (const bool root_is_last : {false, true}) {
      std::uint32_t roots = 0, edges = 0;
      for (std::uint32_t place = 0; place < size; ++place) {
        const TreePlace own = tree_place(size, place, root_is_last);
        if (own.parent == TreePlace::kNone) {
          ++roots;
          CHECK(place == (root_is_last ? size - 1 : 0));
          CHECK((own.left == TreePlace::kNone) != (own.right == TreePlace::kNone));
        }
        for (const std::uint32_t child : {own.left, own.right}) {
          if (child == TreePlace::kNone) continue;
          ++edges;
          CHECK(tree_place(size, child, root_is_last).parent == place);
        }
        // Numbered in order.
        if (own.left != TreePlace::kNone) CHECK(own.left < place);
        if (own.right != TreePlace::kNone) CHECK(own.right > place);
      }
      CHECK(roots == 1);
      CHECK(edges == size - 1);
    }
}

TEST_CASE("the rings of a dimension share the other coordinates, and a flat one has all ranks") {
  const Inputs inputs = small_inputs({{TopologyKind::kRing, 4}, {TopologyKind::kSwitch, 3}});
  const Ring inner = ring_of(inputs.network, 0, 6, false);
  CHECK(inner.size == 4);
  CHECK(inner.index == 2);
  CHECK(inner.ahead(1) == 7);
  CHECK(inner.ahead(2) == 4);
  const Ring outer = ring_of(inputs.network, 1, 6, false);
  CHECK(outer.size == 3);
  CHECK(outer.index == 1);
  CHECK(outer.ahead(1) == 10);
  CHECK(outer.ahead(2) == 2);
  CHECK(ring_of(inputs.network, 0, 6, true).ahead(6) == 0);
}

}  // namespace orrery::astra
