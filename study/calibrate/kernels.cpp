// SPDX-License-Identifier: MIT
#include "study/calibrate/kernels.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "study/calibrate/kernel_constants.h"
#include "study/calibrate/kernel_device.h"
#include "study/calibrate/kernel_fit.h"
#include "system/devices/operator_model.h"

namespace orrery::study {
namespace {

// The most kernels that a fit takes, each of which it looks at hundreds of times.
constexpr std::size_t kMostFittedKernels = 1500;
// From so many on half of them are predicted by a fit to the other half.
constexpr std::size_t kFewestToHoldOut = 8;
// A kernel that much faster than the peak was measured otherwise than it says: clocks may be above the quoted one.
constexpr double kBeyondPeak = 1.25;
constexpr double kBeyondBandwidth = 1.02;
// Times that differ so much from what kernels of their group do next to the model.
constexpr double kOutlyingFactor = 5;
constexpr std::size_t kMostNamedOutliers = 8;
// Growth of a median error that needs no comment.
constexpr double kWorseKernels = 0.05;

workload::ProductStage product_stage(TimedStage stage) {
  if (stage == TimedStage::kInputGradient) return workload::ProductStage::kInputGradient;
  return stage == TimedStage::kWeightGradient ? workload::ProductStage::kWeightGradient
                                              : workload::ProductStage::kForward;
}

workload::Gemm product_of(const KernelTiming& timing) {
  const bool is_grouped = timing.kind == TimedKind::kGrouped;
  workload::Gemm product{timing.m, timing.n, timing.k, is_grouped ? timing.groups : timing.batch, timing.precision};
  product.stage = product_stage(timing.stage);
  product.grouped = is_grouped;
  product.result = timing.result;
  if (product.result == Bytes(0) && timing.accumulates) product.result = size_of(Precision::kFp32) * 2;
  return product;
}

workload::FlashAttention attention_of(const KernelTiming& timing) {
  workload::FlashAttention attention{timing.batch * timing.heads,
                                     timing.sequence,
                                     timing.sequence,
                                     std::max(timing.head_size, timing.value_size),
                                     timing.causal,
                                     timing.stage != TimedStage::kForward,
                                     timing.precision};
  attention.group = std::max<std::int64_t>(1, timing.heads / std::max<std::int64_t>(1, timing.kv_heads));
  return attention;
}

bool is_modelled(const KernelTiming& timing) { return timing.kind != TimedKind::kLaunch && !timing.beside_copy; }

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Problem warning(const Location& where, std::string message, std::string hint) {
  return {Severity::kWarning, where, std::move(message), std::move(hint)};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// A key of the machine is written where its path leads.
void write(ConfigValue& root, const std::string& path, const std::string& text, const ConfigFiles& files) {
  Diagnostics diagnostics;
  ConfigValue value;
  value.kind = ConfigValue::Kind::kScalar;
  value.scalar = text;
  value.where = {"calibrated"};
  set_value(root, path, std::move(value), files, diagnostics);
  diagnostics.throw_if_errors();
}

class KernelCalibration {
 public:
  KernelCalibration(std::span<const KernelTiming> timings, CalibratedMachine& machine, const ConfigFiles& files,
                    KernelOrigin origin, const MeasuredDevice& measured)
      : timings_(timings), machine_(machine), files_(files), origin_(origin) {
    finding_.title = origin == KernelOrigin::kJob ? "kernels of a job" : "kernels";
    device_ = find_device(machine, files, measured, finding_.warnings);
    if (machine.software.kind == ConfigValue::Kind::kMap) software_ = software_of(machine, files);
    start_ = model_of(device_.spec);
  }

  Finding calibrate() {
    for (const KernelTiming& timing : timings_)
      if (is_modelled(timing)) take(timing);
    if (left_out_ > kMostNamedOutliers)
      finding_.warnings.push_back(warning(
          {}, fmt::format("{} more kernels were left out like those above", left_out_ - kMostNamedOutliers), {}));
    if (has_rates()) fit();
    note_kernels_beside_copies();
    calibrate_launches();
    return std::move(finding_);
  }

 private:
  // Kernels as the machine has them, without what was measured of single ones, which would stand for the model.
  KernelModel model_of(system::DeviceSpec device) const {
    device.measured.clear();
    device.measured_on.clear();
    KernelModel model{std::move(device), {}};
    if (origin_ == KernelOrigin::kJob && software_) {
      model.rates = software_->rates_on(model.device.architecture);
      return model;
    }
    model.rates = system::micro_benchmark_rates(model.device);
    if (!software_ || origin_ == KernelOrigin::kJob) return model;
    // Jobs take attention from the software.
    const workload::SoftwareRates& rates = software_->rates_on(model.device.architecture);
    model.rates.flash_forward = rates.flash_forward;
    model.rates.flash_backward = rates.flash_backward;
    model.rates.flash_launch = rates.flash_launch;
    return model;
  }

  bool has_rates() {
    if (origin_ == KernelOrigin::kAlone || (software_ && !start_.rates.kernels)) return true;
    finding_.notes.push_back(software_ ? fmt::format("'{}' has kernels with constants of their own (rates.kernels), "
                                                     "which a profile does not change",
                                                     software_->name)
                                       : "no software is named whose rates the kernels of a job could tell");
    return false;
  }

  void leave_out(const KernelTiming& timing, std::string why, std::string hint) {
    if (++left_out_ > kMostNamedOutliers) return;
    finding_.warnings.push_back(warning(
        timing.where, fmt::format("{}, {}, {}; left out", group_of(timing), label_of(timing), why), std::move(hint)));
  }

  void take(const KernelTiming& timing) {
    const workload::Operator op = operator_of(timing);
    if (timing.kind == TimedKind::kMemory) {
      if (origin_ == KernelOrigin::kJob) return;  // how often software moves what is moved is not the memory's matter
      const double rate = timing.bytes / timing.seconds;
      const auto peak = static_cast<double>(device_.spec.memory_bandwidth.count());
      if (rate > kBeyondBandwidth * peak)
        return leave_out(timing, fmt::format("would move {:.4g} GB/s of {:.4g}", rate / 1e9, peak / 1e9),
                         "what fits the cache does not come from memory");
    } else {
      const std::optional<FlopRate> peak = device_.spec.peak(timing.precision);
      if (!peak)
        return leave_out(timing, fmt::format("but {} has no peak for {}", device_.spec.name, name_of(timing.precision)),
                         fmt::format("peak: {{{}: ... TFLOP/s}} in the device", name_of(timing.precision)));
      const double rate = static_cast<double>(workload::flops_of(op).count()) / timing.seconds;
      const auto most = static_cast<double>(peak->count());
      if (rate > kBeyondPeak * most)
        return leave_out(timing, fmt::format("would be {:.4g} TFLOP/s of {:.4g}", rate / 1e12, most / 1e12),
                         "check the unit of its time, and whether the kernel was waited for");
    }
    fitted_.push_back(&timing);
    kernels_.push_back(op);
    measured_.push_back(timing.seconds);
  }

  KernelKinds kinds() const {
    KernelKinds kinds;
    for (const KernelTiming* timing : fitted_) {
      if (timing->kind == TimedKind::kProduct || timing->kind == TimedKind::kGrouped)
        kinds.products.insert(timing->precision);
      kinds.attention |= timing->kind == TimedKind::kAttention;
      kinds.memory |= timing->kind == TimedKind::kMemory;
    }
    return kinds;
  }

  // Fits to some of the kernels, by number.
  KernelFit fit_to(const std::vector<std::size_t>& numbers) const {
    std::vector<workload::Operator> kernels;
    std::vector<double> measured;
    const std::size_t every = (numbers.size() + kMostFittedKernels - 1) / kMostFittedKernels;
    for (std::size_t i = 0; i < numbers.size(); i += every) {
      kernels.push_back(kernels_[numbers[i]]);
      measured.push_back(measured_[numbers[i]]);
    }
    return fit_kernels(start_, constants_, kernels, measured);
  }

  // Orders rows by group and size, so that halves are alike.
  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> order(fitted_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(group_of(*fitted_[i]), measured_[i]); });
    return order;
  }

