// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/workload/traces/trace_builder.h"
#include "workload/tools/inspect.h"
#include "workload/tools/lint.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

// 1 -> 2 -> 4 -> 5, 1 -> 3 -> 4: 10 us + 40 us + 5 us of compute along the longer branch.
const Trace kDiamond = {compute(1, 10).with("num_ops", 100).with("tensor_size", 7), compute(2, 20).data({1}),
                        compute(3, 40).data({1}), collective(4, 0, 64).data({2, 3}),
                        compute(5, 5).data({4}).with("is_cpu_op", 1)};

std::string lint_text(const LintReport& report) {
  std::string text;
  for (const Problem& problem : report.problems) text += to_string(problem) + "\n";
  return text;
}

}  // namespace

TEST_CASE("a summary counts nodes, edges, work and the longest chains of a graph") {
  const GraphSummary summary = summarise(*read(kDiamond).graph);
  CHECK(summary.nodes == 5);
  CHECK(summary.edges == 5);
  CHECK(summary.kinds[static_cast<std::size_t>(NodeKind::kCompute)].nodes == 3);
  CHECK(summary.kinds[static_cast<std::size_t>(NodeKind::kCompute)].picoseconds == 70'000'000);
  CHECK(summary.kinds[static_cast<std::size_t>(NodeKind::kHostCompute)].measured == 1);
  CHECK(summary.flops == 100);
  CHECK(summary.tensor_bytes == 7);
  CHECK(summary.longest_chain == 4);
  CHECK(summary.longest_chain_picoseconds == 55'000'000);
  CHECK(summary.roots == 1);
  CHECK(summary.leaves == 1);
  CHECK(summary.most_predecessors == 2);
  CHECK(summary.most_successors == 2);
  REQUIRE(summary.calls.size() == 1);
  CHECK(summary.calls[0].bytes == 64);
}

TEST_CASE("the sum of huge sizes does not overflow") {
  Trace trace;
  for (std::uint64_t id = 0; id < 100; ++id) trace.push_back(collective(id, 0, std::int64_t{1} << 60));
  const Inspection inspection = inspect(JobFiles({trace}).load(), "job");
  CHECK(inspection.communicators[0].bytes == Total{100} * (Total{1} << 60));
  CHECK(to_json(inspection)["collectives"][0]["bytes"].get<double>() == 100 * 1152921504606846976.0);
  CHECK_THAT(to_text(inspection), Contains("115 EB"));
}

TEST_CASE("a job is inspected by distinct graph and by communicator") {
  const auto rank = [](std::string_view group) {
    return Trace{collective(1, 0, 64, group), collective(2, 0, 36, group), collective(3, 2, 5, group)};
  };
  const Job job =
      JobFiles({rank("a"), rank("a"), rank("b"), {compute(1)}}, R"({"a": [0, 1], "b": [2], "unused": [3]})").load();
  const Inspection inspection = inspect(job, "job");
  REQUIRE(inspection.graphs.size() == 2);
  CHECK(inspection.graphs[0].ranks == std::vector<std::uint32_t>{0, 1, 2});
  REQUIRE(inspection.communicators.size() == 4);
  CHECK(inspection.communicators[0].name == "a");
  CHECK(inspection.communicators[0].calls == 2);
  CHECK(inspection.communicators[0].bytes == 100);
  CHECK(inspection.communicators_defined == 3);
  CHECK_THAT(to_text(inspection), Contains("4 ranks, 2 distinct graphs") && Contains("graph of ranks 0-2: 3 nodes") &&
                                      Contains("all_reduce 2 calls, 100 B  [a]"));
  const nlohmann::ordered_json json = to_json(inspection);
  CHECK(json["graphs"][0]["kinds"]["collective"]["nodes"] == 3);
  CHECK(json["collectives"][1]["op"] == "all_gather");
}

