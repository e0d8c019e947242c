// SPDX-License-Identifier: MIT
#include "study/validate/experts/validation.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

double median_of_fitted(const MeasuredRows& rows) {
  return errors_of(rows_where(rows, [](const Measured& row) { return table_of<ExpertTable>(row).fitted; }))->median;
}

}  // namespace

TEST_CASE("dispatch and combine are within 15 % of what they were fitted to, within 25 % of a system left out") {
  const std::vector<ExpertTable> tables = list_tables<ExpertTable>(kFiles);
  const ExpertValidation validation = validate_experts(tables, kFiles, true);
  const std::vector<MeasuredGroup> libraries =
      grouped(validation.rows, [](const Measured& row) { return table_of<ExpertTable>(row).library.name; });
  CHECK(libraries.size() == 3);
  for (const MeasuredGroup& library : libraries) {
    INFO(library.name);
    CHECK(median_of_fitted(library.rows) < 0.15);
  }
  CHECK(validation.left_out.size() == 3);  // H100, H200 and GB200 with DeepEP
  for (const LeftOutSystem& left : validation.left_out) {
    INFO(left.system);
    CHECK(median_of_fitted(left.rows) < 0.25);
    CHECK(left.fitted != table_of<ExpertTable>(left.rows.front()).library);
  }
}

TEST_CASE("what is printed and written of dispatches are the errors of all tables") {
  const std::vector<ExpertTable> tables = list_tables<ExpertTable>(kFiles);
  const ExpertValidation validation = validate_experts(tables, kFiles, false);
  CHECK(validation.left_out.empty());
  const std::string text = expert_validation_text(validation);
  const nlohmann::ordered_json document = to_json(validation);
  REQUIRE(document["tables"].size() == tables.size());
  std::size_t rows = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    CHECK(text.find("  " + tables[i].name) != std::string::npos);
    CHECK(document["tables"][i]["table"] == tables[i].name);
    rows += tables[i].rows.size();
  }
  CHECK(validation.rows.size() == 2 * rows);
}

TEST_CASE("a table of dispatches says what is wrong with it") {
  const auto problem_of = [](const std::string& rest) {
    const std::string text =
        "table: t\nsource: s\nmeasured: m\nsystem: x\ncluster: dgx-h100\nbytes_per_value: {dispatch: 1, combine: 2}\n" +
        rest;
    Diagnostics diagnostics;
    table_from<ExpertTable>(parse_config(text, "t.yaml", diagnostics), kFiles, diagnostics);
    return diagnostics.problems().empty() ? std::string("none") : diagnostics.problems().front().message;
  };
  const std::string row = "exchanges:\n  - [1, 8, 7168, 128, 8, 256, 20, 50, 80]\n";
  CHECK(problem_of("dispatch: deepep\n" + row) == "none");
  CHECK(problem_of("dispatch: all-to-all\n" + row) == "'all-to-all' has no kernels of its own");
  CHECK(problem_of("dispatch: deepep\nfitted: false\n" + row) ==
        "a table that is not fitted to, and only such a one, says why");
  CHECK(problem_of("dispatch: deepep\nexchanges:\n  - [1, 8]\n") == "an exchange is nine numbers");
  CHECK(problem_of("dispatch: deepep\nexchanges:\n  - [1, 8, 7168, 128, 8, 255, 20, 50, 80]\n") ==
        "255 experts do not divide among 8 ranks");
  CHECK(problem_of("dispatch: deepep\nexchanges:\n  - [1, 8, 7168, 128, 8, 256, 20, -5, 80]\n") ==
        "'-5' is not a time in microseconds");
  CHECK(problem_of("dispatch: deepep\nexchanges: []\n") == "'exchanges' must be a list of lists of nine numbers");
}
