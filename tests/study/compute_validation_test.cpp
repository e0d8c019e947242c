// SPDX-License-Identifier: MIT
// The model of operators against measured times: the numbers that are derived, and how far off it may be.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "study/validate/compute/validation.h"
#include "system/devices/operator_model.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;
using namespace orrery::system;
using namespace orrery::workload;
using namespace std::chrono_literals;

namespace {

ComputeTable shipped_table(const std::string& name) {
  for (ComputeTable& table : list_tables<ComputeTable>(kFiles))
    if (table.name == name) return std::move(table);
  FAIL("no table " << name);
  return {};
}

MeasuredRows rows_named(const ValidatedComputeTable& table, const std::string& name) {
  return rows_where(table.operators, [&](const Measured& row) { return row.family == name; });
}

std::optional<ErrorSummary> errors_named(const ValidatedComputeTable& table, const std::string& name) {
  return errors_of(rows_named(table, name));
}

std::size_t rows_below(const ValidatedComputeTable& table, const std::string& name) {
  return rows_where(rows_named(table, name), [](const Measured& row) { return !row.scored; }).size();
}

LayerSample sample(std::int64_t tokens) {
  LayerSample sample;
  sample.heads = 8;
  sample.key_value_heads = 8;
  sample.hidden = 1024;
  sample.feed_forward = 4096;
  sample.tokens = tokens;
  sample.times.fill(Duration(100us));
  return sample;
}

}  // namespace

TEST_CASE("products count from 256 tokens on, element-wise operators are left out below 64") {
  ComputeTable table = shipped_table("layers-a100");
  table.layers = {sample(63), sample(64), sample(255), sample(256)};
  const ComputeValidation validation = validate_compute(std::span(&table, 1));
  const ValidatedComputeTable& validated = validation.tables.at(0);
  CHECK(errors_named(validated, "qkv")->rows == 1);
  CHECK(rows_below(validated, "qkv") == 3);
  CHECK(errors_of(products_of(validated)->rows)->rows == 4);
  CHECK(errors_named(validated, "norm")->rows == 2);
  CHECK(rows_below(validated, "norm") == 4);
  CHECK(validated.left_out == 6);
  const MeasuredRows up = rows_named(validated, "mlp up");
  const Measured* worst = worst_of(up);
  REQUIRE(worst != nullptr);
  CHECK(worst->label == "256x4096x1024");
  const Duration expected = OperatorModel(table.device, table.rates()).time(Gemm{256, 4096, 1024, 1, table.precision});
  CHECK(worst->predicted == seconds(expected));
  CHECK(worst->error() == Approx(seconds(expected) / 100e-6 - 1));
}

TEST_CASE("a rate of a product is the time of its work") {
  ComputeTable table = shipped_table("cublaslt-a100");
  table.products = {{{}, Gemm{1000, 1000, 1000, 1, Precision::kFp16}, 100e12}};
  const ComputeValidation validation = validate_compute(std::span(&table, 1));
  // 2 * 10^9 at 100 TFLOP/s.
  CHECK(rows_named(validation.tables[0], "product").at(0).measured == 20e-6);
  CHECK_FALSE(products_of(validation.tables[0]));
}

TEST_CASE("the model is as near to the shipped tables as docs/compute.md promises") {
  const std::vector<ComputeTable> tables = list_tables<ComputeTable>(kFiles);
  const ComputeValidation validation = validate_compute(tables);
  // What a model of a few constants should reach; the medians of norms on H100 are those of kernels with two regimes.
  const std::map<std::string, double> products = {{"layers-a100", 0.07}, {"layers-a40", 0.07}, {"layers-h100", 0.09}};
  std::size_t layers = 0;
  for (const ValidatedComputeTable& table : validation.tables) {
    INFO(table.table->name);
    if (!table.kernels.empty()) continue;
    if (!products.contains(table.table->name)) {
      CHECK(errors_named(table, "product")->median <= 0.10);
      CHECK(errors_named(table, "product")->worst <= 0.15);
      continue;
    }
    ++layers;
    CHECK(errors_of(products_of(table)->rows)->median <= products.at(table.table->name));
    CHECK(errors_of(products_of(table)->rows)->ninetieth <= 0.20);
    for (const MeasuredGroup& group : operators_of(table)) {
      INFO(group.name);
      if (is_product(group)) continue;
      const bool hopper_norm = table.table->name == "layers-h100" && group.name == "norm";
      CHECK(errors_of(group.rows)->median <= (hopper_norm ? 0.18 : 0.10));
    }
  }
  CHECK(layers == 3);
  CHECK(validation.product_constants() <= 16);
}

