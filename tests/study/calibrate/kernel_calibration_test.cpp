// SPDX-License-Identifier: MIT
// A calibration finds the constants again that made the times of kernels, within the intervals that it states; says
// what they do not tell, and what looks wrong; and predicts kernels better that it has not seen.
#include "study/calibrate/kernels.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "core/config/config.h"
#include "core/config/quantity_text.h"
#include "study/calibrate/kernel_device.h"
#include "study/calibrate/kernel_file.h"
#include "study/fit/confidence.h"
#include "system/devices/operator_model.h"
#include "tests/scatter.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

using Settings = std::vector<std::string>;

CalibratedMachine machine_with(const std::string& device, const Settings& settings = {},
                               const std::string& software = {}) {
  Diagnostics diagnostics;
  CalibratedMachine machine;
  machine.cluster = parse_config(fmt::format("node: {{device: {}, devices: 8}}", device), "cluster.yaml", diagnostics);
  kFiles.expand(machine.cluster.find("node")->value.find("device")->value, "devices", diagnostics);
  for (const std::string& setting : settings) apply_setting(machine.cluster, setting, kFiles, diagnostics);
  if (!software.empty())
    machine.software = kFiles.load(kFiles.shipped() / "software" / (software + ".yaml"), {}, diagnostics);
  diagnostics.throw_if_errors();
  return machine;
}

KernelTiming product(TimedStage stage, Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
  KernelTiming timing;
  timing.stage = stage;
  timing.precision = precision;
  timing.accumulates = stage == TimedStage::kWeightGradient;
  timing.m = m;
  timing.n = n;
  timing.k = k;
  return timing;
}

KernelTiming attention(bool backward, std::int64_t sequence) {
  KernelTiming timing;
  timing.kind = TimedKind::kAttention;
  timing.stage = backward ? TimedStage::kBackward : TimedStage::kForward;
  timing.sequence = sequence;
  timing.heads = timing.kv_heads = 32;
  timing.head_size = timing.value_size = 128;
  return timing;
}

KernelTiming memory(double bytes) {
  KernelTiming timing;
  timing.kind = TimedKind::kMemory;
  timing.bytes = bytes;
  return timing;
}

constexpr std::array kStages = {TimedStage::kForward, TimedStage::kInputGradient, TimedStage::kWeightGradient};

// What scripts/measure times.
std::vector<KernelTiming> benchmark() {
  std::vector<KernelTiming> timings;
  for (const TimedStage stage : kStages)
    for (const Precision precision : {Precision::kBf16, Precision::kTf32, Precision::kFp8})
      for (const std::int64_t side : {256, 512, 1024, 2048, 4096, 8192})
        if (precision != Precision::kFp8 || stage == TimedStage::kForward)
          timings.push_back(product(stage, precision, side, side, 4096));
  for (const std::int64_t sequence : {1024, 2048, 4096, 8192, 16384})
    for (const bool backward : {false, true}) timings.push_back(attention(backward, sequence));
  for (double bytes = 1 << 16; bytes < 3e9; bytes *= 4) timings.push_back(memory(bytes));
  return timings;
}

// Times on the machine, each off by a standard error.
std::vector<KernelTiming> timed_on(const CalibratedMachine& machine, std::vector<KernelTiming> timings, double error,
                                   std::uint64_t seed) {
  const system::OperatorModel model(device_of(machine, kFiles));
  for (std::size_t i = 0; i < timings.size(); ++i) {
    timings[i].seconds = seconds(model.time(operator_of(timings[i])));
    if (error > 0) timings[i].seconds *= std::exp(error * testing::standard_normal(seed));
    timings[i].where = {"kernels.csv", static_cast<int>(i + 2)};
  }
  return timings;
}

const CalibratedConstant& constant_of(const Finding& finding, const std::string& key) {
  const auto found = std::ranges::find(finding.constants, key, &CalibratedConstant::key);
  INFO(key);
  REQUIRE(found != finding.constants.end());
  return *found;
}

std::string warnings_of(const Finding& finding) {
  std::string text;
  for (const Problem& problem : finding.warnings) text += to_string(problem) + "\n";
  return text;
}

double median_error(const Finding& finding, double CalibratedMeasurement::*predicted) {
  std::vector<double> errors;
  for (const CalibratedMeasurement& row : finding.rows) errors.push_back(std::abs(row.*predicted / row.measured - 1));
  std::ranges::sort(errors);
  return errors[errors.size() / 2];
}

