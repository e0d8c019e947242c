// SPDX-License-Identifier: MIT
#include "study/calibrate/kernel_constants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "system/devices/operator_model.h"

namespace orrery::study {
namespace {

using system::ComputeSpec;
using workload::SoftwareRates;

constexpr double kLongestLaunch = 1e-3;  // seconds
constexpr double kMostFactor = 10;
constexpr double kLaunchPrior = 1;  // of a logarithm: a launch is known within a factor of e
constexpr double kStagePrior = 0.15;

double share_of(Efficiency efficiency) {
  return static_cast<double>(efficiency.count()) / static_cast<double>(kFullEfficiency.count());
}

Efficiency efficiency_of(double share) {
  const double millionths = std::round(share * static_cast<double>(kFullEfficiency.count()));
  return Efficiency(
      static_cast<std::int64_t>(std::clamp(millionths, 1.0, static_cast<double>(kFullEfficiency.count()))));
}

Duration duration_of(double value) { return Duration(std::llround(value * 1e12)); }

KernelConstant share_constant(std::string_view key, Efficiency ComputeSpec::*member, std::string nothing_shows) {
  return {.key = fmt::format("compute.{}", key),
          .value = [member](const KernelModel& m) { return share_of(m.device.compute.*member); },
          .set = [member](KernelModel& m, double v) { m.device.compute.*member = efficiency_of(v); },
          .nothing_shows = std::move(nothing_shows)};
}

KernelConstant launch_constant(std::string_view key, Duration ComputeSpec::*member, std::string nothing_shows) {
  return {.key = fmt::format("compute.{}", key),
          .unit = ConstantUnit::kDuration,
          .value = [member](const KernelModel& m) { return seconds(m.device.compute.*member); },
          .set = [member](KernelModel& m, double v) { m.device.compute.*member = duration_of(v); },
          .most = kLongestLaunch,
          .prior = kLaunchPrior,
          .nothing_shows = std::move(nothing_shows)};
}

KernelConstant stage_constant(std::string_view key, double ComputeSpec::*member, std::string_view layout) {
  return {.key = fmt::format("compute.{}", key),
          .unit = ConstantUnit::kFactor,
          .value = [member](const KernelModel& m) { return m.device.compute.*member; },
          .set = [member](KernelModel& m, double v) { m.device.compute.*member = v; },
          .most = kMostFactor,
          .prior = kStagePrior,
          .nothing_shows = fmt::format("no product beside forward ones has the layout {}", layout)};
}

KernelConstant format_constant(Precision precision) {
  const auto place = static_cast<std::size_t>(precision);
  return {.key = fmt::format("compute.{}", name_of(precision)),
          .value = [place](const KernelModel& m) { return share_of(m.device.compute.formats[place].value()); },
          .set = [place](KernelModel& m, double v) { m.device.compute.formats[place] = efficiency_of(v); },
          .nothing_shows = fmt::format("no product in {}", name_of(precision)),
          .is_named = false};
}

KernelConstant rate_constant(std::string_view key, double SoftwareRates::*member, std::string nothing_shows) {
  return {.file = CalibratedFile::kSoftware,
          .key = std::string(key),
          .unit = ConstantUnit::kFactor,
          .value = [member](const KernelModel& m) { return m.rates.*member; },
          .set = [member](KernelModel& m, double v) { m.rates.*member = v; },
          .most = kMostFactor,
          .nothing_shows = std::move(nothing_shows)};
}

KernelConstant attention_launch() {
  return {.file = CalibratedFile::kSoftware,
          .key = "flash_launch",
          .unit = ConstantUnit::kDuration,
          .value = [](const KernelModel& m) { return seconds(m.rates.flash_launch); },
          .set = [](KernelModel& m, double v) { m.rates.flash_launch = duration_of(v); },
          .most = kLongestLaunch,
          .prior = kLaunchPrior,
          .nothing_shows = "no attention, forward, is short enough to show it",
          .is_named = false};
}

std::vector<KernelConstant> attention_constants() {
  std::vector<KernelConstant> constants = {
      rate_constant("flash_forward", &SoftwareRates::flash_forward, "no attention, forward"),
      rate_constant("flash_backward", &SoftwareRates::flash_backward, "no attention, backward")};
  for (KernelConstant& constant : constants) {
    constant.unit = ConstantUnit::kShare;
    constant.most = 1;
  }
  return constants;
}

// Formats of two bytes or more, and of less, that a common figure is fitted to: the first of each that was timed.
constexpr std::array kWideFormats = {Precision::kBf16, Precision::kFp16, Precision::kTf32, Precision::kFp64};
constexpr std::array kNarrowFormats = {Precision::kFp8, Precision::kInt8, Precision::kMxfp8, Precision::kNvfp4};

// Constants of those that were timed beside the first, each of which gets a figure of its own, `common` at first.
template <std::size_t kCount>
std::vector<KernelConstant> format_constants(const std::array<Precision, kCount>& formats, const KernelKinds& kinds,
                                             Efficiency common, ComputeSpec& compute) {
  std::vector<KernelConstant> constants;
  bool is_first = true;
  for (const Precision precision : formats) {
    if (!kinds.products.contains(precision)) continue;
    std::optional<Efficiency>& own = compute.formats[static_cast<std::size_t>(precision)];
    if (!is_first && !own) own = common;
    if (own) constants.push_back(format_constant(precision));
    is_first = false;
  }
  return constants;
}

void append(std::vector<KernelConstant>& all, std::vector<KernelConstant> more) {
  for (KernelConstant& constant : more) all.push_back(std::move(constant));
}

std::vector<KernelConstant> constants_of_device(const KernelKinds& kinds, bool has_software, KernelModel& model) {
  ComputeSpec& compute = model.device.compute;
  const auto is_timed = [&](Precision precision) { return kinds.products.contains(precision); };
  KernelConstant wide = share_constant("gemm", &ComputeSpec::gemm, "no product in bf16, fp16, tf32 or fp64");
  KernelConstant narrow = share_constant("fp8", &ComputeSpec::fp8, "no product in fp8 or another format of that size");
  narrow.is_named = std::ranges::any_of(kNarrowFormats, [&](Precision p) { return model.device.peak(p).has_value(); });
  // A product in fp8 shows both at once: without others it is taken to be fp8's.
  const bool has_wide = std::ranges::any_of(kWideFormats, is_timed);
  std::vector<KernelConstant> constants = {has_wide ? wide : narrow, has_wide ? narrow : wide};
  KernelConstant fp32 = share_constant("fp32", &ComputeSpec::fp32, "no product in fp32");
  fp32.is_named = model.device.peak(Precision::kFp32).has_value();
  constants.push_back(std::move(fp32));
  append(constants, format_constants(kWideFormats, kinds, compute.gemm, compute));
  append(constants, format_constants(kNarrowFormats, kinds, compute.fp8, compute));
  // Products that wait for memory would tell it too, but more of how they overlap loading with computing.
  KernelConstant memory = share_constant("memory", &ComputeSpec::memory, "no copy or sum of tensors was timed");
  memory.is_offered = kinds.memory;
  constants.push_back(std::move(memory));
  constants.push_back(stage_constant("input_gradient", &ComputeSpec::input_gradient, "NN"));
  constants.push_back(stage_constant("weight_gradient", &ComputeSpec::weight_gradient, "NT"));
  constants.push_back(
      launch_constant("gemm_launch", &ComputeSpec::gemm_launch, "no product is short enough to show it"));
  constants.push_back(launch_constant("launch", &ComputeSpec::launch, "no copy is short enough to show it"));
  append(constants, attention_constants());
  if (has_software && kinds.attention) constants.push_back(attention_launch());
  return constants;
}

// Formats that models are trained in by default: products in others tell nothing of the rate that all jobs have.
constexpr std::array kTrainedFormats = {Precision::kBf16, Precision::kFp16, Precision::kFp8, Precision::kMxfp8,
                                        Precision::kNvfp4};

std::vector<KernelConstant> constants_of_job(const KernelKinds& kinds) {
  KernelConstant gemm = rate_constant("gemm", &SoftwareRates::gemm, "no product");
  gemm.is_offered =
      std::ranges::any_of(kTrainedFormats, [&](Precision precision) { return kinds.products.contains(precision); });
  if (!gemm.is_offered && !kinds.products.empty())
    gemm.nothing_shows = "no product in a format of two bytes or less, which the rate is of";
  std::vector<KernelConstant> constants = {
      std::move(gemm),
      rate_constant("bf16", &SoftwareRates::bf16, "no product of operands of two bytes"),
      rate_constant("fp8", &SoftwareRates::fp8, "no product of gradients in fp8"),
      rate_constant("mxfp8", &SoftwareRates::mxfp8, "no product in mxfp8"),
      rate_constant("nvfp4", &SoftwareRates::nvfp4, "no product in nvfp4"),
      stage_constant("input_gradient", &ComputeSpec::input_gradient, "NN"),
      stage_constant("weight_gradient", &ComputeSpec::weight_gradient, "NT")};
  append(constants, attention_constants());
  constants.push_back(attention_launch());
  return constants;
}

}  // namespace

double KernelModel::seconds_of(const workload::Operator& op) const {
  return seconds(system::OperatorModel(device, rates).time(op));
}

std::vector<double> KernelModel::seconds_of(std::span<const workload::Operator> ops) const {
  const system::OperatorModel model(device, rates);
  std::vector<double> times;
  times.reserve(ops.size());
  for (const workload::Operator& op : ops) times.push_back(seconds(model.time(op)));
  return times;
}

std::vector<KernelConstant> kernel_constants(KernelOrigin origin, const KernelKinds& kinds, bool has_software,
                                             KernelModel& model) {
  return origin == KernelOrigin::kJob ? constants_of_job(kinds) : constants_of_device(kinds, has_software, model);
}

}  // namespace orrery::study
