// SPDX-License-Identifier: MIT
// What a stretch did the first time is a record for later times only if nothing but itself decided it.
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "system/execution/repetitions.h"
#include "workload/graph/builder.h"

using namespace orrery;
using namespace orrery::system;
using namespace orrery::workload;

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
    return record_of(std::move(copy).build(), stretch, operations, false);
  }

  GraphBuilder builder;
  std::uint32_t tail = 4;
};

OperationRecord ran(std::uint32_t node, std::int64_t start, std::int64_t end) {
  return {NodeId(node), node, Time(Duration(start)), Time(Duration(start)), Time(Duration(end))};
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
