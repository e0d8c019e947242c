// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "collectives/algorithms.h"
#include "collectives/longest_chain.h"
#include "collectives/message_table.h"

using namespace orrery;
using namespace orrery::collectives;

namespace {

// Depends on both ends, so that chains differ.
Duration latency(std::uint32_t from, std::uint32_t to) { return Duration(1 + (from * 7 + to * 13) % 11); }

// The definition, by relaxation until nothing changes: send i of a rank starts when its needs have arrived and not
// before send i-1.
Duration by_relaxation(const Schedule& schedule) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Duration> arrival;  // by receiver and slot
  Duration last{};
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      Duration start{};
      for (std::uint32_t send = 0; send < schedule.sends(rank); ++send) {
        const Step step = schedule.step(rank, send);
        for (std::uint32_t slot = step.needs.begin; slot < step.needs.end; ++slot)
          start = std::max(start, arrival[{rank, slot}]);
        Duration& there = arrival[{step.to, step.slot}];
        const Duration now = start + latency(rank, step.to);
        changed = changed || now > there;
        there = std::max(there, now);
        last = std::max(last, there);
      }
    }
  }
  return last;
}

}  // namespace

TEST_CASE("a send that waits for one of another lane starts no earlier than that") {
  for (const bool is_more : {false, true}) {
    TableProgram first{{{1, 0, 1, 1, Combine::kCopy, {0, 1}}, {2, 0, 1, 1, Combine::kCopy}}, 1, {1, 2}, {}};
    if (is_more) {
      first.more = {{{}, {0}}};
      first.sends[1].more = 0;
    } else {
      first.sends[1].after_send = 0;
    }
    const TableProgram second{{}, 1, {0}, {}}, third{{{0, 0, 1, 1, Combine::kCopy}}, 1, {1}, {}};
    const MessageTable table("lanes", CollectiveKind::kAllReduce, 0, 1, {first, second, third});
    const Schedule schedule = make_schedule(table, {CollectiveKind::kAllReduce, 3, 0, Bytes(1), {}, std::nullopt});
    // From rank 2 to rank 0 in 3, on to rank 1 in 1, and then, on the other lane, back to rank 2 in 5.
    const auto apart = [](std::uint32_t from, std::uint32_t to) { return Duration(from == 2 ? 3 : to == 1 ? 1 : 5); };
    CHECK(longest_chain(schedule, apart) == Duration(3 + 5));
  }
}

TEST_CASE("the longest chain of every schedule is what relaxation finds") {
  for (const Algorithm& algorithm : algorithms())
    for (const CollectiveKind kind : kAllCollectiveKinds) {
      if (!algorithm.supports(kind)) continue;
      for (std::uint32_t ranks = 1; ranks <= 17; ++ranks) {
        const Schedule schedule = make_schedule(algorithm, {kind, ranks, ranks / 2, Bytes(1000), {}, std::nullopt});
        INFO(algorithm.name << ' ' << name_of(kind) << " of " << ranks);
        CHECK(longest_chain(schedule, latency) == by_relaxation(schedule));
      }
    }
}

TEST_CASE("a ring of many ranks has its longest chain in time linear in the ranks") {
  const Schedule schedule =
      make_schedule(*find_algorithm("ring"), {CollectiveKind::kAllReduce, 1'000'000, 0, Bytes(1), {}, std::nullopt});
  CHECK(schedule.is_uniform_ring());
  CHECK(longest_chain(schedule, [](std::uint32_t, std::uint32_t) { return Duration(3); }) == Duration(3 * 1'999'998));
}

TEST_CASE("the longest chain of ranks in lockstep is of all steps") {
  int in_lockstep = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const CollectiveKind kind : kAllCollectiveKinds) {
      if (!algorithm.supports(kind)) continue;
      for (std::uint32_t ranks = 1; ranks <= 17; ++ranks) {
        const Schedule schedule = make_schedule(algorithm, {kind, ranks, 0, Bytes(1000), {}, std::nullopt});
        if (!schedule.is_lockstep()) continue;
        ++in_lockstep;
        INFO(algorithm.name << ' ' << name_of(kind) << " of " << ranks);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          CHECK(schedule.sends(rank) == schedule.sends(0));
          CHECK(schedule.receives(rank) == schedule.sends(0));
        }
        const auto all_alike = [](std::uint32_t, std::uint32_t) { return Duration(3); };
        CHECK(longest_chain(schedule, all_alike) == Duration(3 * schedule.sends(0)));
      }
    }
  CHECK(in_lockstep > 50);
  const auto all_reduce = [](const char* algorithm, std::uint32_t ranks) {
    return make_schedule(*find_algorithm(algorithm),
                         {CollectiveKind::kAllReduce, ranks, 0, Bytes(1000), {}, std::nullopt});
  };
  CHECK(all_reduce("ring", 5).is_lockstep());
  CHECK(all_reduce("halving-doubling", 8).is_lockstep());
  CHECK_FALSE(all_reduce("halving-doubling", 6).is_lockstep());  // two wait for the others
  CHECK_FALSE(all_reduce("direct", 8).is_lockstep());            // sends to all at once
}

TEST_CASE("the steps of a uniform ring are all alike") {
  for (const Algorithm& algorithm : algorithms())
    for (const CollectiveKind kind : kAllCollectiveKinds) {
      if (!algorithm.supports(kind)) continue;
      for (const std::uint32_t ranks : {2u, 5u, 8u}) {
        const Schedule schedule = make_schedule(algorithm, {kind, ranks, 0, Bytes(1000), {}, std::nullopt});
        if (!schedule.is_uniform_ring()) continue;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          CHECK(schedule.sends(rank) == schedule.sends(0));
          CHECK(schedule.receives(rank) == schedule.sends(0));
          for (std::uint32_t index = 0; index < schedule.sends(rank); ++index) {
            const Step step = schedule.step(rank, index);
            CHECK(step.to == schedule.step(rank, 0).to);
            CHECK(step.bytes == schedule.step(0, 0).bytes);
            CHECK(step.slot == index);
            CHECK(step.needs == (index == 0 ? SlotRange{} : SlotRange{index - 1, index}));
            CHECK(step.after_send == (index == 0 ? std::nullopt : std::optional(index - 1)));
          }
        }
      }
    }
}
