// SPDX-License-Identifier: MIT
// What a stretch did the first time is a record for later times only if nothing but itself decided it.
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "system/execution/stretch_courses.h"
#include "tests/system/small_jobs.h"
#include "workload/graph/builder.h"

using namespace orrery;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using collectives::DeviceShare;
using std::chrono::microseconds;

namespace {

// Node 0 is of no stretch; 1 and 2 compute one behind the other, 3 is a call that waits for 2, 4 computes after it.
struct Recorded {
  Recorded() {
    builder.add({.kind = NodeKind::kCompute});
    for (const NodeKind kind : {NodeKind::kCompute, NodeKind::kCompute, NodeKind::kCollective, NodeKind::kCompute})
      builder.add({.kind = kind, .bytes = Bytes(kind == NodeKind::kCollective ? 8 : 0)});
    for (std::uint32_t node = 1; node < 5; ++node) builder.depend(NodeId(node), NodeId(node - 1));
  }

  StretchRecord record(const std::vector<OperationRecord>& operations) const {
    GraphBuilder copy = builder;
    const Stretch stretch{NodeId(1), 4, {NodeId(tail)}};
    copy.add_stretch(stretch);
    const ExecutionGraph graph = std::move(copy).build();
    return *StretchCourses(graph, stretch, operations, std::nullopt).beside({});
  }

