// SPDX-License-Identifier: MIT
#include "workload/chakra/attributes.h"

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "tests/workload/chakra/bytes.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::test;
using Catch::Contains;

namespace {

const std::string kFile = "rank.0.et";

chakra::Node node_with(const std::function<void(chakra::AttributeProto&)>& set) {
  chakra::Node node;
  node.set_id(12);
  node.set_name("aten::mm");
  auto& attribute = *node.add_attr();
  attribute.set_name("comm_size");
  set(attribute);
  return node;
}

using A = chakra::AttributeProto;

std::string error_of_integer(const std::function<void(A&)>& set) {
  const auto node = node_with(set);
  return error_of([&] { ChakraAttributes(kFile, node).integer("comm_size"); });
}

}  // namespace

TEST_CASE("every integer kind is an integer") {
  const std::function<void(A&)> kinds[] = {
      [](A& a) { a.set_int32_val(7); },    [](A& a) { a.set_int64_val(7); },    [](A& a) { a.set_uint32_val(7); },
      [](A& a) { a.set_uint64_val(7); },   [](A& a) { a.set_sint32_val(7); },   [](A& a) { a.set_sint64_val(7); },
      [](A& a) { a.set_fixed32_val(7); },  [](A& a) { a.set_fixed64_val(7); },  [](A& a) { a.set_sfixed32_val(7); },
      [](A& a) { a.set_sfixed64_val(7); }, [](A& a) { a.set_double_val(7.0); }, [](A& a) { a.set_float_val(7.0f); }};
  for (const auto& set : kinds) {
    const auto node = node_with(set);
    CHECK(ChakraAttributes(kFile, node).integer("comm_size") == 7);
    CHECK(ChakraAttributes(kFile, node).number("comm_size") == 7.0);
    CHECK(ChakraAttributes(kFile, node).label("comm_size") == "7");
  }
}

TEST_CASE("lists of bools, and of integers that are 0 or 1, are flags") {
  const std::function<void(A&)> lists[] = {
      [](A& a) { a.mutable_bool_list()->add_values(true), a.mutable_bool_list()->add_values(false); },
      [](A& a) { a.mutable_int32_list()->add_values(1), a.mutable_int32_list()->add_values(0); },
      [](A& a) { a.mutable_int64_list()->add_values(1), a.mutable_int64_list()->add_values(0); },
      [](A& a) { a.mutable_uint64_list()->add_values(1), a.mutable_uint64_list()->add_values(0); }};
  for (const auto& set : lists)
    CHECK(ChakraAttributes(kFile, node_with(set)).flags("comm_size") == std::vector<bool>{true, false});
  CHECK(ChakraAttributes(kFile, node_with([](A& a) { a.mutable_bool_list(); })).flags("comm_size")->empty());
  CHECK_FALSE(ChakraAttributes(kFile, node_with([](A&) {})).flags("comm_size").has_value());
  const std::function<void(A&)> others[] = {
      [](A& a) { a.mutable_int32_list()->add_values(2); }, [](A& a) { a.mutable_int64_list()->add_values(-1); },
      [](A& a) { a.mutable_uint64_list()->add_values(UINT64_MAX); },
      [](A& a) { a.mutable_double_list()->add_values(1); }, [](A& a) { a.set_bool_val(true); }};
  for (const auto& set : others) {
    const auto node = node_with(set);
    CHECK_THAT(error_of([&] { ChakraAttributes(kFile, node).flags("comm_size"); }),
               Contains("expected a list of bools, or of integers that are 0 or 1"));
  }
}

TEST_CASE("a bool is 0 or 1, and 0 or 1 is a flag") {
  const auto yes = node_with([](A& a) { a.set_bool_val(true); });
  const auto no = node_with([](A& a) { a.set_int32_val(0); });
  const auto two = node_with([](A& a) { a.set_int64_val(2); });
  CHECK(ChakraAttributes(kFile, yes).integer("comm_size") == 1);
  CHECK(ChakraAttributes(kFile, yes).flag("comm_size") == true);
  CHECK(ChakraAttributes(kFile, no).flag("comm_size") == false);
  CHECK_THAT(error_of([&] { ChakraAttributes(kFile, two).flag("comm_size"); }),
             Contains("int64 2, expected a bool, 0 or 1"));
}

