// SPDX-License-Identifier: MIT
#include "workload/tools/dump.h"

#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/workload/chakra/bytes.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::test;
using nlohmann::json;

namespace {

std::vector<std::string> lines_of(const std::string& content) {
  std::ostringstream out;
  dump_chakra("dir/a \"b\".0.et", content, out);
  std::istringstream in(out.str());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("the dump has one line about the file and one per node") {
  const std::string content = trace({compute_node(1), compute_node(2)});
  const auto lines = lines_of(gzip(content));
  REQUIRE(lines.size() == 3);
  const json head = json::parse(lines[0]);
  CHECK(head == json{{"file", "dir/a \"b\".0.et"},
                     {"schema", "0.0.4"},
                     {"metadata", {{"version", "0.0.4"}}},
                     {"has_metadata", true},
                     {"bytes", content.size()},
                     {"framing_error", nullptr},
                     {"bad_messages", 0}});
  CHECK(json::parse(lines[1]) == json{{"id", 1},
                                      {"name", "mm"},
                                      {"type", "COMP"},
                                      {"ctrl_deps", json::array()},
                                      {"data_deps", json::array()},
                                      {"start_us", 0},
                                      {"dur_us", 5},
                                      {"attr", {{"is_cpu_op", false}}},
                                      {"atype", {{"is_cpu_op", "bool"}}}});
}

TEST_CASE("a file without metadata says so") {
  const json head = json::parse(lines_of(frame(compute_node(1)))[0]);
  CHECK(head["has_metadata"] == false);
  CHECK(head["metadata"] == json::object());
}

TEST_CASE("the dump shows collectives, repeated and valueless attributes, and what the schema does not know") {
  chakra::Node node;
  node.set_id(1);
  node.set_type(chakra::COMM_COLL_NODE);
  auto add = [&](const char* name) -> chakra::AttributeProto& {
    auto& attribute = *node.add_attr();
    attribute.set_name(name);
    return attribute;
  };
  add("comm_type").set_int64_val(6);
  add("x").set_int32_val(-1);
  add("x").mutable_float_list()->add_values(0.1f);
  add("outputs");
  add("raw").set_bytes_val(std::string("\xFF\x01"));
  // Field 4 of an IOInfo is "strides" in a proposal; unknown text need not be UTF-8. Type 8 is the proposed STORAGE.
  const std::string message = node.SerializeAsString() + bytes(8, bytes(4, "[1]") + bytes(5, "\xFF")) + number(12, 3);
  const auto lines =
      lines_of(frame(message) + frame(number(1, 2) + number(3, 8)) + frame(number(1, 3) + number(3, 99)));

  const json dumped = json::parse(lines[1]);
  CHECK(dumped["coll"] == "ALL_TO_ALL");
  // A float is shown as the double it equals.
  CHECK(dumped["attr"]["x"] == json::array({static_cast<double>(0.1f)}));
  CHECK(dumped["atype"]["x"] == "float_list");
  CHECK(dumped["dup_attr"] == json::array({"x"}));
  CHECK(dumped["attr"]["outputs"].is_null());
  CHECK(dumped["atype"]["outputs"].is_null());
  CHECK(dumped["attr"]["raw"] == "ff01");
  CHECK(dumped["inputs"]["strides"] == "[1]");
  CHECK(dumped["inputs"]["5"] == "\xEF\xBF\xBD");
  CHECK(dumped["unknown_fields"] == json::array({12}));
  CHECK(json::parse(lines[2])["type"] == "STORAGE");
  CHECK(json::parse(lines[3])["type"] == "UNKNOWN_99");
}