TEST_CASE("kernels are as near to the shipped tables as docs/compute.md promises") {
  std::vector<ComputeTable> tables = list_tables<ComputeTable>(kFiles);
  std::erase_if(tables, [](const ComputeTable& table) { return table.kernels.empty(); });
  const ComputeValidation validation = validate_compute(tables);
  CHECK(validation.tables.size() == 7);
  for (const ValidatedComputeTable& table : validation.tables)
    for (const MeasuredGroup& group : kernels_of(table.kernels)) {
      INFO(table.table->name << " " << group.name);
      const bool ada = table.table->name == "kernels-l40s";
      const double median = errors_of(group.rows)->median;
      if (group.name == "gemm bf16" || group.name == "gemm fp8") CHECK(median <= (ada ? 0.12 : 0.08));
      // With the constants of Hopper and the data sheet.
      if (table.table->name == "kernels-b200" && group.name == "gemm bf16")
        CHECK(errors_of(rows_where(table.kernels_by_others, [&](const Measured& row) {
                return row.family == group.name;
              }))->median <= 0.20);
      if (group.name == "attention bf16") CHECK(median <= 0.11);
      if (group.name.starts_with("gemm bf16 ")) CHECK(median <= 0.07);
      if (group.name.starts_with("grouped bf16 ")) CHECK(median <= 0.17);  // of an A100 two rows a stage
      if (group.name.starts_with("attention bf16 ")) CHECK(median <= 0.09);
    }
}

TEST_CASE("every fitted constant is named once, with what ships") {
  const std::vector<ComputeTable> tables = list_tables<ComputeTable>(kFiles);
  const ComputeValidation validation = validate_compute(tables);
  std::map<std::string, int> times;
  for (const FittedComputeConstant& constant : validation.constants) ++times[constant.of + "." + constant.name];
  for (const auto& [name, count] : times) {
    INFO(name);
    CHECK(count == 1);
  }
  // Of all devices 7, of A100 and H100 an efficiency and a launch, of A100 PCIe an efficiency, of H100 that of fp8, of
  // A40 also the memory's.
  CHECK(validation.product_constants() == 7 + 2 + 1 + 3 + 3);
  CHECK(times.contains("h100-sxm.fp8"));
  CHECK(times.contains("vllm-2023.traffic.norm"));
}

TEST_CASE("the JSON has what the text has, and every row") {
  const ComputeTable table = shipped_table("layers-h100");
  const ComputeValidation validation = validate_compute(std::span(&table, 1));
  const nlohmann::ordered_json document = to_json(validation);
  const auto& written = document["tables"][0];
  CHECK(written["table"] == "layers-h100");
  CHECK(written["device"] == "h100-sxm");
  CHECK(written["operators"].size() == 9);
  CHECK(written["operators"][0]["rows"].size() == table.layers.size());
  CHECK(written["operators"][0]["error"]["median"] == errors_named(validation.tables[0], "qkv")->median);
  CHECK(document["fitted_product_constants"] == validation.product_constants());
  const std::string text = compute_validation_text(validation);
  for (const MeasuredGroup& group : operators_of(validation.tables[0]))
    CHECK(text.find("  " + group.name + " ") != std::string::npos);
}

TEST_CASE("docs/compute.md shows what `orrery validate compute` prints") {
  const std::filesystem::path written = std::filesystem::path(ORRERY_BINARY_DIR) / "compute.md";
  const std::vector<ComputeTable> tables = list_tables<ComputeTable>(kFiles);
  const std::string expected = "```text\n" + compute_validation_text(validate_compute(tables)) + "```\n";
  const std::string kernels = "```text\n" + kernel_validation_text(validate_compute(tables), true) + "```\n";
  std::ofstream(written) << expected << kernels;
  std::ifstream file(ORRERY_SOURCE_DIR "/docs/compute.md");
  std::ostringstream docs;
  docs << file.rdbuf();
  INFO("what should stand there is in " << written);
  CHECK(docs.str().find(expected) != std::string::npos);
  CHECK(docs.str().find(kernels) != std::string::npos);
}
