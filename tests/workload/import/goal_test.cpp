// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>

#include "core/error.h"
#include "tests/workload/traces/same_job.h"
#include "tests/workload/traces/trace_builder.h"
#include "workload/import/format.h"
#include "workload/import/goal/goal.h"
#include "workload/matching/matching.h"
#include "workload/tools/writer.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

Job import(const std::string& text) {
  Diagnostics diagnostics;
  return import_goal_text("a.goal", text, diagnostics);
}

std::string problems(const std::string& text) {
  Diagnostics diagnostics;
  std::string result;
  try {
    import_goal_text("a.goal", text, diagnostics);
  } catch (const InputError& error) {
    return error.what();
  }
  for (const Problem& problem : diagnostics.problems()) result += to_string(problem) + "\n";
  return result;
}

std::vector<std::uint32_t> successors(const ExecutionGraph& graph, std::uint32_t node) {
  std::vector<std::uint32_t> result;
  for (const NodeId after : graph.successors(NodeId{node})) result.push_back(index_of(after));
  return result;
}

// One rank with these lines, and another that answers.
std::string first_of_two(const std::string& lines, const std::string& other = "") {
  return "num_ranks 2\nrank 0 {\n" + lines + "\n}\nrank 1 {\n" + other + "\n}\n";
}

}  // namespace

TEST_CASE("a GOAL schedule becomes computations, sends and receives") {
  const Job job = import(R"(// made up
num_ranks 2

rank 0 {
l1: calc 1500
l2: send 64b to 1 tag 7
l2 requires l1
calc 0 /* a comment
over two lines */
}
rank 1 {
  r: recv 64b from 0 tag 7 cpu 0 nic 1
  c: calc 20 cpu 0
  c requires r
}
)");
  REQUIRE(job.ranks.size() == 2);
  const ExecutionGraph& first = job.graph(RankId{0});
  REQUIRE(first.size() == 3);
  CHECK(first.kind(NodeId{0}) == NodeKind::kCompute);
  CHECK(first.duration(NodeId{0}) == Duration(1'500'000));  // 1500 ns
  CHECK(first.stream(NodeId{0}) == 0);
  CHECK(first.kind(NodeId{1}) == NodeKind::kSend);
  CHECK(first.bytes(NodeId{1}) == Bytes(64));
  CHECK(first.kind(NodeId{2}) == NodeKind::kNoOp);  // calc 0
  CHECK(successors(first, 0) == std::vector<std::uint32_t>{1});
  CHECK(job.peer(RankId{0}, NodeId{1}) == RankId{1});
  CHECK(job.tag(RankId{1}, NodeId{0}) == 7);
  CHECK(job.labels_of(RankId{1}).name(NodeId{1}) == "c");
  match(job);
}

TEST_CASE("a label may be required before it stands there") {
  const Job job = import(first_of_two("a requires b\na: calc 1\nb: calc 2"));
  CHECK(successors(job.graph(RankId{0}), 1) == std::vector<std::uint32_t>{0});
}

TEST_CASE("irequires waits for what the other waits for, not for the other") {
  // d starts with c, which starts when a and b have ended.
  const Job job =
      import(first_of_two("a: calc 1\nb: calc 2\nc: calc 3\nd: calc 4\nc requires a\nc requires b\nd irequires c"));
  const ExecutionGraph& graph = job.graph(RankId{0});
  REQUIRE(graph.size() == 5);  // and the start of c
  CHECK(graph.kind(NodeId{4}) == NodeKind::kNoOp);
  CHECK(successors(graph, 0) == std::vector<std::uint32_t>{2, 4});
  CHECK(successors(graph, 1) == std::vector<std::uint32_t>{2, 4});
  CHECK(successors(graph, 2).empty());
  CHECK(successors(graph, 4) == std::vector<std::uint32_t>{3});
}

