// SPDX-License-Identifier: MIT
#include "workload/tools/writer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "core/error.h"
#include "core/files/output_file.h"
#include "core/files/read_file.h"
#include "tests/workload/chakra/contents.h"
#include "tests/workload/graph/grid_job.h"
#include "tests/workload/traces/mixed_job.h"
#include "tests/workload/traces/same_job.h"
#include "tests/workload/traces/trace_builder.h"
#include "workload/graph/builder.h"
#include "workload/traces/files.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

Job load(const ChakraSource& source) {
  Diagnostics diagnostics;
  return load_chakra_job(source, diagnostics);
}

// One rank with these nodes.
Job job_of(const std::vector<GraphNode>& nodes, const std::vector<NodeLabel>& labels) {
  GraphBuilder builder;
  for (const GraphNode& node : nodes) builder.add(node);
  Job job;
  job.graphs.push_back(std::move(builder).build());
  job.labels.emplace_back(labels);
  job.communicators = {{"world", {RankId{0}}}};
  job.ranks.emplace_back();
  return job;
}

Job small_job() { return job_of({{.kind = NodeKind::kCompute, .duration = Duration(5)}}, {{1, "mm"}}); }

// Contents of the files in a folder, by name; links are left out.
std::map<std::string, std::string> files_in(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (!entry.is_symlink())
      files[entry.path().filename().string()] = read_file(entry.path().string(), {.is_noted = false});
  return files;
}

std::string writing(const Job& job, const std::filesystem::path& directory, const std::string& stem,
                    TraceEach each = TraceEach::kRank) {
  try {
    write_job(job, directory, stem, each);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

bool sends_to_itself(const Job& job) {
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    for (const NodeId node : job.graph(RankId{rank}).transfers())
      if (job.peer(RankId{rank}, node) == RankId{rank}) return true;
  return false;
}

std::optional<Duration> duration_of(const TraceNodeBuilder& node) {
  const RankTrace trace = testing::read({node});
  INFO(problems_of(trace));
  REQUIRE(trace.graph);
  return trace.graph->duration(NodeId{0});
}

}  // namespace

TEST_CASE("jobs with everything a node can hold are the same after writing and reading") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    const ScratchDirectory directory;
    const Job job = random_mixed_job(random, 2 + static_cast<std::uint32_t>(i) % 4, 1 + static_cast<std::uint32_t>(i));
    const ChakraSource source = write_job(job, directory.path("out"), "mixed");
    const Job again = load(source);
    REQUIRE(difference(job, again) == "");
    for (const Problem& problem : again.warnings)
      CHECK_THAT(problem.message, Contains("collectives of zero bytes") || Contains("no rank calls"));
  }
}

TEST_CASE("jobs of a grid of ranks are the same after writing and reading, and write the same files again") {
  std::mt19937_64 random(2);
  int compared = 0;
  for (int i = 0; i < 200; ++i) {
    const Job job = random_grid_job(random);
    if (sends_to_itself(job)) continue;  // no trace may say that
    ++compared;
    const ScratchDirectory directory;
    const Job once = load(write_job(job, directory.path("a"), "grid"));
    const Job twice = load(write_job(once, directory.path("b"), "grid"));
    REQUIRE(difference(once, twice) == "");
    REQUIRE(difference(job, once) == "");
    REQUIRE(once.graphs == twice.graphs);
    CHECK(files_in(directory.path("a")) == files_in(directory.path("b")));
  }
  CHECK(compared > 50);
}

TEST_CASE("ranks that are alike share a trace, and the job that is read is the same") {
  std::mt19937_64 random(6);
  int compared = 0, fewer = 0;
  for (int i = 0; i < 200; ++i) {
    const bool is_grid = i % 2 == 0;
    const Job job =
        is_grid ? random_grid_job(random) : random_mixed_job(random, 2 + static_cast<std::uint32_t>(i) % 5, 20);
    if (sends_to_itself(job)) continue;  // no trace may say that
    ++compared;
    const ScratchDirectory directory;
    const Job again = load(write_job(job, directory.path("a"), "x", TraceEach::kRole));
    REQUIRE(difference(job, again) == "");
    const std::size_t files = list_trace_files(directory.path("a/x")).size();
    CHECK(std::filesystem::exists(directory.path("a/x.roles.json")) == (files < job.ranks.size()));
    if (files < job.ranks.size()) ++fewer;
    // Ranks that are read may be alike where those written were not, as of tags that are all 0; not any further.
    const Job third = load(write_job(again, directory.path("b"), "x", TraceEach::kRole));
    REQUIRE(difference(job, third) == "");
    CHECK(list_trace_files(directory.path("b/x")).size() <= files);
    write_job(third, directory.path("c"), "x", TraceEach::kRole);
    CHECK(files_in(directory.path("b")) == files_in(directory.path("c")));
  }
  CHECK(compared > 100);
  CHECK(fewer > 20);
}