  GraphBuilder builder;
  std::uint32_t tail = 4;
};

OperationRecord ran(std::uint32_t node, std::int64_t start, std::int64_t end) {
  return {NodeId(node), node, Time(Duration(start)), Time(Duration(start)), Time(Duration(end))};
}

// Two ranks compute for 10 us, call each other, and go through both once more; `beside` runs meanwhile. Node 1 is the
// call, node 2 the repetition.
Job with_repetition(const std::vector<GraphNode>& beside = {}) {
  GraphBuilder builder;
  builder.add({.kind = NodeKind::kCompute, .duration = microseconds(10)});
  builder.add({.kind = NodeKind::kCollective, .bytes = Bytes(100'000)});
  const std::uint32_t stretch = builder.add_stretch({NodeId(0), 2, {NodeId(1)}});
  builder.add({.kind = NodeKind::kCompute, .repetition = Repetition{stretch}});
  builder.depend(NodeId(1), NodeId(0));
  builder.depend(NodeId(2), NodeId(1));
  NodeId last{1};
  for (const GraphNode& node : beside) {
    const NodeId added = builder.add(node);
    builder.depend(added, std::exchange(last, added));
  }
  Job job;
  job.labels.emplace_back(std::vector<NodeLabel>(3 + beside.size()));
  job.graphs.push_back(std::move(builder).build());
  job.communicators.push_back({"world", {RankId(0), RankId(1)}});
  RankBinding binding;
  binding.communicators.push_back(kWorld);
  job.ranks.push_back(binding);
  job.ranks.push_back(binding);
  return job;
}

// With `ahead` the ranks may run ahead of the clock.
Outcome repeat(const Job& job, bool ahead) {
  SimulationOptions options;
  options.collectives = always("ring");
  options.collectives.granularity = Granularity::kPhase;
  options.fold = FoldMode::kAuto;
  options.fast_forward = ahead;
  return simulate(job, one_dimension("switch", 2, Bandwidth(1'000'000'000), Duration::zero()), options,
                  NetworkModel::kFlow);
}

const std::vector<OperationRecord> kTight = {ran(1, 100, 110), ran(2, 110, 130), ran(3, 130, 170), ran(4, 170, 175)};

}  // namespace

TEST_CASE("a record has the times of the nodes from the first start on") {
  const StretchRecord record = Recorded().record({kTight[2], kTight[0], kTight[3], kTight[1]});
  REQUIRE(record.parts.size() == 4);
  CHECK(record.parts[2].offset == 2);
  CHECK(record.parts[2].start == Duration(30));
  CHECK(record.parts[2].end == Duration(70));
  CHECK(record.tail == Duration(75));
  CHECK(record.end == Duration(75));
  CHECK(record.until_tail == 4);
  CHECK(record.begins_on_stream);
  CHECK(record.calls == std::vector<NodeId>{NodeId(3)});
}

TEST_CASE("nodes that something else held up are no record") {
  for (std::size_t late = 1; late < kTight.size(); ++late) {
    std::vector<OperationRecord> operations = kTight;
    for (std::size_t i = late; i < operations.size(); ++i) {
      operations[i].start += Duration(1);
      operations[i].moving += Duration(1);
      operations[i].end += Duration(1);
    }
    INFO(late);
    CHECK_THROWS_AS(Recorded().record(operations), NotRepeatable);
  }
}

TEST_CASE("a call that waited for its members is no record") {
  std::vector<OperationRecord> operations = kTight;
  operations[2].moving += Duration(5);
  CHECK_THROWS_AS(Recorded().record(operations), NotRepeatable);
}

TEST_CASE("a node on a stream of its own is no record") {
  Recorded program;
  program.builder = {};
  for (std::uint32_t node = 0; node < 5; ++node) {
    program.builder.add({.kind = NodeKind::kCompute, .stream = node == 3 ? 1U : 0U});
    if (node > 0) program.builder.depend(NodeId(node), NodeId(node - 1));
  }
  CHECK_THROWS_AS(program.record(kTight), NotRepeatable);
}

TEST_CASE("what follows the tail only computes, without a pause") {
  Recorded program;
  program.tail = 2;
  CHECK_THROWS_AS(program.record(kTight), NotRepeatable);  // the call is under way when others go on

  program.builder = {};
  for (std::uint32_t node = 0; node < 5; ++node) {
    program.builder.add({.kind = NodeKind::kCompute});
    if (node > 0) program.builder.depend(NodeId(node), NodeId(node - 1));
  }
  const StretchRecord record = program.record(kTight);
  CHECK(record.tail == Duration(30));
  CHECK(record.end == Duration(75));
  CHECK(record.until_tail == 2);

  std::vector<OperationRecord> operations = kTight;
  operations[3].end = operations[3].start;  // takes no time: whoever wants the stream meanwhile could have it
  CHECK_THROWS_AS(program.record(operations), NotRepeatable);
}

TEST_CASE("a stretch that begins with a call does not wait for the compute stream") {
  Recorded program;
  program.builder = {};
  program.builder.add({.kind = NodeKind::kCompute});
  program.builder.add({.kind = NodeKind::kCollective, .bytes = Bytes(8)});
  for (std::uint32_t node = 2; node < 5; ++node) program.builder.add({.kind = NodeKind::kCompute});
  for (std::uint32_t node = 1; node < 5; ++node) program.builder.depend(NodeId(node), NodeId(node - 1));
  CHECK_FALSE(program.record(kTight).begins_on_stream);
}

TEST_CASE("a stretch whose host was late at its beginning is recorded as it runs when the host is ahead") {
  Recorded program;
  program.builder = {};
  program.builder.add({.kind = NodeKind::kCompute});
  for (std::uint32_t node = 1; node < 5; ++node) {
    const bool synchronises = node == 2;
    program.builder.add(
        {.kind = NodeKind::kCompute, .duration = Duration(5), .host = {Duration(2), Duration(7), synchronises}});
    program.builder.depend(NodeId(node), NodeId(node - 1));
  }
  // Node 1 is done 10 after the beginning, node 2 30; the host must be done with both by then.
  const StretchRecord record = program.record(kTight);
  CHECK(record.host_lead == Duration(-3));
  CHECK(record.synchronised == Duration(30));

  // Node 3, behind the synchronisation, waits in every repetition.
  std::vector<OperationRecord> operations = kTight;
  operations[2].moving += Duration(5);
  CHECK(program.record(operations).parts[2].moving == Duration(35));

  // Node 1 took 4 behind a wait of 6: the others come earlier by as much.
  operations = kTight;
  operations[0].moving += Duration(6);
  const StretchRecord ahead = program.record(operations);
  CHECK(ahead.parts[0].moving == Duration(0));
  CHECK(ahead.parts[0].end == Duration(4));
  CHECK(ahead.parts[1].end == Duration(24));
  CHECK(ahead.host_lead == Duration(3));
  CHECK(ahead.synchronised == Duration(24));
  CHECK(ahead.parts[3].end == Duration(69));
}

TEST_CASE("what calls outside take of the device slows what a stretch computes meanwhile") {
  // Three products one behind the other; beside the second, the stretch's own call takes a fifth of the device.
  GraphBuilder builder;
  for (std::uint32_t node = 0; node < 3; ++node)
    builder.add({.kind = NodeKind::kCompute, .duration = Duration(1000), .processor_bound = kWholeShare});
  builder.add({.kind = NodeKind::kCollective, .bytes = Bytes(8)});
  for (std::uint32_t node = 1; node < 3; ++node) builder.depend(NodeId(node), NodeId(node - 1));
  builder.depend(NodeId(3), NodeId(0));
  builder.depend(NodeId(2), NodeId(3));
  const Stretch stretch{NodeId(0), 4, {NodeId(2)}};
  builder.add_stretch(stretch);
  const ExecutionGraph graph = std::move(builder).build();
  // When it ran first, a call outside slowed the first by 500, and its own call the second by 7.
  std::vector<OperationRecord> first = {ran(0, 0, 1500), ran(1, 1500, 2507), ran(2, 2507, 3507), ran(3, 1500, 1900)};
  first[0].slowed = Duration(500);
  first[1].slowed = Duration(7);
  StretchCourses courses(graph, stretch, first,
                         ContendedDevice{{100, 1'000'000'000'000}, {{}, {}, {}, {20, 250'000'000'000}}});
  const auto ends = [&](const std::vector<OutsideUse>& outside) {
    std::vector<std::int64_t> by_offset(4);
    for (const StretchRecord::Part& part : courses.beside(outside)->parts) by_offset[part.offset] = part.end.count();
    return by_offset;
  };
  // 400 beside its own call, at 52428 / 65536: 681 are left of the second then.
  CHECK(ends({}) == std::vector<std::int64_t>{1000, 2081, 3081, 1400});
  // Half of the device is taken from 600 to 800: 100 of the work is done then.
  const DeviceShare half{50, 0};
  CHECK(ends({{Duration(600), half}, {Duration(800), {}}}) == std::vector<std::int64_t>{1100, 2181, 3181, 1500});
  // All the time; its own call takes nothing any more.
  CHECK(ends({{Duration(0), half}}) == std::vector<std::int64_t>{2000, 4000, 6000, 2400});
  CHECK(courses.beside({{Duration(0), half}})->tail == Duration(6000));
  CHECK(courses.beside({{Duration(0), half}})->parts.back().slowed == Duration(1000));
  CHECK(courses.beside({}) == courses.beside({}));
  // A call of 2000 ends with the second product then: which of them is first is not known.
  first[3].end += Duration(1600);
  StretchCourses longer(graph, stretch, first,
                        ContendedDevice{{100, 1'000'000'000'000}, {{}, {}, {}, {20, 250'000'000'000}}});
  CHECK_THROWS_AS(longer.beside({{Duration(0), half}}), NotRepeatable);
}

TEST_CASE("a program that repeats a call of its own runs ahead of the clock, and takes what it took each time") {
  const Outcome outcome = repeat(with_repetition(), true);
  CHECK(outcome.totals.why_by_events == "");
  // The call passes half of 100 kB on twice, at 1 GB/s.
  CHECK(outcome.end(0, NodeId(1)) == at(microseconds(110)));
  CHECK(outcome.totals.finish == at(microseconds(220)));
  CHECK(repeat(with_repetition(), false).totals.finish == outcome.totals.finish);
}

TEST_CASE("a repetition is none while something else wants what it runs on") {
  CHECK_NOTHROW(repeat(with_repetition({{.kind = NodeKind::kHostCompute, .duration = microseconds(5)}}), false));
  // A computation, ready 5 us after the repetition began.
  CHECK_THROWS_AS(repeat(with_repetition({{.kind = NodeKind::kHostCompute, .duration = microseconds(5)},
                                          {.kind = NodeKind::kCompute, .duration = microseconds(5)}}),
                         false),
                  NotRepeatable);
  // A call of the same communicator, under way when the repetition begins and when it ends.
  CHECK_THROWS_AS(repeat(with_repetition({{.kind = NodeKind::kCollective, .bytes = Bytes(10'000'000)}}), false),
                  NotRepeatable);
}
