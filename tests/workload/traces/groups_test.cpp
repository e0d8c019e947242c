// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>

#include "core/error.h"
#include "workload/traces/groups.h"

using namespace orrery;
using namespace orrery::workload;
using Catch::Matchers::Contains;

namespace {

std::vector<CommunicatorGroup> good(std::string_view text, std::uint32_t ranks = 8) {
  Diagnostics diagnostics;
  const std::vector<CommunicatorGroup> groups = read_groups("g.json", text, {"w/rank", ranks}, diagnostics);
  CHECK_NOTHROW(diagnostics.throw_if_errors());
  return groups;
}

std::string problems(std::string_view text, std::uint32_t ranks = 8) {
  Diagnostics diagnostics;
  read_groups("g.json", text, {"w/rank", ranks}, diagnostics);
  std::string all;
  for (const Problem& problem : diagnostics.problems())
    all += to_string({problem.severity, problem.where, problem.message, {}}) + "\n";
  return all;
}

std::vector<ProcessGroup> process_groups(std::string_view values) {
  return read_process_groups({"t.et", 0, 0}, "node 1 \"pg\"", values);
}

std::string process_group_problem(std::string_view values) {
  try {
    process_groups(values);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("groups keep the order of the file, of groups and of ranks") {
  const std::vector<CommunicatorGroup> groups = good(R"({"2": [3, 1], "1": [0],
 "tp_group": [7, 2, 4]})");
  CHECK(groups == std::vector<CommunicatorGroup>{{"2", {RankId{3}, RankId{1}}, 1},
                                                 {"1", {RankId{0}}, 1},
                                                 {"tp_group", {RankId{7}, RankId{2}, RankId{4}}, 2}});
  CHECK(good("{}").empty());
}

TEST_CASE("each mistake in a groups file is reported with line and column") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"[1, 2]", "g.json:1:1: error: the groups are a list, not an object\n"},
      {"7", "g.json:1:1: error: the groups are 7, not an object\n"},
      {"{\"1\": []}", "g.json:1:8: error: group \"1\" has no ranks\n"},
      {"{\"1\": [0, 1, 0]}", "g.json:1:14: error: group \"1\" has rank 0 twice\n"},
      {"{\"1\": [0,\n -1]}", "g.json:2:2: error: group \"1\": -1 is not a rank\n"},
      {"{\"1\": [0, 1.5]}", "g.json:1:11: error: group \"1\": 1.5 is not a rank\n"},
      {"{\"1\": [0, 8]}",
       "g.json:1:11: error: group \"1\": there is no trace of rank 8: w/rank has those of ranks 0-7\n"},
      {"{\"1\": [99999999999999999999]}", "g.json:1:8: error: group \"1\": 99999999999999999999 is not a rank\n"},
      {"{\"1\": [\"0\"]}", "g.json:1:8: error: group \"1\": \"0\" is not a rank\n"},
      {"{\"1\": [true]}", "g.json:1:8: error: group \"1\": true is not a rank\n"},
      {"{\"1\": [null]}", "g.json:1:8: error: group \"1\": null is not a rank\n"},
      {"{\"1\": [[0]]}", "g.json:1:8: error: group \"1\": a list is not a rank\n"},
      {"{\"1\": 5}", "g.json:1:7: error: group \"1\" is 5, not a list of ranks\n"},
      {"{\"1\": {\"a\": [1]}}", "g.json:1:7: error: group \"1\" is an object, not a list of ranks\n"},
      {"{\n  \"1\": [0],\n  \"1\": [1]}", "g.json:3:3: error: group \"1\" is given twice\n"},
  };
  for (const auto& [text, expected] : cases) CHECK(problems(text) == expected);
}

TEST_CASE("ranks that have no traces are one error, whatever their number") {
  CHECK(problems(R"({"a": [6, 7, 8], "b": [0, 8]})") ==
        "g.json:1:14: error: group \"a\": there is no trace of rank 8: w/rank has those of ranks 0-7\n");
  CHECK(problems(R"({"a": [0, 8], "b": [9, 1], "c": [4000000000]})") ==
        "g.json:1:11: error: the groups are of ranks 0-1, 8-9 and 4000000000, w/rank has the traces of ranks 0-7\n");
  CHECK(problems(R"({"a": [5000000000]})") == "g.json:1:8: error: group \"a\": 5000000000 is not a rank\n");
}

