// SPDX-License-Identifier: MIT
// The exact times of schedules on a network where nothing is shared: every message takes bytes/bandwidth until it is
// released and the latency more until it arrives.
#include <bit>
#include <functional>
#include <optional>

#include <catch2/catch.hpp>

#include "tests/collectives/every_schedule.h"

namespace orrery {
namespace {

using enum CollectiveKind;

constexpr Duration kLatency{700};
constexpr Bandwidth kBandwidth{1'000'000'000'000};  // a byte per picosecond, so that laws have no rounding

// Runs the programs of all ranks, sends in order; for each rank and each index or slot the instant when it is released
// or there.
class Execution {
 public:
  explicit Execution(const collectives::Schedule& schedule)
      : schedule_(schedule), started_(schedule.ranks()), released_(schedule.ranks()), arrived_(schedule.ranks()) {
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) arrived_[rank].resize(schedule.receives(rank));
  }

  Duration run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::uint32_t rank = 0; rank < schedule_.ranks(); ++rank)
        while (send_next(rank)) progress = true;
    }
    for (std::uint32_t rank = 0; rank < schedule_.ranks(); ++rank)
      REQUIRE(released_[rank].size() == schedule_.sends(rank));
    return finish_;
  }

 private:
  bool send_next(std::uint32_t rank) {
    const auto index = static_cast<std::uint32_t>(released_[rank].size());
    if (index == schedule_.sends(rank)) return false;
    const collectives::Step step = schedule_.step(rank, index);
    Duration start = step.after_send ? released_[rank].at(*step.after_send) : Duration(0);
    start = std::max(start, started_[rank]);
    for (std::uint32_t slot = step.needs.begin; slot < step.needs.end; ++slot) {
      if (!arrived_[rank].at(slot)) return false;
      start = std::max(start, *arrived_[rank][slot]);
    }
    started_[rank] = start;
    released_[rank].push_back(start + step.bytes / kBandwidth);
    arrived_[step.to].at(step.slot) = released_[rank].back() + kLatency;
    finish_ = std::max(finish_, released_[rank].back() + kLatency);
    return true;
  }

  const collectives::Schedule& schedule_;
  std::vector<Duration> started_;  // the latest send
  std::vector<std::vector<Duration>> released_;
  std::vector<std::vector<std::optional<Duration>>> arrived_;
  Duration finish_{0};
};

const std::string kCube = "halving-doubling";
const std::string kDoubleTree = "double-binary-tree";

// Picoseconds, with n ranks, latency a, and S and c = ceil(S/n) bytes at a byte per picosecond.
using TimeLaw = std::function<std::int64_t(std::int64_t n, std::int64_t a, std::int64_t S, std::int64_t c)>;
struct Law {
  std::string algorithm;
  CollectiveKind kind;
  TimeLaw time;
};

std::int64_t ceil_log2(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}
std::int64_t floor_log2(std::int64_t n) { return ceil_log2(n + 1) - 1; }

// Where all ranks are equally far, neither the way round a ring nor the order of partners matters.
std::vector<Case> cases_of(const Law& law) {
  if (law.algorithm == "ring") return {{"ring", law.kind}, {"bidirectional-ring", law.kind, true}};
  if (law.algorithm == kDoubleTree) return {{kDoubleTree, law.kind}, {kDoubleTree, law.kind, true}};
  if (law.algorithm == kCube) return {{kCube, law.kind}, {kCube, law.kind, false, true}};
  return {{law.algorithm, law.kind}};
}

