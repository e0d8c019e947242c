// SPDX-License-Identifier: MIT
// All-to-alls of given sizes: what goes from whom to whom.
#include "collectives/uneven_exchange.h"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace orrery {
namespace {

using collectives::MessageTable;
using collectives::Schedule;

Schedule schedule_of(const MessageTable& table, Bytes bytes) {
  collectives::Request request;
  request.kind = CollectiveKind::kAllToAll;
  request.ranks = table.ranks();
  request.bytes = bytes;
  return collectives::make_schedule(table, request);
}

std::string error_of(const char* algorithm, std::uint32_t ranks) {
  try {
    const std::vector<std::uint64_t> weights(std::size_t{ranks} * ranks, 1);
    collectives::uneven_exchange(collectives::find_algorithm(algorithm).value(), algorithm, ranks, weights);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("equal weights are the schedule of the algorithm, step by step") {
  for (const char* name : {"direct", "direct1", "direct3", "pairwise"})
    for (const std::uint32_t ranks : {2U, 3U, 4U, 8U, 13U, 33U}) {
      const auto algorithm = collectives::find_algorithm(name).value();
      const std::vector<std::uint64_t> weights(std::size_t{ranks} * ranks, 5);
      const MessageTable table = collectives::uneven_exchange(algorithm, name, ranks, weights);
      for (const std::int64_t bytes : {0, 1, 1000, 1 << 20}) {
        collectives::Request request;
        request.kind = CollectiveKind::kAllToAll;
        request.ranks = ranks;
        request.bytes = Bytes(bytes);
        const Schedule even = collectives::make_schedule(algorithm, request);
        const Schedule schedule = schedule_of(table, Bytes(bytes));
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          REQUIRE(schedule.sends(rank) == even.sends(rank));
          CHECK(schedule.receives(rank) == even.receives(rank));
          for (std::uint32_t i = 0; i < even.sends(rank); ++i) CHECK(schedule.step(rank, i) == even.step(rank, i));
          CHECK(table.program(rank).hash == table.program(0).hash);
        }
      }
    }
}

TEST_CASE("every pair gets its share once, whatever the algorithm") {
  for (const char* name : {"direct", "direct2", "pairwise"})
    for (const std::uint32_t ranks : {2U, 3U, 5U, 8U}) {
      std::vector<std::uint64_t> weights;
      std::uint64_t whole = 0;
      for (std::uint64_t i = 0; i < std::uint64_t{ranks} * ranks; ++i) whole += weights.emplace_back(i * i % 7);
      const auto algorithm = collectives::find_algorithm(name).value();
      const MessageTable table = collectives::uneven_exchange(algorithm, name, ranks, weights);
      // A buffer of `whole` bytes on average is `ranks` bytes for each weight of 1.
      const Schedule schedule = schedule_of(table, Bytes(static_cast<std::int64_t>(whole)));
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> sent;
      for (std::uint32_t rank = 0; rank < ranks; ++rank)
        for (std::uint32_t i = 0; i < schedule.sends(rank); ++i) {
          const collectives::Step step = schedule.step(rank, i);
          CHECK(sent.emplace(std::pair(rank, step.to), step.bytes.count()).second);
        }
      CHECK(sent.size() == ranks * (ranks - 1));
      for (const auto& [pair, bytes] : sent) {
        CHECK(pair.first != pair.second);
        CHECK(bytes == static_cast<std::int64_t>(ranks * weights[pair.first * ranks + pair.second]));
      }
    }
}

TEST_CASE("programs are alike where each rank sends the same ahead, and not where one sends another share") {
  for (const char* name : {"direct", "direct2"}) {
    const auto algorithm = collectives::find_algorithm(name).value();
    std::vector<std::uint64_t> weights(4 * 4);
    for (std::uint32_t from = 0; from < 4; ++from)
      for (std::uint32_t ahead = 0; ahead < 4; ++ahead) weights[from * 4 + (from + ahead) % 4] = ahead + 1;
    const MessageTable alike = collectives::uneven_exchange(algorithm, name, 4, weights);
    weights[1] = 7;
    const MessageTable other = collectives::uneven_exchange(algorithm, name, 4, weights);
    INFO(name);
    CHECK(alike.program(0).hash == alike.program(1).hash);
    CHECK(other.program(0).hash != other.program(1).hash);
  }
}

TEST_CASE("algorithms that put what is for several ranks into one message are for equal sizes") {
  for (const char* name : {"bruck", "halving-doubling", "ring"})
    CHECK_THAT(error_of(name, 8), Catch::Contains("sends what is for several ranks in one message"));
  CHECK(error_of("pairwise", 8) == "");
}

}  // namespace orrery
