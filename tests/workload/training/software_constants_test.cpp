// SPDX-License-Identifier: MIT
// Which constants of a software were fitted: read, told by architecture, and set to other values.
#include "tests/shipped_files.h"
#include "workload/training/spec/software.h"

#include <catch2/catch.hpp>

using namespace orrery;
using namespace orrery::workload;

namespace {

struct ReadSoftware {
  SoftwareSpec software;
  std::string errors;
};

ReadSoftware read(const std::string& text) {
  Diagnostics diagnostics;
  ReadSoftware result;
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  ConfigContext context(kFiles, diagnostics);
  read_config(root, context, [&](Section& section) { result.software = read_software(section); });
  for (const Problem& problem : diagnostics.problems()) result.errors += to_string(problem) + "\n";
  return result;
}

const std::string kText =
    "name: s\n"
    "accumulation: 6 B\n"
    "rates: {gemm: 0.9}\n"
    "fitted: [gemm, accumulation]\n"
    "rates_of:\n"
    "  hopper: {flash_forward: 0.3, fitted: [flash]}\n";

using Constants = std::vector<SoftwareConstant>;

}  // namespace

TEST_CASE("an architecture with rates of its own has fitted constants of its own") {
  const ReadSoftware one = read(kText);
  CHECK(one.errors.empty());
  CHECK(fitted_on(one.software, Architecture::kAmpere) ==
        Constants{SoftwareConstant::kGemm, SoftwareConstant::kAccumulation});
  CHECK(fitted_on(one.software, Architecture::kHopper) ==
        Constants{SoftwareConstant::kFlash, SoftwareConstant::kAccumulation});
  CHECK(value_of(one.software, Architecture::kHopper, SoftwareConstant::kFlash) == 0.3);
  CHECK(value_of(one.software, Architecture::kHopper, SoftwareConstant::kGemm) == 0.9);
  CHECK(value_of(one.software, Architecture::kAmpere, SoftwareConstant::kAccumulation) == 6);
}

TEST_CASE("a constant that is set has its value on that architecture only") {
  for (std::size_t i = 0; i < kSoftwareConstantCount; ++i) {
    const auto constant = static_cast<SoftwareConstant>(i);
    INFO(name_of(constant));
    const SoftwareSpec before = read(kText).software;
    SoftwareSpec after = before;
    set_value(after, Architecture::kAmpere, constant, 7);
    CHECK(value_of(after, Architecture::kAmpere, constant) == 7);
    CHECK(fitted_on(after, Architecture::kAmpere) == fitted_on(before, Architecture::kAmpere));
    for (std::size_t j = 0; j < kSoftwareConstantCount; ++j) {
      const auto other = static_cast<SoftwareConstant>(j);
      if (j != i)
        CHECK(value_of(after, Architecture::kAmpere, other) == value_of(before, Architecture::kAmpere, other));
    }
    if (constant < SoftwareConstant::kAccumulation)
      CHECK(value_of(after, Architecture::kVolta, constant) == value_of(before, Architecture::kVolta, constant));
  }
}

TEST_CASE("one factor of traffic is that of five kinds of kernels, and of gathers of which none is known") {
  SoftwareSpec software;
  set_value(software, Architecture::kAmpere, SoftwareConstant::kTraffic, 2);
  const auto& traffic = software.rates_on(Architecture::kAmpere).traffic;
  for (const ElementWiseKind kind : {ElementWiseKind::kNorm, ElementWiseKind::kRotary, ElementWiseKind::kActivation,
                                     ElementWiseKind::kAdd, ElementWiseKind::kCopy, ElementWiseKind::kEmbedding})
    CHECK(traffic[static_cast<std::size_t>(kind)] == 2);
  for (const ElementWiseKind kind :
       {ElementWiseKind::kSoftmax, ElementWiseKind::kLoss, ElementWiseKind::kOptimizer, ElementWiseKind::kAccumulate})
    CHECK(traffic[static_cast<std::size_t>(kind)] == 1);
}

TEST_CASE("rows are gathered as slowly as copies are made, unless the software says how slowly") {
  const auto gathers = [](const std::string& rates, const std::string& of_hopper, Architecture architecture) {
    const ReadSoftware one =
        read("name: s\nrates: {traffic: {" + rates + "}}\nrates_of: {hopper: {traffic: {" + of_hopper + "}}}\n");
    CHECK(one.errors.empty());
    return one.software.rates_on(architecture).traffic[static_cast<std::size_t>(ElementWiseKind::kEmbedding)];
  };
  CHECK(gathers("norm: 3", "norm: 2", Architecture::kHopper) == 1);
  CHECK(gathers("copy: 3", "copy: 2", Architecture::kAmpere) == 3);
  CHECK(gathers("copy: 3", "copy: 2", Architecture::kHopper) == 2);
  CHECK(gathers("copy: 3", "norm: 2", Architecture::kHopper) == 3);
  CHECK(gathers("copy: 3, embedding: 5", "copy: 2", Architecture::kHopper) == 5);
  CHECK(gathers("copy: 3", "copy: 2, embedding: 1", Architecture::kAmpere) == 3);
  CHECK(gathers("copy: 3", "copy: 2, embedding: 1", Architecture::kHopper) == 1);
}

TEST_CASE("the rate of flash attention moves forward and backward in proportion") {
  SoftwareSpec software;
  software.rates.flash_forward = 0.4;
  software.rates.flash_backward = 0.3;
  set_value(software, Architecture::kAmpere, SoftwareConstant::kFlash, 0.6);
  CHECK(software.rates_on(Architecture::kAmpere).flash_forward == 0.6);
  CHECK(software.rates_on(Architecture::kAmpere).flash_backward == Approx(0.45));
}

TEST_CASE("fitted constants that cannot be are refused") {
  const std::pair<std::string, std::string> cases[] = {
      {"name: s\nfitted: [gem]\n", "x.yaml:2:9: error: no constant 'gem' is fitted here"},
      {"name: s\nfitted: [gemm, gemm]\n", "'gemm' stands twice"},
      {"name: s\nfitted: [traffic]\nrates: {traffic: {norm: 2}}\n", "'traffic' is one factor, but"},
      {"name: s\nrates_of: {hopper: {fitted: [optimizer]}}\n", "no constant 'optimizer' is fitted here"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string errors = read(text).errors;
    INFO(errors);
    CHECK(errors.find(expected) != std::string::npos);
  }
}
