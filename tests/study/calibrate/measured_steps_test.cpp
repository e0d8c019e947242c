// SPDX-License-Identifier: MIT
// Constants from measured steps: those that made the steps are found again, what cannot be told is said, and one step
// moves nothing.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/key_path.h"
#include "core/config/quantity_text.h"
#include "study/calibrate/steps.h"
#include "study/calibrate/steps/step_constants.h"
#include "study/calibrate/steps/step_fit.h"
#include "study/calibrate/steps/step_model.h"
#include "study/calibrate/steps/step_split.h"
#include "study/fit/confidence.h"
#include "tests/shipped_files.h"
#include "workload/training/layers/model_layers.h"

using namespace orrery;
using namespace orrery::study;

namespace {

struct StepSize {
  int hidden, layers, sequence, tensor, micro, global;
};

MeasuredStep step_of(const StepSize& size, double seconds = 1, const std::string& more = "") {
  Diagnostics diagnostics;
  const std::string text = fmt::format(
      "cluster: dgx-h100\nnodes: 1\nworkload:\n  software: megatron-2025\n  model: {{hidden: {}, layers: {}, heads: "
      "{}, "
      "ffn_hidden: {}, vocab: 32000, sequence: {}, position: rotary, gated_mlp: true}}\n  parallel: {{tensor: {}, "
      "data: "
      "{}, zero: 1}}\n  batch: {{global: {}, micro: {}}}\n{}",
      size.hidden, size.layers, size.hidden / 128, 4 * size.hidden, size.sequence, size.tensor, 8 / size.tensor,
      size.global, size.micro, more);
  MeasuredStep step{"made.yaml",
                    fmt::format("{}-{}-{}", size.hidden, size.sequence, size.tensor),
                    {"made.yaml", 1, 1},
                    parse_config(text, "made.yaml", diagnostics),
                    "",
                    seconds};
  const experiment::Experiment read = experiment::read_experiment("made.yaml", step.experiment, kFiles, diagnostics);
  step.experiment = read.resolved;
  return step;
}

// Small and large models, short and long sequences, with and without tensor parallelism.
std::vector<MeasuredStep> made_steps() {
  std::vector<MeasuredStep> steps;
  for (const StepSize& size :
       {StepSize{1024, 4, 1024, 1, 1, 16}, StepSize{1024, 4, 16384, 1, 1, 8}, StepSize{2048, 4, 2048, 1, 2, 32},
        StepSize{2048, 4, 32768, 1, 1, 8}, StepSize{4096, 4, 4096, 1, 1, 16}, StepSize{4096, 4, 2048, 4, 2, 8},
        StepSize{4096, 4, 16384, 2, 1, 8}, StepSize{8192, 2, 4096, 2, 1, 8}, StepSize{8192, 2, 4096, 8, 2, 8},
        StepSize{1024, 4, 512, 2, 1, 16}, StepSize{8192, 2, 2048, 1, 2, 16}, StepSize{2048, 8, 1024, 8, 4, 16}})
    steps.push_back(step_of(size));
  return steps;
}

const CalibratedConstant& step_constant(const Finding& finding, const std::string& key) {
  for (const CalibratedConstant& one : finding.constants)
    if (one.key == key) return one;
  FAIL("no constant " << key);
  return finding.constants.front();
}

std::string step_refusal(const std::vector<MeasuredStep>& steps) {
  try {
    CalibratedMachine machine;
    calibrate_steps(steps, machine, kFiles);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

workload::TrainingSpec training_of_step(const MeasuredStep& step) {
  Diagnostics diagnostics;
  return *experiment::read_experiment("made.yaml", step.experiment, kFiles, diagnostics).jobs.front().workload.training;
}

}  // namespace

TEST_CASE("a measured step is read in the units that people use") {
  const workload::TrainingSpec training = training_of_step(step_of({1024, 4, 1024, 1, 1, 16}));
  const auto seconds_of = [&](const std::string& text) { return step_seconds(text, {"x"}, training, 989e12); };
  CHECK(seconds_of("19.5 s") == Approx(19.5));
  CHECK(seconds_of("850 ms") == Approx(0.85));
  // 16 samples of 1024 tokens on 8 GPUs.
  CHECK(seconds_of("4096 tokens/s/gpu") == Approx(16.0 * 1024 / 8 / 4096));
  CHECK(seconds_of("32768 tokens/s") == Approx(0.5));
  CHECK(seconds_of("32.768 K tokens/s") == Approx(0.5));
  CHECK(seconds_of("8 samples/s") == Approx(2));
  CHECK(seconds_of("2 samples/s/gpu") == Approx(1));
  const double flops = workload::model_flops(training);
  CHECK(seconds_of("400 TFLOP/s") == Approx(flops / 8 / 400e12));
  CHECK(seconds_of("400 TFLOPS/GPU") == Approx(flops / 8 / 400e12));
  CHECK(seconds_of("40 % MFU") == Approx(flops / 8 / (0.4 * 989e12)));
  // 96 B s l h^2 (1 + s / 6h + V / 16lh), B = 16, s = 1024, l = 4, h = 1024, V = 32000.
  const double counted = 96.0 * 16 * 1024 * 4 * 1024 * 1024 * (1 + 1.0 / 6 + 32000.0 / (16 * 4 * 1024));
  CHECK(seconds_of("400 TFLOP/s hardware") == Approx(counted / 8 / 400e12));
}

TEST_CASE("a measured step in odd units is refused") {
  const workload::TrainingSpec training = training_of_step(step_of({1024, 4, 1024, 1, 1, 16}));
  const auto refused = [&](const std::string& text, const std::string& message) {
    CHECK_THROWS_WITH(step_seconds(text, {"x"}, training, 989e12), Catch::Contains(message));
  };
  refused("19.5", "invalid measurement of a step '19.5'");
  refused("5 furlongs", "invalid measurement of a step '5 furlongs'");
  refused("0 s", "invalid measurement of a step '0 s'");
  refused("-3 tokens/s", "invalid measurement of a step '-3 tokens/s'");
  refused("nan tokens/s", "invalid measurement of a step");
  refused("400 MFU", "an MFU of 400 is above 1");
  refused("1 ns", "would be a step of 1e-09 s");
}

TEST_CASE("values keep their units when they are multiplied") {
  CHECK(multiplied_text("30 us", 1.05, 12) == "31.5 us");
  CHECK(multiplied_text("0.848", 1.05, 4) == "0.8904");
  CHECK(multiplied_text("1", 0.5, 4) == "0.5");
  CHECK(multiplied_text("82.4 %", 0.9, 4) == "74.16 %");
  CHECK(multiplied_text("60 B", 1.04, 4) == "62 B");  // 62.4
  CHECK(multiplied_text("12345 us", 1, 4) == "12345 us");
}

TEST_CASE("constants that made steps with noise are found again within their intervals") {
  std::vector<MeasuredStep> steps = made_steps();
  CalibratedMachine machine;
  const StepModel model(steps, machine, kFiles, {});
  const std::size_t count = model.constants().size();
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> numbers(steps.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  const std::vector<double> ones(count, 1);
  const std::vector<double> predicted = model.seconds(ones);
  const std::vector<std::vector<double>> slopes = model.slopes(ones, all);
  std::size_t determined = 0, held = 0, off = 0;
  double before = 0, after = 0;
  for (int draw = 0; draw < 20; ++draw) {
    std::vector<double> truth(count, 1);
    // All products are in bf16, whose factor no step tells from that of all: their product alone can be found.
    for (std::size_t c = 0; c < count; ++c)
      if (!model.constants()[c].key().ends_with(".bf16"))
        truth[c] = std::min(std::exp(model.constants()[c].spread * normal(random)), model.constants()[c].most);
    const std::vector<double> times = model.seconds(truth);
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i].seconds = times[i] * std::exp(0.03 * normal(random));
    const StepFit fit = fit_steps(model, steps, numbers, predicted, slopes);
    for (std::size_t c = 0; c < count; ++c) {
      if (!fit.determined[c]) continue;
      ++determined;
      const double distance = std::abs(std::log(fit.factors[c] / truth[c]));
      if (distance <= standard_errors_of_95_percent(fit.freedom) * fit.errors[c])
        ++held;
      else
        UNSCOPED_INFO("draw " << draw << ": " << model.constants()[c].key() << " " << fit.factors[c] << " of "
                              << truth[c] << " +- " << fit.errors[c]);
    }
    const std::vector<double> found = model.seconds(fit.factors);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      before += std::abs(std::log(predicted[i] / times[i]));
      after += std::abs(std::log(found[i] / times[i]));
      if (std::abs(std::log(found[i] / times[i])) > 0.15) ++off;
    }
  }
  CHECK(static_cast<double>(held) >= 0.9 * static_cast<double>(determined));
  CHECK(determined >= 40);  // two of each draw
  CHECK(after < 0.35 * before);
  CHECK(off < 5);
}

TEST_CASE("a calibration writes what it determined, and says why the rest stays") {
  std::vector<MeasuredStep> steps = made_steps();
  CalibratedMachine machine;
  const StepModel model(steps, machine, kFiles, {});
  std::vector<double> truth(model.constants().size(), 1);
  for (std::size_t c = 0; c < truth.size(); ++c) {
    if (model.constants()[c].key() == "rates_of.hopper.gemm") truth[c] = 0.8;
    if (model.constants()[c].key() == "rates_of.hopper.flash_forward") truth[c] = 0.7;
  }
  const std::vector<double> times = model.seconds(truth);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].seconds = times[i];
  const Finding finding = calibrate_steps(steps, machine, kFiles);
  const CalibratedConstant& gemm = step_constant(finding, "rates_of.hopper.gemm");
  REQUIRE(gemm.determined());
  CHECK(gemm.before == Approx(0.848));
  CHECK(gemm.after == Approx(0.8 * 0.848).epsilon(0.03));
  CHECK((gemm.low < 0.8 * 0.848 && 0.8 * 0.848 < gemm.high));
  const ConfigValue* written = value_at_path(machine.software, "rates_of.hopper.gemm");
  REQUIRE(written != nullptr);
  CHECK(std::stod(written->scalar) == Approx(gemm.after).epsilon(1e-3));
  const CalibratedConstant& flash = step_constant(finding, "rates_of.hopper.flash_forward");
  REQUIRE(flash.determined());
  CHECK(flash.after == Approx(0.7 * 0.57).epsilon(0.06));
  CHECK(flash.remark.starts_with("flash_backward in proportion"));
  CHECK(step_constant(finding, "rates_of.hopper.nvfp4").stays == "no step depends on it");
  CHECK(step_constant(finding, "rates_of.hopper.bf16").stays.starts_with("acts as rates_of.hopper.gemm"));
  REQUIRE(finding.rows.size() == steps.size());
  for (const CalibratedMeasurement& row : finding.rows) {
    CHECK(std::abs(row.after / row.measured - 1) < 0.03);
    CHECK(row.held_out > 0);
  }
}

