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

ValidatedTable with_errors(const ValidationTable& table, const std::vector<std::int64_t>& predicted_microseconds) {
  ValidatedTable validated{&table};
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    validated.rows.push_back({table.rows[i], Duration(predicted_microseconds[i] * 1'000'000)});
  return validated;
}

ValidationRow row(std::int64_t bytes, std::int64_t microseconds) {
  return {Bytes(bytes), Duration(microseconds * 1'000'000)};
}

}  // namespace

TEST_CASE("median, 90th percentile and worst of errors") {
  CHECK_FALSE(summary_of({}));
  const auto one = summary_of({0.25});
  CHECK((one->median == 0.25 && one->ninetieth == 0.25 && one->worst == 0.25));
  // Of 10 the median is between the 5th and the 6th, and the 9th is not exceeded by 9 of 10.
  const auto ten = summary_of({10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  CHECK((ten->rows == 10 && ten->median == 5.5 && ten->ninetieth == 9 && ten->worst == 10));
  const auto eleven = summary_of({11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  CHECK((eleven->median == 6 && eleven->ninetieth == 10 && eleven->worst == 11));
}

TEST_CASE("sizes fall into three bands") {
  CHECK(band_of(Bytes((1 << 20) - 1)) == SizeBand::kSmall);
  CHECK(band_of(Bytes(1 << 20)) == SizeBand::kMiddle);
  CHECK(band_of(Bytes((256 << 20) - 1)) == SizeBand::kMiddle);
  CHECK(band_of(Bytes(256 << 20)) == SizeBand::kLarge);
}

TEST_CASE("every table counts the same, whatever its number of rows") {
  const ValidationTable many = table("many", {row(8, 100), row(16, 100), row(1 << 28, 100)});
  const ValidationTable few = table("few", {row(8, 200)});
  const std::vector<ValidatedTable> tables = {with_errors(many, {110, 70, 102}), with_errors(few, {300})};
  // 10 %, 30 %, 2 % and 50 %.
  CHECK(tables[0].summary()->median == Approx(0.10));
  CHECK(tables[0].worst().error() == Approx(-0.30));
  CHECK(tables[0].summary(SizeBand::kSmall)->median == Approx(0.20));
  CHECK_FALSE(tables[0].summary(SizeBand::kMiddle));
  const OverallError overall = overall_error(tables);
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
  std::vector<ValidatedTable> tables = {with_errors(first, {300}), with_errors(second, {110, 120, 140})};
  tables[1].generation = Architecture::kHopper;
  const nlohmann::ordered_json groups = groups_json(tables);
  REQUIRE(groups.size() == 6);
  CHECK(groups[1]["of"] == "all_reduce");
  CHECK(groups[1]["error_from_64_mib"].is_null());
  CHECK(groups[3]["collection"] == "second");
  CHECK(groups[4]["of"] == "all_gather");
  CHECK(groups[5]["of"] == "hopper");
  CHECK(groups[5]["error"]["median"].get<double>() == Approx(0.20));
  CHECK(groups[5]["error_from_64_mib"]["median"].get<double>() == Approx(0.30));
  CHECK(groups_text(tables).find("second      hopper") != std::string::npos);
}

TEST_CASE("a scored table is predicted as `orrery collective` would; others are left out") {
  CollectiveQuestion question;
  question.cluster = "dgx-a100";
  question.nodes = "1";
  question.library = "nccl";
  const std::vector<Bytes> sizes = {Bytes(1 << 20), Bytes(1 << 28)};
  const ValidationTable scored = table("scored", {row(1 << 20, 100), row(1 << 28, 3000)});
  const CollectiveTable expected = study_collective(question, scored.operation, sizes, kFiles);
  ValidationTable other = scored;
  other.scored = false;
  other.name = "other";
  other.why_not = "badly set up";
  const std::vector<ValidationTable> tables = {scored, other};
  const Validation validation = validate(tables, kFiles);
  REQUIRE(validation.scored.size() == 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) CHECK(validation.scored[0].rows[i].predicted == expected.rows[i].time);
  REQUIRE(validation.left_out.size() == 1);
  CHECK(validation_text(validation).find("  other: badly set up\n") != std::string::npos);
  CHECK(to_json(validation)["not_scored"][0]["why"] == "badly set up");
  CHECK(to_json(validation)["tables"][0]["rows"][1]["measured_s"] == 0.003);
}
