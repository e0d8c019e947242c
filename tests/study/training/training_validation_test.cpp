// SPDX-License-Identifier: MIT
// Training jobs held against times: errors row by row and summed up, and constants that are found again by a fit to
// times that the simulator made with known ones.
#include "study/validate/training/validation.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/in_parallel.h"
#include "study/interval/kinds.h"
#include "study/validate/training/cross.h"
#include "tests/shipped_files.h"
#include "tests/study/training/training_tables.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/spec/software.h"

using namespace orrery;
using namespace orrery::study;
using namespace orrery::workload;

namespace {

const std::filesystem::path kSource(ORRERY_SOURCE_DIR);

TrainingTable table_from_text(const std::string& text) {
  Diagnostics diagnostics;
  TrainingTable table = table_from<TrainingTable>(parse_config(text, "x.yaml", diagnostics), kFiles, diagnostics);
  diagnostics.throw_if_errors();
  return table;
}

// Two jobs on a node with a software of its own, whose GEMMs run at the given share; published times to be set.
std::string text_with(const std::string& name, const std::string& software, double gemm, double first, double second) {
  return fmt::format(
      "table: {}\nsource: s\nmeasured: m\nfigure: time\n"
      "experiment:\n  cluster: dgx-a100\n  nodes: 1\n  workload:\n    model: gpt-1.7b\n    precision: bf16\n"
      "    software: {{name: {}, rates: {{gemm: {}}}, fitted: [gemm]}}\n    batch: {{global: 64}}\n"
      "    parallel: {{data: 4}}\n"
      "columns: [workload.parallel.tensor, workload.batch.micro]\n"
      "rows:\n  - [a, 1, 2, {}]\n  - [b, 2, 4, {}]\n",
      name, software, gemm, first, second);
}

// What the simulator says of the two jobs with the given share.
std::string made_with(const std::string& name, const std::string& software, double gemm, double shipped) {
  const TrainingTable table = table_from_text(text_with(name, software, gemm, 1, 1));
  const TrainingValidation made = validate_training(std::span(&table, 1), kFiles);
  return text_with(name, software, shipped, made.rows[0].predicted, made.rows[1].predicted);
}

}  // namespace

TEST_CASE("every row of scored tables is simulated, and the others are named") {
  std::vector<TrainingTable> tables = {table_from_text(kTrainingTable)};
  tables.push_back(tables.front());
  tables.back().name = "u";
  tables.push_back(tables.front());
  tables.back().name = "v";
  tables.back().scored = false;
  tables.back().why_not = "it is a copy";
  Points points({.jobs = 2});
  const TrainingValidation validation = validate_training(tables, kFiles, &points);
  CHECK(points.done() == 4);
  REQUIRE(training_families(validation.rows).size() == 1);
  const MeasuredRows& rows = validation.rows;
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].label == "b");
  CHECK(rows[2].table->name == "u");
  CHECK(rows[2].predicted == rows[0].predicted);
  CHECK(rows[0].predicted > 0);
  CHECK(rows[0].facts["mfu"] > 0);
  CHECK(rows[0].facts["bound_by"] != "");
  CHECK(software_of(training_families(rows).front()) == std::vector<std::string>{"megatron-2021"});
  const std::string text = training_validation_text(validation, false);
  CHECK(text.find("t, a (") != std::string::npos);
  CHECK(text.find("no one knows") != std::string::npos);
  CHECK(text.find("v: it is a copy") != std::string::npos);
  CHECK(text.find("megatron-2021 on ampere") != std::string::npos);
  CHECK(text.find("from a script") == std::string::npos);
  CHECK(training_validation_text(validation, true).find("workload.batch.micro: from a script") != std::string::npos);
  const nlohmann::ordered_json document = to_json(validation);
  CHECK(document["rows"].size() == 4);
  CHECK(document["rows"][0]["predicted_s"] == rows[0].predicted);
  CHECK(document["families"][0]["error"]["rows"] == 4);
  CHECK(document["not_scored"][0]["table"] == "v");
}

TEST_CASE("each collection of training jobs that has families has a total of its own") {
  std::vector<TrainingTable> tables;
  for (std::size_t i = 0; i < kTrainingCollections.size(); ++i) {
    tables.push_back(table_from_text(kTrainingTable));
    tables.back().collection = static_cast<TrainingCollection>(i);
    tables.back().name = tables.back().family = kTrainingCollections[i];
  }
  const std::string all = training_validation_text(validate_training(tables, kFiles), false);
  for (const std::string_view name : kTrainingCollections)
    CHECK(all.find(fmt::format("\n{} collection (1, of 2 rows): ", name)) != std::string::npos);
  CHECK(all.find("\nall families (3, of 6 rows): ") != std::string::npos);
  const std::string one = training_validation_text(validate_training(std::span(tables).last(1), kFiles), false);
  CHECK(one.find("collection (") == std::string::npos);
  CHECK(one.find("\nall families (1, of 2 rows): ") != std::string::npos);
}

