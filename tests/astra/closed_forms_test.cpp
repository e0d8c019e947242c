// SPDX-License-Identifier: MIT
// Collectives of one chunk on a network without sharing take what ASTRA-sim's rules add up to.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tests/astra/jobs.h"

namespace orrery::astra {
namespace {

constexpr Ticks kEndpoint = 10;

Ticks net(std::uint64_t bytes, double hops) {
  return static_cast<Ticks>(hops * 500 + static_cast<double>(bytes) / (50.0 * (1 << 30) / 1e9));
}

// Two reads and a write, each rounded down.
Ticks reduction(std::uint64_t bytes) { return 3 * static_cast<Ticks>(static_cast<double>(bytes) / 1600); }

Ticks time_of(const Inputs& inputs, CommKind comm, std::uint64_t bytes) {
  const Job job = same_on_all(program_of({collective_node(0, comm, bytes)}), inputs.network.npus);
  const std::vector<Ticks> times = finish_times(simulate(inputs, job, Folding::kAuto));
  CHECK(times == finish_times(simulate(inputs, job, Folding::kOff)));
  CHECK(std::ranges::all_of(times, [&](Ticks time) { return time == times.front(); }));
  return times.front();
}

}  // namespace

TEST_CASE("a ring pays the endpoint before each send and after the last receive, and n - 1 reductions") {
  for (const std::uint32_t n : {2u, 3u, 8u, 16u}) {
    const Inputs inputs = small_inputs({{TopologyKind::kRing, n}});
    const std::uint64_t bytes = 1'000'000, share = bytes / n;
    const Ticks step = net(share, 1) + kEndpoint;
    CHECK(time_of(inputs, CommKind::kAllReduce, bytes) == kEndpoint + 2 * (n - 1) * step + (n - 1) * reduction(share));
    CHECK(time_of(inputs, CommKind::kReduceScatter, bytes) == kEndpoint + (n - 1) * (step + reduction(share)));
    CHECK(time_of(inputs, CommKind::kAllGather, bytes) == kEndpoint + (n - 1) * (net(bytes, 1) + kEndpoint));
    CHECK(time_of(inputs, CommKind::kAllToAll, bytes) == kEndpoint + n * (n - 1) / 2 * step);
  }
}

TEST_CASE("direct sends to all at once, and an all-reduce waits for all before its second half") {
  for (const std::uint32_t n : {4u, 8u}) {
    const Inputs inputs = small_inputs({{TopologyKind::kRing, n}}, AlgorithmKind::kDirect);
    const std::uint64_t bytes = 1 << 20, share = bytes / n;
    const Ticks farthest = net(share, n / 2);
    CHECK(time_of(inputs, CommKind::kAllReduce, bytes) == 3 * kEndpoint + 2 * farthest + reduction(share));
    CHECK(time_of(inputs, CommKind::kReduceScatter, bytes) == 2 * kEndpoint + farthest + reduction(share));
    CHECK(time_of(inputs, CommKind::kAllGather, bytes) == 2 * kEndpoint + net(bytes, n / 2));
  }
}

TEST_CASE("halving and doubling charges one reduction less than it makes, each of the size of the next message") {
  const std::uint64_t bytes = 1 << 20;
  for (const std::uint32_t n : {2u, 4u, 8u}) {
    const Inputs inputs = small_inputs({{TopologyKind::kFullyConnected, n}}, AlgorithmKind::kHalvingDoubling);
    Ticks expected = kEndpoint;
    for (std::uint64_t size = bytes / 2; size >= bytes / n; size /= 2) {
      expected += 2 * (net(size, 1) + kEndpoint);  // down and up again
      if (size < bytes / 2) expected += reduction(size);
    }
    CHECK(time_of(inputs, CommKind::kAllReduce, bytes) == expected);
  }
}

TEST_CASE("a Switch counts its latency twice, and only the first dimension that differs is charged") {
  const Inputs inputs = small_inputs({{TopologyKind::kSwitch, 4}, {TopologyKind::kFullyConnected, 2}});
  const std::uint64_t bytes = 1 << 20;
  const Ticks inner = net(bytes / 4, 2) + kEndpoint, outer = net(bytes / 8, 1) + kEndpoint;
  CHECK(time_of(inputs, CommKind::kAllReduce, bytes) ==
        3 * kEndpoint + 2 * 3 * inner + 3 * reduction(bytes / 4) + 2 * outer + reduction(bytes / 8));

  // From rank 0 to rank 5, which differ in both.
  Job job;
  const Program sends = program_of({message_node(0, NodeKind::kSend, 0, bytes)});
  const Program receives = program_of({message_node(0, NodeKind::kReceive, 0, bytes)});
  job.programs = {sends, receives, program_of({compute_node(0, 1)})};
  job.ranks.assign(8, {2, {}, {}});
  job.ranks[0] = {0, {5}, {}};
  job.ranks[5] = {1, {0}, {}};
  const std::vector<Ticks> times = finish_times(simulate(inputs, job, Folding::kAuto));
  CHECK(times[0] == net(bytes, 2));
  CHECK(times[5] == net(bytes, 2));
}

TEST_CASE("the last chunk is not shortened, and small collectives grow to a byte for each rank and chunk") {
  Inputs inputs = small_inputs({{TopologyKind::kRing, 4}});
  inputs.system.splits = 4;
  // 1,000,003 / 4 = 250,000: five chunks of that, one after another.
  const Ticks chunk = kEndpoint + 6 * (net(62'500, 1) + kEndpoint) + 3 * reduction(62'500);
  CHECK(time_of(inputs, CommKind::kAllReduce, 1'000'003) == 5 * chunk);
  CHECK(time_of(inputs, CommKind::kAllReduce, 0) == 4 * (kEndpoint + 6 * (500 + kEndpoint)));
}

TEST_CASE("with congestion a message of a Switch is stored whole, and two into one port follow one another") {
  Inputs inputs = small_inputs({{TopologyKind::kSwitch, 4}});
  inputs.flags.backend = Backend::kAware;
  const std::uint64_t bytes = 1 << 20;
  const Ticks hop = net(bytes, 1), busy = net(bytes, 0);
  Job job;
  job.programs = {
      program_of({message_node(0, NodeKind::kSend, 0, bytes)}),
      program_of({message_node(0, NodeKind::kReceive, 0, bytes), message_node(1, NodeKind::kReceive, 1, bytes)}),
      program_of({compute_node(0, 1)})};
  job.ranks = {{0, {2}, {}}, {0, {2}, {}}, {1, {0, 1}, {}}, {2, {}, {}}};
  const std::vector<Ticks> times = finish_times(simulate(inputs, job, Folding::kAuto));
  CHECK(times == std::vector<Ticks>{2 * hop, 2 * hop + busy, 2 * hop + busy, 1});
}

TEST_CASE("one collective or send at a time on a rank, by ascending id") {
  const Inputs inputs = small_inputs({{TopologyKind::kRing, 4}});
  const std::uint64_t bytes = 1 << 20;
  const Ticks alone = time_of(inputs, CommKind::kAllReduce, bytes);
  const Job job = same_on_all(
      program_of({collective_node(0, CommKind::kAllReduce, bytes), collective_node(1, CommKind::kAllReduce, bytes)}),
      4);
  CHECK(finish_times(simulate(inputs, job, Folding::kAuto)).front() == 2 * alone);
}

TEST_CASE("ranks that disagree are told apart") {
  const Inputs inputs = small_inputs({{TopologyKind::kRing, 4}});
  Job job = same_on_all(program_of({collective_node(7, CommKind::kAllReduce, 1 << 20)}), 4);
  job.programs.push_back(program_of({collective_node(7, CommKind::kAllReduce, 2 << 20)}));
  job.ranks[2].program = 1;
  try {
    simulate(inputs, job, Folding::kAuto);
    FAIL("it cannot finish");
  } catch (const StuckError& error) {
    const std::string text = error.what();
    CHECK(text.find("4 of 4 ranks never finish") != std::string::npos);
    CHECK(text.find("rank 2 has node 7, all-reduce of 2097152 bytes") != std::string::npos);
    CHECK(error.rank() == 0u);
  }
}

}  // namespace orrery::astra