void check_law(const Law& law, const Case& c, const std::vector<std::uint32_t>& groups,
               const std::function<bool(std::int64_t time, std::int64_t law)>& holds) {
  for (const std::uint32_t n : groups)
    for (const std::int64_t bytes : {0, 1, 8191, 1000003})
      for (const std::uint32_t root : some_roots(law.kind, n)) {
        const collectives::Schedule schedule = schedule_of(c, n, root, Bytes(bytes));
        const std::int64_t expected = law.time(n, kLatency.count(), bytes, ceil_div(Bytes(bytes), n).count());
        const std::int64_t found = Execution(schedule).run().count();
        INFO(title(c, n, root) << ", bytes " << bytes << ": " << found << " ps, law " << expected);
        CHECK(holds(found, expected));
      }
}

void check_laws(const std::vector<Law>& laws, const std::vector<std::uint32_t>& groups,
                const std::function<bool(std::int64_t time, std::int64_t law)>& holds) {
  for (const Law& law : laws)
    for (const Case& c : cases_of(law)) check_law(law, c, groups, holds);
}

constexpr auto kEqual = [](std::int64_t time, std::int64_t law) { return time == law; };
constexpr auto kAtLeast = [](std::int64_t time, std::int64_t law) { return time >= law; };
constexpr auto kAtMost = [](std::int64_t time, std::int64_t law) { return time <= law; };

TEST_CASE("ring takes its closed-form times to the picosecond") {
  check_laws(
      {
          {"ring", kAllReduce, [](auto n, auto a, auto, auto c) { return 2 * (n - 1) * (a + c); }},
          {"ring", kReduceScatter, [](auto n, auto a, auto, auto c) { return (n - 1) * (a + c); }},
          {"ring", kAllGather, [](auto n, auto a, auto S, auto) { return (n - 1) * (a + S); }},
          // step s = 0 .. n-2 carries n-1-s pieces
          {"ring", kAllToAll, [](auto n, auto a, auto, auto c) { return (n - 1) * a + n * (n - 1) / 2 * c; }},
          // the root needs n c to send all; the last piece then crosses n-2 more links
          {"ring", kBroadcast, [](auto n, auto a, auto, auto c) { return (n - 1) * a + (2 * n - 2) * c; }},
          {"ring", kReduce, [](auto n, auto a, auto, auto c) { return (n - 1) * a + (2 * n - 2) * c; }},
          // the farthest piece crosses n-1 links and waits nowhere
          {"ring", kGather, [](auto n, auto a, auto S, auto) { return (n - 1) * (a + S); }},
          {"ring", kScatter, [](auto n, auto a, auto, auto c) { return (n - 1) * (a + c); }},
          {"ring", kBarrier, [](auto n, auto a, auto, auto) { return (n - 1) * a; }},
      },
      {1, 2, 3, 4, 5, 7, 8, 16, 33}, kEqual);
}

TEST_CASE("direct takes one latency a phase when all sends are in flight at once") {
  check_laws(
      {
          {"direct", kAllReduce, [](auto, auto a, auto, auto c) { return 2 * (a + c); }},
          {"direct", kReduceScatter, [](auto, auto a, auto, auto c) { return a + c; }},
          {"direct", kAllGather, [](auto, auto a, auto S, auto) { return a + S; }},
          {"direct", kBroadcast, [](auto, auto a, auto S, auto) { return a + S; }},
          {"direct", kReduce, [](auto, auto a, auto S, auto) { return a + S; }},
          {"direct", kGather, [](auto, auto a, auto S, auto) { return a + S; }},
          {"direct", kScatter, [](auto, auto a, auto, auto c) { return a + c; }},
          {"direct", kBarrier, [](auto, auto a, auto, auto) { return a; }},
      },
      {2, 3, 4, 5, 7, 8, 16, 33}, kEqual);
}

TEST_CASE("through switches that add up, a buffer goes up and down at once, whatever the number of ranks") {
  check_laws(
      {
          {"in-network", kAllReduce, [](auto, auto a, auto S, auto) { return a + S; }},
          {"in-network", kReduce, [](auto, auto a, auto S, auto) { return a + S; }},
          {"in-network", kBroadcast, [](auto, auto a, auto S, auto) { return a + S; }},
          {"in-network", kBarrier, [](auto, auto a, auto, auto) { return a; }},
      },
      {2, 3, 4, 5, 7, 8, 16, 33}, kEqual);
}

