// SPDX-License-Identifier: MIT
// Every shipped model and software is read; models have the parameters that were published.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/workload/training/training_files.h"
#include "workload/training/spec/model.h"
#include "workload/training/spec/software.h"
#include "workload/training/spec/training_spec.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

ModelSpec shipped_model(const std::string& name) {
  ModelSpec model;
  read_shipped(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs/models" / (name + ".yaml"),
               [&](Section& s) { model = read_model(s); });
  return model;
}

SoftwareSpec shipped_software(const std::string& name) {
  SoftwareSpec software;
  read_shipped(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs/software" / (name + ".yaml"),
               [&](Section& s) { software = read_software(s); });
  return software;
}

// What `orrery list` shows of a file.
void check_first_line(const std::filesystem::path& file) {
  std::ifstream text(file);
  std::string line;
  std::getline(text, line);
  CHECK(line.starts_with("# "));
  CHECK(line.ends_with("."));
}

}  // namespace

TEST_CASE("every shipped model is read, bears its file's name and has the parameters that it claims") {
  const std::vector<std::filesystem::path> files = shipped_files("models");
  CHECK(files.size() >= 32);
  std::size_t claims = 0;
  for (const std::filesystem::path& file : files) {
    INFO(file.filename().string());
    check_first_line(file);
    ModelSpec model;
    const ConfigValue root = read_shipped(file, [&](Section& s) { model = read_model(s); });
    CHECK(model.name == file.stem().string());
    CHECK(root.find("source") != nullptr);
    const ConfigEntry* parameters = root.find("parameters");
    if (parameters == nullptr) continue;
    CHECK(std::to_string(parameter_count(model)) == parameters->value.scalar);
    ++claims;
  }
  CHECK(claims >= 16);
}

TEST_CASE("every shipped software is read and bears its file's name") {
  const std::vector<std::filesystem::path> files = shipped_files("software");
  CHECK(files.size() >= 10);
  for (const std::filesystem::path& file : files) {
    INFO(file.filename().string());
    check_first_line(file);
    SoftwareSpec software;
    const ConfigValue root = read_shipped(file, [&](Section& s) { software = read_software(s); });
    CHECK(software.name == file.stem().string());
    CHECK(root.find("source") != nullptr);
  }
}

TEST_CASE("the software that stands in for every architecture is shipped") {
  const std::vector<std::filesystem::path> files = shipped_files("software");
  for (const char* model : {"gpt3-13b", "resnet-50", "dlrm"})
    for (std::size_t i = 0; i < architecture_names().size(); ++i) {
      const std::string_view name = default_software(shipped_model(model), static_cast<Architecture>(i));
      CHECK(std::ranges::any_of(files, [&](const auto& file) { return file.stem() == name; }));
    }
}

// SC'21, table 1 prints the billions to one digit.
TEST_CASE("the models of SC'21 have the parameters of its table 1") {
  const std::vector<std::pair<std::string, double>> table = {
      {"1.7b", 1.7}, {"3.6b", 3.6},   {"7.5b", 7.5},   {"18b", 18.4},   {"39b", 39.1},
      {"76b", 76.1}, {"145b", 145.6}, {"310b", 310.1}, {"530b", 529.6}, {"1t", 1008.0}};
  for (const auto& [name, billions] : table) {
    INFO(name);
    CHECK(static_cast<double>(parameter_count(shipped_model("gpt-" + name))) / 1e9 == Approx(billions).margin(0.0501));
  }
}

// 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)) of SC'21, equation 2, and two numbers per channel of the last norm.
TEST_CASE("GPT-3 has the parameters of Megatron-LM's formula") {
  constexpr std::int64_t kHidden = 12288;
  constexpr std::int64_t kExpected =
      96 * (12 * kHidden * kHidden + 13 * kHidden) + (51200 + 2048) * kHidden + 2 * kHidden;
  CHECK(parameter_count(shipped_model("gpt3-175b")) == kExpected);
  CHECK(kExpected == 174'615'846'912);
}

// 335,141,888 of bert-large-uncased, less token types and pooler.
TEST_CASE("BERT-large has the published parameters without token types and pooler") {
  CHECK(parameter_count(shipped_model("bert-large")) == 335'141'888 - 2 * 1024 - (1024 * 1024 + 1024));
}

TEST_CASE("software differs by architecture where it was measured so") {
  const SoftwareSpec fsdp = shipped_software("fsdp-2023");
  // Products lose more on Hopper, and attention that was written for Ampere reaches half the share of the peak.
  CHECK(fsdp.rates_on(Architecture::kHopper).gemm < fsdp.rates_on(Architecture::kAmpere).gemm);
  CHECK(fsdp.rates_on(Architecture::kHopper).flash_forward == 0.2);
  CHECK(fsdp.rates_on(Architecture::kAmpere).flash_forward == 0.36);
  CHECK(fsdp.rates_on(Architecture::kVolta) == fsdp.rates_on(Architecture::kAmpere));
  const SoftwareSpec megatron = shipped_software("megatron-2021");
  CHECK(megatron.attention == AttentionKind::kPlain);
  CHECK(megatron.gradients == Precision::kFp16);
  CHECK(megatron.accumulation == Bytes(6));
  CHECK_FALSE(megatron.overlap_gradients);
}
