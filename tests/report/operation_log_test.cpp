// SPDX-License-Identifier: MIT
#include "report/operation_log.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "report/breakdown.h"
#include "workload/graph/builder.h"
#include "workload/graph/job.h"

using namespace orrery;
using namespace orrery::report;
using namespace orrery::system;
using namespace orrery::workload;

namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  // 0 to `most`, small ones as often as large ones: as many bits as chance has it.
  std::int64_t upto(std::int64_t most) {
    const auto bits = std::uniform_int_distribution<int>(0, 62)(engine_);
    return std::uniform_int_distribution<std::int64_t>(0, std::min(most, (std::int64_t{1} << bits) - 1))(engine_);
  }
  std::int64_t below(std::int64_t count) { return std::uniform_int_distribution<std::int64_t>(0, count - 1)(engine_); }

 private:
  std::mt19937 engine_;
};

bool are_equal(const OperationRecord& one, const OperationRecord& other) {
  return one.node == other.node && one.number == other.number && one.start == other.start &&
         one.moving == other.moving && one.end == other.end && one.slowed == other.slowed;
}

// Nodes 0 to 4 are a stretch: computations and calls of two communicators by turns; 5 goes through it once more, 6 is
// the rest of that. Behind them a send, a receive, a computation and a call.
constexpr std::uint32_t kStretch = 5;

Job job_with_stretch() {
  GraphBuilder builder;
  for (std::uint32_t node = 0; node < kStretch; ++node) {
    const bool calls = node % 2 == 1;
    builder.add({.kind = calls ? NodeKind::kCollective : NodeKind::kCompute, .slot = calls ? node / 2 : 0});
    if (node > 0) builder.depend(NodeId(node), NodeId(node - 1));
  }
  const std::uint32_t stretch = builder.add_stretch({NodeId(0), kStretch, {NodeId(4)}});
  builder.add({.kind = NodeKind::kCompute, .repetition = Repetition{stretch, false}});
  builder.add({.kind = NodeKind::kCompute, .repetition = Repetition{stretch, true}});
  builder.add({.kind = NodeKind::kSend});
  builder.add({.kind = NodeKind::kReceive, .slot = 1});
  builder.add({.kind = NodeKind::kCompute});
  builder.add({.kind = NodeKind::kCollective, .slot = 1});
  Job job;
  job.graphs.push_back(std::move(builder).build());
  job.ranks.push_back({0, 0, {GroupId(0), GroupId(1)}, {RankId(0), RankId(0)}});
  job.communicators = {{"tensor", {RankId(0)}}, {"expert", {RankId(0)}}};
  job.known_facts.push_back({{"pipeline", "ring"}});
  return job;
}

// A stretch as it may have run: each part anywhere within 100 ps.
std::shared_ptr<const StretchRecord> random_stretch(Random& random) {
  auto record = std::make_shared<StretchRecord>();
  for (std::uint32_t offset = 0; offset < kStretch; ++offset) {
    const Duration start(random.below(60)), end = start + Duration(random.below(40));
    const bool is_slowed = offset % 2 == 0 && random.below(2) == 0;
    record->parts.push_back(
        {offset, start, start, end, is_slowed ? Duration(random.below((end - start).count() + 1)) : Duration::zero()});
    record->end = std::max(record->end, end);
  }
  std::ranges::stable_sort(record->parts, {}, &StretchRecord::Part::end);
  record->until_tail = static_cast<std::size_t>(random.below(kStretch + 1));
  record->tail = record->until_tail == 0 ? Duration::zero() : record->parts[record->until_tail - 1].end;
  return record;
}

}  // namespace

