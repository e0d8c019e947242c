// SPDX-License-Identifier: MIT
// Sends of more than a library's buffer: they begin when both ends are there. Between the nodes of a switch FakeLibrary
// waits for the latency of the route and 1 us before a message begins and sends a sixteenth more bytes.
#include <array>
#include <catch2/catch.hpp>

#include "core/error.h"
#include "tests/system/folding/folded.h"
#include "tests/system/plans/fake_library.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using std::chrono::microseconds;

namespace {

constexpr Bytes kBuffer{4'000'000}, kLarge{16'000'000}, kSmall{1'600'000};

Fabric switched(std::uint32_t ranks) {
  return one_dimension("switch", ranks, Bandwidth(1'000'000'000), microseconds(10));  // 1 MB takes 1 ms
}

// With every rank by itself, which is given, and folded.
Outcome run(const Job& job, const FakeLibrary& library) {
  SimulationOptions options;
  options.collectives.library = &library;
  options.collectives.granularity = Granularity::kPhase;
  const Fabric fabric = switched(static_cast<std::uint32_t>(job.ranks.size()));
  fold_and_compare(job, fabric, options, NetworkModel::kFlow);
  options.fold = FoldMode::kOff;
  return simulate(job, fabric, options, NetworkModel::kFlow);
}

Outcome run(const Job& job) { return run(job, FakeLibrary(kBuffer)); }

// Time of one message if both ends are there.
Duration alone(Bytes bytes) {
  JobBuilder builder(2);
  builder.send(0, 1, bytes);
  const NodeId received = builder.receive(1, 0, bytes);
  return run(builder.build()).end(1, received).time_since_epoch();
}

}  // namespace

TEST_CASE("a send of more than the buffer begins when its receive is posted") {
  // Whoever sends computes for 1 ms more behind the send; whoever receives comes after 30 ms.
  for (const Bytes bytes : {kLarge, kSmall}) {
    JobBuilder builder(2);
    const NodeId send = builder.send(0, 1, bytes);
    const NodeId next = builder.compute(0, microseconds(1000), {send});
    const NodeId busy = builder.compute(1, microseconds(30'000));
    const NodeId receive = builder.receive(1, 0, bytes, {busy});
    const Outcome outcome = run(builder.build());
    if (bytes == kSmall) {  // it has been there for long, and left no later than alone
      CHECK(outcome.end(1, receive) == at(microseconds(30'000)));
      CHECK(outcome.end(0, send) < at(alone(bytes)));
      CHECK(outcome.record(0, send).moving == at(microseconds(0)));
      continue;
    }
    CHECK(outcome.end(1, receive) == at(microseconds(30'000) + alone(bytes)));
    CHECK(outcome.end(0, send) == at(microseconds(30'000) + alone(bytes) - microseconds(10)));  // less the route
    CHECK(outcome.end(0, next) == outcome.end(0, send) + microseconds(1000));
    CHECK(outcome.record(0, send).start == at(microseconds(0)));
    CHECK(outcome.record(0, send).moving == at(microseconds(30'000)));
  }
}

TEST_CASE("two ranks that send before they receive wait for each other where the buffer is too small") {
  for (const Bytes bytes : {kLarge, kSmall}) {
    JobBuilder builder(2);
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      builder.receive(rank, 1 - rank, bytes, {builder.send(rank, 1 - rank, bytes)});
    const Job job = builder.build();
    if (bytes == kSmall) {
      CHECK_NOTHROW(run(job));
      continue;
    }
    try {
      run(job);
      FAIL("it is stuck");
    } catch (const StuckError& error) {
      const std::string text = error.what();
      CHECK(text.find("rank 0 waits in send of 15.26 MiB to rank 1") != std::string::npos);
      CHECK(text.find("rank 1 waits in send of 15.26 MiB to rank 0") != std::string::npos);
      CHECK(text.find("they wait for one another in a circle") != std::string::npos);
      CHECK(text.find("ncclGroupStart") != std::string::npos);
    }
  }
}

TEST_CASE("a send and a receive of which neither waits for the other, as in one group, both go on") {
  JobBuilder builder(2);
  std::array<NodeId, 2> received{};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.send(rank, 1 - rank, kLarge);
    received[rank] = builder.receive(rank, 1 - rank, kLarge);
  }
  const Outcome outcome = run(builder.build());
  for (std::uint32_t rank = 0; rank < 2; ++rank) CHECK(outcome.end(rank, received[rank]) == at(alone(kLarge)));
}

TEST_CASE("along a chain of ranks that send before they receive the last one frees the others, one by one") {
  // Rank i sends to i + 1, then receives from i - 1: the last, which sends nothing, takes first; then the one before it
  // has sent, and takes. The first two steps that follow each other on a rank are the release of what it sent, 10 us
  // before it has arrived, and the message that comes then.
  constexpr std::uint32_t kRanks = 5;
  JobBuilder builder(kRanks);
  std::array<NodeId, kRanks> received{};
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    std::vector<NodeId> sent;
    if (rank + 1 < kRanks) sent = {builder.send(rank, rank + 1, kLarge)};
    if (rank > 0) received[rank] = builder.receive(rank, rank - 1, kLarge, sent);
  }
  const Outcome outcome = run(builder.build());
  const Duration step = alone(kLarge) - microseconds(10);
  for (std::uint32_t rank = 1; rank < kRanks; ++rank)
    CHECK(outcome.end(rank, received[rank]) == at(step * (kRanks - rank) + microseconds(10)));
}

TEST_CASE("a send that waits for its receive does not keep the next one to the same rank waiting") {
  // The receiver takes the second message first.
  JobBuilder builder(2);
  const NodeId first = builder.send(0, 1, kLarge, {}, 1);
  const NodeId second = builder.send(0, 1, kLarge, {}, 2);
  const NodeId two = builder.receive(1, 0, kLarge, {}, 2);
  const NodeId one = builder.receive(1, 0, kLarge, {two}, 1);
  const Outcome outcome = run(builder.build());
  CHECK(outcome.end(0, second) < outcome.end(0, first));
  CHECK(outcome.end(1, one) == at(2 * alone(kLarge)));
}

TEST_CASE("ranks that differ by their receivers alone are told apart") {
  // Eight ranks send alike; of the eight that receive one comes late, and its sender with it.
  JobBuilder builder(16);
  std::array<NodeId, 8> sent{};
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    sent[rank] = builder.send(rank, 8 + rank, kLarge);
    builder.receive(8 + rank, rank, kLarge, {builder.compute(8 + rank, microseconds(rank == 3 ? 9000 : 1000))});
  }
  const Outcome outcome = run(builder.build());
  for (std::uint32_t rank = 0; rank < 8; ++rank)
    CHECK(outcome.record(rank, sent[rank]).moving == at(microseconds(rank == 3 ? 9000 : 1000)));
}
