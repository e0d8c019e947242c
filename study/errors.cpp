// SPDX-License-Identifier: MIT
#include "study/errors.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"

namespace orrery::study {
namespace {

constexpr Bytes kMiddleFrom{1 << 20};
constexpr Bytes kLargeFrom{256 << 20};

// Median of ascending values.
double median_of(std::span<const double> values) {
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace

std::optional<ErrorSummary> summary_of(std::vector<double> errors) {
  if (errors.empty()) return std::nullopt;
  const std::size_t count = errors.size();
  const auto ninetieth = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(count)));
  double mean = 0;
  for (const double error : errors) mean += std::abs(error) / static_cast<double>(count);
  std::ranges::sort(errors);
  const double bias = median_of(errors);
  for (double& error : errors) error = std::abs(error);
  std::ranges::sort(errors);
  return ErrorSummary{count, median_of(errors), errors[ninetieth - 1], errors.back(), mean, bias};
}

SizeBand band_of(Bytes size) {
  if (size < kMiddleFrom) return SizeBand::kSmall;
  return size < kLargeFrom ? SizeBand::kMiddle : SizeBand::kLarge;
}

std::string_view name_of(SizeBand band) {
  constexpr std::array<std::string_view, kAllSizeBands.size()> kNames = {"< 1M", "1M - 256M", ">= 256M"};
  return kNames[static_cast<std::size_t>(band)];
}

std::string percent_text(const std::optional<ErrorSummary>& summary, double ErrorSummary::*which) {
  return summary ? percent_number((*summary).*which) : std::string("-");
}

std::string overall_text(std::string_view what, const OverallError& overall) {
  if (!overall.all) return {};
  std::string text =
      fmt::format("{} ({}): median of their medians {} %, 90 % of them at most {} %, worst {} %; by size:", what,
                  overall.all->rows, percent_text(overall.all, &ErrorSummary::median),
                  percent_text(overall.all, &ErrorSummary::ninetieth), percent_text(overall.all, &ErrorSummary::worst));
  for (const SizeBand band : kAllSizeBands)
    text += fmt::format("{} {}: {}", band == kAllSizeBands.front() ? "" : ",", name_of(band),
                        percent_text(overall.bands[static_cast<std::size_t>(band)], &ErrorSummary::median));
  return text + "\n";
}

nlohmann::ordered_json to_json(const std::optional<ErrorSummary>& summary) {
  if (!summary) return nullptr;
  return {{"rows", summary->rows}, {"median", summary->median}, {"p90", summary->ninetieth}, {"worst", summary->worst}};
}

nlohmann::ordered_json to_json(const OverallError& overall) {
  nlohmann::ordered_json document = {{"error_of_medians", to_json(overall.all)}};
  for (const SizeBand band : kAllSizeBands)
    document["error_of_medians_by_size"][std::string(name_of(band))] =
        to_json(overall.bands[static_cast<std::size_t>(band)]);
  return document;
}

}  // namespace orrery::study