  void fit() {
    if (fitted_.empty()) return;
    const std::vector<double> before = model_of(device_.spec).seconds_of(kernels_);
    constants_ = kernel_constants(origin_, kinds(), software_.has_value(), start_);
    const std::vector<std::size_t> order = in_order();
    const KernelFit fit = fit_to(order);
    const std::vector<double> after = fit.model.seconds_of(kernels_);
    const std::vector<double> held_out = predicted_by_halves(order);
    for (std::size_t i = 0; i < fitted_.size(); ++i) {
      const KernelTiming& timing = *fitted_[i];
      const double work = timing.kind == TimedKind::kMemory
                              ? timing.bytes
                              : static_cast<double>(workload::flops_of(kernels_[i]).count());
      finding_.rows.push_back({to_string(timing.where), group_of(timing), label_of(timing), work, timing.seconds,
                               before[i], after[i], held_out.empty() ? 0 : held_out[i]});
    }
    warn_of_outliers();
    warn_of_worse();
    for (std::size_t i = 0; i < constants_.size(); ++i) report(constants_[i], fit, i);
    if (!device_.spec.measured.empty())
      finding_.notes.emplace_back(
          "the device has compute.measured: kernels of like sizes take those times whatever the "
          "constants are");
  }

  std::vector<double> predicted_by_halves(const std::vector<std::size_t>& order) const {
    if (order.size() < kFewestToHoldOut) return {};
    std::vector<double> predicted(order.size());
    for (const std::size_t half : {0u, 1u}) {
      std::vector<std::size_t> seen, unseen;
      for (std::size_t i = 0; i < order.size(); ++i) (i % 2 == half ? seen : unseen).push_back(order[i]);
      const KernelModel model = fit_to(seen).model;
      for (const std::size_t i : unseen) predicted[i] = model.seconds_of(kernels_[i]);
    }
    return predicted;
  }