TEST_CASE("a window of W sends takes ceil((n-1)/W) turns") {
  const auto turns = [](std::int64_t n, std::int64_t window) { return (n - 1 + window - 1) / window; };
  check_laws(
      {
          // without a number, only all-to-all has a window: 8
          {"direct", kAllToAll, [=](auto n, auto a, auto, auto c) { return a + turns(n, 8) * c; }},
          {"direct3", kAllToAll, [=](auto n, auto a, auto, auto c) { return a + turns(n, 3) * c; }},
          {"direct3", kAllGather, [=](auto n, auto a, auto S, auto) { return a + turns(n, 3) * S; }},
          {"direct3", kScatter, [=](auto n, auto a, auto, auto c) { return a + turns(n, 3) * c; }},
          {"direct1", kBroadcast, [](auto n, auto a, auto S, auto) { return a + (n - 1) * S; }},
          // all sends of the first phase are out when the second begins
          {"direct3", kAllReduce, [=](auto n, auto a, auto, auto c) { return 2 * (a + turns(n, 3) * c); }},
      },
      {2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 18, 33}, kEqual);
}

TEST_CASE("halving-doubling takes log2 of n rounds when n is a power of two") {
  check_laws(
      {
          // n/2 + n/4 + ... + 1 = n-1 pieces in log2(n) rounds
          {kCube, kReduceScatter, [](auto n, auto a, auto, auto c) { return floor_log2(n) * a + (n - 1) * c; }},
          {kCube, kAllGather, [](auto n, auto a, auto S, auto) { return floor_log2(n) * a + (n - 1) * S; }},
          {kCube, kAllReduce, [](auto n, auto a, auto, auto c) { return 2 * (floor_log2(n) * a + (n - 1) * c); }},
          {kCube, kAllToAll, [](auto n, auto a, auto, auto c) { return floor_log2(n) * (a + n / 2 * c); }},
          {kCube, kBroadcast, [](auto n, auto a, auto S, auto) { return floor_log2(n) * (a + S); }},
          {kCube, kReduce, [](auto n, auto a, auto S, auto) { return floor_log2(n) * (a + S); }},
          {kCube, kGather, [](auto n, auto a, auto S, auto) { return floor_log2(n) * a + (n - 1) * S; }},
          {kCube, kScatter, [](auto n, auto a, auto, auto c) { return floor_log2(n) * a + (n - 1) * c; }},
          {kCube, kBarrier, [](auto n, auto a, auto, auto) { return floor_log2(n) * a; }},
      },
      {1, 2, 4, 8, 16, 32}, kEqual);
}

TEST_CASE("swing takes the times of halving-doubling where all ranks are equally far") {
  check_laws(
      {
          {"swing", kReduceScatter, [](auto n, auto a, auto, auto c) { return floor_log2(n) * a + (n - 1) * c; }},
          {"swing", kAllGather, [](auto n, auto a, auto S, auto) { return floor_log2(n) * a + (n - 1) * S; }},
          {"swing", kAllReduce, [](auto n, auto a, auto, auto c) { return 2 * (floor_log2(n) * a + (n - 1) * c); }},
          {"swing", kBarrier, [](auto n, auto a, auto, auto) { return floor_log2(n) * a; }},
      },
      {1, 2, 4, 8, 16, 32, 64}, kEqual);
  check_laws(
      {
          {"swing", kBarrier, [](auto n, auto a, auto, auto) { return (floor_log2(n) + 2) * a; }},
          {"swing", kReduceScatter, [](auto n, auto a, auto, auto c) { return (floor_log2(n) + 2) * a + 3 * n * c; }},
          {"swing", kAllGather, [](auto n, auto a, auto S, auto) { return (floor_log2(n) + 2) * a + 3 * n * S; }},
          {"swing", kAllReduce,
           [](auto n, auto a, auto S, auto) {
             const std::int64_t m = std::int64_t{1} << floor_log2(n);
             return 2 * (floor_log2(m) + 1) * a + (4 * m - 2) * ((S + m - 1) / m);
           }},
      },
      {3, 5, 6, 7, 9, 12, 15, 17, 31, 33}, kAtMost);
}

