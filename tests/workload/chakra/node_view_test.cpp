// SPDX-License-Identifier: MIT
#include "workload/chakra/node_view.h"

#include <catch2/catch.hpp>
#include <random>

#include "tests/workload/chakra/bytes.h"
#include "workload/chakra/wire.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::test;

namespace {

bool is_same(const AttributeView& a, const AttributeView& b) {
  return a.name == b.name && a.field == b.field && same_value(a, b);
}

bool is_same(const NodeView& a, const NodeView& b) {
  return a.id == b.id && a.name == b.name && a.type == b.type && a.duration_micros == b.duration_micros &&
         a.ctrl_deps == b.ctrl_deps && a.data_deps == b.data_deps && a.input_values == b.input_values &&
         std::ranges::equal(a.attributes, b.attributes,
                            [](const AttributeView& one, const AttributeView& other) { return is_same(one, other); });
}

// A node with a value of every kind.
chakra::Node node_of_all_kinds() {
  chakra::Node node = compute_node(7, "aten::mm");
  node.add_ctrl_deps(300);
  node.add_ctrl_deps(2);
  node.add_data_deps(1);
  node.mutable_inputs()->set_values("[1, 2]");
  node.mutable_inputs()->set_types("[\"a\"]");
  node.mutable_outputs()->set_shapes("[]");
  const auto add = [&](const char* name) -> chakra::AttributeProto& {
    chakra::AttributeProto& attribute = *node.add_attr();
    attribute.set_name(name);
    return attribute;
  };
  add("int32").set_int32_val(-5);
  add("int64").set_int64_val(-6);
  add("uint32").set_uint32_val(7);
  add("uint64").set_uint64_val(8);
  add("sint32").set_sint32_val(-9);
  add("sint64").set_sint64_val(-10);
  add("fixed32").set_fixed32_val(11);
  add("fixed64").set_fixed64_val(12);
  add("sfixed32").set_sfixed32_val(-13);
  add("sfixed64").set_sfixed64_val(-14);
  add("double").set_double_val(0.5);
  add("float").set_float_val(-2);
  add("string").set_string_val("tp");
  add("bytes").set_bytes_val("\xFF");
  add("bools").mutable_bool_list()->add_values(true);
  for (const int value : {1, 0, 1}) add("sfixed32s").mutable_sfixed32_list()->add_values(value);
  add("none").set_doc_string("nothing");
  return node;
}

}  // namespace

TEST_CASE("a view of a node has what the message has") {
  const std::string message = node_of_all_kinds().SerializeAsString();
  NodeView node;
  REQUIRE(scan_node(message, Scan::kStrict, node));
  CHECK((node.id == 7 && node.name == "aten::mm" && node.type == chakra::COMP_NODE && node.duration_micros == 5));
  CHECK(node.ctrl_deps == std::vector<std::uint64_t>{300, 2});
  CHECK(node.data_deps == std::vector<std::uint64_t>{1});
  CHECK(node.input_values == "[1, 2]");
  const std::vector<std::optional<std::int64_t>> integers = {
      0, -5, -6, 7, 8, -9, -10, 11, 12, -13, -14, std::nullopt, -2, std::nullopt, std::nullopt, std::nullopt};
  for (std::size_t i = 0; i < integers.size(); ++i) {
    INFO(node.attributes[i].name);
    CHECK(integer_of(node.attributes[i]) == integers[i]);
  }
  CHECK(number_of(node.attributes[11]) == 0.5);
  CHECK(node.attributes[13].bytes == "tp");
  CHECK(integers_of(node.attributes[15]) == std::vector<std::int64_t>{1});
  CHECK_FALSE(node.attributes.back().has_value());
  CHECK(kind_of(node.attributes[15]) == "bool_list");
}

TEST_CASE("dependencies and lists may be packed or not") {
  NodeView node;
  REQUIRE(scan_node(number(1, 7) + number(4, 300) + bytes(4, varint(2) + varint(400)), Scan::kStrict, node));
  CHECK(node.ctrl_deps == std::vector<std::uint64_t>{300, 2, 400});
  const auto list = [](const std::string& values) { return bytes(10, bytes(1, "a") + bytes(28, values)); };
  const std::string both = number(1, 7) + list(number(1, 1) + number(1, 0)) + list(bytes(1, varint(1) + varint(0)));
  REQUIRE(scan_node(both, Scan::kStrict, node));
  CHECK(integers_of(node.attributes[0]) == std::vector<std::int64_t>{1, 0});
  CHECK(same_value(node.attributes[0], node.attributes[1]));
}

TEST_CASE("messages that need a second look are left to libprotobuf") {
  NodeView node;
  const std::string id = number(1, 7);
  for (const std::string& message :
       {std::string(), bytes(2, "no id"), id + bytes(2, "\xFF"), id + bytes(3, "x"), id + number(3, 1ULL << 40),
        id + bytes(8, bytes(1, "a")) + bytes(8, bytes(2, "b")),  // to be merged
        id + bytes(10, number(9, 1) + number(9, 2)),             // given twice
        id + bytes(10, number(27, 2)), id + bytes(10, bytes(29, "\xFF")), id + bytes(10, bytes(28, number(1, 2))),
        id + bytes(10, fixed32(9)), id + "\x0F"})
    CHECK_FALSE(scan_node(message, Scan::kStrict, node));
}

// Messages with a byte changed, left out or put in: whatever is taken is what libprotobuf takes, and nobody objects.
TEST_CASE("a view agrees with libprotobuf on damaged messages") {
  const std::string whole = node_of_all_kinds().SerializeAsString();
  std::mt19937_64 random(5);
  std::size_t taken = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string message = whole;
    const std::size_t at = random() % message.size();
    switch (random() % 3) {
      case 0:
        message[at] = static_cast<char>(random());
        break;
      case 1:
        message.erase(at, 1);
        break;
      default:
        message.insert(at, 1, static_cast<char>(random()));
    }
    NodeView node;
    if (!scan_node(message, Scan::kStrict, node)) {
      ++refused;
      continue;
    }
    ++taken;
    CHECK_FALSE(check_node(message).has_value());
    chakra::Node parsed;
    REQUIRE(parsed.ParseFromString(message));
    NodeBytes bytes;
    bytes.assign(parsed);
    CHECK(is_same(node, bytes.view()));
  }
  CHECK(taken > 1000);
  CHECK(refused > 1000);
}