const Settings kTruth = {"node.device.compute.gemm=61 %",          "node.device.compute.tf32=70 %",
                         "node.device.compute.fp8=80 %",           "node.device.compute.gemm_launch=8 us",
                         "node.device.compute.memory=80 %",        "node.device.compute.launch=3 us",
                         "node.device.compute.input_gradient=0.9", "node.device.compute.weight_gradient=0.85",
                         "node.device.compute.flash_forward=55 %", "node.device.compute.flash_backward=40 %"};
const std::map<std::string, double> kTrueValues = {
    {"gemm", 0.61},          {"tf32", 0.70},          {"fp8", 0.80},           {"gemm_launch", 8e-6},
    {"memory", 0.80},        {"launch", 3e-6},        {"input_gradient", 0.9}, {"weight_gradient", 0.85},
    {"flash_forward", 0.55}, {"flash_backward", 0.40}};

}  // namespace

TEST_CASE("constants of kernels are found again in 20 draws with 3 % of noise, within their intervals") {
  const CalibratedMachine truth = machine_with("h100-sxm", kTruth);
  std::map<std::string, int> within;
  int all = 0;
  for (std::uint64_t draw = 1; draw <= 20; ++draw) {
    CalibratedMachine machine = machine_with("h100-sxm");
    const auto timings = timed_on(truth, benchmark(), 0.03, draw);
    const Finding finding = calibrate_kernels(timings, machine, kFiles);
    for (const auto& [key, value] : kTrueValues) {
      const CalibratedConstant& constant = constant_of(finding, "node.device.compute." + key);
      INFO(draw << ": " << key << " " << constant.after << " of " << value << ", " << constant.low << " to "
                << constant.high << constant.stays);
      CHECK(constant.determined());
      CHECK(std::abs(std::log(constant.after / value)) < 0.2);
      const bool is_within = constant.low <= value && value <= constant.high;
      within[key] += is_within ? 1 : 0;
      all += is_within ? 1 : 0;
    }
  }
  for (const auto& [key, count] : within) {
    INFO(key << ": " << count << " of 20");
    CHECK(count >= 18);
  }
  CHECK(all >= 186);  // of 200
}

TEST_CASE("a calibrated machine has the constants, and predicts the kernels") {
  const CalibratedMachine truth = machine_with("h100-sxm", kTruth);
  CalibratedMachine machine = machine_with("h100-sxm");
  const auto timings = timed_on(truth, benchmark(), 0, 1);
  const Finding finding = calibrate_kernels(timings, machine, kFiles);
  const system::ComputeSpec compute = device_of(machine, kFiles).compute;
  const system::ComputeSpec wanted = device_of(truth, kFiles).compute;
  const auto share = [](Efficiency e) { return static_cast<double>(e.count()); };
  CHECK(share(compute.gemm) == Approx(share(wanted.gemm)).epsilon(0.01));
  CHECK(share(compute.memory) == Approx(share(wanted.memory)).epsilon(0.01));
  CHECK(compute.weight_gradient == Approx(0.85).epsilon(0.01));
  CHECK(seconds(compute.gemm_launch) == Approx(8e-6).epsilon(0.03));
  REQUIRE(finding.rows.size() == timings.size());
  CHECK(median_error(finding, &CalibratedMeasurement::before) > 0.1);
  CHECK(median_error(finding, &CalibratedMeasurement::after) < 0.003);
  CHECK(median_error(finding, &CalibratedMeasurement::held_out) < 0.005);
  CHECK(warnings_of(finding).empty());
}

TEST_CASE("constants that no kernel depends on stay, and say why") {
  const CalibratedMachine truth = machine_with("h100-sxm", kTruth);
  CalibratedMachine machine = machine_with("h100-sxm");
  std::vector<KernelTiming> timings;
  for (const std::int64_t side : {2048, 3072, 4096, 6144, 8192, 12288})
    timings.push_back(product(TimedStage::kForward, Precision::kBf16, side, side, 8192));
  timings = timed_on(truth, timings, 0.002, 3);
  const Finding finding = calibrate_kernels(timings, machine, kFiles);
  CHECK(constant_of(finding, "node.device.compute.gemm").after == Approx(0.61).epsilon(0.02));
  const CalibratedConstant& fp8 = constant_of(finding, "node.device.compute.fp8");
  CHECK(fp8.stays == "no product in fp8 or another format of that size");
  CHECK(fp8.after == fp8.before);
  CHECK(constant_of(finding, "node.device.compute.flash_forward").stays == "no attention, forward");
  CHECK(constant_of(finding, "node.device.compute.weight_gradient").stays ==
        "no product beside forward ones has the layout NT");
  CHECK(constant_of(finding, "node.device.compute.launch").stays == "no copy is short enough to show it");
  CHECK(device_of(machine, kFiles).compute.launch == device_of(truth, kFiles).compute.launch - Duration(1'900'000));
}