TEST_CASE("a job that does not fit the memory is simulated and named") {
  std::string text = kTrainingTable;
  text.replace(text.find("gpt-1.7b"), 8, "gpt-39b");
  const TrainingTable table = table_from_text(text);
  const TrainingValidation validation = validate_training(std::span(&table, 1), kFiles);
  CHECK(validation.rows.front().facts["fits_memory"] == false);
  CHECK(training_validation_text(validation, false).find("do not fit the devices' memory") != std::string::npos);
}

TEST_CASE(
    "bytes of a framework's allocator are held against the rank that they are of, whether times are scored or not") {
  const std::string allocated = "allocated_on: last\nallocated: {a: {rest: 1 GiB, peak: 2 GiB}, b: {peak: 3 GiB}}\n";
  std::string text = kTrainingTable + allocated;
  text.replace(text.find("figure: time\n"), 13, "figure: time\nscored: false\nwhy_not: toys\n");
  text.replace(text.find("{data: 4}"), 9, "{data: 2, pipeline: 2}");
  const TrainingTable table = table_from_text(text);
  const TrainingValidation validation = validate_training(std::span(&table, 1), kFiles);
  CHECK(validation.rows.empty());
  REQUIRE(validation.at_rest.size() == 1);
  REQUIRE(validation.at_peak.size() == 2);
  CHECK(validation.at_rest.front().measured == 1 << 30);
  CHECK(validation.at_peak.back().label == "b");
  Diagnostics diagnostics;
  const TrainingCase one = read_training_case(table, table.rows.front(), kFiles, diagnostics);
  const MemoryNeed last = memory_needs(one.training()).back();
  CHECK(validation.at_rest.front().predicted == static_cast<double>(last.rest().count()));
  CHECK(validation.at_peak.front().predicted == static_cast<double>(last.total().count()));
  const std::string shown = training_validation_text(validation, true);
  CHECK(shown.find("at rest, in %") != std::string::npos);
  CHECK(shown.find("at the peak, in %") != std::string::npos);
  CHECK(to_json(validation)["memory_at_peak"].size() == 2);
}

TEST_CASE("a row that cannot be simulated is named, the first one if there are several") {
  std::string text = kTrainingTable;
  text.replace(text.find("[a, 1, 2, 1.5]"), 14, "[a, 5, 2, 1.5]");
  text.replace(text.find("[b, 2, 4, 1.8]"), 14, "[b, 7, 4, 1.8]");
  const TrainingTable table = table_from_text(text);
  CHECK_THROWS_WITH(validate_training(std::span(&table, 1), kFiles), Catch::Contains("x.yaml:20:"));
}

TEST_CASE("no software has more than four fitted constants on an architecture") {
  for (const std::string& name : kFiles.names("software")) {
    Diagnostics diagnostics;
    ConfigValue root = kFiles.load(kSource / "configs" / "software" / (name + ".yaml"), {}, diagnostics);
    ConfigContext context(kFiles, diagnostics);
    SoftwareSpec software;
    read_config(root, context, [&](Section& section) { software = read_software(section); });
    diagnostics.throw_if_errors();
    INFO(name);
    for (std::size_t i = 0; i < architecture_names().size(); ++i)
      CHECK(fitted_on(software, static_cast<Architecture>(i)).size() <= 4);
  }
}

TEST_CASE("a fit to times that were simulated finds the constants that made them") {
  // The jobs ran at 0.8, and 0.9 ships. Times are no exact power laws: half a percent.
  const std::vector<TrainingTable> tables = {table_from_text(made_with("x", "one", 0.8, 0.9)),
                                             table_from_text(made_with("y", "one", 0.8, 0.9))};
  const TrainingValidation validation = validate_training(tables, kFiles);
  CHECK(errors_of(validation.rows)->bias < -0.05);
  const TrainingCross cross = cross_validate(validation, kFiles);
  REQUIRE(cross.constants.size() == 1);
  CHECK(cross.fitted.front() == Approx(0.8).epsilon(0.005));
  // Each family is of the same software as the other one, so leaving it out loses nothing.
  REQUIRE(cross.left_out.names == std::vector<std::string>{"x", "y"});
  CHECK(errors_of(cross.left_out.rows)->worst < 0.005);
  const std::string text = training_cross_text(validation, cross, coverage(errors_of(cross, kFiles), training_runs()));
  CHECK(text.find("one family left out, all families (2)") != std::string::npos);
  const nlohmann::ordered_json document = to_json(cross, coverage(errors_of(cross, kFiles), training_runs()));
  CHECK(document["left_out"].size() == 2);
  CHECK(document["constants"][0]["fitted"] == cross.fitted.front());
}