TEST_CASE("known constants are left to those who measured them") {
  const std::vector<MeasuredStep> steps = {step_of({1024, 4, 1024, 1, 1, 16})};
  CalibratedMachine machine;
  const StepModel model(steps, machine, kFiles, {"host.launch", "rates_of.hopper.gemm"});
  for (const StepConstant& constant : model.constants()) {
    CHECK(constant.key() != "host.launch");
    CHECK(constant.key() != "rates_of.hopper.gemm");
  }
}

TEST_CASE("one step moves nothing, and names what alone would explain it") {
  std::vector<MeasuredStep> steps = {step_of({4096, 4, 4096, 1, 1, 16})};
  CalibratedMachine machine;
  const StepModel model(steps, machine, kFiles, {});
  std::vector<double> truth(model.constants().size(), 1);
  std::size_t gemm = 0;
  while (model.constants()[gemm].key() != "rates_of.hopper.gemm") ++gemm;
  truth[gemm] = 0.75;
  const double before = model.seconds(0, {});
  steps.front().seconds = model.seconds(0, truth);
  CHECK(explaining_factor(model, 0, steps.front().seconds, gemm).value() == Approx(0.75).epsilon(0.002));
  const Finding finding = calibrate_steps(steps, machine, kFiles);
  for (const CalibratedConstant& constant : finding.constants) {
    CHECK_FALSE(constant.determined());
    CHECK(constant.after == constant.before);
  }
  CHECK(step_constant(finding, "rates_of.hopper.gemm").stays ==
        "one step determines none; 0.636 would explain it alone");
  REQUIRE_FALSE(finding.notes.empty());
  CHECK(finding.notes.front().find("rates_of.hopper.gemm 0.848 -> 0.636") != std::string::npos);  // 0.75 * 0.848
  double predicted = 0;
  for (const TimePart& part : finding.parts) predicted += part.predicted;
  CHECK(predicted == Approx(before));
  CHECK(finding.parts.back().name == "not explained");
  CHECK(finding.parts.back().measured == Approx(steps.front().seconds - before));
}