TEST_CASE("a log gives back what each rank was told to have finished, and what it had before it was told apart") {
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    constexpr std::uint32_t kRanks = 4;
    OperationLog log(kRanks);
    std::vector<std::vector<OperationRecord>> told(kRanks);
    std::vector<bool> acts(kRanks, false);
    acts[0] = true;
    Time now;
    for (int step = 0; step < 2000; ++step) {
      const auto rank = static_cast<std::uint32_t>(random.below(kRanks));
      const auto other = static_cast<std::uint32_t>(random.below(kRanks));
      if (!acts[rank]) {
        if (!acts[other] || random.below(20) > 0) continue;
        log.split(RankId(rank), RankId(other));
        told[rank] = told[other];
        acts[rank] = true;
        continue;
      }
      now += Duration(random.upto(1'000'000'000'000'000 / 2000));
      const Time start = now - Duration(random.upto(now.time_since_epoch().count()));
      const Time moving = random.below(4) > 0 ? start : start + Duration(random.upto((now - start).count()));
      const auto node = static_cast<std::uint32_t>(random.upto(UINT32_MAX - 1));
      const auto number = random.below(2) == 0 ? node : static_cast<std::uint32_t>(random.upto(UINT32_MAX));
      const Duration slowed(random.below(4) > 0 ? 0 : random.upto((now - start).count()));
      const OperationRecord operation{NodeId(node), number, start, moving, now, slowed};
      log.finished(RankId(rank), operation);
      told[rank].push_back(operation);
    }
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      std::ranges::stable_sort(told[rank], {}, [](const auto& one) { return std::pair(one.end, one.number); });
      const std::vector<OperationRecord> known = log.of(RankId(rank));
      REQUIRE(log.count(RankId(rank)) == told[rank].size());
      REQUIRE(std::ranges::equal(known, told[rank], are_equal));
    }
  }
}

TEST_CASE("only operations of first nodes are kept where no others are asked for") {
  OperationLog log(1, 3);
  for (const std::uint32_t node : {0U, 2U, 3U, 7U})
    log.finished(RankId(0),
                 {NodeId(node), node, Time(Duration(node)), Time(Duration(node)), Time(Duration(node + 1)), {}});
  REQUIRE(log.count(RankId(0)) == 2);
  CHECK(log.of(RankId(0)).back().node == NodeId(2));
}

TEST_CASE("time is accounted for alike whether stretches gone through again are written out or not") {
  const Job job = job_with_stretch();
  const ExecutionGraph& graph = job.graphs.front();
  Random random(2);
  bool has_waited = false, has_exposed = false, has_slowed = false;
  for (int round = 0; round < 3000; ++round) {
    // Entries by when they are told: operations beside stretches, and these, which may overlap.
    std::vector<std::pair<Time, OperationRecord>> operations;
    std::vector<std::pair<Time, RepetitionRecord>> stretches;
    const std::shared_ptr<const StretchRecord> record = random_stretch(random);
    for (std::int64_t i = random.below(4); i > 0; --i) {
      const Time begin(Duration(random.below(300)));
      const auto number = graph.number(NodeId(kStretch));
      for (const bool is_rest : {false, true})
        if (!is_rest || record->until_tail < record->parts.size())
          stretches.push_back(
              {begin + (is_rest ? record->end : record->tail), {record, NodeId(0), number, begin, is_rest}});
    }
    for (std::uint32_t other = 0; other < 4; ++other) {
      if (random.below(2) == 0) continue;
      const NodeId node{kStretch + 2 + other};
      const Time start(Duration(random.below(350))), end = start + Duration(random.below(60));
      const bool calls = graph.kind(node) != NodeKind::kCompute;
      const Time moving = calls ? start + Duration(random.below((end - start).count() + 1)) : start;
      operations.push_back({end, {node, graph.number(node), start, moving, end, {}}});
    }
    std::ranges::stable_sort(operations, {}, [](const auto& one) { return one.first; });
    std::ranges::stable_sort(stretches, {}, [](const auto& one) { return one.first; });
    OperationLog log(1);
    auto next = stretches.begin();
    for (const auto& [end, operation] : operations) {
      for (; next != stretches.end() && next->first <= end; ++next) log.repeated(RankId(0), next->second);
      log.finished(RankId(0), operation);
    }
    for (; next != stretches.end(); ++next) log.repeated(RankId(0), next->second);
    const Time finish(Duration(500));
    const Breakdown whole = TimeAccount(job).of(RankId(0), log, finish);
    const Breakdown written_out = TimeAccount(job).of(RankId(0), log.of(RankId(0)), finish);
    REQUIRE(whole == written_out);
    has_waited = has_waited || whole.wait > Duration::zero();
    has_exposed = has_exposed || whole.exposed.contains("tensor");
    has_slowed = has_slowed || whole.slowed > Duration::zero();
  }
  CHECK((has_waited && has_exposed && has_slowed));
}