  // Next to the model a kernel behaves as others of its group do, or something was wrong with it.
  void warn_of_outliers() {
    std::map<std::string, std::vector<double>> ratios;
    for (const CalibratedMeasurement& row : finding_.rows) ratios[row.group].push_back(row.measured / row.after);
    std::size_t named = 0, all = 0;
    for (const CalibratedMeasurement& row : finding_.rows) {
      const double ratio = row.measured / row.after / median(ratios[row.group]);
      if (ratio < kOutlyingFactor && ratio > 1 / kOutlyingFactor) continue;
      if (++all > kMostNamedOutliers) continue;
      ++named;
      const auto timing = static_cast<std::size_t>(&row - finding_.rows.data());
      finding_.warnings.push_back(
          warning(fitted_[timing]->where,
                  fmt::format("{}, {}, took {}, {:.3g} times what others of its kind make of it", row.group, row.label,
                              time_text(row.measured), ratio),
                  "it hardly counts in the fit; measure it again"));
    }
    if (all > named)
      finding_.warnings.push_back(warning({}, fmt::format("{} more kernels are as far off", all - named), {}));
  }

  // One constant stands for kernels that may want several.
  void warn_of_worse() {
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> groups;
    for (const CalibratedMeasurement& row : finding_.rows) {
      auto& [before, after] = groups[row.group];
      before.push_back(std::abs(row.before / row.measured - 1));
      after.push_back(std::abs(row.after / row.measured - 1));
    }
    for (const auto& [group, errors] : groups) {
      const double before = median(errors.first), after = median(errors.second);
      if (after <= before + kWorseKernels) continue;
      finding_.warnings.push_back(
          warning({},
                  fmt::format("{}: predicted worse than before: {} off in the median, not {}", group, percent(after),
                              percent(before)),
                  "no constants meet all that was timed: leave the kernels out that your jobs do not have"));
    }
  }

  std::string evidence(std::size_t count) const {
    std::set<std::string> files;
    for (const KernelTiming* timing : fitted_) files.insert(timing->where.file);
    const std::string of = files.size() == 1 ? file_name(*files.begin()) : fmt::format("{} files", files.size());
    return fmt::format("{} of {}", counted(count, "kernel"), of);
  }

  std::string remark(const KernelFit& fit, const FittedKernelConstant& constant) const {
    std::vector<std::string> others;
    for (const std::size_t other : constant.hard_to_tell_from)
      if (fit.constants[other].determined()) others.push_back(constants_[other].key);
    if (!others.empty()) return fmt::format("hard to tell apart from {}", fmt::join(others, " and "));
    return constant.at_bound ? "as far as it may be" : "";
  }