TEST_CASE("recursive doubling exchanges whole buffers in log2 of n rounds, and in two more where ranks are folded") {
  check_laws({{"recursive-doubling", kAllReduce, [](auto n, auto a, auto S, auto) { return floor_log2(n) * (a + S); }}},
             {1, 2, 4, 8, 16, 32, 64}, kEqual);
  check_laws(
      {{"recursive-doubling", kAllReduce, [](auto n, auto a, auto S, auto) { return (floor_log2(n) + 2) * (a + S); }}},
      {7, 15, 31, 63}, kEqual);  // all but one are folded
  check_laws(
      {{"recursive-doubling", kAllReduce, [](auto n, auto a, auto S, auto) { return (floor_log2(n) + 2) * (a + S); }}},
      {3, 5, 6, 9, 12, 17, 33}, kAtMost);
  check_laws(
      {
          {"recursive-doubling", kAllGather,
           [](auto n, auto a, auto S, auto) { return floor_log2(n) * a + (n - 1) * S; }},
          {"recursive-doubling", kBarrier, [](auto n, auto a, auto, auto) { return floor_log2(n) * a; }},
      },
      {1, 2, 4, 8, 16, 32, 64}, kEqual);
}

TEST_CASE("a binomial tree takes log2 of n levels up and as many down") {
  const auto law = [](auto n, auto a, auto S, auto) { return 2 * ceil_log2(n) * (a + S); };
  check_laws({{"binomial-tree", kAllReduce, law}}, {1, 2, 4, 8, 16, 32, 64}, kEqual);
  check_laws({{"binomial-tree", kAllReduce, law}}, {3, 5, 6, 7, 9, 12, 15, 17, 31, 33}, kAtMost);
}

TEST_CASE("a tree of a double binary tree pipelines 16 segments up and down ceil(log2 n) levels") {
  const auto segment = [](std::int64_t S) { return (S + 15) / 16; };
  // The last segment follows the first one at a distance of 15.
  const auto one_way = [=](auto n, auto a, auto S, auto) {
    return ceil_log2(n) * (a + segment(S)) + (n > 1 ? 15 * segment(S) : 0);
  };
  check_laws({{kDoubleTree, kReduce, one_way}, {kDoubleTree, kBroadcast, one_way}},
             {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64}, kEqual);
  // Up as in a reduce. The rank below the root, one level less high, hands the sum on when it is there, two levels
  // later, and when its own last segment has gone up.
  const auto both = [=](auto n, auto a, auto S, auto) {
    const std::int64_t level = a + segment(S);
    const std::int64_t rest = 15 * segment(S);
    return (2 * ceil_log2(n) - 2) * level + rest + std::max(2 * level, rest);
  };
  check_laws({{kDoubleTree, kAllReduce, both}}, {4, 8, 16, 32, 64}, kEqual);
  check_laws({{kDoubleTree, kAllReduce, both}}, {2, 3, 5, 6, 7, 9, 12, 15, 17, 31, 33}, kAtMost);
}

TEST_CASE("bruck takes ceil(log2 n) rounds for any number of ranks") {
  const auto bits = [](std::int64_t n) {
    std::int64_t sum = 0;
    for (std::int64_t offset = 1; offset < n; ++offset) sum += std::popcount(static_cast<std::uint64_t>(offset));
    return sum;
  };
  check_laws(
      {
          {"bruck", kAllGather, [](auto n, auto a, auto S, auto) { return ceil_log2(n) * a + (n - 1) * S; }},
          {"bruck", kAllToAll, [=](auto n, auto a, auto, auto c) { return ceil_log2(n) * a + bits(n) * c; }},
      },
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64}, kEqual);
  CHECK(bits(64) == 6 * 64 / 2);
}

