// SPDX-License-Identifier: MIT
#include "study/calibrate/steps/step_constants.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/key_path.h"
#include "core/config/quantity_text.h"

namespace orrery::study {
namespace {

constexpr std::string_view kSoftware = "workload.software.", kCluster = "cluster.";

// Spreads of true values around shipped ones, as standard deviations of logarithms: of products as far as architectures
// differ among the shipped software (0.15), of kernels of attention and fusion as generations of software do (0.4), of
// hosts as those of DGX A100, DGX H100 and GB200 do (4.1 to 6.3 ms for one layer), of what networks reach as clusters
// of one kind do in nccl-tests.
constexpr double kProductSpread = 0.15, kKernelSpread = 0.4, kHostSpread = 0.4, kNetworkSpread = 0.15;

struct RateConstant {
  std::array<std::string_view, 5> keys;  // of the rates; empty ones are none
  double spread = 0;
};
constexpr std::array kRates = std::to_array<RateConstant>({
    {{"gemm"}, kProductSpread},
    {{"bf16"}, kProductSpread},
    {{"fp8"}, kProductSpread},
    {{"mxfp8"}, kProductSpread},
    {{"nvfp4"}, kProductSpread},
    {{"flash_forward", "flash_backward"}, kKernelSpread},
    {{"traffic.norm", "traffic.rotary", "traffic.activation", "traffic.add", "traffic.copy"}, kKernelSpread},
});

struct Number {
  double value = 0;
  std::string unit;  // with the blanks before it
};

std::optional<Number> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return Number{value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

// Seconds, bytes, a share, or the number itself.
std::optional<double> plain_value(ConstantUnit unit, const std::string& text) {
  if (unit == ConstantUnit::kDuration) {
    const auto time = parse_quantity<Duration>(text).value;
    return time ? std::optional(seconds(*time)) : std::nullopt;
  }
  if (unit == ConstantUnit::kSize) {
    const auto bytes = parse_quantity<Bytes>(text).value;
    return bytes ? std::optional(static_cast<double>(bytes->count())) : std::nullopt;
  }
  return parse_share(text).value;
}

class StepConstants {
 public:
  StepConstants(const ConfigValue& resolved, const std::vector<std::string>& known)
      : resolved_(resolved), known_(known) {}

  void add(StepConstant constant) {
    const bool of_software = constant.file == CalibratedFile::kSoftware;
    const auto value_of = [&](const std::string& key) {
      return value_at_path(resolved_, fmt::format("{}{}", of_software ? kSoftware : kCluster, key));
    };
    std::erase_if(constant.keys, [&](const std::string& key) { return value_of(key) == nullptr; });
    if (constant.keys.empty() || is_known(constant.key())) return;
    const auto value = plain_value(constant.unit, value_of(constant.key())->scalar);
    if (!value || *value <= 0) return;
    constant.before = *value;
    if (constant.unit == ConstantUnit::kShare)
      for (const std::string& key : constant.keys)
        constant.most = std::min(constant.most, 1 / plain_value(constant.unit, value_of(key)->scalar).value_or(1));
    list_.push_back(std::move(constant));
  }

  // Shares that links reach of their bandwidth, as two constants: within nodes and between them.
  void add_network() {
    const ConfigEntry* cluster = resolved_.find("cluster");
    if (cluster == nullptr) return;
    StepConstant within{CalibratedFile::kCluster, {}, ConstantUnit::kShare, 0, kNetworkSpread};
    StepConstant between = within;
    walk(cluster->value, "", within.keys, between.keys);
    if (!within.keys.empty()) add(std::move(within));
    if (!between.keys.empty()) add(std::move(between));
  }

  std::vector<StepConstant> take() { return std::move(list_); }

 private:
  bool is_known(const std::string& key) const { return std::ranges::find(known_, key) != known_.end(); }

  static void walk(const ConfigValue& value, const std::string& path, std::vector<std::string>& within,
                   std::vector<std::string>& between) {
    // A device's own, kinds of links whose figures the links have, and what is no link.
    constexpr std::array<std::string_view, 7> kOthers = {"device", "link",   "host_link", "host",
                                                         "nccl",   "nvlink", "pcie"};
    std::size_t index = 0;
    for (const ConfigValue& item : value.items) walk(item, fmt::format("{}[{}]", path, index++), within, between);
    for (const ConfigEntry& entry : value.entries) {
      if (std::ranges::find(kOthers, entry.key) != kOthers.end()) continue;
      const std::string below = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
      if (entry.value.kind != ConfigValue::Kind::kScalar)
        walk(entry.value, below, within, between);
      else if (entry.key == "efficiency" || entry.key == "host_efficiency")
        (below.starts_with("scale_out") || below.starts_with("node.nics") ? between : within).push_back(below);
    }
  }

  const ConfigValue& resolved_;
  const std::vector<std::string>& known_;
  std::vector<StepConstant> list_;
};

void multiply_at(ConfigValue& root, const std::string& path, double factor, const ConfigFiles& files, int digits,
                 const ConfigValue& before) {
  Diagnostics sound;
  set_value(root, path,
            {ConfigValue::Kind::kScalar, before.where, multiplied_text(before.scalar, factor, digits), {}, {}}, files,
            sound);
  sound.throw_if_errors();
}

}  // namespace

std::string multiplied_text(const std::string& text, double factor, int digits) {
  const std::optional<Number> number = number_of(text);
  if (!number) return text;
  const double value = number->value * factor;
  if (number->unit == " B" || number->unit == "B") return fmt::format("{}{}", std::llround(value), number->unit);
  // Without an exponent, which no reader of quantities takes.
  const int whole = value > 0 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1;
  std::string shown = fmt::format("{:.{}f}", value, std::max(0, digits - whole));
  if (shown.find('.') != std::string::npos) {
    shown.erase(shown.find_last_not_of('0') + 1);
    if (shown.ends_with('.')) shown.pop_back();
  }
  return shown + number->unit;
}

std::vector<StepConstant> step_constants(const ConfigValue& resolved, const std::string& rates,
                                         const std::vector<std::string>& known) {
  StepConstants constants(resolved, known);
  for (const RateConstant& rate : kRates) {
    StepConstant constant{CalibratedFile::kSoftware, {}, ConstantUnit::kFactor, 0, rate.spread};
    for (const std::string_view key : rate.keys)
      if (!key.empty()) constant.keys.push_back(fmt::format("{}.{}", rates, key));
    constants.add(std::move(constant));
  }
  constants.add({CalibratedFile::kSoftware, {"host.launch"}, ConstantUnit::kDuration, 0, kHostSpread});
  constants.add({CalibratedFile::kSoftware, {"accumulation"}, ConstantUnit::kSize, 0, kKernelSpread});
  constants.add({CalibratedFile::kSoftware, {"optimizer"}, ConstantUnit::kSize, 0, kKernelSpread});
  constants.add_network();
  return constants.take();
}

void multiply(ConfigValue& experiment, const StepConstant& constant, double factor, const ConfigFiles& files,
              int digits) {
  if (factor == 1) return;
  for (const std::string& key : constant.keys) {
    const std::string path =
        fmt::format("{}{}", constant.file == CalibratedFile::kSoftware ? kSoftware : kCluster, key);
    if (const ConfigValue* before = value_at_path(experiment, path))
      multiply_at(experiment, path, factor, files, digits, *before);
  }
}

void multiply(CalibratedMachine& machine, const ConfigValue& resolved, const StepConstant& constant, double factor,
              const ConfigFiles& files) {
  constexpr int kDigits = 4;
  const bool of_software = constant.file == CalibratedFile::kSoftware;
  for (const std::string& key : constant.keys)
    if (const ConfigValue* before =
            value_at_path(resolved, fmt::format("{}{}", of_software ? kSoftware : kCluster, key)))
      multiply_at(of_software ? machine.software : machine.cluster, key, factor, files, kDigits, *before);
}

}  // namespace orrery::study
