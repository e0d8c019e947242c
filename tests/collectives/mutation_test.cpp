// SPDX-License-Identifier: MIT
// No message of any schedule is redundant, and the oracle notices every damage.
#include <catch2/catch.hpp>

#include "tests/collectives/every_schedule.h"
#include "tests/collectives/mutation.h"

namespace orrery {
namespace {

// A sample of the messages; the slow tests try all of the small groups.
std::size_t most_messages(std::uint32_t ranks) { return ranks < 10 ? 12 : 3; }

TEST_CASE("no message, piece, combine or dependency of a schedule can be changed unnoticed") {
  for (const Case& c : every_case())
    for (const std::uint32_t ranks : {2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 16U, 17U})
      for (const std::uint32_t root : some_roots(c.kind, ranks)) {
        const collectives::Exchange exchange = collectives::expand(schedule_of(c, ranks, root));
        const MutationReport report = try_mutations(exchange, most_messages(ranks), ranks, waits_of(c));
        INFO(title(c, ranks, root));
        // every message can at least be left out and combined wrongly
        CHECK(report.tried >= 2 * std::min(exchange.messages.size(), most_messages(ranks)));
        CHECK(report.survivor == "");
      }
}

}  // namespace
}  // namespace orrery
