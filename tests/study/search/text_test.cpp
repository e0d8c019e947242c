// SPDX-License-Identifier: MIT
// The text of a search: what it says of those that are shown, and how much of a reason.
#include <string>
#include <utility>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "study/search/search.h"

using namespace orrery;
using namespace orrery::study;
using Catch::Matchers::Contains;

namespace {

// Four plans, of which two are simulated and the first is proven to be the best: the second may be slower than those
// that are left.
Search two_of_four(std::size_t asked) {
  Search search;
  search.job = "a job";
  search.devices = "8 devices";
  search.plans = 4;
  search.capacity = search.device_memory = Bytes(1000);
  search.asked = asked;
  search.simulated = 2;
  for (std::int64_t i = 0; i < 4; ++i) {
    FoundPlan one;
    one.plan[PlanKey::kData] = 8 - i;
    one.memory = one.in_use = Bytes(1000);
    one.bound = Duration(i < 2 ? 1'000'000'000 : 2'000'000'000);
    if (i < 2) one.time = Duration(i == 0 ? 1'500'000'000 : 3'000'000'000);
    search.found.push_back(std::move(one));
  }
  return search;
}

}  // namespace

TEST_CASE("what is proven is said of those that are shown") {
  CHECK_THAT(search_text(two_of_four(10)),
             Contains("none of the others takes less than 2.000 ms: the first 1 are proven"));
  CHECK_THAT(search_text(two_of_four(1)), Contains("none of the others takes less than 2.000 ms\n"));
}

TEST_CASE("a plan that fills the memory to the last byte does not run out of it") {
  Search search = two_of_four(10);
  CHECK_THAT(search_text(search), !Contains("may run out of memory"));
  search.found[1].in_use += Bytes(1);
  CHECK_THAT(search_text(search), Contains("1 of these may run out of memory"));
}

TEST_CASE("a long reason is cut") {
  Search search = two_of_four(10);
  search.refused.push_back({3, std::string(200, 'x'), {}});
  CHECK_THAT(search_text(search), Contains(" " + std::string(110, 'x') + "...\n"));
}

TEST_CASE("a search says whether it was stopped, or its budget is spent") {
  Search search = two_of_four(10);
  CHECK_THAT(search_text(search), Contains("fit in 1000 B of memory; 2 simulated"));
  search.spent_budget = true;
  CHECK_THAT(search_text(search), Contains("; the budget is") && !Contains("stopped early"));
  search.is_complete = false;
  CHECK_THAT(search_text(search), Contains("; stopped early") && !Contains("budget"));
}

TEST_CASE("a plan is told by what it has more than one rank") {
  Plan plan;
  CHECK(text_of(plan) == "one rank");
  plan[PlanKey::kTensor] = 4;
  plan[PlanKey::kContextKind] = 1;  // of no context groups
  CHECK(text_of(plan) == "tensor 4");
}

TEST_CASE("the experiment's plan is told by its largest differences, and by how many plans are faster at most") {
  Search search = two_of_four(10);
  search.given = search.found[1];
  search.given->time = Duration(2'500'000'000);
  for (int i = 1; i <= 5; ++i) search.given->parts.push_back({fmt::format("part {}", i), 1e-3 * i});
  const std::string text = search_text(search);
  CHECK_THAT(text, Contains("its difference: part 5 +5.000 ms, part 4 +4.000 ms, part 3 +3.000 ms, part 2"));
  CHECK_THAT(text, !Contains("part 1"));
  search.settings.resize(2);
  const nlohmann::ordered_json given = search_json(search)["given"];
  CHECK(given["faster_plans"] == 1);
  CHECK(given["faster_plans_at_most"] == 3);  // two are not simulated, and may take less
}
