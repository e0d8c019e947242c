// SPDX-License-Identifier: MIT
#include "study/constraint.h"

#include <map>
#include <string>

#include <catch2/catch.hpp>

using namespace orrery;
using namespace orrery::study;
using Catch::Matchers::Contains;

namespace {

const std::map<std::string, std::string, std::less<>> kValues = {
    {"tensor", "8"}, {"pipeline", "4"}, {"cluster", "dgx-a100"}, {"bucket", "500 kB"}};

std::optional<NamedValue> value_of(std::string_view name) {
  const auto found = kValues.find(name);
  return found == kValues.end() ? std::nullopt : std::optional(named_value(found->second));
}

bool holds(const std::string& text) { return Constraint(text, {"--where"}).holds(value_of); }

}  // namespace

TEST_CASE("a constraint compares products of names and numbers") {
  CHECK(holds("tensor * pipeline <= 32"));
  CHECK_FALSE(holds("tensor*pipeline<32"));
  CHECK(holds("16 <= tensor * pipeline <= 64"));
  CHECK_FALSE(holds("16 <= tensor * pipeline <= 31.5"));
  CHECK(holds("tensor = 2 * pipeline"));
  CHECK(holds("tensor == 8.0"));
  CHECK(holds("tensor != pipeline"));
  CHECK(holds("tensor > pipeline"));
  CHECK(holds("tensor >= 8"));
  CHECK_FALSE(holds("pipeline > 4"));
}

TEST_CASE("texts are equal or not, and have no order") {
  CHECK(holds("cluster = dgx-a100"));
  CHECK(holds("cluster != hgx-a800"));
  CHECK(holds("bucket = '500 kB'"));
  CHECK(holds("cluster != 8"));
  CHECK_FALSE(holds("cluster = 8"));
  CHECK_FALSE(holds("cluster < hgx-a800"));
  CHECK_FALSE(holds("cluster * 2 = 2"));
}

TEST_CASE("a text that is no constraint is refused with what is expected") {
  for (const char* text : {"", "tensor", "tensor <=", "<= 8", "tensor ~ 8", "tensor <= * 8", "tensor 8", "'tensor = 8",
                           "tensor = = 8", "8 <= tensor <=", "tensor * = 8"})
    CHECK_THROWS_WITH(holds(text), Contains("is no constraint") && Contains("hint: for example"));
}

TEST_CASE("an unknown name is refused with the likely one") {
  const std::vector<std::string> names = {"tensor", "pipeline", "cluster"};
  const auto check = [&](const std::string& text) { Constraint(text, {"--where"}).check(names); };
  CHECK_NOTHROW(check("tensor * pipeline <= 8"));
  CHECK_NOTHROW(check("cluster = dgx-a100"));
  CHECK_THROWS_WITH(check("tensr <= 8"), Contains("unknown name 'tensr'") && Contains("did you mean 'tensor'?"));
  CHECK_THROWS_WITH(check("tensor * pipelin = 8"), Contains("unknown name 'pipelin'"));
  CHECK_THROWS_WITH(check("tensor <= pipelin"), Contains("unknown name 'pipelin'"));
  CHECK_THROWS_WITH(check("clustr = dgx-a100"), Contains("unknown name"));
  CHECK_THROWS_WITH(check("8 <= 9"), Contains("compares nothing that has a name"));
  CHECK(Constraint("tensor <= 8", {}).is_of(names));
  CHECK_FALSE(Constraint("mfu > 0.4", {}).is_of(names));
}