TEST_CASE("a single trace is inspected without knowing its rank or its groups") {
  const ScratchDirectory directory;
  directory.write("a.3.et", bytes_of({send(1, 7, 5), receive(2, 3, 6), collective(3, 0, 8, "tp")}));
  Diagnostics diagnostics;
  const Inspection inspection = inspect_trace(directory.path("a.3.et"), Dependencies::kBoth, diagnostics);
  CHECK(inspection.graphs[0].summary.bytes_sent == 5);
  CHECK(inspection.graphs[0].summary.bytes_received == 6);
  CHECK(inspection.communicators[0].name == "tp");
  CHECK_FALSE(to_json(inspection).contains("ranks"));
  CHECK_THAT(to_text(inspection), Contains("3 nodes") && Contains("[tp]"));
}

TEST_CASE("communicators without a definition are described by the ranks that call, with a warning") {
  const Trace calls = {collective(1, 0, 64, "tp"), collective(2, 0, 64)};
  const JobFiles files({calls, calls, {compute(1)}});
  Diagnostics diagnostics;
  const Inspection inspection = inspect_job(files.source(), diagnostics);
  REQUIRE(diagnostics.problems().size() == 1);
  CHECK_THAT(to_string(diagnostics.problems()[0]),
             Contains("warning: communicator \"tp\" is not defined; ranks 0-1 call on it") &&
                 Contains("no groups file is given; name one: --groups FILE"));
  CHECK(inspection.communicators_defined == 0);
  CHECK_THAT(to_text(inspection), Contains("2 calling ranks: all_reduce 1 call, 64 B  [tp]") &&
                                      Contains("3 ranks: all_reduce 1 call, 64 B  [world]"));
  const nlohmann::ordered_json json = to_json(inspection);
  CHECK(json["collectives"][0]["members"] == 3);
  CHECK(json["collectives"][1]["callers"] == 2);
  CHECK(lint_job(files.source()).exit_status() == 2);
}

TEST_CASE("inspecting a broken trace throws all its errors") {
  const ScratchDirectory directory;
  directory.write("a.et", bytes_of({send(1, 7, -5), collective(3, 99, 8)}));
  Diagnostics diagnostics;
  try {
    inspect_trace(directory.path("a.et"), Dependencies::kBoth, diagnostics);
    FAIL("no error");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), Contains("negative comm_size") && Contains("unknown comm_type"));
  }
}

TEST_CASE("lint finds nothing in a sound job") {
  const Trace trace = {compute(1), collective(2, 0, 8).data({1})};
  const LintReport report = lint_job(JobFiles({trace, trace}).source());
  CHECK(report.problems.empty());
  CHECK(report.matched);
  CHECK(report.exit_status() == 0);
}

TEST_CASE("warnings alone are not worth a failing exit") {
  const LintReport report = lint_job(JobFiles({{compute(1, 0)}}).source());
  CHECK(report.problems.size() == 1);
  CHECK(report.exit_status() == 0);
}

TEST_CASE("collectives of the only trace are a warning, unless it says that there is one rank") {
  CHECK_THAT(JobFiles({{collective(1, 0, 8), collective(2, 0, 8)}}).problems(),
             Contains("warning: 2 collectives of a single rank take no time") && Contains("job.1.et"));
  const ScratchDirectory directory;
  chakra::GlobalMetadata metadata;
  chakra::AttributeProto& world = *metadata.add_attr();
  world.set_name("world_size");
  world.set_int64_val(1);
  directory.write("job.0.et", bytes_of({collective(1, 0, 8)}, metadata));
  CHECK(lint_job({.prefix = directory.path("job")}).problems.empty());
}

TEST_CASE("lint warns of an all-to-all to which members bring different sizes") {
  const Trace even = {collective(1, chakra::ALL_TO_ALL, 8), collective(2, chakra::ALL_TO_ALL, 64).data({1})};
  const Trace more = {collective(1, chakra::ALL_TO_ALL, 8), collective(2, chakra::ALL_TO_ALL, 96).data({1})};
  CHECK(lint_job(JobFiles({even, even}).source()).problems.empty());
  const LintReport report = lint_job(JobFiles({even, more}).source());
  CHECK_THAT(lint_text(report),
             Contains("warning: 1 of 2 calls on communicator \"world\" are uneven: the members of call "
                      "2, all_to_all, bring 64 to 96 bytes"));
  CHECK(report.exit_status() == 0);
}

