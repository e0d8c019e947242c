// SPDX-License-Identifier: MIT
// Windows, sizes at the limits, and groups too large to be written out.
#include <catch2/catch.hpp>

#include "core/error.h"
#include "tests/collectives/every_schedule.h"

namespace orrery {
namespace {

using collectives::find_algorithm;
using collectives::SlotRange;
using enum CollectiveKind;

collectives::Schedule direct(CollectiveKind kind, std::uint32_t ranks, std::optional<std::uint32_t> window) {
  collectives::Request request;
  request.kind = kind;
  request.ranks = ranks;
  request.bytes = Bytes(100);
  request.window = window;
  return collectives::make_schedule(collectives::find_algorithm("direct").value(), request);
}

TEST_CASE("the window of a request wins over that of the algorithm and of the kind") {
  CHECK(direct(kAllToAll, 33, {}).step(0, 8).after_send == 0U);  // all-to-all has 8 in flight by default
  CHECK(!direct(kAllToAll, 33, {}).step(0, 7).after_send.has_value());
  CHECK(!direct(kAllToAll, 33, 0).step(0, 31).after_send.has_value());
  CHECK(direct(kAllGather, 33, 5).step(0, 31).after_send == 26U);
  CHECK(!direct(kAllGather, 33, {}).step(0, 31).after_send.has_value());
  CHECK(schedule_of({"direct4", kAllToAll}, 33).step(0, 8).after_send == 4U);
}

TEST_CASE("the second phase of a direct all-reduce waits for the whole first one") {
  const collectives::Schedule schedule = direct(kAllReduce, 5, 2);  // sends 0-3, then 4-7
  for (std::uint32_t i = 4; i < 8; ++i) CHECK(schedule.step(1, i).needs == SlotRange{0, 4});
}

TEST_CASE("partners in swing are near on the ring, an even rank's ahead and back in turn, an odd one's the other way") {
  const collectives::Schedule schedule = schedule_of({"swing", kAllReduce}, 16);
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    std::vector<std::uint32_t> partners;
    for (std::uint32_t i = 0; i < 4; ++i) partners.push_back(schedule.step(rank, i).to);
    const std::uint32_t turn = rank % 2 == 0 ? 1 : 15;  // one ahead, or one back
    INFO("rank " << rank);
    for (const auto& [round, ahead] : {std::pair(0U, 1U), {1U, 15U}, {2U, 3U}, {3U, 11U}})  // 1, -1, 3, -5
      CHECK(partners[round] == (rank + turn * ahead) % 16);
  }
}

TEST_CASE("with a window of W, no rank ever has more than W sends in flight") {
  // Sends start in order, so that send i finds only those from i-W+1 on in flight if it waits for send i-W.
  for (const CollectiveKind kind : kAllCollectiveKinds)
    for (const std::uint32_t window : {1U, 2U, 3U, 7U}) {
      const collectives::Schedule schedule = direct(kind, 9, window);
      for (std::uint32_t rank = 0; rank < 9; ++rank)
        for (std::uint32_t i = window; i < schedule.sends(rank); ++i) {
          INFO(name_of(kind) << ", window " << window << ", send " << i << " of rank " << rank);
          CHECK(schedule.step(rank, i).after_send == i - window);
        }
    }
}

TEST_CASE("a ring of 16,384 ranks is never written out") {
  const collectives::Schedule schedule = schedule_of({"ring", kAllReduce}, 16384, 0, Bytes(1 << 30));
  CHECK(schedule.sends(16383) == 32766);
  const collectives::Step last = schedule.step(16383, 32765);
  CHECK(last.to == 0);
  CHECK(last.slot == 32765);
  CHECK(last.bytes == Bytes(65536));  // 2^30 / 2^14
  CHECK(last.needs == SlotRange{32764, 32765});
  CHECK(last.after_send == 32764U);
}

TEST_CASE("programs stay in range in the largest groups") {
  constexpr std::uint32_t kLarge = (1U << 30) - 3;
  for (const Case& c : every_case())
    for (const std::uint32_t root : some_roots(c.kind, kLarge)) {
      const collectives::Schedule schedule = schedule_of(c, kLarge, root, Bytes(1));
      for (const std::uint32_t rank : {0U, 1U, kLarge / 2, kLarge - 2, kLarge - 1})
        for (const std::uint32_t i : {0U, 1U, schedule.sends(rank) / 2, schedule.sends(rank) - 1}) {
          if (i >= schedule.sends(rank)) continue;
          const collectives::Step step = schedule.step(rank, i);
          INFO(title(c, kLarge, root) << ", send " << i << " of rank " << rank);
          CHECK(step.to < kLarge);
          CHECK(step.to != rank);
          CHECK(step.slot < schedule.receives(step.to));
          CHECK(step.needs.end <= schedule.receives(rank));
          CHECK(step.piece_count > 0);
          CHECK(step.bytes >= Bytes(0));
        }
    }
}

TEST_CASE("sizes whose messages could pass 2^62 bytes are refused") {
  // 4 ranks: (S + 4) * 4 <= 2^62 up to S = 2^60 - 4
  const std::int64_t largest = (std::int64_t{1} << 60) - 4;
  for (const Case& c : every_case()) {
    INFO(title(c, 4, 0));
    const collectives::Schedule schedule = schedule_of(c, 4, 0, Bytes(largest));
    CHECK(schedule.step(schedule.sends(0) > 0 ? 0 : 1, 0).bytes >= Bytes(0));
    CHECK_THROWS_AS(schedule_of(c, 4, 0, Bytes(largest + 1)), InputError);
    CHECK_THROWS_AS(schedule_of(c, 4, 0, Bytes::max()), InputError);
  }
}

TEST_CASE("an unreasonable size of a single rank is refused too") {
  collectives::Request request;
  request.kind = kGather;
  request.ranks = 2;
  request.bytes_of_rank = {Bytes(1), Bytes::max()};
  CHECK_THROWS_WITH(make_schedule(find_algorithm("ring").value(), request),
                    Catch::Contains("gather of 9223372036854775807 bytes on 2 ranks"));
}

}  // namespace
}  // namespace orrery
