// SPDX-License-Identifier: MIT
// The wide sweeps: every root, larger groups, every message of small groups mutated.
#include <array>
#include <cstdint>

#include <catch2/catch.hpp>

#include "collectives/oracle/oracle.h"
#include "tests/collectives/every_schedule.h"
#include "tests/collectives/mutation.h"
#include "tests/collectives/phase_exchange.h"

namespace orrery {
namespace {

constexpr std::array<std::uint64_t, 5> kSeeds = {11, 12, 13, 14, 15};

std::uint32_t roots(CollectiveKind kind, std::uint32_t ranks) { return is_rooted(kind) ? ranks : 1; }

void check_all_orders(const Case& c, std::uint32_t ranks, std::uint32_t root) {
  INFO(title(c, ranks, root));
  CHECK(check_meaning(expand(schedule_of(c, ranks, root)), kSeeds).reason == "");
}

TEST_CASE("every root works") {
  for (const Case& c : every_case())
    for (const std::uint32_t ranks : {2U, 3U, 5U, 8U, 11U, 16U, 19U, 33U})
      for (std::uint32_t root = 0; root < roots(c.kind, ranks); ++root) check_all_orders(c, ranks, root);
}

TEST_CASE("groups around the next power of two work") {
  for (const Case& c : every_case())
    for (const std::uint32_t ranks : {48U, 63U, 64U, 65U}) check_all_orders(c, ranks, ranks / 3);
}

TEST_CASE("no message of a small group and no sampled one of a larger group can be changed unnoticed") {
  for (const Case& c : every_case())
    for (std::uint32_t ranks = 2; ranks <= 17; ++ranks)
      for (const std::uint32_t root : some_roots(c.kind, ranks)) {
        INFO(title(c, ranks, root));
        const std::size_t most = ranks < 10 ? SIZE_MAX : 20;
        CHECK(try_mutations(expand(schedule_of(c, ranks, root)), most, ranks + 100, waits_of(c)).survivor == "");
      }
}

// The switches of the last dimension add up; the others have rings.
std::vector<std::string> on_all_dimensions(const std::string& algorithm, const Cuboid& cuboid) {
  const bool is_in_network = collectives::find_algorithm(algorithm)->is_in_network();
  std::vector<std::string> algorithms(cuboid.sizes.size(), is_in_network ? "ring" : algorithm);
  algorithms.back() = algorithm;
  return algorithms;
}

TEST_CASE("no message of a plan over a cuboid can be changed unnoticed") {
  for (const CollectiveKind kind : kAllCollectiveKinds)
    for (const Cuboid& cuboid : {Cuboid{{3, 2}}, Cuboid{{2, 2, 2}}})
      for (const collectives::Algorithm& each : collectives::algorithms()) {
        if (!each.supports(kind)) continue;
        const std::string algorithm(each.name);
        const PhaseExchange plan = expand_plan(kind, cuboid, cuboid.ranks() - 1, on_all_dimensions(algorithm, cuboid));
        INFO(name_of(kind) << " by " << algorithm << " on " << cuboid.ranks() << " ranks");
        CHECK(try_mutations(plan.exchange, 60, 1, Waits::kForMore).survivor == "");
      }
}

TEST_CASE("plans over larger cuboids do what the collective means") {
  for (const CollectiveKind kind : kAllCollectiveKinds)
    for (const Cuboid& cuboid : {Cuboid{{4, 5}}, Cuboid{{3, 3, 3}}, Cuboid{{2, 3, 2, 2}}})
      for (const collectives::Algorithm& each : collectives::algorithms())
        for (std::uint32_t root = 0; root < roots(kind, cuboid.ranks()); root += 5) {
          if (!each.supports(kind)) continue;
          const std::string algorithm(each.name);
          const PhaseExchange plan = expand_plan(kind, cuboid, root, on_all_dimensions(algorithm, cuboid));
          INFO(name_of(kind) << " by " << algorithm << " on " << cuboid.ranks() << " ranks, root " << root);
          CHECK(check_meaning(plan.exchange, kSeeds).reason == "");
          CHECK(plan.wrong_size == "");
        }
}

}  // namespace
}  // namespace orrery
