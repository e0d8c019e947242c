// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "tests/workload/traces/trace_builder.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

std::vector<RankId> ranks(std::initializer_list<std::uint32_t> list) {
  std::vector<RankId> result;
  for (const std::uint32_t rank : list) result.push_back(RankId{rank});
  return result;
}

const Trace kOneNode = {compute(1)};

std::string loading(const ChakraSource& source) {
  Diagnostics diagnostics;
  try {
    load_chakra_job(source, diagnostics);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

chakra::Node process_groups_node(std::uint64_t id, std::string_view values) {
  return TraceNodeBuilder(id, "## process_group:init ##", chakra::METADATA_NODE).inputs(values);
}

}  // namespace

TEST_CASE("ranks that do the same in different groups share one graph") {
  // Two tensor pairs; ids, names, peers, tags and communicators differ between the ranks.
  const auto rank = [](std::uint64_t first_id, std::string_view group, std::int64_t peer, std::int64_t tag) {
    return Trace{compute(first_id), collective(first_id + 1, 0, 64, group).data({first_id}),
                 send(first_id + 2, peer, 8, tag), receive(first_id + 3, peer, 8, tag)};
  };
  const Job job = JobFiles({rank(1, "a", 2, 0), rank(10, "a", 3, 1), rank(20, "b", 0, 0), rank(30, "b", 1, 1)},
                           R"({"a": [1, 0], "b": [2, 3]})")
                      .load();
  REQUIRE(job.graphs.size() == 1);
  CHECK(job.labels.size() == 4);
  CHECK(job.communicators.size() == 3);
  CHECK(job.communicators[0].name == "world");
  CHECK(job.communicators[0].members == ranks({0, 1, 2, 3}));
  CHECK(job.communicators[1].members == ranks({1, 0}));
  CHECK(job.communicator(RankId{3}, NodeId{1}) == GroupId{2});
  CHECK(job.peer(RankId{1}, NodeId{2}) == RankId{3});
  CHECK(job.tag(RankId{1}, NodeId{3}) == 1);
  CHECK(job.tag(RankId{0}, NodeId{3}) == 0);
  CHECK(job.describe(RankId{2}, NodeId{0}) == "node 20 \"compute\"");
  CHECK(job.warnings.empty());
}

TEST_CASE("ranks with different work do not share a graph") {
  CHECK(JobFiles({{compute(1, 5)}, {compute(1, 6)}, {compute(1, 5)}}).load().graphs.size() == 2);
}

TEST_CASE("byte-identical files still get the checks of their own rank") {
  const Trace sends_to_one = {send(1, 1, 8)};
  CHECK_THAT(JobFiles({sends_to_one, sends_to_one}).problems(),
             Contains("comm_dst is the rank itself: node 1 \"send\" on rank 1"));
}

TEST_CASE("traces may be gzipped, JSON or plain, each rank as it likes") {
  JobFiles files({kOneNode, kOneNode});
  std::filesystem::remove(files.directory().path("job.1.et"));
  files.directory().write(
      "job.1.json",
      R"({"version": "0.0.4"}{"id": "1", "name": "compute", "type": "COMP_NODE", "durationMicros": "1"})");
  CHECK(files.load().graphs.size() == 1);
}

TEST_CASE("progress is reported for every file") {
  std::vector<std::size_t> seen;
  Diagnostics diagnostics;
  const JobFiles files({kOneNode, kOneNode, kOneNode});
  load_chakra_job(files.source(), diagnostics, [&](std::size_t done, std::size_t total) {
    CHECK(total == 3);
    seen.push_back(done);
  });
  CHECK(seen == std::vector<std::size_t>{1, 2, 3});
}

TEST_CASE("a missing rank is an error that names it and the ranks there are") {
  const JobFiles files({kOneNode, kOneNode, kOneNode, kOneNode, kOneNode});
  std::filesystem::remove(files.directory().path("job.2.et"));
  CHECK_THAT(files.problems(), Contains("job.2.et: error: no trace of rank 2: found ranks 0-1 and 3-4"));
}

TEST_CASE("a set that starts at another rank is an error") {
  const JobFiles files({kOneNode, kOneNode, kOneNode});
  for (const int rank : {0, 1}) std::filesystem::remove(files.directory().path("job." + std::to_string(rank) + ".et"));
  CHECK_THAT(files.problems(), Contains("no trace of rank 0: found rank 2"));
}

TEST_CASE("a prefix without traces is an error that says which prefixes there are") {
  const JobFiles files({kOneNode});
  CHECK_THAT(loading({.prefix = files.directory().path("jobs")}), Contains("no trace of rank 0, nor of any other") &&
                                                                      Contains("prefixes in the same folder:") &&
                                                                      Contains("/job"));
  CHECK_THAT(loading({.prefix = files.directory().path("job.0.et")}), Contains("a prefix ends before the rank"));
  CHECK_THAT(loading({.prefix = files.directory().path("none/job")}), Contains("no trace of rank 0"));
}

TEST_CASE("two traces of one rank are an error") {
  const JobFiles files({kOneNode});
  files.directory().write("job.0.json", "{}");
  CHECK_THAT(files.problems(), Contains("rank 0 has two traces: job.0.et and job.0.json"));
}

TEST_CASE("files that only look like rank files are not ranks") {
  const JobFiles files({kOneNode});
  for (const std::string name : {"job.01.et", "job.x.et", "job.-1.et", "job..et", "job.1.et.bak", "xjob.1.et"})
    files.directory().write(name, "x");
  CHECK(files.load().ranks.size() == 1);
  files.directory().write("job.99999999999.et", "x");
  CHECK_THAT(files.problems(), Contains("no trace of rank 1"));
}

TEST_CASE("an unreadable trace is an error, and the other ranks are still checked") {
  const JobFiles files({kOneNode, kOneNode, {collective(3, 0, -1)}});
  files.directory().write("job.1.et", "\x05");
  CHECK_THAT(files.problems(), Contains("job.1.et: error") && Contains("negative comm_size: node 3"));
}

TEST_CASE("the same problem on many ranks is one problem with the list of ranks") {
  const Trace bad = {TraceNodeBuilder(4, "x", chakra::COMM_COLL_NODE).with("comm_type", 0)};
  const Trace other = {TraceNodeBuilder(5, "y", chakra::COMM_COLL_NODE).with("comm_type", 0)};
  const std::string problems = JobFiles({bad, bad, kOneNode, other, bad}).problems();
  CHECK_THAT(
      problems,
      Contains(
          "job.0.et: error: collective without comm_size: node 4 \"x\", node 5 \"y\" (4 in all) [ranks 0-1 and 3-4]"));
  CHECK(std::count(problems.begin(), problems.end(), '\n') == 2);
}

TEST_CASE("the world is meant by no name, by an empty one, and by \"0\" unless a group is called that") {
  const Trace trace = {collective(1, 0, 8), collective(2, 0, 8, "0").data({1}),
                       TraceNodeBuilder(collective(3, 0, 8)).text("pg_name", "").data({2})};
  const Job job = JobFiles({trace, trace}).load();
  CHECK(job.communicators.size() == 1);
  // One communicator: its calls are counted together.
  CHECK(job.graphs.size() == 1);
  CHECK(job.graph(RankId{0}).calls(0).size() == 3);
  CHECK(job.communicator(RankId{1}, NodeId{1}) == GroupId{0});

  const Job named = JobFiles({trace, trace}, R"({"0": [1, 0]})").load();
  CHECK(named.communicator(RankId{1}, NodeId{1}) == GroupId{1});
  CHECK(named.graph(RankId{0}).calls(0).size() == 2);
}

TEST_CASE("a communicator that is not defined is an error that lists those that are") {
  const Trace trace = {collective(9, 0, 8, "2")};
  CHECK_THAT(JobFiles({trace, trace}, R"({"1": [0, 1], "tp": [0, 1]})").problems(),
             Contains("error: communicator \"2\" is not defined: node 9") && Contains("groups.json: \"1\", \"tp\"") &&
                 Contains("[ranks 0-1]"));
  CHECK_THAT(JobFiles({trace, trace}).problems(),
             Contains("communicator \"2\" is not defined") && Contains("no groups file is given"));
  CHECK_THAT(JobFiles({{collective(9, 0, 8, "tp_grop")}}, R"({"tp_group": [0]})").problems(),
             Contains("did you mean \"tp_group\"?"));
}

TEST_CASE("a groups file next to the traces is not picked unless it is named") {
  const Trace trace = {collective(9, 0, 8, "1")};
  const JobFiles files({trace});
  files.directory().write("comm_group.json", R"({"1": [0]})");
  CHECK_THAT(files.problems(), Contains("no groups file is given"));
}

TEST_CASE("unused groups and groups of one rank are fine") {
  const Trace alone = {collective(1, 0, 8, "3")};
  const Job job = JobFiles({alone, kOneNode}, R"({"1": [0, 1], "3": [0], "4": [1]})").load();
  CHECK(job.communicators.size() == 4);
  CHECK(job.communicators[2].members == ranks({0}));
}

TEST_CASE("a rank that calls on a group it is no member of is an error") {
  const Trace trace = {collective(9, 0, 8, "1")};
  CHECK_THAT(JobFiles({trace, trace, trace}, R"({"1": [0, 1]})").problems(),
             Contains("job.2.et: error: collective on communicator \"1\" by a rank that is not a member: node 9 "
                      "\"collective\" on rank 2"));
}

TEST_CASE("a wrong or missing groups file is an error, and does not make every communicator unknown") {
  const Trace trace = {collective(9, 0, 8, "1")};
  const std::string problems = JobFiles({trace}, R"({"1": [0, 1]})").problems();
  CHECK_THAT(problems, Contains("groups.json:1:11: error: group \"1\": there is no trace of rank 1: ") &&
                           Contains("job has that of rank 0") && !Contains("not defined"));
  const JobFiles files({trace});
  CHECK_THAT(loading({.prefix = files.source().prefix, .groups = files.directory().path("missing.json")}),
             Contains("missing.json") && !Contains("not defined"));
}

TEST_CASE("process groups in the traces define communicators") {
  const std::string_view groups = R"(['[{"pg_name": "0", "ranks": []}, {"pg_name": "5", "ranks": [1, 0]}]'])";
  const Trace trace = {process_groups_node(1, groups), collective(2, 0, 8, "5"), collective(3, 0, 8, "0"),
                       collective(4, 0, 8)};
  const Job job = JobFiles({trace, trace}).load();
  REQUIRE(job.communicators.size() == 3);
  CHECK(job.communicators[1].name == "0");
  CHECK(job.communicators[1].members == ranks({0, 1}));
  CHECK(job.communicators[2].members == ranks({1, 0}));
  CHECK(job.communicator(RankId{0}, NodeId{1}) == GroupId{2});
  CHECK(job.communicator(RankId{0}, NodeId{2}) == GroupId{1});
  CHECK(job.communicator(RankId{0}, NodeId{3}) == GroupId{0});
  CHECK(job.warnings.empty());
}

TEST_CASE("a declaration of process groups without a list is a warning") {
  for (const std::string_view values : {"", " ", "[]", "['[]']"}) {
    const JobFiles files({{process_groups_node(1, values), collective(2, 0, 8)}});
    CHECK_THAT(files.problems(),
               Contains("warning: nodes that declare process groups list none in their inputs: node 1"));
    CHECK(files.load().communicators.size() == 1);
  }
  CHECK_THAT(JobFiles({{process_groups_node(1, ""), collective(2, 0, 8, "7")}}).problems(),
             Contains("error: communicator \"7\" is not defined"));
}

TEST_CASE("a process group of the whole world says how many ranks that has") {
  const auto job = [](std::string_view size) {
    const std::string groups = R"(['[{"pg_name": "0", "ranks": [], "group_size": )" + std::string(size) + "}]']";
    const Trace trace = {process_groups_node(1, groups), collective(2, 0, 8, "0")};
    return JobFiles({trace, trace}).problems();
  };
  CHECK(job("2").empty());
  CHECK_THAT(job("3"), Contains("error: process group \"0\" is of a world of 3: there is no trace of rank 2: ") &&
                           Contains("job has those of ranks 0-1") && Contains("[ranks 0-1]"));
  CHECK_THAT(job("1"), Contains("error: process group \"0\" is of a world of 1: ") && Contains("job has traces of 2"));
}

TEST_CASE("a trace that says how many ranks there are is not read as one of fewer, or of more") {
  const auto job = [](std::int64_t world) {
    chakra::GlobalMetadata metadata;
    chakra::AttributeProto& attribute = *metadata.add_attr();
    attribute.set_name("world_size");
    attribute.set_int64_val(world);
    const JobFiles files({{collective(1, 0, 8)}, {collective(1, 0, 8)}});
    for (const char* name : {"job.0.et", "job.1.et"})
      files.directory().write(name, bytes_of({collective(1, 0, 8)}, metadata));
    return files.problems();
  };
  CHECK(job(2).empty());
  CHECK_THAT(job(3), Contains("job.0.et: error: the trace is of a world of 3: there is no trace of rank 2: "));
  CHECK_THAT(job(1), Contains("job.0.et: error: the trace is of a world of 1: ") && Contains("has traces of 2"));
}

TEST_CASE("process groups that differ between traces are an error, unless the groups file settles it") {
  const auto trace = [](std::string_view members) {
    return Trace{process_groups_node(1, "[{'pg_name': '5', 'ranks': " + std::string(members) + "}]"),
                 collective(2, 0, 8, "5")};
  };
  const std::vector<Trace> traces = {trace("[0, 1]"), trace("[1, 0]")};
  CHECK_THAT(JobFiles(traces).problems(),
             Contains("job.1.et: error: process group \"5\" has other ranks than in another trace"));
  CHECK(JobFiles(traces, R"({"5": [0, 1]})").problems().empty());
  CHECK_THAT(JobFiles({trace("[0, 2]")}).problems(),
             Contains("process group \"5\": there is no trace of rank 2: ") && Contains("job has that of rank 0"));
  CHECK_THAT(JobFiles({trace("[0, 'x']")}).problems(),
             Contains("node 1 \"## process_group:init ##\"") && Contains("invalid rank"));
}

TEST_CASE("calls over some dimensions are calls on a communicator of their own") {
  const Trace trace = {collective(1, 0, 8), collective(2, 0, 8).flags("involved_dim", {true, false}),
                       collective(3, 0, 8).flags("involved_dim", {false, true}),
                       collective(4, 0, 8).flags("involved_dim", {true, false})};
  const Job job = JobFiles({trace, trace}).load();
  REQUIRE(job.communicators.size() == 3);
  CHECK(job.communicators[0].involved == std::nullopt);
  CHECK(job.communicators[1].involved == std::vector<bool>{true, false});
  CHECK(job.communicators[1].members == ranks({0, 1}));
  CHECK(job.communicators[1].name == "world");
  CHECK(job.communicators[2].involved == std::vector<bool>{false, true});
  for (const std::uint32_t rank : {0u, 1u}) {
    CHECK(job.communicator(RankId{rank}, NodeId{0}) == GroupId{0});
    CHECK(job.communicator(RankId{rank}, NodeId{1}) == GroupId{1});
    CHECK(job.communicator(RankId{rank}, NodeId{2}) == GroupId{2});
    CHECK(job.communicator(RankId{rank}, NodeId{3}) == GroupId{1});
    CHECK(job.graph(RankId{rank}).call_index(NodeId{3}) == 1);
  }
  // All of them, however many there are: no restriction.
  const Job all = JobFiles({{collective(1, 0, 8).flags("involved_dim", {true, true}), collective(2, 0, 8)}}).load();
  CHECK(all.communicators.size() == 1);
  CHECK_THAT(JobFiles({{collective(1, 0, 8).with("involved_dim", 1)}}).problems(),
             Contains("attribute involved_dim is int64 1, expected a list of bools, or of integers that are 0 or 1"));
}

TEST_CASE("ids and names say which calls belong together where a dependency changes one rank's order") {
  const auto calls = [](bool first_waits, const char* name) {
    TraceNodeBuilder first = collective(1, 0, 8), second = collective(2, 0, 8);
    if (first_waits) first.data({3});
    if (*name != 0)
      second = TraceNodeBuilder(2, name, chakra::COMM_COLL_NODE).with("comm_type", 0).with("comm_size", 8);
    return Trace{first, second, collective(3, 0, 8)};
  };
  const auto order = [](const Job& job, std::uint32_t rank) {
    std::vector<std::uint64_t> ids;
    for (const NodeId node : job.graph(RankId{rank}).calls(0))
      ids.push_back(job.labels_of(RankId{rank}).trace_id(node));
    return ids;
  };
  using Ids = std::vector<std::uint64_t>;
  const Job job = JobFiles({calls(false, ""), calls(true, ""), calls(false, "")}).load();
  for (const std::uint32_t rank : {0u, 1u, 2u}) CHECK(order(job, rank) == Ids{1, 2, 3});
  CHECK(job.ranks[0].graph == job.ranks[2].graph);
  CHECK(job.graph(RankId{1}).call_index(NodeId{0}) == 0);
  // All ranks alike: there is nothing to settle.
  const Job alike = JobFiles({calls(true, ""), calls(true, "")}).load();
  CHECK(order(alike, 0) == Ids{2, 3, 1});
  // Other names: the ids may mean something else on each rank.
  CHECK(order(JobFiles({calls(false, ""), calls(true, "other")}).load(), 1) == Ids{2, 3, 1});
}

TEST_CASE("peers out of range, the rank itself, and a wrong own rank are errors naming the node") {
  CHECK_THAT(JobFiles({{send(4, 2, 8)}, kOneNode}).problems(),
             Contains("comm_dst out of range; there are 2 ranks: node 4 \"send\" (2)"));
  CHECK_THAT(JobFiles({{receive(4, -1, 8)}, kOneNode}).problems(),
             Contains("comm_src out of range") && Contains("node 4"));
  CHECK_THAT(JobFiles({{receive(4, 0, 8)}, kOneNode}).problems(),
             Contains("comm_src is the rank itself: node 4 \"receive\" on rank 0"));
  CHECK_THAT(JobFiles({{send(4, 1, 8).with("comm_src", 1)}, kOneNode}).problems(),
             Contains("comm_src is not the rank whose trace this is: node 4 \"send\" on rank 0 (1)"));
  CHECK(JobFiles({{send(4, 1, 8).with("comm_src", 0)}, kOneNode}).problems().empty());
}

TEST_CASE("a root is a global rank and must be a member; without one it is the first member") {
  const auto trace = [](std::int64_t root) {
    return Trace{collective(1, chakra::BROADCAST, 8, "1").with("root", root)};
  };
  const std::string_view groups = R"({"1": [2, 0]})";
  const Job job = JobFiles({trace(0), kOneNode, trace(0)}, groups).load();
  CHECK(job.root(RankId{0}, NodeId{0}) == 1);  // rank 0 is the second member
  const Job first = JobFiles({trace(-1), kOneNode, trace(-1)}, groups).load();
  CHECK(first.root(RankId{0}, NodeId{0}) == 0);
  CHECK_THAT(JobFiles({trace(1), kOneNode, trace(1)}, groups).problems(),
             Contains("root that is not a member of the communicator: node 1") && Contains("rank 1 in \"1\""));
}

TEST_CASE("an error in one file is thrown after all files were read") {
  const JobFiles files({{collective(1, 0, -1)}, {collective(2, 77, 1)}});
  const std::string what = loading(files.source());
  CHECK_THAT(what, Contains("negative comm_size") && Contains("unknown comm_type"));
}

TEST_CASE("warnings stay with the job") {
  const Job job = JobFiles({{compute(1, 0)}, {compute(1, 0)}}).load();
  REQUIRE(job.warnings.size() == 1);
  CHECK_THAT(to_string(job.warnings[0]), Contains("nodes with neither a duration") && Contains("[ranks 0-1]"));
}
