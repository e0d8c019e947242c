// SPDX-License-Identifier: MIT
#include "workload/training/pipeline/layout.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <string>

using namespace orrery;
using namespace orrery::workload;

namespace {

using LayerList = std::vector<std::int64_t>;

Layout layout_of(const std::string& text) {
  Layout layout;
  const auto problem = parse_layout(text, layout);
  INFO(text << (problem ? ": " + problem->message : ""));
  REQUIRE_FALSE(problem.has_value());
  return layout;
}

std::size_t problem_at(const std::string& text) {
  Layout layout;
  const auto problem = parse_layout(text, layout);
  INFO(text);
  REQUIRE(problem.has_value());
  return problem->position;
}

}  // namespace

// Megatron-Core's own example: DeepSeek-V3's 61 layers on 16 x 2 stages. 3 on the first, 29 times 2, none and the
// module of multi-token prediction behind the last bar but one; here it stands with the loss.
TEST_CASE("a layout is written out stage by stage") {
  CHECK(layout_of("Ett|tt|ttL").layers == LayerList{2, 2, 2});
  CHECK(layout_of("Et*3|(tt|)*2,t|L").layers == LayerList{3, 2, 2, 1, 0});
  CHECK(layout_of("E|t|L").layers == LayerList{0, 1, 0});
  CHECK(layout_of("E||tL").layers == LayerList{0, 0, 1});
  CHECK(layout_of("E(t|)*3 L").layers == LayerList{1, 1, 1, 0});
  const Layout large = layout_of("Et*3|(tt|)*29,mL");
  CHECK(large.layers.size() == 31);  // 1 + 29 bars
  CHECK(std::accumulate(large.layers.begin(), large.layers.end(), std::int64_t{0}) == 61);
  CHECK(large.predictions == 1);
  CHECK(large.layers.back() == 0);
}

TEST_CASE("what is wrong with a layout is said by its position") {
  CHECK(problem_at("") == 1);
  CHECK(problem_at("t|L") == 1);
  CHECK(problem_at("Etz|L") == 3);
  CHECK(problem_at("E(tt|*2L") == 2);
  CHECK(problem_at("Et)L") == 3);
  CHECK(problem_at("E(t(t))L") == 4);
  CHECK(problem_at("Et*|L") == 3);
  CHECK(problem_at("Et*0|L") == 3);
  CHECK(problem_at("Et|t") == 5);
  CHECK(problem_at("Et|Lt") == 5);
  CHECK(problem_at("Et|EL") == 4);
  CHECK(problem_at("Etm|L") == 4);
  CHECK(problem_at("Etmt|L") == 4);
  CHECK(problem_at("Et*1000|(t*2000)*2000L") == 17);
}

// 14 layers with the embedding and the loss are 16 on 4 stages: 4 each, one less at the ends.
TEST_CASE("the embedding and the loss may count as layers") {
  LayerRule rule;
  CHECK(layers_by_rule(rule, 8, 2, 2) == LayerList{2, 2, 2, 2});
  CHECK(layers_by_rule(rule, 7, 2, 2).empty());
  rule.embedding = rule.loss = true;
  CHECK(layers_by_rule(rule, 14, 4, 1) == LayerList{3, 4, 4, 3});
  CHECK(layers_by_rule(rule, 14, 2, 2) == LayerList{3, 4, 4, 3});
  CHECK(layers_by_rule(rule, 16, 4, 1).empty());  // 18 on 4
  rule.embedding = false;
  CHECK(layers_by_rule(rule, 15, 4, 1) == LayerList{4, 4, 4, 3});
}

// 61 layers on 4 stages with 3 on the first and 4 on the last leave 54, 27 each. Of two chunks a stage has half in
// each.
TEST_CASE("the first and the last stage may have layers of their own") {
  LayerRule rule;
  rule.first = 3;
  rule.last = 4;
  CHECK(layers_by_rule(rule, 61, 4, 1) == LayerList{3, 27, 27, 4});
  CHECK(layers_by_rule(rule, 62, 4, 1).empty());
  CHECK(layers_by_rule(rule, 7, 2, 1) == LayerList{3, 4});
  CHECK(layers_by_rule(rule, 8, 2, 1).empty());
  CHECK(layers_by_rule(rule, 7, 1, 1).empty());
  CHECK(layers_by_rule(rule, 19, 3, 2).empty());  // 3 are no half
  rule.first = 2;
  CHECK(layers_by_rule(rule, 18, 3, 2) == LayerList{1, 6, 2, 1, 6, 2});
}
