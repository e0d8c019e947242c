// SPDX-License-Identifier: MIT
// What the `fixed` library takes where the configuration names no algorithm.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "network/fabric/topology.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::test;

namespace {

// For 2^k ranks and for others; all-to-all is direct everywhere.
struct Defaults {
  std::string power_of_two;
  std::string other;
};

const std::map<std::string, Defaults> kDefaults = {
    {"butterfly", {"halving-doubling", "ring"}},
    {"dragonfly", {"ring", "ring"}},
    {"edge-list", {"ring", "ring"}},
    {"fat-tree", {"halving-doubling", "ring"}},
    {"flattened-butterfly", {"ring", "ring"}},
    {"fully-connected", {"direct", "direct"}},
    {"hypercube", {"halving-doubling", "ring"}},
    {"mesh", {"bidirectional-ring", "bidirectional-ring"}},
    {"rail-optimised", {"halving-doubling", "ring"}},
    {"ring", {"bidirectional-ring", "bidirectional-ring"}},
    {"switch", {"halving-doubling", "ring"}},
    {"torus", {"bidirectional-ring", "bidirectional-ring"}},
    {"", {"ring", "ring"}},  // a group that is no dimension: a logical ring
};

std::string chosen(CollectiveKind kind, const std::string& topology, std::uint32_t size) {
  return std::string(choose_algorithm(kind, {}, topology, 0, size).name);
}

}  // namespace

TEST_CASE("every topology has its default algorithm") {
  for (const Topology& topology : topologies()) {
    CAPTURE(topology.name);
    CHECK(kDefaults.contains(std::string(topology.name)));
  }
  for (const auto& [topology, defaults] : kDefaults)
    for (const CollectiveKind kind : kAllCollectiveKinds)
      for (std::uint32_t size = 2; size <= 33; ++size) {
        CAPTURE(topology, name_of(kind), size);
        const bool power_of_two = (size & (size - 1)) == 0;
        std::string expected = power_of_two ? defaults.power_of_two : defaults.other;
        if (topology == "ring" && size == 2) expected = "ring";  // one link each way, which it fills
        CHECK(chosen(kind, topology, size) == (kind == CollectiveKind::kAllToAll ? "direct" : expected));
      }
}

TEST_CASE("levels of switches that are not oversubscribed take as long as one switch and their latencies") {
  const Bandwidth bandwidth(8'000'000'000);
  const Duration latency(700'000);
  const Duration trunk(300'000);
  DimensionSpec tree = dimension("fat-tree", 16, bandwidth, latency);
  tree.own.tree = {.leaf_ports = 4, .trunk_latency = trunk};
  const Fabric levels = compose(std::vector{tree});
  const Fabric one = one_dimension("switch", 16, bandwidth, latency);
  for (const NetworkModel model : {NetworkModel::kAlphaBeta, NetworkModel::kFlow}) {
    const auto time = [&](const Fabric& fabric) {
      return simulate_collective(CollectiveKind::kAllReduce, Bytes(16'000'000), fabric, {}, model);
    };
    // Halving-doubling: of the four distances, 1 and 2 stay under a leaf of 4, and 4 and 8 go up to the spine and down.
    CHECK(time(levels) == time(one) + 2 * 2 * (2 * trunk));
  }
}