TEST_CASE("a file of roles names what each rank calls groups and peers, in the order of the trace") {
  // Four ranks in pairs: each reduces with its neighbour, then with all, and sends to the rank two further on.
  GraphBuilder builder;
  builder.add({.kind = NodeKind::kCollective, .bytes = Bytes(8), .slot = 1});
  builder.add({.kind = NodeKind::kCollective, .bytes = Bytes(8), .slot = 0});
  builder.add({.kind = NodeKind::kSend, .bytes = Bytes(8), .slot = 0});
  builder.add({.kind = NodeKind::kReceive, .bytes = Bytes(8), .slot = 0});
  Job job;
  job.graphs.push_back(std::move(builder).build());
  job.labels.emplace_back(std::vector<NodeLabel>{{0, "pair"}, {1, "all"}, {2, "to"}, {3, "from"}});
  const std::vector<RankId> all = {RankId{0}, RankId{1}, RankId{2}, RankId{3}};
  job.communicators = {{"world", all}, {"even", {all[0], all[1]}}, {"odd \"pair\"", {all[2], all[3]}}};
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    job.ranks.push_back(
        {.graph = 0, .communicators = {GroupId(0), GroupId(1 + rank / 2)}, .peers = {RankId((rank + 2) % 4)}});
  const ScratchDirectory directory;
  const ChakraSource source = write_job(job, directory.path("out"), "x", TraceEach::kRole);
  CHECK(read_file(directory.path("out/x.roles.json")) == R"({"schema": "orrery.roles/1", "ranks": [
  {"trace": 0, "groups": ["even",""], "peers": [2]},
  {"trace": 0, "groups": ["even",""], "peers": [3]},
  {"trace": 0, "groups": ["odd \"pair\"",""], "peers": [0]},
  {"trace": 0, "groups": ["odd \"pair\"",""], "peers": [1]}
]}
)");
  CHECK(list_trace_files(source.prefix).size() == 1);
  CHECK(difference(job, load(source)) == "");
  // A trace for each rank in the same place, and the other way round, would be read as part of another job.
  CHECK_THAT(writing(job, directory.path("out"), "x"), Contains("x.roles.json: error: says which ranks share traces"));
  write_job(job, directory.path("each"), "x");
  CHECK_THAT(writing(job, directory.path("each"), "x", TraceEach::kRole),
             Contains("x.1.et: error: is a trace of the same name") && Contains("rank 1 shares that of rank 0"));
}

TEST_CASE("ranks share graphs after reading as they did before writing") {
  std::mt19937_64 random(3);
  const Job job = random_mixed_job(random, 6, 40);
  const ScratchDirectory directory;
  const Job again = load(write_job(job, directory.path("out"), "x"));
  CHECK(again.labels.size() == 2);  // odd and even ranks
  // Peer slots are numbered by first use now, so that no more graphs come out than went in.
  CHECK(again.graphs.size() <= job.graphs.size());
}

