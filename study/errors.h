// SPDX-License-Identifier: MIT
// How far off predictions are: what calibration and the kinds of validation share. A row is anything with a signed
// error(), predicted / measured - 1.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/units.h"

namespace orrery::study {

// Of absolute errors |predicted / measured - 1|.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0;
  double ninetieth = 0;  // percentile
  double worst = 0;
};

// Nothing without rows. Of an even number of rows the median is the mean of the two in the middle; a percentile is the
// least error that at least so many rows do not exceed.
std::optional<ErrorSummary> summary_of(std::vector<double> errors);

// Of the rows that `counts`.
template <class Rows, class Counts>
std::optional<ErrorSummary> summary_of(const Rows& rows, const Counts& counts) {
  std::vector<double> errors;
  for (const auto& row : rows)
    if (std::invoke(counts, row)) errors.push_back(std::abs(row.error()));
  return summary_of(std::move(errors));
}

// The row that is farthest off, the first of equals. `rows` is not empty.
template <class Rows>
const auto& worst_of(const Rows& rows) {
  return *std::ranges::max_element(rows, {}, [](const auto& row) { return std::abs(row.error()); });
}

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