TEST_CASE("constants that act alike are fitted as one, and the other names it") {
  const CalibratedMachine truth = machine_with("h100-sxm", kTruth);
  CalibratedMachine machine = machine_with("h100-sxm");
  std::vector<KernelTiming> timings;
  for (const std::int64_t side : {1024, 2048, 4096, 6144, 8192, 12288})
    timings.push_back(product(TimedStage::kInputGradient, Precision::kBf16, side, side, 8192));
  timings = timed_on(truth, timings, 0.002, 3);
  const Finding finding = calibrate_kernels(timings, machine, kFiles);
  // 61 % times the stage's 0.9.
  CHECK(constant_of(finding, "node.device.compute.gemm").after == Approx(0.549).epsilon(0.02));
  CHECK(constant_of(finding, "node.device.compute.input_gradient").stays.starts_with("acts as compute.gemm"));
}

TEST_CASE("kernels of a job tell the software's rates and leave the device's as they are") {
  const CalibratedMachine truth = machine_with("h100-sxm", {}, "megatron-2024");
  workload::SoftwareRates rates = software_of(truth, kFiles).rates_on(Architecture::kHopper);
  rates.gemm = 0.70;
  rates.fp8 = 0.80;
  rates.flash_forward = 0.50;
  const system::OperatorModel model(device_of(truth, kFiles), rates);
  std::vector<KernelTiming> timings = benchmark();
  for (const TimedStage stage : kStages)
    for (const std::int64_t side : {2048, 4096, 8192})
      timings.push_back(product(stage, Precision::kFp8, side, side, 8192));
  for (KernelTiming& timing : timings) timing.seconds = seconds(model.time(operator_of(timing)));
  CalibratedMachine machine = machine_with("h100-sxm", {}, "megatron-2024");
  const Finding finding = calibrate_kernels(timings, machine, kFiles, KernelOrigin::kJob);
  CHECK(constant_of(finding, "rates.gemm").after == Approx(0.70).epsilon(0.01));
  CHECK(constant_of(finding, "rates.gemm").before == Approx(0.797));
  CHECK(constant_of(finding, "rates.fp8").after == Approx(0.80).epsilon(0.02));
  CHECK(constant_of(finding, "rates.flash_forward").after == Approx(0.50).epsilon(0.01));
  CHECK(constant_of(finding, "rates.mxfp8").stays == "no product in mxfp8");
  CHECK(software_of(machine, kFiles).rates_on(Architecture::kHopper).gemm == Approx(0.70).epsilon(0.01));
  CHECK(device_of(machine, kFiles).compute.gemm == device_of(truth, kFiles).compute.gemm);
}

TEST_CASE("attention that was measured goes to the software as well, which jobs take it from") {
  const CalibratedMachine truth = machine_with("a100-sxm-80gb", {"node.device.compute.flash_forward=48 %"});
  CalibratedMachine machine = machine_with("a100-sxm-80gb", {}, "megatron-2024");
  std::vector<KernelTiming> timings;
  for (const std::int64_t sequence : {2048, 4096, 6144, 8192, 12288, 16384, 32768})
    timings.push_back(attention(false, sequence));
  timings = timed_on(truth, timings, 0.001, 5);
  const Finding finding = calibrate_kernels(timings, machine, kFiles);
  CHECK(constant_of(finding, "node.device.compute.flash_forward").after == Approx(0.48).epsilon(0.01));
  const CalibratedConstant& of_software = constant_of(finding, "rates_of.ampere.flash_forward");
  CHECK(of_software.before == Approx(0.55));
  CHECK(of_software.after == Approx(0.48).epsilon(0.01));
  CHECK(software_of(machine, kFiles).rates_on(Architecture::kAmpere).flash_forward == Approx(0.48).epsilon(0.01));
}