  void report(const KernelConstant& constant, const KernelFit& fit, std::size_t number) {
    const FittedKernelConstant& fitted = fit.constants[number];
    if (!fitted.determined() && !constant.is_named) return;
    CalibratedConstant result;
    result.file = constant.file;
    result.key = constant.key;
    result.unit = constant.unit;
    result.before = fitted.before;
    result.after = fitted.after;
    result.stays = fitted.stays;
    if (fitted.determined()) {
      result.low = fitted.low;
      result.high = fitted.high;
      result.evidence = evidence(fitted.shown_by);
      result.remark = remark(fit, fitted);
    }
    if (constant.file == CalibratedFile::kCluster) return add_to_device(std::move(result));
    const bool is_of_device = origin_ == KernelOrigin::kAlone && is_device_attention(constant.key);
    if (is_of_device) add_to_device(of_device(result));
    if (software_) add_to_software(std::move(result));
  }

  static bool is_device_attention(std::string_view key) { return key == "flash_forward" || key == "flash_backward"; }

  CalibratedConstant of_device(CalibratedConstant constant) const {
    const system::ComputeSpec& compute = device_.spec.compute;
    const Efficiency before = constant.key == "flash_forward" ? compute.flash_forward : compute.flash_backward;
    constant.file = CalibratedFile::kCluster;
    constant.key = "compute." + constant.key;
    constant.before = static_cast<double>(before.count()) / static_cast<double>(kFullEfficiency.count());
    if (!constant.determined()) constant.after = constant.before;
    return constant;
  }

  void add_to_device(CalibratedConstant constant) {
    if (constant.determined())
      for (const std::string& path : device_.paths)
        write(machine_.cluster, path + "." + constant.key, constant_text(constant.unit, constant.after), files_);
    constant.key = device_.paths.front() + "." + constant.key;
    finding_.constants.push_back(std::move(constant));
  }

  void add_to_software(CalibratedConstant constant) {
    constant.key = path_of_rates(*software_, device_.spec.architecture) + "." + constant.key;
    if (constant.determined())
      write(machine_.software, constant.key, constant_text(constant.unit, constant.after), files_);
    finding_.constants.push_back(std::move(constant));
  }

  // Ratios of times with and without a copy, of the same kernel.
  void note_kernels_beside_copies() {
    std::map<std::string, double> alone;
    for (const KernelTiming& timing : timings_)
      if (is_modelled(timing)) alone[group_of(timing) + label_of(timing)] = timing.seconds;
    std::vector<double> ratios;
    for (const KernelTiming& timing : timings_)
      if (const auto same = alone.find(group_of(timing) + label_of(timing)); timing.beside_copy && same != alone.end())
        ratios.push_back(timing.seconds / same->second);
    if (ratios.empty()) return;
    finding_.notes.push_back(fmt::format(
        "kernels beside a copy take {:.3g} times as long as alone (median of {}); no constant of a device says so",
        median(ratios), ratios.size()));
  }

  std::optional<double> median_launch(bool graph) const {
    std::vector<double> times;
    for (const KernelTiming& timing : timings_)
      if (timing.kind == TimedKind::kLaunch && timing.graph == graph) times.push_back(timing.seconds);
    return times.empty() ? std::nullopt : std::optional(median(std::move(times)));
  }