TEST_CASE("text that is no JSON is reported once, where it goes wrong") {
  CHECK_THAT(problems("{\"1\": [0, }"), Contains("g.json:1:11: error: not JSON") && Contains("unexpected '}'"));
  CHECK_THAT(problems(""), Contains("g.json:1:1: error: not JSON"));
  CHECK_THAT(problems("{\"1\": [0]} x"), Contains("not JSON"));
  CHECK_THAT(problems("{\"\xff\": [0]}"), Contains("not JSON"));
}

TEST_CASE("all mistakes are reported, and a broken group does not hide the next") {
  const std::string all = problems(R"({"1": [0, 0, 9], "2": 3, "3": [], "4": [{"x": [-1, {}]}, 1], "5": [-1]})");
  CHECK(std::count(all.begin(), all.end(), '\n') == 6);
  CHECK_THAT(all, Contains("\"5\": -1"));
}

TEST_CASE("a groups file nested a million deep is refused, not a crash") {
  CHECK_THROWS_WITH(problems(std::string(1'000'000, '[')), Contains("nested deeper than 256 levels"));
  CHECK_THROWS_WITH(problems("{\"1\": " + std::string(1'000'000, '[')), Contains("nested deeper than 256 levels"));
}

TEST_CASE("process groups are read from a Python list of a JSON string") {
  const std::vector<ProcessGroup> expected = {{"0", {}, true}, {"1", {0, 1}, false}, {"a1b2", {3, 2}, false}};
  const std::string_view cases[] = {
      // As PyTorch writes it: the repr of a list of one string.
      R"(['[{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 8}, {"pg_name": "1", "ranks": [0, 1]}, {"pg_name": "a1b2", "ranks": [3, 2]}]'])",
      R"(["[{\"pg_name\": \"0\", \"ranks\": []}, {\"pg_name\": \"1\", \"ranks\": [0, 1]}, {\"pg_name\": \"a1b2\", \"ranks\": [3, 2]}]"])",
      R"(["[{'pg_name': '0', 'ranks': [], 'x': None}, {'pg_name': '1', 'ranks': [0, 1], 'y': True}, {'pg_name': 'a1b2', 'ranks': [3, 2]}]"])",
      R"([[{'pg_name': '0', 'ranks': []}, {'pg_name': 1, 'ranks': [0, 1]}, {'pg_name': 'a1b2', 'ranks': [3, 2]}]])",
      R"([{"pg_name": "0", "ranks": []}, {"pg_name": "1", "ranks": [0, 1]}, {"pg_name": "a1b2", "ranks": [3, 2]}])",
  };
  for (const std::string_view text : cases) {
    std::vector<ProcessGroup> groups = process_groups(text);
    REQUIRE_FALSE(groups.empty());
    // Only the first says how many ranks the world has.
    CHECK(groups[0].world == (text == cases[0] ? std::optional<std::uint64_t>(8) : std::nullopt));
    groups[0].world.reset();
    CHECK(groups == expected);
  }
  CHECK(process_groups("[]").empty());
  CHECK(process_groups("['[]']").empty());
  for (const char* dropped : {"", " \n", "['']", "[\"\"]", "'  '", "None", "['None']"}) {
    INFO(dropped);
    CHECK(process_groups(dropped).empty());
  }
}

TEST_CASE("process groups that cannot be read are an error that names the node") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"['[{']", "cannot be read"},
      {"['unclosed", "cannot be read"},
      {"5", "not a list"},
      {"[5]", "not an object with pg_name and ranks"},
      {R"([{"pg_name": "1"}])", "not an object with pg_name and ranks"},
      {R"([{"pg_name": [], "ranks": []}])", "pg_name is not a string"},
      {R"([{"pg_name": "1", "ranks": 3}])", "ranks of group \"1\" are not a list"},
      {R"([{"pg_name": "1", "ranks": [-1]}])", "invalid rank"},
      {R"([{"pg_name": "1", "ranks": [4294967296]}])", "invalid rank"},
      {R"([{"pg_name": "1", "ranks": [2, 3, 2]}])", "has rank 2 twice"},
  };
  for (const auto& [text, expected] : cases)
    CHECK_THAT(process_group_problem(text), Contains(std::string(expected)) && Contains("node 1 \"pg\""));
}

TEST_CASE("process groups nested a million deep are refused, not a crash") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK_FALSE(process_group_problem(deep).empty());
  CHECK_FALSE(process_group_problem("['" + deep + "']").empty());
  CHECK_FALSE(process_group_problem(std::string(1'000'000, '[')).empty());
}