TEST_CASE("the parts of a step stand beside those of its profile") {
  std::vector<MeasuredStep> steps = {step_of({4096, 4, 4096, 1, 1, 16})};
  CalibratedMachine machine;
  steps.front().seconds = 1.2 * StepModel(steps, machine, kFiles, {}).seconds(0, {});
  ProfiledTime profile;
  profile.file = "rank0.json";
  profile.steps = 1;
  profile.seconds[static_cast<std::size_t>(ProfiledKind::kProduct)] = 0.6 * steps.front().seconds;
  profile.seconds[static_cast<std::size_t>(ProfiledKind::kHost)] = 0.3 * steps.front().seconds;
  StepOptions options;
  options.profile = &profile;
  const Finding finding = calibrate_steps(steps, machine, kFiles, options);
  double measured = 0;
  for (const TimePart& part : finding.parts) measured += part.measured;
  CHECK(measured == Approx(steps.front().seconds));
  CHECK(finding.parts.back().name == "not in the profile");
  CHECK(finding.parts.back().measured == Approx(0.1 * steps.front().seconds));
  const std::string text = parts_text(finding.parts);
  CHECK(text.find("part of the step") != std::string::npos);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    CHECK(end - begin <= 80);
}

TEST_CASE("steps that cannot be of their jobs are refused") {
  const double right = [] {
    const std::vector<MeasuredStep> steps = {step_of({1024, 4, 1024, 1, 1, 16})};
    CalibratedMachine machine;
    return StepModel(steps, machine, kFiles, {}).seconds(0, {});
  }();
  CHECK(step_refusal({step_of({1024, 4, 1024, 1, 1, 16}, 100 * right)}).find("no constant is fitted to it") !=
        std::string::npos);
  CHECK(step_refusal({step_of({1024, 4, 1024, 1, 1, 16}, 100 * right), step_of({1024, 4, 2048, 1, 1, 16}, 200 * right)})
            .find("none of 2 steps is within a factor of 10") != std::string::npos);
  // One of several is left out, with a warning.
  CalibratedMachine machine;
  const std::vector<MeasuredStep> steps = {step_of({1024, 4, 1024, 1, 1, 16}, right),
                                           step_of({1024, 4, 2048, 1, 1, 16}, 200 * right)};
  const Finding finding = calibrate_steps(steps, machine, kFiles);
  REQUIRE(finding.warnings.size() == 1);
  CHECK(finding.warnings.front().message.find("no constant is fitted to it") != std::string::npos);
}