  // A launch by itself is less than what a framework takes for it, which only a profile shows. But a host that takes
  // longer for it than the software's figure is slower than those that the figure is of.
  void calibrate_launches() {
    if (const auto graph = median_launch(true))
      finding_.notes.push_back(fmt::format("a kernel of a graph takes {} with nothing to do", time_text(*graph)));
    const auto launch = median_launch(false);
    if (!launch || origin_ == KernelOrigin::kJob) return;
    const std::string prefix = device_.paths.front().substr(0, device_.paths.front().size() - std::size("device") + 1);
    const ConfigEntry* node = prefix == "node." ? machine_.cluster.find("node") : nullptr;
    const ConfigEntry* factor = node == nullptr ? nullptr : node->value.find("host_launch");
    CalibratedConstant constant;
    constant.key = "node.host_launch";
    constant.unit = ConstantUnit::kFactor;
    constant.before = factor == nullptr ? 1 : parse_share(factor->value.scalar).value.value_or(1);
    constant.after = constant.before;
    const double software = software_ ? seconds(software_->host.launch) : 0;
    if (node == nullptr || software == 0)
      constant.stays =
          fmt::format("the host launches a kernel in {}, but no software with a host is named", time_text(*launch));
    else if (*launch <= software * constant.before)
      constant.stays = fmt::format(
          "the host launches a kernel in {}; the {} of '{}' are with its framework, which a "
          "profile shows",
          time_text(*launch), time_text(software), software_->name);
    else
      raise_host_launch(constant, *launch, software);
    finding_.constants.push_back(std::move(constant));
  }

  void raise_host_launch(CalibratedConstant& constant, double launch, double software) {
    constant.after = std::min(100.0, std::round(launch / software * 1000) / 1000);
    constant.evidence = fmt::format("a launch takes {}", time_text(launch));
    constant.remark = "or more: what the framework does for a kernel comes on top";
    write(machine_.cluster, constant.key, constant_text(constant.unit, constant.after), files_);
  }

  std::span<const KernelTiming> timings_;
  CalibratedMachine& machine_;
  const ConfigFiles& files_;
  KernelOrigin origin_;
  FoundDevice device_;
  std::optional<workload::SoftwareSpec> software_;
  KernelModel start_;
  std::vector<KernelConstant> constants_;
  std::vector<const KernelTiming*> fitted_;
  std::vector<workload::Operator> kernels_;
  std::vector<double> measured_;
  std::size_t left_out_ = 0;
  Finding finding_;
};

}  // namespace

Finding calibrate_kernels(std::span<const KernelTiming> timings, CalibratedMachine& machine, const ConfigFiles& files,
                          KernelOrigin origin, const MeasuredDevice& measured) {
  return KernelCalibration(timings, machine, files, origin, measured).calibrate();
}

system::DeviceSpec device_of(const CalibratedMachine& machine, const ConfigFiles& files,
                             const MeasuredDevice& measured) {
  std::vector<Problem> ignored;
  return find_device(machine, files, measured, ignored).spec;
}

workload::Operator operator_of(const KernelTiming& timing) {
  if (timing.kind == TimedKind::kAttention) return attention_of(timing);
  if (timing.kind == TimedKind::kMemory)
    return workload::ElementWise{workload::ElementWiseKind::kCopy, Bytes(std::llround(timing.bytes))};
  return product_of(timing);
}

std::string group_of(const KernelTiming& timing) {
  const std::string_view format = name_of(timing.precision);
  switch (timing.kind) {
    case TimedKind::kProduct:
      return fmt::format("{} product, {}", format, name_of(product_stage(timing.stage)));
    case TimedKind::kGrouped:
      return fmt::format("{} grouped product, {}", format, name_of(product_stage(timing.stage)));
    case TimedKind::kAttention:
      return fmt::format("{} attention, {}", format, timing.stage == TimedStage::kForward ? "forward" : "backward");
    case TimedKind::kMemory:
      return "memory";
    case TimedKind::kLaunch:
      break;
  }
  return timing.graph ? "launch in a graph" : "launch";
}

std::string label_of(const KernelTiming& timing) {
  const std::string sides = fmt::format("{} x {} x {}", timing.m, timing.n, timing.k);
  switch (timing.kind) {
    case TimedKind::kProduct:
      return timing.batch > 1 ? fmt::format("{} of {}", timing.batch, sides) : sides;
    case TimedKind::kGrouped:
      return fmt::format("{} of {}", timing.groups, sides);
    case TimedKind::kAttention:
      return fmt::format("{} x {}, {}/{} heads of {}, {}", timing.batch, timing.sequence, timing.heads, timing.kv_heads,
                         timing.head_size, timing.causal ? "causal" : "full");
    case TimedKind::kMemory:
      return rounded(Bytes(std::llround(timing.bytes)));
    case TimedKind::kLaunch:
      break;
  }
  return "one kernel";
}

}  // namespace orrery::study
