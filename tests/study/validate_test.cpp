// SPDX-License-Identifier: MIT
// The error of predictions against published tables.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study/benchmark/study.h"
#include "study/validate/collectives/validate.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

ValidationTable table(std::string name, std::vector<ValidationRow> rows) {
  ValidationTable table;
  table.name = std::move(name);
  table.cluster = "dgx-a100";
  table.gpus_per_node = 8;
  table.operation = workload::call_operation_named("all_reduce", "op");
  table.rows = std::move(rows);
  return table;
}

// The rows of a table, as if they had been predicted.
MeasuredRows with_predictions(const ValidationTable& table, const std::vector<std::int64_t>& microseconds,
                              const std::string& generation = "ampere") {
  MeasuredRows rows = rows_of(table);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].predicted = static_cast<double>(microseconds[i]) * 1e-6;
    rows[i].facts["generation"] = generation;
  }
  return rows;
}

ValidationRow row(std::int64_t bytes, std::int64_t microseconds) {
  return {Bytes(bytes), Duration(microseconds * 1'000'000)};
}

}  // namespace

TEST_CASE("sizes fall into three bands") {
  CHECK(band_of(Bytes((1 << 20) - 1)) == SizeBand::kSmall);
  CHECK(band_of(Bytes(1 << 20)) == SizeBand::kMiddle);
  CHECK(band_of(Bytes((256 << 20) - 1)) == SizeBand::kMiddle);
  CHECK(band_of(Bytes(256 << 20)) == SizeBand::kLarge);
}

TEST_CASE("every table counts the same, whatever its number of rows") {
  const ValidationTable many = table("many", {row(8, 100), row(16, 100), row(1 << 28, 100)});
  const ValidationTable few = table("few", {row(8, 200)});
  MeasuredRows rows = with_predictions(many, {110, 70, 102});
  const MeasuredRows others = with_predictions(few, {300});
  // 10 %, 30 %, 2 % and 50 %.
  CHECK(errors_of(rows)->median == Approx(0.10));
  CHECK(worst_of(rows)->error() == Approx(-0.30));
  CHECK(errors_of(in_band(rows, SizeBand::kSmall))->median == Approx(0.20));
  CHECK_FALSE(errors_of(in_band(rows, SizeBand::kMiddle)));
  rows.insert(rows.end(), others.begin(), others.end());
  const OverallError overall = overall_error(rows);
  CHECK(overall.all->median == Approx(0.30));
  CHECK(overall.bands[0]->median == Approx((0.20 + 0.50) / 2));
  CHECK_FALSE(overall.bands[1]);
  CHECK(overall.bands[2]->median == Approx(0.02));
}

TEST_CASE("tables are put together by collection, operation and generation") {
  ValidationTable second = table("second", {row(8, 100), row(64 << 20, 100), row(1 << 30, 100)});
  second.collection = TableCollection::kSecond;
  second.operation = workload::call_operation_named("all_gather", "--op");
  const ValidationTable first = table("first", {row(8, 200)});
  MeasuredRows rows = with_predictions(first, {300});
  const MeasuredRows others = with_predictions(second, {110, 120, 140}, "hopper");
  rows.insert(rows.end(), others.begin(), others.end());
  const nlohmann::ordered_json groups = groups_json(rows);
  REQUIRE(groups.size() == 6);
  CHECK(groups[1]["of"] == "all_reduce");
  CHECK(groups[1]["error_from_64_mib"].is_null());
  CHECK(groups[3]["collection"] == "second");
  CHECK(groups[4]["of"] == "all_gather");
  CHECK(groups[5]["of"] == "hopper");
  CHECK(groups[5]["error"]["median"].get<double>() == Approx(0.20));
  CHECK(groups[5]["error_from_64_mib"]["median"].get<double>() == Approx(0.30));
  CHECK(groups_text(rows).find("second      hopper") != std::string::npos);
}

TEST_CASE("a scored table is predicted as `orrery collective` would; others are left out") {
  CollectiveQuestion question;
  question.cluster = "dgx-a100";
  question.nodes = "1";
  question.library = "nccl";
  const std::vector<Bytes> sizes = {Bytes(1 << 20), Bytes(1 << 28)};
  ValidationTable scored = table("scored", {row(1 << 20, 100), row(1 << 28, 3000)});
  scored.launch = collectives::LaunchMode::kMpi;
  const CollectiveTable expected = study_collective(question, scored.operation, sizes, kFiles);
  ValidationTable other = scored;
  other.scored = false;
  other.name = "other";
  other.why_not = "badly set up";
  const std::vector<ValidationTable> tables = {scored, other};
  const Validation validation = validate(tables, kFiles);
  REQUIRE(validation.scored.size() == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    CHECK(validation.scored[i].predicted == seconds(expected.rows[i].time));
  REQUIRE(validation.left_out.size() == 1);
  CHECK(validation_text(validation).find("  other: badly set up\n") != std::string::npos);
  CHECK(to_json(validation)["not_scored"][0]["why"] == "badly set up");
  CHECK(to_json(validation)["tables"][0]["rows"][1]["measured_s"] == 0.003);
}
