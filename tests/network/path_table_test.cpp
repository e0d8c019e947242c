// SPDX-License-Identifier: MIT
// Interned routes.
#include "network/path_table.h"

#include <vector>

#include <catch2/catch.hpp>

#include "network/fabric/compose.h"
#include "network/fabric/topology.h"

using namespace orrery;
using namespace orrery::network;

TEST_CASE("a path that crosses a link twice is known, wherever on it") {
  const std::vector<DimensionSpec> dimensions = {{topology_named("ring"), 4, Bandwidth(1), Duration(0), ""}};
  const Fabric fabric = compose(dimensions);
  PathTable paths(fabric);
  const auto has_links_once = [&](const std::vector<std::uint32_t>& links) {
    std::vector<LinkShare> shares;
    for (const std::uint32_t link : links) shares.push_back({LinkId(link)});
    return paths.has_links_once(paths.add_class(shares, Duration(0)));
  };
  CHECK(has_links_once({}));
  CHECK(has_links_once({2, 0, 1}));
  CHECK_FALSE(has_links_once({0, 0, 1}));
  CHECK_FALSE(has_links_once({0, 1, 0}));
}
