// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "workload/graph/findings.h"
#include "workload/graph/rank_list.h"

using namespace orrery;
using namespace orrery::workload;
using Catch::Matchers::Contains;

TEST_CASE("ranks are listed as ranges, and long lists are cut") {
  const std::pair<std::vector<std::uint32_t>, std::string> cases[] = {
      {{3}, "rank 3"},
      {{3, 4}, "ranks 3-4"},
      {{0, 1, 2, 5}, "ranks 0-2 and 5"},
      {{0, 2, 3, 9}, "ranks 0, 2-3 and 9"},
      {{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}, "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 2 more"},
  };
  for (const auto& [ranks, text] : cases) CHECK(rank_list(ranks) == text);
}

TEST_CASE("a file with endless kinds of problems is reported in a bounded number of them") {
  Findings findings("f");
  for (int i = 0; i < 100'000; ++i) findings.error("kind " + std::to_string(i), "node");
  for (int i = 0; i < 1000; ++i) findings.take(InputError({"f", 0, 0}, "problem " + std::to_string(i)));
  CHECK(findings.all().size() <= 52);
  CHECK(findings.all().back().what == "more problems of other kinds");
  CHECK(findings.all().back().count == 100'000 - 50 + 1000);
}

TEST_CASE("errors come before warnings, whatever their rank") {
  Findings zero("0"), one("1");
  zero.warning("doubtful", "a");
  one.error("wrong", "b");
  const RankFindings all[] = {{0, &zero}, {1, &one}};
  Diagnostics diagnostics;
  report(all, true, diagnostics);
  REQUIRE(diagnostics.problems().size() == 2);
  CHECK(to_string(diagnostics.problems()[0]) == "1: error: wrong: b");
  CHECK(to_string(diagnostics.problems()[1]) == "0: warning: doubtful: a");
}

TEST_CASE("every problem keeps its hint, also where others have the same") {
  Findings findings("f");
  for (const char* what : {"group 1 is not defined", "group 2 is not defined"})
    findings.error(what, "node 3", "name a file");
  const std::vector<RankFindings> of_ranks = {{0, &findings}};
  Diagnostics diagnostics;
  report(of_ranks, true, diagnostics);
  REQUIRE(diagnostics.problems().size() == 2);
  for (const Problem& problem : diagnostics.problems()) CHECK(problem.hint == "name a file");
}

TEST_CASE("an InputError keeps its place and hint") {
  Findings findings("f");
  findings.take(InputError({"f", 3, 4}, "bad", "do better"));
  const RankFindings all[] = {{0, &findings}};
  Diagnostics diagnostics;
  report(all, false, diagnostics);
  CHECK(to_string(diagnostics.problems()[0]) == "f:3:4: error: bad\n  hint: do better");
}
