// SPDX-License-Identifier: MIT
#include "core/config/text.h"

#include <filesystem>

#include <catch2/catch.hpp>

using namespace orrery;

namespace {

// Whether both hold the same, wherever it stands.
bool same(const ConfigValue& a, const ConfigValue& b) {
  const auto same_items = [](const ConfigValue& x, const ConfigValue& y) { return same(x, y); };
  const auto same_entries = [](const ConfigEntry& x, const ConfigEntry& y) {
    return x.key == y.key && same(x.value, y.value);
  };
  return a.kind == b.kind && a.scalar == b.scalar &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same_items) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(), same_entries);
}

}  // namespace

TEST_CASE("what is written is read back as it was") {
  const char* text = R"(
name: "a: b # no comment"
efficiency: 80 %
source: ["stas00/ml, table", "quote \" and \\ and tab \t", "- dash", "", "null", "~", "{x}", "ünïcode", "*star", " space "]
empty: {}
none:
nested: {deep: {er: 1.5, list: [1, 2, [3, {a: b}]]}}
links:
  - {from: 0, to: "1", bandwidth: 25 GB/s}
  - {from: 1, to: 0}
"a key: odd": yes
multiline: |
  one
  two
)";
  Diagnostics diagnostics;
  const ConfigValue tree = parse_config(text, "x.yaml", diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  const std::string written = yaml_text(tree);
  INFO(written);
  const ConfigValue again = parse_config(written, "y.yaml", diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  CHECK(same(tree, again));
  CHECK(yaml_text(again) == written);
}

TEST_CASE("a text that is not UTF-8 is in no file that is written") {
  Diagnostics diagnostics;
  ConfigValue tree = parse_config("cluster: a.yaml", "x.yaml", diagnostics);
  tree.find("cluster")->value.scalar = "a\xff.yaml";
  CHECK_THROWS_WITH(yaml_text(tree), Catch::Matchers::Contains("is not UTF-8"));
  tree.find("cluster")->value.scalar = "a.yaml";
  tree.entries.front().key = "cluster\xff";
  CHECK_THROWS_WITH(yaml_text(tree), Catch::Matchers::Contains("is not UTF-8"));
  CHECK_THROWS_WITH(yaml_scalar("\xff", {"x.yaml"}), Catch::Matchers::Contains("is not UTF-8"));
}

TEST_CASE("paths move with what is written to another folder") {
  Diagnostics diagnostics;
  const auto moved = [&](const std::string& path, const std::string& target) {
    ConfigValue tree = parse_config("at: [{file: " + path + "}, {word: " + path + "}]", "here/in/x.yaml", diagnostics);
    ConfigValue& first = tree.find("at")->value.items.front();
    first.find("file")->value.is_path = true;
    move_paths(tree, target);
    CHECK(tree.find("at")->value.items.back().find("word")->value.scalar == path);
    return first.find("file")->value.scalar;
  };
  CHECK(moved("a.csv", "here/in/y.yaml") == "a.csv");
  CHECK(moved("a.csv", "here/y.yaml") == "in/a.csv");
  CHECK(moved("../a.csv", "there/y.yaml") == "../here/a.csv");
  CHECK(moved("../../a.csv", "y.yaml") == "a.csv");
  CHECK(moved("/a/b.csv", "there/y.yaml") == "/a/b.csv");
  CHECK(moved("../a.csv", "") == (std::filesystem::current_path() / "here/a.csv").string());
}