TEST_CASE("starts follow one another") {
  // b starts with a, which waits for x; c starts with b.
  const Job job =
      import(first_of_two("x: calc 9\na: calc 1\nb: calc 2\nc: calc 3\na requires x\nb irequires a\nc irequires b"));
  const ExecutionGraph& graph = job.graph(RankId{0});
  CHECK(successors(graph, 0) == std::vector<std::uint32_t>{1, 4});  // a and its start
  CHECK(successors(graph, 4) == std::vector<std::uint32_t>{2, 5});  // b and its start
  CHECK(successors(graph, 5) == std::vector<std::uint32_t>{3});
}

TEST_CASE("computations on several cpus are streams") {
  const std::string text = first_of_two("calc 1 cpu 4\ncalc 2\ncalc 3 cpu 4");
  const Job job = import(text);
  const ExecutionGraph& graph = job.graph(RankId{0});
  CHECK(graph.stream(NodeId{0}) == 2);
  CHECK(graph.stream(NodeId{1}) == 1);
  CHECK(graph.stream(NodeId{2}) == 2);
  CHECK_THAT(problems(text), Contains("a.goal:2: warning: rank 0 computes on 2 cpus"));
}

TEST_CASE("a rank that does nothing has one no-op, and equal ranks share a graph") {
  const Job job = import("num_ranks 3 rank 0 { }\nrank 1 { }\nrank 2 { calc 5 }\n");
  CHECK(job.graphs.size() == 2);
  CHECK(job.graph(RankId{1}).kind(NodeId{0}) == NodeKind::kNoOp);
}

TEST_CASE("receives from any rank take the sends that nobody asks for") {
  // Rank 0 asks rank 1 for tag 5 by name, so its first receive gets the other one.
  const std::string text =
      "num_ranks 3\nrank 0 {\nrecv 8b from -1 tag -1\nrecv 8b from 1 tag 5\nrecv 8b from -1\nrecv 16b from 2 tag "
      "-1\n}\n"
      "rank 1 {\nsend 8b to 0 tag 5\nsend 8b to 0 tag 6\n}\nrank 2 {\nsend 8b to 0 tag 0\nsend 16b to 0 tag 9\n}\n";
  const Job job = import(text);
  const auto from = [&](std::uint32_t node) {
    return std::pair(index_of(job.peer(RankId{0}, NodeId{node})), job.tag(RankId{0}, NodeId{node}));
  };
  CHECK(from(0) == std::pair<std::uint32_t, std::int64_t>(1, 6));
  CHECK(from(1) == std::pair<std::uint32_t, std::int64_t>(1, 5));
  CHECK(from(2) == std::pair<std::uint32_t, std::int64_t>(2, 0));
  CHECK(from(3) == std::pair<std::uint32_t, std::int64_t>(2, 9));
  match(job);
  CHECK_THAT(problems(text), Contains("warning: 3 receives from any rank"));
  CHECK_THAT(problems(first_of_two("recv 8b from -1", "send 9b to 0")), Contains("a.goal:3: error: no send is left"));
}

TEST_CASE("an imported schedule is the same after writing and reading") {
  const Job job = import(
      "num_ranks 3\nrank 0 {\na: calc 1\nb: send 5b to 2 tag 4000000000\nb requires a\nc: calc 3 cpu 1\nc irequires "
      "b\n}\n"
      "rank 1 {\n}\nrank 2 {\nr: recv 5b from 0 tag 4000000000\n}\n");
  const ScratchDirectory directory;
  Diagnostics diagnostics;
  CHECK(difference(job, load_chakra_job(write_job(job, directory.path("out"), "goal"), diagnostics)) == "");
}

