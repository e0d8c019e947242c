// SPDX-License-Identifier: MIT
// What all kinds of validation share, with rows that belong to none: sums of errors, rows left out, tables, documents
// and the page.
#include <atomic>
#include <catch2/catch.hpp>
#include <span>
#include <string>
#include <vector>

#include "study/validate/kinds.h"
#include "study/validate/measured/accuracy.h"
#include "study/validate/measured/output.h"

using namespace orrery;
using namespace orrery::study;
using Catch::Matchers::Contains;

namespace {

MeasuredTable table_named(const std::string& name) {
  MeasuredTable table;
  table.name = name;
  return table;
}

const MeasuredTable kMadeUpTable = table_named("t");

Measured row(const std::string& family, const std::string& label, double measured, double predicted) {
  return {&kMadeUpTable, 0, family, label, {"t.yaml", 3}, measured, predicted};
}

// +10 %, -20 % and +300 % of "a", 0 of "b".
MeasuredRows four_rows() {
  return {row("a", "one", 1, 1.1), row("a", "two", 2, 1.6), row("b", "three", 3, 3), row("a", "four", 1, 4)};
}

std::string family_of(const Measured& row) { return row.family; }

}  // namespace

TEST_CASE("median, 90th percentile, worst and mean of errors") {
  CHECK_FALSE(summary_of({}));
  const auto one = summary_of({-0.25});
  CHECK((one->median == 0.25 && one->ninetieth == 0.25 && one->worst == 0.25 && one->mean == 0.25));
  // Of 10 the median is between the 5th and the 6th, and the 9th is not exceeded by 9 of 10.
  const auto ten = summary_of({10, -9, 8, -7, 6, -5, 4, -3, 2, -1});
  CHECK((ten->rows == 10 && ten->median == 5.5 && ten->ninetieth == 9 && ten->worst == 10));
  CHECK(ten->mean == Approx(5.5));
  const auto eleven = summary_of({11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  CHECK((eleven->median == 6 && eleven->ninetieth == 10 && eleven->worst == 11));
}

TEST_CASE("a bias is the median of the signed errors, which one row that is far off does not move") {
  // Of -20 %, +10 % and +300 %; their mean is +97 %.
  CHECK(summary_of({0.1, -0.2, 3})->bias == Approx(0.1));
  // Of an even number the mean of the two in the middle: (-10 % + 30 %) / 2.
  CHECK(summary_of({-0.1, 0.3, 0.5, -0.2})->bias == Approx(0.1));
  // All on one side: as large as the median error.
  CHECK(summary_of({-0.1, -0.3, -0.2})->bias == Approx(-0.2));
}

TEST_CASE("rows that do not count have no part in errors, but in documents") {
  MeasuredRows rows = four_rows();
  rows[3].scored = false;
  CHECK(errors_of(rows)->rows == 3);
  CHECK(worst_of(rows)->label == "two");
  CHECK(rows_json(rows, {"at", "line", "measured_s", "error"}).dump() ==
        R"([{"at":"one","line":3,"measured_s":1.0,"error":0.10000000000000009},)"
        R"({"at":"two","line":3,"measured_s":2.0,"error":-0.19999999999999996},)"
        R"({"at":"three","line":3,"measured_s":3.0,"error":0.0},{"at":"four","line":3,"measured_s":1.0,"error":3.0}])");
  for (Measured& row : rows) row.scored = false;
  CHECK_FALSE(errors_of(rows));
  CHECK(worst_of(rows) == nullptr);
}

TEST_CASE("rows are grouped in the order of their first ones, and each group counts the same") {
  const std::vector<MeasuredGroup> groups = grouped(four_rows(), family_of);
  REQUIRE(groups.size() == 2);
  CHECK((groups[0].name == "a" && groups[0].rows.size() == 3 && groups[1].name == "b"));
  // (20 % + 0) / 2.
  CHECK(errors_of_medians(groups)->median == Approx(0.1));
}

TEST_CASE("rows with the same prediction are predicted once") {
  MeasuredRows rows = four_rows();
  rows[0].same = rows[3].same = "x";
  std::atomic<int> calls = 0;
  predict_rows(rows, [&](std::size_t row) {
    ++calls;
    return Prediction{static_cast<double>(row) + 10, {}, {{"seen", row}}};
  });
  CHECK(calls == 3);
  CHECK((rows[3].predicted == 10 && rows[3].facts["seen"] == 0 && rows[3].measured == 1));
  CHECK((rows[1].predicted == 11 && rows[2].predicted == 12));
}

TEST_CASE("a group that is left out is predicted by what the others give") {
  // A constant is the mean measured time of the others: of "b" left out (1 + 2 + 1) / 3, of "a" left out 3.
  const MeasuredRows rows = four_rows();
  const LeftOut<double> left = leave_one_out<double>(
      rows, family_of,
      [&](const std::string& without) {
        double sum = 0, count = 0;
        for (const Measured& row : rows)
          if (row.family != without) sum += row.measured, ++count;
        return sum / count;
      },
      [](std::size_t, const double& constant) {
        return Prediction{constant, {}};
      });
  CHECK(left.names == std::vector<std::string>{"a", "b"});
  CHECK(left.without("a") == 3);
  CHECK(left.rows[0].predicted == 3);
  CHECK(left.rows[2].predicted == Approx(4.0 / 3));
}

TEST_CASE("a table of errors has the columns that were asked for") {
  ErrorTable text({"family"}, error_columns({"rows", "> 15 %", "mean", "median", "bias", "p90", "worst", "at"}));
  CHECK(text.is_empty());
  for (const MeasuredGroup& group : grouped(four_rows(), family_of)) text.row({group.name}, group.rows);
  CHECK(text.text() ==
        "  family  rows  > 15 %   mean  median   bias    p90   worst  at\n"
        "  a          3       2  110.0    20.0  +10.0  300.0  +300.0  four\n"
        "  b          1       0    0.0     0.0   +0.0    0.0    +0.0  three\n");
}

TEST_CASE("the page of errors has a picture and a line for each family of any kind") {
  const AccuracySection section{"made-up", "Made up", "rows", grouped(four_rows(), family_of)};
  const std::string page = accuracy_page(std::span(&section, 1), "pictures");
  CHECK_THAT(page, Contains("![Made up](pictures/accuracy-made-up.svg)"));
  CHECK_THAT(page, Contains("| a | 3 | 20.0 % | 300.0 % | +300.0 % | +10.0 % |"));
  CHECK_THAT(accuracy_picture(section), Contains(">a: median") || Contains(">3: median 20.0 %<"));
}

TEST_CASE("every kind of validation is listed once, with what it calls its files") {
  for (const ValidationKind& kind : validation_kinds()) {
    CHECK(&validation_kind(kind.name) == &kind);
    CHECK_FALSE(kind.table.empty());
  }
}