TEST_CASE("a duration is exact to the picosecond, and never zero for other readers") {
  const std::vector<std::pair<std::int64_t, std::uint64_t>> cases = {
      {1, 1},  // rounds to 0, which would mean unknown
      {499'999, 1},   {1'000'000, 1},
      {1'499'999, 1}, {1'500'000, 2},
      {2'000'001, 2}, {INT64_MAX, 9'223'372'036'854},  // 9'223'372'036'854.78 us: the next one is beyond simulated time
  };
  for (const auto& [picos, micros] : cases) {
    const ScratchDirectory directory;
    const Job job = job_of({{.kind = NodeKind::kCompute, .duration = Duration(picos)}}, {{0, "mm"}});
    const ChakraSource source = write_job(job, directory.path("out"), "x");
    const test::ChakraContents contents = test::read_chakra("x", read_file(source.prefix + ".0.et"));
    CHECK(contents.nodes[0].duration_micros() == micros);
    CHECK(load(source).graphs[0].duration(NodeId{0}) == Duration(picos));
  }
}

TEST_CASE("duration_picos counts only while it agrees with duration_micros") {
  CHECK(duration_of(testing::compute(1, 7).with("duration_picos", 6'600'000)) == Duration(6'600'000));
  CHECK(duration_of(testing::compute(1, 7).with("duration_picos", 8'000'000)) == Duration(8'000'000));
  CHECK(duration_of(testing::compute(1, 0).with("duration_picos", 300)) == Duration(300));
  // Somebody scaled the microseconds.
  for (const std::int64_t picos : {std::int64_t{8'000'001}, std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    const TraceNodeBuilder node = testing::compute(1, 7).with("duration_picos", picos);
    CHECK(duration_of(node) == Duration(7'000'000));
    CHECK_THAT(problems_of({node}), Contains("warning: duration_picos is not what duration_micros says"));
  }
  CHECK_THAT(problems_of({testing::compute(1, 7).text("duration_picos", "7")}), Contains("error"));
}

TEST_CASE("a node that takes no time by intent is free without a warning") {
  const ScratchDirectory directory;
  const Job job = job_of({{}, {.kind = NodeKind::kCompute}, {.kind = NodeKind::kHostCompute}}, {});
  const Job again = load(write_job(job, directory.path("out"), "x"));
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(again.graphs[0].kind(NodeId{i}) == NodeKind::kNoOp);
  CHECK(again.warnings.empty());
}

TEST_CASE("labels that are too few or not ascending give way to positions") {
  for (const std::vector<NodeLabel>& labels : {std::vector<NodeLabel>{{9, "a"}, {3, "b"}}, {{4, "a"}}, {}}) {
    const ScratchDirectory directory;
    const Job again = load(write_job(job_of({{.kind = NodeKind::kCompute, .duration = Duration(1)}, {}}, labels),
                                     directory.path("out"), "x"));
    CHECK(again.labels[0].trace_id(NodeId{0}) == 0);
    CHECK(again.labels[0].trace_id(NodeId{1}) == 1);
    CHECK(again.graphs[0].kind(NodeId{0}) == NodeKind::kCompute);
    if (!labels.empty()) CHECK(again.labels[0].name(NodeId{0}) == "a");
  }
}

TEST_CASE("names that are not UTF-8 are written as text that is") {
  const ScratchDirectory directory;
  const Job again = load(write_job(job_of({{}}, {{0, "a\xFFz\xC3"}}), directory.path("out"), "x"));
  CHECK(again.labels[0].name(NodeId{0}) == "a\xEF\xBF\xBDz\xEF\xBF\xBD");
}

TEST_CASE("groups are written under numbers, and keep numbers that they have") {
  std::mt19937_64 random(4);
  Job job = random_mixed_job(random, 2, 30);
  const ScratchDirectory directory;
  write_job(job, directory.path("a"), "x");
  CHECK(read_file(directory.path("a/groups.json")) == "{\n  \"1\": [1, 0],\n  \"2\": [0, 1]\n}\n");
  job.communicators[1].name = "12";
  job.communicators[2].name = "7";
  const Job again = load(write_job(job, directory.path("b"), "x"));
  CHECK(read_file(directory.path("b/groups.json")) == "{\n  \"12\": [1, 0],\n  \"7\": [0, 1]\n}\n");
  CHECK(difference(job, again) == "");
  // "07", "0" and a number beyond an int are none that ASTRA-sim would find again.
  for (const char* name : {"07", "0", "99999999999", "-1", "12"}) {
    job.communicators[2].name = name;
    const std::string folder = directory.path(std::string("c") + name);
    write_job(job, folder, "x");
    CHECK(read_file(folder + "/groups.json") == "{\n  \"1\": [1, 0],\n  \"2\": [0, 1]\n}\n");
  }
}

TEST_CASE("a job of the world alone has an empty groups file") {
  const ScratchDirectory directory;
  const ChakraSource source = write_job(small_job(), directory.path("out"), "x");
  CHECK(read_file(*source.groups) == "{}\n");
  CHECK(load(source).warnings.empty());
}

TEST_CASE("a description names a communicator only where it is the only one") {
  const auto names = [](std::string_view first, std::string_view second, std::string_view third) {
    const Job job =
        JobFiles({{collective(1, 0, 8, "1").text("pg_desc", first), collective(2, 0, 8, "2").text("pg_desc", second),
                   collective(3, 0, 8, "1").text("pg_desc", third)}},
                 R"({"1": [0], "2": [0]})")
            .load();
    return std::pair(job.communicators[1].name, job.communicators[2].name);
  };
  CHECK(names("tensor0", "data1", "tensor0") == std::pair<std::string, std::string>("tensor0", "data1"));
  CHECK(names("tensor", "tensor", "tensor") == std::pair<std::string, std::string>("1", "2"));
  CHECK(names("2", "data1", "2") == std::pair<std::string, std::string>("1", "data1"));
  CHECK(names("", "world", "") == std::pair<std::string, std::string>("1", "2"));
}

TEST_CASE("other traces of the same name are left alone, and nothing is written") {
  for (const char* other : {"x.1.et", "x.0.json", "x.0.et.gz"}) {
    const ScratchDirectory directory;
    directory.write(other, "");
    CHECK_THAT(writing(small_job(), directory.path(""), "x"), Contains(other) && Contains("of another job"));
    CHECK(files_in(directory.path("")).size() == 1);
  }
  const ScratchDirectory directory;
  directory.write("y.1.et", "");
  CHECK(writing(small_job(), directory.path(""), "x").empty());
  CHECK(writing(small_job(), directory.path(""), "x").empty());  // its own files are replaced
}

TEST_CASE("what cannot be written is an error that names the file and the reason") {
  const ScratchDirectory directory;
  directory.write("file", "");
  CHECK_THAT(writing(small_job(), directory.path("file"), "x"), Contains("/file: error") && Contains("director"));
  CHECK_THAT(writing(small_job(), directory.path("file/below"), "x"),
             Contains("/file/below: error: cannot be created"));
  CHECK_THAT(writing(small_job(), directory.path(""), ""), Contains("invalid file name"));
  CHECK_THAT(writing(small_job(), directory.path(""), "a/b"), Contains("invalid file name"));
  std::filesystem::create_directory(directory.path("groups.json"));
  CHECK_THAT(writing(small_job(), directory.path(""), "x"),
             Contains("groups.json: error: cannot be replaced: Is a directory"));
}

TEST_CASE("a job that cannot be written to its end leaves nothing that looks like a whole one") {
  if (!std::filesystem::exists("/dev/full")) {
    WARN("SKIPPED: no /dev/full");
    return;
  }
  std::mt19937_64 random(5);
  const Job job = random_mixed_job(random, 3, 30);
  for (const char* full : {"groups.json", "x.0.et", "x.1.et", "x.2.et"}) {
    INFO(full);
    const ScratchDirectory directory;
    const auto fill_disk = [&] {
      std::filesystem::create_symlink("/dev/full", directory.path(full));
      CHECK_THAT(writing(job, directory.path(""), "x"),
                 Contains(std::string("/") + full + ": error: cannot be written: No space left"));
      std::filesystem::remove(directory.path(full));
    };
    fill_disk();
    CHECK(files_in(directory.path("")).empty());
    // What stood there before still does.
    REQUIRE(writing(small_job(), directory.path(""), "x").empty());
    std::filesystem::remove(directory.path(full));
    const auto before = files_in(directory.path(""));
    fill_disk();
    CHECK(files_in(directory.path("")) == before);
  }
}

TEST_CASE("where files cannot get their names, the one that all wait for is gone") {
  const ScratchDirectory directory;
  directory.write("first", "old");
  {
    OutputFiles files;
    for (const char* name : {"first", "second"})
      files.add(directory.path(name), [](OutputFile& file) { file.write("new"); });
    CHECK(read_file(directory.path("first"), {.is_noted = false}) == "old");
    CHECK(!std::filesystem::exists(directory.path("second")));
    std::filesystem::create_directories(directory.path("second/in the way"));
    CHECK_THROWS_AS(files.commit(directory.path("first")), InputError);
  }
  CHECK(!std::filesystem::exists(directory.path("first")));
  std::filesystem::remove_all(directory.path("second"));
  CHECK(files_in(directory.path("")).empty());
}