TEST_CASE("the ends of 64 bits are integers, one beyond is an error") {
  const auto low = std::numeric_limits<std::int64_t>::min();
  const auto high = std::numeric_limits<std::int64_t>::max();
  CHECK(ChakraAttributes(kFile, node_with([&](A& a) { a.set_int64_val(low); })).integer("comm_size") == low);
  CHECK(ChakraAttributes(kFile, node_with([&](A& a) { a.set_uint64_val(std::uint64_t{high}); })).integer("comm_size") ==
        high);
  CHECK(ChakraAttributes(kFile, node_with([&](A& a) { a.set_double_val(-0x1p63); })).integer("comm_size") == low);
  CHECK_THAT(error_of_integer([](A& a) { a.set_uint64_val(std::uint64_t{1} << 63); }),
             Contains("uint64 9223372036854775808"));
  CHECK_THAT(error_of_integer([](A& a) { a.set_fixed64_val(~std::uint64_t{0}); }),
             Contains("fixed64 18446744073709551615"));
  CHECK_THAT(error_of_integer([](A& a) { a.set_double_val(0x1p63); }), Contains("double"));
}

TEST_CASE("what is no integer is an error that names file, node, attribute, found and expected") {
  CHECK(error_of_integer([](A& a) { a.set_string_val("12"); }) ==
        "rank.0.et: error: node 12 \"aten::mm\": attribute comm_size is string \"12\", expected an integer of at most "
        "64 signed bits");
  CHECK_THAT(error_of_integer([](A& a) { a.set_double_val(0.5); }), Contains("is double 0.5, expected an integer"));
  CHECK_THAT(error_of_integer([](A& a) { a.set_double_val(std::nan("")); }), Contains("is double nan"));
  CHECK_THAT(error_of_integer([](A& a) { a.set_bytes_val("x"); }), Contains("is a bytes, expected"));
  CHECK_THAT(error_of_integer([](A& a) { a.mutable_int64_list()->add_values(1); }),
             Contains("is a int64_list, expected"));
}

TEST_CASE("a number may have a fraction but not be infinite") {
  CHECK(ChakraAttributes(kFile, node_with([](A& a) { a.set_float_val(0.25f); })).number("comm_size") == 0.25);
  const auto node = node_with([](A& a) { a.set_double_val(HUGE_VAL); });
  CHECK_THAT(error_of([&] { ChakraAttributes(kFile, node).number("comm_size"); }),
             Contains("expected a finite number"));
}

TEST_CASE("text is a string and nothing else, a label may be an integer") {
  const auto text = node_with([](A& a) { a.set_string_val("tp_group"); });
  const auto integer = node_with([](A& a) { a.set_int32_val(-3); });
  CHECK(ChakraAttributes(kFile, text).text("comm_size") == "tp_group");
  CHECK(ChakraAttributes(kFile, text).label("comm_size") == "tp_group");
  CHECK(ChakraAttributes(kFile, integer).label("comm_size") == "-3");
  CHECK_THAT(error_of([&] { ChakraAttributes(kFile, integer).text("comm_size"); }),
             Contains("int32 -3, expected a string"));
}

TEST_CASE("an attribute that is absent or has no value is absent") {
  const auto node = node_with([](A&) {});
  const ChakraAttributes attributes(kFile, node);
  CHECK_FALSE(attributes.has("comm_size"));
  CHECK_FALSE(attributes.integer("comm_size"));
  CHECK_FALSE(attributes.flag("comm_type"));
  CHECK_FALSE(attributes.text("pg_name"));
  CHECK_FALSE(attributes.number("num_ops"));
  CHECK_FALSE(attributes.label("pg_name"));
}

TEST_CASE("an attribute given twice must have one value") {
  auto node = node_with([](A& a) { a.set_int64_val(8); });
  auto& second = *node.add_attr();
  second.set_name("comm_size");
  second.set_doc_string("said again");
  second.set_int64_val(8);
  node.add_attr()->set_name("comm_size");  // without a value: absent
  CHECK(ChakraAttributes(kFile, node).integer("comm_size") == 8);

  node.mutable_attr(1)->set_int64_val(9);
  CHECK_THAT(error_of([&] { ChakraAttributes(kFile, node).integer("comm_size"); }),
             Contains("comm_size is given twice, as int64 8 and as int64 9, expected one value"));
}

TEST_CASE("a node is described by its id and a printable name") {
  chakra::Node node;
  node.set_id(3);
  node.set_name("a\nb");
  CHECK(describe(node) == "node 3 \"a\\x0Ab\"");
}