TEST_CASE("steps of another device or software are refused") {
  MeasuredStep other = step_of({1024, 4, 1024, 1, 1, 16});
  Diagnostics diagnostics;
  set_value(other.experiment, "workload.software.name", {ConfigValue::Kind::kScalar, {}, "another", {}, {}}, kFiles,
            diagnostics);
  CHECK(step_refusal({step_of({1024, 4, 1024, 1, 1, 16}), other}).find("the calibrated software is megatron-2025") !=
        std::string::npos);
  MeasuredStep device = step_of({1024, 4, 1024, 1, 1, 16});
  set_value(device.experiment, "cluster.node.device.name", {ConfigValue::Kind::kScalar, {}, "mine", {}, {}}, kFiles,
            diagnostics);
  CHECK(step_refusal({step_of({1024, 4, 1024, 1, 1, 16}), device}).find("ran on mine") != std::string::npos);
}

TEST_CASE("a step runs on the cluster of its own row, with what is calibrated put into it") {
  std::vector<MeasuredStep> steps = {step_of({4096, 4, 4096, 1, 1, 16}), step_of({4096, 4, 4096, 1, 1, 16})};
  Diagnostics diagnostics;
  set_value(steps[1].experiment, "cluster.node.fabric.efficiency", {ConfigValue::Kind::kScalar, {}, "20 %", {}, {}},
            kFiles, diagnostics);
  CalibratedMachine machine;
  const StepModel model(steps, machine, kFiles, {});
  CHECK(model.first_alike()[1] == 1);
  CHECK(model.seconds(1, {}) > 1.02 * model.seconds(0, {}));
  // The machine is now the first step's. A memory of half the bandwidth slows both; the second keeps its links.
  set_value(machine.cluster, "node.device.compute.memory", {ConfigValue::Kind::kScalar, {}, "40 %", {}, {}}, kFiles,
            diagnostics);
  const StepModel slower(steps, machine, kFiles, {});
  CHECK(slower.seconds(0, {}) > 1.02 * model.seconds(0, {}));
  CHECK(slower.seconds(1, {}) > 1.02 * model.seconds(1, {}));
  CHECK(slower.seconds(1, {}) > 1.02 * slower.seconds(0, {}));
}

TEST_CASE("the rest of a step that took less than predicted is a time with a sign") {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const std::vector<TimePart> parts = {{"products", 2, unknown, ""}, {"not explained", 0, -1.5, ""}};
  const std::string text = parts_text(parts);
  CHECK(text.find("-1.500 s") != std::string::npos);
  CHECK(text.find("  0 s") != std::string::npos);  // of what is predicted, nothing, in the unit of the column
}