TEST_CASE("a fit leaves the shipped constants as they are") {
  const TrainingTable table = table_from_text(made_with("x", "one", 0.8, 0.9));
  const TrainingValidation validation = validate_training(std::span(&table, 1), kFiles);
  cross_validate(validation, kFiles);
  const TrainingValidation again = validate_training(std::span(&table, 1), kFiles);
  CHECK(again.rows.front().predicted == validation.rows.front().predicted);
}

namespace {

// GEMM shares of several generations, all shipped as 0.9, and rows whose times go with them.
struct Generations {
  std::vector<TrainingConstant> constants;
  std::vector<TrainingFitRow> rows;

  void add(const std::string& name, Architecture architecture, double share, double slope = -1) {
    constants.push_back({name, architecture, SoftwareConstant::kGemm, 0.9, 1, 0});
    // Predicted with 0.9 instead of `share`.
    for (int i = 0; i < 4; ++i)
      rows.push_back({constants.size() - 1, slope * std::log(0.9 / share), {{constants.size() - 1, slope}}});
  }
};

}  // namespace

TEST_CASE("a generation that is left out takes the mean of the others on its architecture") {
  Generations generations;
  const std::vector<double> shares = {0.8, 0.9, 0.85};
  for (const double share : shares) generations.add("a", Architecture::kAmpere, share);
  const std::vector<double> all = fit_training(generations.constants, generations.rows);
  // A family's error is 5 %, generations differ by 7 %: 34 % (0.05^2 / (0.05^2 + 0.07^2)) of the way to their mean.
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(all[i] == Approx(std::pow(shares[i], 0.66) * std::pow(0.849, 0.34)).epsilon(0.005));
  const std::vector<double> without = fit_training(generations.constants, generations.rows, 2);
  // The geometric mean of 0.8 and 0.9, drawn towards the nominal 1 by 1 % of the way.
  CHECK(without[2] == Approx(std::sqrt(0.8 * 0.9)).epsilon(0.005));
}

TEST_CASE("an architecture that is left out takes the mean of the others") {
  Generations generations;
  generations.add("a", Architecture::kAmpere, 0.8);
  generations.add("b", Architecture::kHopper, 0.7);
  generations.add("c", Architecture::kBlackwell, 0.6);
  // What two architectures lie around has a variance of (0.05^2 + 0.07^2 + 0.15^2) / 2; the nominal value of 1 has 1
  // and draws it by a seventieth of the 0.29 in logarithms between them.
  CHECK(fit_training(generations.constants, generations.rows, 2)[2] == Approx(std::sqrt(0.8 * 0.7)).epsilon(0.01));
  // 0.05^2 / (0.05^2 + 0.07^2 + 0.15^2), a twelfth, of the way to the mean of all, which is 0.15 away.
  CHECK(fit_training(generations.constants, generations.rows)[2] == Approx(0.6 * std::exp(0.15 / 12)).epsilon(0.005));
}

TEST_CASE("a generation that trains another kind of model says nothing of one that is left out") {
  Generations generations;
  generations.add("a", Architecture::kAmpere, 0.8);
  generations.add("b", Architecture::kAmpere, 0.8);
  generations.add("convolutions", Architecture::kAmpere, 0.6);
  const double together = fit_training(generations.constants, generations.rows, 1)[1];
  CHECK(together == Approx(std::sqrt(0.8 * 0.6)).epsilon(0.01));
  generations.constants[2].model_kind = 2;
  CHECK(fit_training(generations.constants, generations.rows, 1)[1] == Approx(0.8).epsilon(0.01));
  CHECK(fit_training(generations.constants, generations.rows)[2] == Approx(0.6).epsilon(0.02));
}

TEST_CASE("a row that is far off moves a fit little") {
  Generations generations;
  generations.add("a", Architecture::kAmpere, 0.8);
  for (int i = 0; i < 4; ++i) generations.rows.push_back(generations.rows.front());
  generations.rows.back().log_error += 1;
  // By squares it would be 1 / 8 = 13 % off. With soft-L1 its pull is 0.05 against 7 errors: 0.05 / 7 = 0.7 %.
  CHECK(fit_training(generations.constants, generations.rows).front() == Approx(0.8).epsilon(0.01));
}

TEST_CASE("families count the same in a fit, however many rows they have") {
  Generations generations;
  generations.add("a", Architecture::kAmpere, 0.8);
  // Another family of the same software says 0.82, in one row instead of four.
  generations.rows.push_back({1, -std::log(0.9 / 0.82), {{0, -1}}});
  CHECK(fit_training(generations.constants, generations.rows).front() == Approx(std::sqrt(0.8 * 0.82)).epsilon(0.002));
}
