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

const OperatorErrors& errors_of(const ValidatedComputeTable& table, const std::string& name) {
  for (const OperatorErrors& errors : table.operators)
    if (errors.name == name) return errors;
  FAIL("no operator " << name);
  return table.operators.front();
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
  CHECK(errors_of(validated, "qkv").summary()->rows == 1);
  CHECK(errors_of(validated, "qkv").summary_below()->rows == 3);
  CHECK(validated.products->summary()->rows == 4);
  CHECK(errors_of(validated, "norm").summary()->rows == 2);
  CHECK(errors_of(validated, "norm").summary_below()->rows == 4);
  CHECK(validated.left_out == 6);
  const ValidatedOperator* worst = errors_of(validated, "mlp up").worst();
  REQUIRE(worst != nullptr);
  CHECK(worst->at == "256x4096x1024");
  const Duration expected = OperatorModel(table.device, table.rates()).time(Gemm{256, 4096, 1024, 1, table.precision});
  CHECK(worst->predicted == expected);
  CHECK(worst->error() == Approx(seconds(expected) / 100e-6 - 1));
}

TEST_CASE("a rate of a product is the time of its work") {
  ComputeTable table = shipped_table("cublaslt-a100");
  table.products = {{{}, Gemm{1000, 1000, 1000, 1, Precision::kFp16}, 100e12}};
  const ComputeValidation validation = validate_compute(std::span(&table, 1));
  // 2 * 10^9 at 100 TFLOP/s.
  CHECK(errors_of(validation.tables[0], "product").rows.at(0).measured == 20us);
  CHECK_FALSE(validation.tables[0].products);
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
      CHECK(errors_of(table, "product").summary()->median <= 0.10);
      CHECK(errors_of(table, "product").summary()->worst <= 0.15);
      continue;
    }
    ++layers;
    CHECK(table.products->summary()->median <= products.at(table.table->name));
    CHECK(table.products->summary()->ninetieth <= 0.20);
    for (const OperatorErrors& errors : table.operators) {
      INFO(errors.name);
      if (errors.product) continue;
      const bool hopper_norm = table.table->name == "layers-h100" && errors.name == "norm";
      CHECK(errors.summary()->median <= (hopper_norm ? 0.18 : 0.10));
    }
  }
  CHECK(layers == 3);
  CHECK(validation.product_constants() <= 15);
}

TEST_CASE("kernels are as near to the shipped tables as docs/compute.md promises") {
  std::vector<ComputeTable> tables = list_tables<ComputeTable>(kFiles);
  std::erase_if(tables, [](const ComputeTable& table) { return table.kernels.empty(); });
  const ComputeValidation validation = validate_compute(tables);
  CHECK(validation.tables.size() == 5);
  for (const ValidatedComputeTable& table : validation.tables)
    for (const OperatorErrors& errors : table.kernels) {
      INFO(table.table->name << " " << errors.name);
      const bool ada = table.table->name == "kernels-l40s";
      if (errors.name == "gemm bf16" || errors.name == "gemm fp8")
        CHECK(errors.summary()->median <= (ada ? 0.12 : 0.08));
      // With the constants of Hopper and the data sheet.
      if (table.table->name == "kernels-b200" && errors.name == "gemm bf16")
        CHECK(errors.by_others().summary()->median <= 0.20);
      if (errors.name == "attention bf16") CHECK(errors.summary()->median <= 0.11);
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
  // Of all devices 5, of A100 and H100 an efficiency and a launch, of H100 that of fp8, of A40 also the memory's.
  CHECK(validation.product_constants() == 5 + 2 + 3 + 3);
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
  CHECK(written["operators"][0]["error"]["median"] == errors_of(validation.tables[0], "qkv").summary()->median);
  CHECK(document["fitted_product_constants"] == validation.product_constants());
  const std::string text = compute_validation_text(validation);
  for (const OperatorErrors& errors : validation.tables[0].operators)
    CHECK(text.find("  " + errors.name + " ") != std::string::npos);
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
