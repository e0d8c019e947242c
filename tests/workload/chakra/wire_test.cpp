// SPDX-License-Identifier: MIT
#include "workload/chakra/wire.h"

#include <catch2/catch.hpp>

#include "core/utf8.h"
#include "tests/workload/chakra/bytes.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::test;

TEST_CASE("a varint of every length round-trips") {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t value :
         {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1, ~std::uint64_t{0} >> bit}) {
      const std::string text = varint(value) + "x";
      std::string_view rest = text;
      CHECK(take_varint(rest) == value);
      CHECK(rest == "x");
    }
  }
}

TEST_CASE("a varint that is cut, too long or beyond 64 bits is none") {
  for (const std::string& text : {std::string(), std::string("\x80"), std::string(10, '\xFF'),
                                  // ten bytes hold 70 bits; the last may only be 1
                                  std::string(9, '\xFF') + '\x02', std::string(11, '\x80') + '\x01'}) {
    std::string_view rest = text;
    CHECK_FALSE(take_varint(rest).has_value());
    CHECK(rest.size() == text.size());
  }
}

TEST_CASE("a field is taken with its number, type and payload") {
  const std::string text = number(3, 300) + bytes(15, "abc") + fixed32(2000) + fixed64(1);
  std::string_view rest = text;
  auto field = take_field(rest);
  REQUIRE(field);
  CHECK((field->number == 3 && field->type == WireType::kVarint && field->value == 300));
  field = take_field(rest);
  REQUIRE(field);
  CHECK((field->number == 15 && field->type == WireType::kBytes && field->payload == "abc"));
  field = take_field(rest);
  REQUIRE(field);
  CHECK((field->number == 2000 && field->type == WireType::kFixed32 && field->payload.size() == 4));
  field = take_field(rest);
  REQUIRE(field);
  CHECK((field->number == 1 && field->type == WireType::kFixed64 && field->payload.size() == 8));
  CHECK(rest.empty());
}

TEST_CASE("a malformed field is none and nothing is taken") {
  const std::string huge = tag(1, 2) + varint(~std::uint64_t{0});
  for (const std::string& text :
       {number(0, 1), tag(1, 3), tag(1, 4), tag(1, 6), tag(1, 7), tag(1, 0), tag(1, 1) + "1234567", tag(1, 5) + "123",
        tag(1, 2), tag(1, 2) + varint(5) + "1234", huge}) {
    std::string_view rest = text;
    CHECK_FALSE(take_field(rest).has_value());
    CHECK(rest.size() == text.size());
  }
}

TEST_CASE("UTF-8 is told from what only resembles it") {
  for (const char* good : {"", "a", "aten::mm", "12345678", "\xC2\x80",
                           "1234567\xC3\xA9"
                           "12345678",
                           "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    CHECK(is_utf8(good));
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "1234567\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xEF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
                          "abcdefgh\xFF"
                          "abcdefgh"})
    CHECK_FALSE(is_utf8(bad));
}
