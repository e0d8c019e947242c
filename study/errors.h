// SPDX-License-Identifier: MIT
// Errors of predictions, shared by calibration and the kinds of validation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/units.h"

namespace orrery::study {

// Summary of errors predicted / measured - 1: all but the bias are of their absolute values.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0;
  double ninetieth = 0;  // percentile
  double worst = 0;
  double mean = 0;
  // The median of the signed errors: never larger than the median error, which it reaches where all rows lie on one
  // side. A mean would follow the few rows that are several times too slow, which nothing balances: no time is less
  // than 0.
  double bias = 0;
};

// Summarises signed errors; nothing without any. Of an even number of rows the median is the mean of the two in the
// middle; a percentile is the least error that at least so many rows do not exceed.
std::optional<ErrorSummary> summary_of(std::vector<double> errors);

// Below 1 MiB launch and latency decide, from 256 MiB on bandwidth does; between them both.
enum class SizeBand : std::uint8_t { kSmall, kMiddle, kLarge };
inline constexpr std::array<SizeBand, 3> kAllSizeBands = {SizeBand::kSmall, SizeBand::kMiddle, SizeBand::kLarge};
SizeBand band_of(Bytes size);
// "< 1M", "1M - 256M", ">= 256M".
std::string_view name_of(SizeBand band);

// The medians of several tables: each counts the same, however many rows it has.
struct OverallError {
  std::optional<ErrorSummary> all;
  std::array<std::optional<ErrorSummary>, kAllSizeBands.size()> bands;
};

// "12.3" (in %), or "-" where there is nothing.
std::string percent_text(const std::optional<ErrorSummary>& summary, double ErrorSummary::*which);
// "kernels (5): median of their medians ...", one line; nothing without tables.
std::string overall_text(std::string_view what, const OverallError& overall);

// Null where there is nothing.
nlohmann::ordered_json to_json(const std::optional<ErrorSummary>& summary);
nlohmann::ordered_json to_json(const OverallError& overall);

}  // namespace orrery::study
