// SPDX-License-Identifier: MIT
#include "core/config/relative.h"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "core/config/decimal.h"

using namespace orrery;

namespace {

std::string times(std::string_view text, std::string_view factor) {
  const Parsed<std::string> product = multiplied(text, factor);
  return product.value ? *product.value : product.problem;
}

// What the settings make of a configuration, or the first error. `resolved`: with its defaults.
std::string after(std::string_view text, const std::vector<std::string>& settings, std::string_view resolved = "") {
  Diagnostics diagnostics;
  const ConfigFiles files("no-such-folder");
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  const auto resolve = [&](ConfigValue) {
    ConfigValue whole = parse_config(resolved, "whole.yaml", diagnostics);
    for (ConfigEntry& entry : whole.entries) entry.defaulted = "default";
    return whole;
  };
  for (const std::string& setting : settings)
    apply_setting(root, setting, files, diagnostics, resolved.empty() ? ResolveConfig() : resolve);
  if (diagnostics.has_errors()) return to_string(diagnostics.problems().front());
  std::string shown;
  for (const ConfigEntry& entry : root.entries) {
    shown += entry.key + "=" + entry.value.scalar + ";";
    for (const ConfigEntry& below : entry.value.entries) shown += "." + below.key + "=" + below.value.scalar + ";";
  }
  return shown;
}

std::vector<std::string> range(std::string_view from, std::string_view to, std::string_view factor) {
  Parsed<std::vector<std::string>> values = geometric_range(from, to, factor);
  return values.value ? std::move(*values.value) : std::vector{std::move(values.problem)};
}

using Values = std::vector<std::string>;

}  // namespace

TEST_CASE("a product keeps the unit and every digit") {
  CHECK(times("300 GB/s", "2") == "600 GB/s");
  CHECK(times("200 Gbit/s", "1.1") == "220 Gbit/s");
  CHECK(times("0.1 us", "3") == "0.3 us");  // 0.30000000000000004 in binary
  CHECK(times("8", "0.5") == "4");
  CHECK(times("300B", "1e3") == "300000B");
  CHECK(times("80 %", "0.25") == "20 %");
  CHECK(times("0.97", "2") == "1.94");
  CHECK(times("0 ns", "7") == "0 ns");
  CHECK(times("9007199254740993", "3") == "27021597764222979");  // beyond a double: 2^53 + 1
  CHECK(times("1 s", "0.3333333333333333333333") == "0.3333333333333333333333 s");
  CHECK(times("335544.32", "298023223876953125") == "100000000000000000000000");  // of 24 digits, and no more
}

TEST_CASE("what is no quantity, or no factor, cannot be multiplied") {
  for (const char* text : {"switch", "1f1b", "", "true", "a100-sxm", "3 parrots", "-3"})
    CHECK(times(text, "2").find("cannot be multiplied") != std::string::npos);
  for (const char* factor : {"0", "-1", "", "two", "2 GB/s", "1.5.1", "inf", "nan"})
    CHECK(times("1 s", factor).find("is not a factor") != std::string::npos);
  CHECK(times("3355443.2", "298023223876953125").find("too many digits") != std::string::npos);
  CHECK(times("123456789012345678901234", "3.14159265358979323846").find("too many digits") != std::string::npos);
}

TEST_CASE("a setting multiplies what is there, step by step") {
  CHECK(after("a: 3 GB/s", {"a*=2"}) == "a=6 GB/s;");
  CHECK(after("a: 3 GB/s", {"a=x2", "a*=0.5"}) == "a=3 GB/s;");
  CHECK(after("a: {b: 10}", {"a.b*=10", "a.b*=10"}) == "a=;.b=1000;");
  CHECK(after("a: word", {"a*=2"}).find("error: a: 'word' is neither") != std::string::npos);
  CHECK(after("a: {b: 1}", {"a*=2"}).find("'a' is a map; only a quantity") != std::string::npos);
  CHECK(after("a: 1", {"a*=x"}).find("'x' is not a factor") != std::string::npos);
  CHECK(after("a: 1", {"a*="}).find("no value after '='") != std::string::npos);
  CHECK(after("a: 1", {"*=2"}).find("expected key.path=value") != std::string::npos);
}

