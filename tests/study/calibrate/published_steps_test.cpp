// SPDX-License-Identifier: MIT
// Published steps of one system: calibrated on every third row, the other rows are predicted better.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "study/calibrate/steps.h"
#include "study/calibrate/steps/step_model.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Medians {
  double before = 0;
  double after = 0;
};

// Median errors of the rows that the calibration has not seen.
Medians errors_beside_third(const std::string& table) {
  const std::vector<MeasuredStep> steps =
      measured_steps((kFiles.shipped() / "validation" / "training" / (table + ".yaml")).string(), kFiles);
  std::vector<MeasuredStep> third, rest;
  for (std::size_t i = 0; i < steps.size(); ++i) (i % 3 == 0 ? third : rest).push_back(steps[i]);
  CalibratedMachine machine;
  StepOptions options;
  options.held_out = false;
  const Finding finding = calibrate_steps(third, machine, kFiles, options);
  std::string text;
  for (const CalibratedConstant& one : finding.constants)
    text += one.determined() ? fmt::format("  {} {} -> {} ({} to {})\n", one.key, constant_text(one.unit, one.before),
                                           constant_text(one.unit, one.after), constant_text(one.unit, one.low),
                                           constant_text(one.unit, one.high))
                             : fmt::format("  {} {}: {}\n", one.key, constant_text(one.unit, one.before), one.stays);
  CalibratedMachine shipped;
  const StepModel before(rest, shipped, kFiles, {}), after(rest, machine, kFiles, {});
  const std::vector<double> first = before.seconds({}), second = after.seconds({});
  std::vector<double> errors_before, errors_after;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    errors_before.push_back(std::abs(first[i] / rest[i].seconds - 1));
    errors_after.push_back(std::abs(second[i] / rest[i].seconds - 1));
  }
  const Medians medians{middle_of(errors_before), middle_of(errors_after)};
  std::string notes;
  for (const std::string& note : finding.notes) notes += "  " + note + "\n";
  WARN(table << ": " << third.size() << " rows calibrate, of " << rest.size() << " the median error was "
             << medians.before << " and is " << medians.after << "\n"
             << text << notes << finding.warnings.size() << " warnings");
  return medians;
}

}  // namespace

TEST_CASE("a third of a system's published steps calibrates the prediction of the others", "[thirds]") {
  // Toys whose steps are as long as their host takes: the shipped host is that of tuned runs.
  const Medians toys = errors_beside_third("megatron-golden-gpt-h100");
  CHECK(toys.after < 0.65 * toys.before);
  // Where the shipped constants were fitted to runs like these there is nothing to gain, and little is lost.
  const Medians b200 = errors_beside_third("simumax-b200");
  CHECK(b200.after < b200.before + 0.01);
}

TEST_CASE("thirds of other systems", "[.][others]") {
  for (const char* table : {"simumax-b200-experts", "megatron-golden-moe-h100",
                            "llm-foundry-a100", "llm-foundry-a100-128"})
    errors_beside_third(table);
}