TEST_CASE("kernels that cannot be right are named and do not move the constants") {
  const CalibratedMachine truth = machine_with("h100-sxm", kTruth);
  CalibratedMachine machine = machine_with("h100-sxm");
  auto timings = timed_on(truth, benchmark(), 0.01, 7);
  timings[4].seconds *= 10;    // bf16 forward, 4096 x 4096 x 4096
  timings[5].seconds /= 1000;  // the same of 8192 x 8192 x 4096
  KernelTiming unknown = product(TimedStage::kForward, Precision::kNvfp4, 4096, 4096, 4096);
  unknown.seconds = 1e-3;
  timings.push_back(unknown);
  const Finding finding = calibrate_kernels(timings, machine, kFiles);
  const std::string warnings = warnings_of(finding);
  INFO(warnings);
  CHECK(warnings.find("kernels.csv:6: warning: bf16 product, forward, 4096 x 4096 x 4096, took") != std::string::npos);
  CHECK(warnings.find("bf16 product, forward, 8192 x 8192 x 4096, would be") != std::string::npos);
  CHECK(warnings.find("h100-sxm has no peak for nvfp4") != std::string::npos);
  CHECK(constant_of(finding, "node.device.compute.gemm").after == Approx(0.61).epsilon(0.05));
}

TEST_CASE("a measurement of another device is refused, and one that may be another is doubted") {
  CalibratedMachine machine = machine_with("h100-sxm");
  const auto timings = timed_on(machine, benchmark(), 0, 1);
  const auto warnings = [&](const std::string& name, std::int64_t memory) {
    return warnings_of(calibrate_kernels(timings, machine, kFiles, KernelOrigin::kAlone, {name, Bytes(memory)}));
  };
  CHECK(warnings("NVIDIA H100 80GB HBM3", 85'017'493'504).empty());
  CHECK(warnings("NVIDIA H100 80GB HBM3", 40'000'000'000).find("measured on a device of") != std::string::npos);
  CHECK(warnings("Contoso X1", 0).find("measured on Contoso X1; the cluster has h100-sxm") != std::string::npos);
  CHECK_THROWS_WITH(warnings("NVIDIA A100-SXM4-80GB", 0),
                    Catch::Contains("measured on NVIDIA A100-SXM4-80GB; the cluster has h100-sxm") &&
                        Catch::Contains("a100-sxm-80gb"));
  CHECK_FALSE(is_name_of("NVIDIA GB200", "b200-sxm"));
  CHECK(is_name_of("NVIDIA GeForce RTX 4090", "rtx4090"));
  CHECK_FALSE(is_name_of("NVIDIA H100 PCIe", "h100-sxm"));
  CHECK(is_name_of("AMD Instinct MI300X", "mi300x"));
}

TEST_CASE("a host that launches slowly is told by its launches") {
  CalibratedMachine machine = machine_with("h100-sxm", {}, "megatron-2024");
  std::vector<KernelTiming> timings(2);
  for (KernelTiming& timing : timings) timing.kind = TimedKind::kLaunch;
  timings[0].seconds = 6e-6;
  timings[1].seconds = 1e-6;
  timings[1].graph = true;
  const Finding fast = calibrate_kernels(timings, machine, kFiles);
  CHECK(constant_of(fast, "node.host_launch").stays.find("launches a kernel in 6.000 us") != std::string::npos);
  REQUIRE(fast.notes.size() == 1);
  CHECK(fast.notes[0] == "a kernel of a graph takes 1.000 us with nothing to do");
  timings[0].seconds = 45e-6;  // of 30 us: half as long again
  const Finding slow = calibrate_kernels(timings, machine, kFiles);
  CHECK(constant_of(slow, "node.host_launch").after == Approx(1.5));
  CHECK(machine.cluster.find("node")->value.find("host_launch")->value.scalar == "1.5");
}

TEST_CASE("kernels beside a copy are compared with those alone") {
  CalibratedMachine machine = machine_with("h100-sxm");
  auto timings = timed_on(machine, benchmark(), 0, 1);
  KernelTiming beside = timings[4];
  beside.seconds *= 1.25;
  beside.beside_copy = true;
  timings.push_back(beside);
  const Finding finding = calibrate_kernels(timings, machine, kFiles);
  CHECK(finding.rows.size() == timings.size() - 1);
  REQUIRE(finding.notes.size() == 1);
  CHECK(finding.notes[0].starts_with("kernels beside a copy take 1.25 times as long as alone"));
}

TEST_CASE("intervals are those of Student's distribution") {
  // Tables of the distribution, 97.5 %.
  CHECK(standard_errors_of_95_percent(1) == Approx(12.706));
  CHECK(standard_errors_of_95_percent(3) == Approx(3.182).epsilon(0.005));
  CHECK(standard_errors_of_95_percent(10) == Approx(2.228).epsilon(0.001));
  CHECK(standard_errors_of_95_percent(100) == Approx(1.984).epsilon(0.001));
  CHECK(std::isinf(standard_errors_of_95_percent(0)));
}

TEST_CASE("a third of one device's kernels predict the rest") {
  const std::filesystem::path folder = ORRERY_SOURCE_DIR "/../shared/data/kernels/training";
  if (!std::filesystem::exists(folder)) {
    WARN("SKIPPED: no measurements beside the sources");
    return;
  }
  struct Case {
    std::string device, files;
    double most;  // median error of the rest
  };
  for (const Case& given : {Case{"b200-sxm", "b200_sxm", 0.09}, Case{"a100-pcie-80gb", "a100_pcie_80gb", 0.02}}) {
    CalibratedMachine machine = machine_with(given.device, {}, "megatron-2025");
    const system::DeviceSpec device = device_of(machine, kFiles);
    std::vector<KernelTiming> seen, unseen;
    for (const char* kind : {"gemm", "grouped", "attention"}) {
      Diagnostics diagnostics;
      const KernelFile file =
          read_kernel_file((folder / fmt::format("{}_{}.csv", kind, given.files)).string(),
                           [&](Precision precision) { return device.peak(precision); }, diagnostics);
      for (std::size_t i = 0; i < file.timings.size(); ++i) (i % 3 == 0 ? seen : unseen).push_back(file.timings[i]);
    }
    CalibratedMachine as_shipped = machine;
    const Finding of_third = calibrate_kernels(seen, machine, kFiles);
    // Every row of another calibration is first predicted as its machine was: once shipped, once calibrated.
    const Finding before = calibrate_kernels(unseen, as_shipped, kFiles);
    const Finding after = calibrate_kernels(unseen, machine, kFiles);
    const double error_before = median_error(before, &CalibratedMeasurement::before);
    const double error_after = median_error(after, &CalibratedMeasurement::before);
    INFO(given.device << ": " << seen.size() << " kernels; median error of " << unseen.size() << " others "
                      << error_before << " before, " << error_after << " after");
    CHECK(of_third.constants.size() > 8);
    CHECK(error_after < given.most);
    // The shipped constants of the A100 are fitted to all of its rows.
    CHECK(error_after < error_before + 0.003);
  }
}

TEST_CASE("a constant that few kernels leave as it was within their scatter stays") {
  const CalibratedMachine shipped = machine_with("h100-sxm");
  std::uint64_t state = 11;
  std::size_t determined = 0;
  for (int draw = 0; draw < 40; ++draw) {
    std::vector<KernelTiming> timings;
    for (const std::int64_t size : {4096, 6144, 8192, 12288}) {
      KernelTiming one = product(TimedStage::kForward, Precision::kBf16, size, size, size);
      // 2 m n k at 500 TFLOP/s, with a scatter of 20 %.
      one.seconds =
          2 * std::pow(static_cast<double>(size), 3) / 500e12 * std::exp(0.2 * testing::standard_normal(state));
      timings.push_back(one);
    }
    CalibratedMachine machine = shipped;
    for (const CalibratedConstant& constant :
         calibrate_kernels(timings, machine, kFiles, KernelOrigin::kAlone).constants) {
      if (!constant.determined()) continue;
      ++determined;
      // Wider than 10 % to each side, an interval that holds the value before tells nothing new.
      INFO(constant.key << " " << constant.before << " -> " << constant.after << " " << constant.low << " to "
                        << constant.high);
      CHECK((constant.high / constant.low < 1.25 || constant.before < constant.low || constant.before > constant.high));
    }
  }
  CHECK(determined > 0);
}

TEST_CASE("products in tf32 alone do not set the rate of jobs in bf16") {
  CalibratedMachine machine = machine_with("a100-sxm-80gb", {}, "megatron-2021");
  const auto timed = [](Precision precision) {
    std::vector<KernelTiming> timings;
    for (const std::int64_t size : {2048, 4096, 6144, 8192, 12288, 16384})
      for (const TimedStage stage : kStages) {
        timings.push_back(product(stage, precision, size, size, size));
        // 2 m n k at 70 TFLOP/s: of 156 in tf32, of 312 in bf16.
        timings.back().seconds = 2 * std::pow(static_cast<double>(size), 3) / 70e12;
      }
    return timings;
  };
  const Finding other = calibrate_kernels(timed(Precision::kTf32), machine, kFiles, KernelOrigin::kJob);
  CHECK(constant_of(other, "rates.gemm").stays == "no product in a format of two bytes or less, which the rate is of");
  CHECK(constant_of(calibrate_kernels(timed(Precision::kBf16), machine, kFiles, KernelOrigin::kJob), "rates.gemm")
            .determined());
}
