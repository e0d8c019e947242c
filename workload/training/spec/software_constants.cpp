// SPDX-License-Identifier: MIT
#include "workload/training/spec/software.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/suggest.h"

namespace orrery::workload {
namespace {

constexpr std::array<std::string_view, kSoftwareConstantCount> kNames = {"gemm", "traffic", "flash", "accumulation",
                                                                         "optimizer"};

// What one factor of traffic stands for: the kernels of layers that move memory and do little else.
constexpr std::array<ElementWiseKind, 5> kTrafficKinds = {ElementWiseKind::kNorm, ElementWiseKind::kRotary,
                                                          ElementWiseKind::kActivation, ElementWiseKind::kAdd,
                                                          ElementWiseKind::kCopy};

bool is_of_rates(SoftwareConstant constant) {
  return constant != SoftwareConstant::kAccumulation && constant != SoftwareConstant::kOptimizer;
}

double& traffic_of(SoftwareRates& rates, ElementWiseKind kind) { return rates.traffic[static_cast<std::size_t>(kind)]; }

double traffic_of(const SoftwareRates& rates, ElementWiseKind kind) {
  return rates.traffic[static_cast<std::size_t>(kind)];
}

bool is_one_factor(const SoftwareRates& rates) {
  return std::ranges::all_of(kTrafficKinds, [&](ElementWiseKind kind) {
    return traffic_of(rates, kind) == traffic_of(rates, kTrafficKinds.front());
  });
}

void set_rate(SoftwareRates& rates, SoftwareConstant constant, double value) {
  if (constant == SoftwareConstant::kGemm) rates.gemm = value;
  if (constant == SoftwareConstant::kFlash) {
    rates.flash_backward *= value / rates.flash_forward;
    rates.flash_forward = value;
  }
  if (constant == SoftwareConstant::kTraffic)
    for (const ElementWiseKind kind : kTrafficKinds) traffic_of(rates, kind) = value;
}

}  // namespace

std::string_view name_of(SoftwareConstant constant) { return kNames[static_cast<std::size_t>(constant)]; }

std::vector<SoftwareConstant> fitted_on(const SoftwareSpec& software, Architecture architecture) {
  const auto own = software.fitted_of.find(architecture);
  const bool has_own = software.rates_of.contains(architecture);
  std::vector<SoftwareConstant> constants;
  if (own != software.fitted_of.end()) constants = own->second;
  for (const SoftwareConstant constant : software.fitted)
    if (!has_own || !is_of_rates(constant)) constants.push_back(constant);
  return constants;
}

double value_of(const SoftwareSpec& software, Architecture architecture, SoftwareConstant constant) {
  const SoftwareRates& rates = software.rates_on(architecture);
  switch (constant) {
    case SoftwareConstant::kGemm:
      return rates.gemm;
    case SoftwareConstant::kTraffic:
      return traffic_of(rates, kTrafficKinds.front());
    case SoftwareConstant::kFlash:
      return rates.flash_forward;
    case SoftwareConstant::kAccumulation:
      return static_cast<double>(software.accumulation.count());
    case SoftwareConstant::kOptimizer:
      break;
  }
  return static_cast<double>(software.optimizer.count());
}

void set_value(SoftwareSpec& software, Architecture architecture, SoftwareConstant constant, double value) {
  if (constant == SoftwareConstant::kAccumulation) software.accumulation = Bytes(std::llround(value));
  if (constant == SoftwareConstant::kOptimizer) software.optimizer = Bytes(std::llround(value));
  if (!is_of_rates(constant)) return;
  const auto [rates, added] = software.rates_of.try_emplace(architecture, software.rates);
  if (added) software.fitted_of[architecture] = software.fitted;
  if (added) std::erase_if(software.fitted_of[architecture], [](SoftwareConstant c) { return !is_of_rates(c); });
  set_rate(rates->second, constant, value);
}

std::string value_text(SoftwareConstant constant, double value) {
  return is_of_rates(constant) ? fmt::format("{:.3g}", value) : fmt::format("{} B", std::llround(value));
}

std::vector<SoftwareConstant> read_fitted(Section& section, const SoftwareRates& rates, bool of_architecture) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (!of_architecture || is_of_rates(static_cast<SoftwareConstant>(i))) names.emplace_back(kNames[i]);
  std::vector<SoftwareConstant> constants;
  for (const std::string& word : section.words(
           "fitted", of_architecture ? "constants of this architecture that were fitted to published training runs"
                                     : "constants that were fitted to published training runs: gemm, traffic, flash, "
                                       "accumulation, optimizer; traffic: one factor for norm, rotary, activation, add "
                                       "and copy, flash: `flash_forward` and `flash_backward` together")) {
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) {
      section.error("fitted", fmt::format("no constant '{}' is fitted here", printable(word, 40)),
                    suggestion(word, names));
      continue;
    }
    const auto constant = static_cast<SoftwareConstant>(found - names.begin());
    if (std::ranges::find(constants, constant) != constants.end())
      section.error("fitted", fmt::format("'{}' stands twice", word));
    else
      constants.push_back(constant);
    if (constant == SoftwareConstant::kTraffic && !is_one_factor(rates))
      section.error("fitted", "'traffic' is one factor, but norm, rotary, activation, add and copy differ",
                    "write the same factor for all five, or leave 'traffic' out");
  }
  return constants;
}

}  // namespace orrery::workload