TEST_CASE("lint names groups that nobody calls on, loading only says so where nobody calls on any") {
  const Trace trace = {collective(1, 0, 8, "a")};
  const JobFiles one({trace, trace}, R"({"a": [0, 1], "b": [0, 1], "c": [1, 0], "alone": [0]})");
  CHECK(one.problems().empty());
  CHECK_THAT(lint_text(lint_job(one.source())),
             Contains("warning: no rank calls on groups \"b\", \"c\"") && !Contains("alone"));
  const JobFiles none({{collective(1, 0, 8)}, {collective(1, 0, 8)}}, R"({"b": [0, 1]})");
  CHECK_THAT(none.problems(), Contains("warning: no rank calls on group \"b\""));
}

TEST_CASE("lint reports ranks that disagree with status 3, and wrong files with status 2") {
  const LintReport stuck = lint_job(JobFiles({{collective(1, 0, 8)}, {collective(1, 0, 9)}}).source());
  CHECK(stuck.exit_status() == 3);
  REQUIRE(stuck.stuck.has_value());
  CHECK_THAT(stuck.stuck->what(), Contains("of 9 bytes"));
  // Either size may be the wrong one.
  REQUIRE(stuck.stuck->proposals().size() == 2);
  for (const Proposal& proposal : stuck.stuck->proposals()) {
    CHECK(proposal.is_tried);
    REQUIRE(proposal.edits.size() == 1);
    CHECK(proposal.edits[0].kind == "change");
    CHECK(proposal.edits[0].node == 1);
    CHECK_THAT(proposal.edits[0].text, Contains(proposal.edits[0].rank == 0 ? "becomes all_reduce of 9 bytes"
                                                                            : "becomes all_reduce of 8 bytes"));
  }
  const LintReport wrong = lint_job(JobFiles({{collective(1, 0, 8)}, {collective(1, 0, -9)}}).source());
  CHECK(wrong.exit_status() == 2);
  CHECK_FALSE(wrong.matched);
  const ScratchDirectory empty;
  CHECK(lint_job({.prefix = empty.path("none")}).exit_status() == 2);
}

TEST_CASE("lint tells about problems of the dependencies that are not chosen; loading does not") {
  const Trace trace = {TraceNodeBuilder(1, "a", chakra::COMP_NODE).duration(1).ctrl({2, 9}),
                       TraceNodeBuilder(2, "b", chakra::COMP_NODE).duration(1).data({1}).ctrl({2})};
  const ScratchDirectory directory;
  directory.write("a.et", bytes_of(trace));
  const LintReport data = lint_trace(directory.path("a.et"), Dependencies::kData);
  CHECK(data.exit_status() == 0);
  CHECK_THAT(lint_text(data), Contains("warning") && Contains("`ctrl` alone: 1 unknown, 1 self, 0 nodes unreachable") &&
                                  Contains("`both`: 1 unknown, 1 self, 2 nodes unreachable because of cycles"));
  CHECK(problems_of(trace, Dependencies::kData).empty());
  const LintReport both = lint_trace(directory.path("a.et"), Dependencies::kBoth);
  CHECK(both.exit_status() == 2);
  CHECK_THAT(lint_text(both), Contains("cycle") && Contains("--dependencies data"));
}

TEST_CASE("lint of a missing or unreadable file is a problem, not an exception") {
  CHECK(lint_trace("/nonexistent/trace.et", Dependencies::kBoth).exit_status() == 2);
  const ScratchDirectory directory;
  directory.write("a.et", "\x05\x01");
  CHECK(lint_trace(directory.path("a.et"), Dependencies::kBoth).exit_status() == 2);
}
