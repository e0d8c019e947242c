// SPDX-License-Identifier: MIT
// The shipped tables of memory against the logs that scripts/memory_tables made them from, which lie beside the
// sources.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "study/validate/training/validation.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

const std::filesystem::path kPublished = ORRERY_SOURCE_DIR "/../shared/data/training";

bool has_memory(const TrainingTable& table) {
  return std::ranges::any_of(table.rows, [](const TrainingRow& row) { return row.allocated.peak.has_value(); });
}

std::vector<nlohmann::json> lines_of(const std::string& name) {
  std::ifstream file(kPublished / name);
  REQUIRE(file);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// The run that a row is of: its case ends with the label, and its platform is the table's.
const nlohmann::json* run_of(const std::vector<nlohmann::json>& runs, const TrainingTable& table,
                             const std::string& label) {
  for (const nlohmann::json& run : runs) {
    const auto name = run.value("case", std::string());
    const auto platform = run.value("platform", std::string("dgx_b200"));
    if ((name == label || name.ends_with("_" + label) || name.ends_with("/" + label)) &&
        table.name.find(platform.substr(4)) != std::string::npos)
      return &run;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("the shipped tables of memory are those of the shared data, to the byte") {
  if (!std::filesystem::exists(kPublished / "megatron_golden.jsonl")) {
    WARN("not checked: no logs at " << kPublished);
    return;
  }
  std::vector<nlohmann::json> runs = lines_of("megatron_golden.jsonl");
  for (nlohmann::json& run : lines_of("memory_b200.jsonl")) runs.push_back(std::move(run));
  std::size_t rows = 0;
  for (const TrainingTable& table : list_tables<TrainingTable>(kFiles))
    for (const TrainingRow& row : table.rows) {
      if (!has_memory(table)) continue;
      INFO(table.name << ": " << row.label);
      const nlohmann::json* run = run_of(runs, table, row.label);
      REQUIRE(run != nullptr);
      ++rows;
      Diagnostics diagnostics;
      const TrainingCase one = read_training_case(table, row, kFiles, diagnostics);
      CHECK(one.training().parallel.tensor() == run->at("tp").get<std::int64_t>());
      CHECK(one.training().parallel.pipeline() == run->at("pp").get<std::int64_t>());
      CHECK(one.training().parallel.data() == run->at("dp").get<std::int64_t>());
      if (!run->contains("measured")) {
        const auto gib = run->at("peak_allocated_GiB").get<double>();
        CHECK(static_cast<double>(row.allocated.peak->count()) == Approx(gib * (1 << 30)));
        continue;
      }
      CHECK(row.allocated.rest == Bytes(run->at("measured").at("mem_rest_bytes").get<std::int64_t>()));
      CHECK(row.allocated.peak == Bytes(run->at("measured").at("mem_peak_bytes").get<std::int64_t>()));
      CHECK(row.figure == run->at("measured").at("step_s").get<double>());
      CHECK(one.training().global_batch == run->at("global_batch").get<std::int64_t>());
      CHECK(one.training().transformer()->sequence == run->at("seq").get<std::int64_t>());
    }
  CHECK(rows > 150);
}