TEST_CASE("what is wrong with a GOAL schedule is said with its line") {
  const auto in_first = [](const std::string& line) { return problems(first_of_two(line)); };
  CHECK_THAT(problems(""), Contains("a.goal:1: error: no num_ranks"));
  CHECK_THAT(problems("num_ranks 0\n"), Contains("a.goal:1: error: num_ranks without a number above 0"));
  CHECK_THAT(problems("num_ranks 1000000000\nrank 0 { }\n"),
             Contains("num_ranks is 1000000000, but only rank 0 given") && Contains("is the file cut off?"));
  CHECK_THAT(problems("num_ranks 99999999999999999999\n"), Contains("a.goal:1"));
  CHECK_THAT(problems("num_ranks 1\nrank 1 { }\n"), Contains("a.goal:2: error: rank 1 is out of range"));
  CHECK_THAT(problems("num_ranks 2\nrank 1 { }\nrank 1 { }"), Contains("a.goal:3: error: rank 1 is given twice"));
  CHECK_THAT(problems("num_ranks 1\nrank 0 {\ncalc 1\n"), Contains("the file ends within a rank"));
  CHECK_THAT(problems("num_ranks 1\nrank 0 {\nrank 0 {\n}"), Contains("a rank within rank 0"));
  CHECK_THAT(problems("num_ranks 1\ncalc 1\n"), Contains("outside a rank"));
  CHECK_THAT(problems("}"), Contains("without a rank before it"));
  CHECK_THAT(in_first("calc"), Contains("a.goal:3: error: the line ends, expected nanoseconds"));
  CHECK_THAT(in_first("calc -5"), Contains("expected nanoseconds"));
  CHECK_THAT(in_first("calc 9223372036854776"), Contains("106 days"));
  CHECK_THAT(in_first("calc 99999999999999999999"), Contains("expected nanoseconds"));
  CHECK_THAT(in_first("send 5 to 1"), Contains("expected b after the number of bytes"));
  CHECK_THAT(in_first("send 5b from 1"), Contains("expected to <rank>"));
  CHECK_THAT(in_first("send 5b to -1"), Contains("expected the number of a rank"));
  CHECK_THAT(in_first("send 5b to 2"), Contains("rank 2 is out of range: num_ranks is 2"));
  CHECK_THAT(in_first("send 5b to 0"), Contains("sends to itself"));
  CHECK_THAT(in_first("send 5b to 1 tag -1"), Contains("a send needs a tag from 0"));
  CHECK_THAT(in_first("send 5b to 1 tag"), Contains("\"tag\" without a number"));
  CHECK_THAT(in_first("send 5b to 1 colour 3"), Contains("\"colour\" may not stand here"));
  CHECK_THAT(in_first("send 2000000000000000000b to 1"), Contains("beyond 1152921504606846976 bytes"));
  CHECK_THAT(in_first("l0: put 1b to 1"), Contains("unknown operation \"put\"") && Contains("LogGOPSim 2"));
  CHECK_THAT(in_first("a: calc 1\na: calc 2"), Contains("a.goal:4: error: label a is given twice"));
  CHECK_THAT(in_first("a: calc 1\na requires b"), Contains("a.goal:4: error: rank 0 has no label b"));
  CHECK_THAT(in_first("a: calc 1\na requires a"), Contains("a waits for itself"));
  CHECK_THAT(in_first("a: calc 1\nb: calc 1\na requires b\nb requires a"),
             Contains("a.goal:2: error: rank 0 waits for itself: ") && Contains("a -> b -> a"));
  CHECK_THAT(in_first("a: put 1b to 1\nb: calc 1\nb requires a"), !Contains("no label"));  // one mistake, one error
  CHECK_THAT(in_first("a wants b"), Contains("\"requires\""));
  CHECK_THAT(in_first("\x01\xFF"), Contains("\\x01\\xFF"));
  CHECK_THAT(problems(std::string("\x02\0\0\0GOAL", 8)), Contains("binary schedule"));
}

TEST_CASE("a schedule of nothing but errors is not reported line by line") {
  std::string text = "num_ranks 1\n";
  for (int i = 0; i < 10'000; ++i) text += "nonsense\n";
  CHECK(problems(text).size() < 20'000);
  // Nor is one of nothing but labels that are not there.
  text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 10'000; ++i) text += "a requires b\n";
  const std::string labels = problems(text + "}\n");
  CHECK_THAT(labels, Contains("a.goal:3: error: rank 0 has no label a") && Contains("... and 80 more"));
}

TEST_CASE("a workload is known by its first line that is no comment") {
  CHECK(workload_format_of("// made up\n\n  num_ranks 2\n") == WorkloadFormat::kGoal);
  CHECK(workload_format_of("# made up\nMICRO\n") == WorkloadFormat::kAstraText);
  CHECK_FALSE(workload_format_of("// num_ranks 2"));
}
