// SPDX-License-Identifier: MIT
#include "core/config/quantity_text.h"

#include <array>
#include <catch2/catch.hpp>

using namespace orrery;

TEST_CASE("quantities are read with their units, exactly") {
  CHECK(*parse_quantity<Bandwidth>("300 GB/s").value == Bandwidth(300'000'000'000));
  CHECK(*parse_quantity<Bandwidth>("200 Gb/s").value == Bandwidth(25'000'000'000));
  CHECK(*parse_quantity<Bandwidth>("20.6GB/s").value == Bandwidth(20'600'000'000));
  CHECK(*parse_quantity<Bytes>("64 MiB").value == Bytes(67'108'864));
  CHECK(*parse_quantity<Bytes>("1.5 kB").value == Bytes(1'500));
  CHECK(*parse_quantity<Duration>("0.7 us").value == Duration(700'000));
  CHECK(*parse_quantity<Duration>("1e-3 s").value == Duration(1'000'000'000));
  CHECK(*parse_quantity<Duration>("3 \xC2\xB5s").value == Duration(3'000'000));
  CHECK(*parse_quantity<FlopRate>("312 TFLOPS").value == FlopRate(312'000'000'000'000));
  CHECK(*parse_quantity<Power>("6.5 kW").value == Power(6'500));
  CHECK(*parse_quantity<Count>("300e9").value == Count(300'000'000'000));
  CHECK(*parse_quantity<Count>("1.4 T").value == Count(1'400'000'000'000));
  CHECK(*parse_quantity<Count>("42").value == Count(42));
  CHECK_FALSE(parse_quantity<Count>("0").value);
  CHECK_FALSE(parse_quantity<Count>("3 GB").value);
  CHECK(*parse_share("85 %").value == 0.85);
  CHECK(*parse_share("0.85").value == 0.85);
}

TEST_CASE("texts of one value are known in whatever unit they are") {
  CHECK(stand_for_one_value("400 Gb/s", "50 GB/s"));
  CHECK(stand_for_one_value("400 Gbps", "400 Gb/s"));
  CHECK(stand_for_one_value("1500 ns", "1.5 us"));
  CHECK(stand_for_one_value("25 MB", "25000000 B"));
  CHECK(stand_for_one_value("85 %", "0.85"));
  CHECK(stand_for_one_value("nvlink-4", "nvlink-4"));
  CHECK_FALSE(stand_for_one_value("400 Gb/s", "400 GB/s"));
  CHECK_FALSE(stand_for_one_value("1 s", "1 GB"));
  CHECK_FALSE(stand_for_one_value("nvlink-4", "nvlink-3"));
}

TEST_CASE("the largest quantity is that of 63 bits") {
  CHECK(*parse_quantity<Bytes>("9223372036854775807 B").value == Bytes::max());
  CHECK_FALSE(parse_quantity<Bytes>("9223372036854775808 B").value);
  CHECK(*parse_quantity<Count>("9223372036854775807").value == Count::max());
  CHECK_FALSE(parse_quantity<Count>("9223372036854775808").value);
  CHECK(*parse_quantity<Duration>("9223372036854775.807 ns").value == Duration::max());
  CHECK_FALSE(parse_quantity<Duration>("9223372036854775.808 ns").value);
}

TEST_CASE("a quantity that could be misread is refused") {
  const char* text = GENERATE("300", "", " ", "GB/s", "3 GB/s/s", "300 gb/s", "1,000 GB/s", "-3 GB/s", "0 GB/s",
                              "1e30 GB/s", "9999999999999 TB/s", "nan GB/s", "3..5 GB/s", "0x10 GB/s", "1e GB/s",
                              "\xff GB/s", "1e99999 GB/s", "123456789012345678901234567890 GB/s");
  INFO(text);
  const auto parsed = parse_quantity<Bandwidth>(text);
  CHECK_FALSE(parsed.value);
  CHECK_FALSE(parsed.problem.empty());
}

TEST_CASE("an efficiency is exact, and between nothing and all") {
  CHECK(*parse_quantity<Efficiency>("80 %").value == Efficiency(800'000));
  CHECK(*parse_quantity<Efficiency>("82.4%").value == Efficiency(824'000));
  CHECK(*parse_quantity<Efficiency>("100 %").value == kFullEfficiency);
  CHECK(*parse_quantity<Efficiency>("0.0001 %").value == Efficiency(1));
  CHECK(parse_quantity<Efficiency>("0.8").problem == "'0.8' has no unit");
  CHECK(parse_quantity<Efficiency>("0.8").hint == "write an efficiency such as '80 %'");
  CHECK(parse_quantity<Efficiency>("0 %").problem == "'0 %' is zero; an efficiency must be positive");
  CHECK(parse_quantity<Efficiency>("120 %").problem == "'120 %' is too large; an efficiency is at most 100 %");
  CHECK(to_text(Efficiency(824'000)) == "82.4 %");
  for (const std::int64_t count : {1, 12, 761'900, 853'333, 999'999, 1'000'000})
    CHECK(*parse_quantity<Efficiency>(to_text(Efficiency(count))).value == Efficiency(count));
}

TEST_CASE("a bare number says that the unit is missing") {
  CHECK(parse_quantity<Bandwidth>("300").problem == "'300' has no unit");
  CHECK(parse_quantity<Bandwidth>("300").hint == "write a bandwidth such as '300 GB/s'");
  CHECK(parse_quantity<Bandwidth>("300 GBs").hint == "did you mean 'GB/s'?");
}

TEST_CASE("bits have two spellings, and are never suggested for bytes") {
  for (const char* text : {"200 Gbit/s", "200 GBit/s", "200 Gbits/s", "200000 Mbit/s", "0.2 Tbit/s", "200 Gb/s"})
    CHECK(*parse_quantity<Bandwidth>(text).value == Bandwidth(25'000'000'000));
  CHECK(parse_quantity<Bandwidth>("200 gbit/s").hint == "did you mean 'Gb/s'?");
  CHECK(parse_quantity<Bandwidth>("200 Gibit/s").hint.find('B') == std::string::npos);
  CHECK(parse_quantity<Bandwidth>("200 gB/s").hint == "did you mean 'GB/s'?");
  CHECK(parse_quantity<Bytes>("64 Mb").hint.starts_with("known: "));
  CHECK(parse_quantity<Bytes>("64 Gbit").hint.starts_with("known: "));
}

TEST_CASE("small and capital letters of units: one unit is meant, or it is said what either is") {
  CHECK(parse_quantity<Bytes>("80 gb").hint == "did you mean 'GB'?");
  CHECK(parse_quantity<Duration>("5 US").hint == "did you mean 'us'?");
  CHECK(parse_quantity<Bandwidth>("50 gb/s").hint == "did you mean 'GB/s' or 'Gb/s'? 'b' is a bit, and 'B' a byte");
  CHECK(parse_quantity<Bandwidth>("400 gbps").hint == "did you mean 'Gbps' or 'GBps'? 'b' is a bit, and 'B' a byte");
}

TEST_CASE("numbers that are written otherwise say how to write them") {
  CHECK(hint_for_number("1,000,000") == "write 1000000, without separators");
  CHECK(hint_for_number("1_000_000") == "write 1000000, without separators");
  CHECK(hint_for_number("12'500.5 GB") == "write 12500.5 GB, without separators");
  CHECK(hint_for_number("2,5 GB/s") == "write 2.5 GB/s, with a decimal point");
  CHECK(hint_for_number("2.0") == "write 2, without decimals");
  CHECK(hint_for_number("4,8") == "write 4.8, with a decimal point");
  // No slip of these kinds: a number as it should be, several numbers, groups that are none, no number.
  for (const char* text : {"2.5", "2", "1,2,3", "1,00,000", "two", "", ",5", "2.5.1"})
    CHECK(hint_for_number(text) == "");
  CHECK(parse_quantity<Count>("1,000,000,000").hint == "write 1000000000, without separators");
  CHECK(parse_share("0,85").hint == "write 0.85, with a decimal point");
}

TEST_CASE("booleans are those of YAML's core schema") {
  for (const char* text : {"true", "True", "TRUE"}) CHECK(parse_boolean(text) == true);
  for (const char* text : {"false", "False", "FALSE"}) CHECK(parse_boolean(text) == false);
  for (const char* text : {"yes", "on", "tRUE", "1", ""}) CHECK_FALSE(parse_boolean(text));
}

TEST_CASE("what is finer than the resolution is refused, not dropped") {
  CHECK_FALSE(parse_quantity<Duration>("0.0001 ns").value);
  CHECK(*parse_quantity<Duration>("0.0015 ns").value == Duration(2));  // 1.5 ps, rounded half up
  CHECK(*parse_quantity<Duration>("0 ns").value == Duration::zero());
}

TEST_CASE("a written quantity reads back as itself") {
  constexpr std::array<std::int64_t, 9> kCounts = {
      1, 7, 1000, 1024, 1500, 67'108'864, 25'000'000'000, 123'456'789'123, INT64_MAX};
  for (const std::int64_t count : kCounts) {
    CHECK(*parse_quantity<Bytes>(to_text(Bytes(count))).value == Bytes(count));
    CHECK(*parse_quantity<Bandwidth>(to_text(Bandwidth(count))).value == Bandwidth(count));
    CHECK(*parse_quantity<Duration>(to_text(Duration(count))).value == Duration(count));
    CHECK(*parse_quantity<FlopRate>(to_text(FlopRate(count))).value == FlopRate(count));
    CHECK(*parse_quantity<Count>(to_text(Count(count))).value == Count(count));
  }
  CHECK(to_text(Bandwidth(300'000'000'000)) == "300 GB/s");
  CHECK(to_text(Bytes(67'108'864)) == "64 MiB");
  CHECK(to_text(Duration(2'500'000)) == "2.5 us");
  CHECK(to_text(Bytes(1024)) == "1 KiB");
  CHECK(to_text(Duration(60'000'000'000'000)) == "60 s");
  CHECK(to_text(Bytes(0)) == "0 B");
  CHECK(to_text(Count(300'000'000'000)) == "300 B");
  CHECK(to_text(Count(7)) == "7");
}

TEST_CASE("a bandwidth for reading has four significant digits and no trailing zeros") {
  CHECK(rounded(Bandwidth(23'999'850'000)) == "24 GB/s");
  CHECK(rounded(Bandwidth(31'500'000'000)) == "31.5 GB/s");
  CHECK(rounded(Bandwidth(164'800'000'000)) == "164.8 GB/s");
  CHECK(rounded(Bandwidth(999'960'000'000)) == "1 TB/s");
  CHECK(rounded(Bandwidth(1)) == "1 B/s");
}