TEST_CASE("exchanges with one rank after another take n - 1 turns") {
  check_laws(
      {
          {"pairwise", kAllToAll, [](auto n, auto a, auto, auto c) { return (n - 1) * (a + c); }},
          // No send waits for what comes in.
          {"one-by-one", kAllReduce, [](auto n, auto a, auto S, auto) { return a + (n - 1) * S; }},
          {"one-by-one-partitioned", kAllReduce, [](auto n, auto a, auto, auto c) { return 2 * (a + (n - 1) * c); }},
      },
      {2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64}, kEqual);
}

TEST_CASE("one parameter server takes two rounds of whole buffers, sharded ones two of shares") {
  check_laws(
      {
          {"server", kAllReduce, [](auto, auto a, auto S, auto) { return 2 * (a + S); }},
          {"server", kReduce, [](auto, auto a, auto S, auto) { return a + S; }},
          {"server", kBroadcast, [](auto, auto a, auto S, auto) { return a + S; }},
          {"sharded-server", kAllReduce, [](auto, auto a, auto, auto c) { return 2 * (a + c); }},
      },
      {2, 3, 4, 5, 7, 8, 16, 33, 64}, kEqual);
}

TEST_CASE("halving-doubling folds and unfolds the surplus of other groups, one message each") {
  const std::vector<std::uint32_t> groups = {3, 5, 6, 7, 9, 12, 15, 17, 31, 33};
  // m = 2^k corners and pieces of ceil(S/m), of which a folded rank brings and gets m. What the corners do meanwhile
  // may hide part of the fold, but never of the unfold.
  const auto all_reduce = [](std::int64_t n, std::int64_t a, std::int64_t S, std::int64_t folds) {
    const std::int64_t m = std::int64_t{1} << floor_log2(n);
    const std::int64_t c = (S + m - 1) / m;
    return 2 * (floor_log2(m) * a + (m - 1) * c) + folds * (a + m * c);
  };
  check_laws(
      {
          {kCube, kBarrier, [](auto n, auto a, auto, auto) { return (floor_log2(n) + 1) * a; }},
          {kCube, kAllReduce, [=](auto n, auto a, auto S, auto) { return all_reduce(n, a, S, 1); }},
      },
      groups, kAtLeast);
  check_laws(
      {
          {kCube, kBarrier, [](auto n, auto a, auto, auto) { return (floor_log2(n) + 2) * a; }},
          {kCube, kAllReduce, [=](auto n, auto a, auto S, auto) { return all_reduce(n, a, S, 2); }},
          {kCube, kReduceScatter, [](auto n, auto a, auto, auto c) { return (floor_log2(n) + 2) * a + 3 * n * c; }},
          {kCube, kAllGather, [](auto n, auto a, auto S, auto) { return (floor_log2(n) + 2) * a + 3 * n * S; }},
          {kCube, kAllToAll,
           [](auto n, auto a, auto, auto c) { return 2 * (a + n * c) + floor_log2(n) * (a + 2 * n * c); }},
          {kCube, kBroadcast, [](auto n, auto a, auto S, auto) { return ceil_log2(n) * (a + S); }},
          {kCube, kReduce, [](auto n, auto a, auto S, auto) { return ceil_log2(n) * (a + S); }},
          {kCube, kGather, [](auto n, auto a, auto S, auto) { return ceil_log2(n) * a + (n - 1) * S; }},
          {kCube, kScatter, [](auto n, auto a, auto, auto c) { return ceil_log2(n) * a + (n - 1) * c; }},
      },
      groups, kAtMost);
}

}  // namespace
}  // namespace orrery