TEST_CASE("a default that is multiplied is no default any more, also in a file that is taken as a whole") {
  Diagnostics diagnostics;
  const ConfigFiles files("no-such-folder");
  ConfigValue root = parse_config("{}", "x.yaml", diagnostics);
  apply_setting(root, "a.b*=2", files, diagnostics, [&](ConfigValue) {
    ConfigValue whole = parse_config("a: {b: 10, c: 3}", "whole.yaml", diagnostics);
    whole.entries.front().defaulted = "default";
    for (ConfigEntry& entry : whole.entries.front().value.entries) entry.defaulted = "default";
    return whole;
  });
  REQUIRE_FALSE(diagnostics.has_errors());
  drop_defaults(root);
  const ConfigValue& a = root.find("a")->value;
  REQUIRE(a.find("b") != nullptr);
  CHECK(a.find("b")->value.scalar == "20");
  CHECK(a.find("c") == nullptr);
}

TEST_CASE("a default is multiplied where it is known, and a part taken by default comes whole") {
  CHECK(after("a: 1", {"b*=2"}).find("'b' has no value that could be multiplied") != std::string::npos);
  CHECK(after("a: 1", {"b*=2"}, "{a: 1, b: 4 us}") == "a=1;b=8 us;");
  CHECK(after("a: 1", {"b.c*=2"}, "{a: 1, b: {c: 4, d: 5}}") == "a=1;b=;.c=8;.d=5;");
  CHECK(after("{a: 1, b: {d: 6}}", {"b.c*=2"}, "{a: 1, b: {c: 4, d: 5}}") == "a=1;b=;.d=6;.c=8;");
  CHECK(after("a: 1", {"c*=2"}, "{a: 1, b: 4}").find("'c' has no value that could be multiplied") != std::string::npos);
}

TEST_CASE("a range goes up by its factor to its end") {
  CHECK(range("1", "8", "2") == Values{"1", "2", "4", "8"});
  CHECK(range("64 KiB", "1 MiB", "4") == Values{"64 KiB", "256 KiB", "1024 KiB"});
  CHECK(range("100 Gb/s", "30 GB/s", "1.5") == Values{"100 Gb/s", "150 Gb/s", "225 Gb/s"});  // 28.1 of 30 GB/s
  CHECK(range("x0.5", "x2", "2") == Values{"x0.5", "x1", "x2"});
  CHECK(range("5", "5", "2") == Values{"5"});
}

TEST_CASE("a setting of the value that is there leaves it as it is, where it is") {
  const ConfigFiles files("no-such-folder");
  Diagnostics diagnostics;
  ConfigValue root = parse_config("{rate: 400 Gb/s, share: 80 %, count: 8}", "x.yaml", diagnostics);
  const auto place_after = [&](const std::string& setting) {
    apply_setting(root, setting, files, diagnostics);
    const ConfigValue& value = root.find(setting.substr(0, setting.find_first_of("*=")))->value;
    return fmt::format("{} {}", is_setting(value.where) ? "set" : "written", value.scalar);
  };
  CHECK(place_after("rate=50 GB/s") == "written 400 Gb/s");
  CHECK(place_after("rate=400 Gbps") == "written 400 Gb/s");
  CHECK(place_after("rate*=1") == "written 400 Gb/s");
  CHECK(place_after("rate=x1") == "written 400 Gb/s");
  CHECK(place_after("share=80.0 %") == "written 80 %");
  CHECK(place_after("share=0.8") == "set 0.8");  // its reader may refuse what has no unit
  CHECK(place_after("count=8") == "written 8");
  CHECK(place_after("count*=2") == "set 16");
  CHECK(place_after("rate=51 GB/s") == "set 51 GB/s");
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("a range that leads nowhere is refused") {
  CHECK(range("1", "8", "1").front().find("does not lead") != std::string::npos);
  CHECK(range("1 s", "8 GB", "2").front().find("not two values of one kind") != std::string::npos);
  CHECK(range("x1", "8", "2").front().find("not two values of one kind") != std::string::npos);
  CHECK(range("ring", "8", "2").front().find("not two values of one kind") != std::string::npos);
  CHECK(range("8", "1", "2").front().find("no value from '8' to '1'") != std::string::npos);
  CHECK(range("0", "1", "2").front().find("no value from") != std::string::npos);
  CHECK(range("1", "1e9", "1.0001").front().find("more than 1000 values") != std::string::npos);
}

TEST_CASE("a factor is an x and a number, the name of a file is none") {
  CHECK(factor_of("x2") == "2");
  CHECK(!factor_of("x2.csv"));
  CHECK(!factor_of("x2/rank.yaml"));
  CHECK(!factor_of("xtime"));
}
