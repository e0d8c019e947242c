// SPDX-License-Identifier: MIT
#include "workload/import/decimal.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

namespace orrery::workload {
namespace {

// All of `text`, without a '+'.
template <class Integer>
std::optional<Integer> whole(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> thousandths(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  // 1. "12.34e5": the exponent, and the digits without their point, with how many stand in front of it.
  std::optional<int> exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    exponent = whole<int>(text.substr(e + (text.substr(e + 1).starts_with('+') ? 2 : 1)));
    text = text.substr(0, e);
  }
  std::string digits(text);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  digits.erase(point, 1);
  const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || !exponent || *exponent > 1000 || *exponent < -1000) return std::nullopt;
  // 2. The point three digits farther on; the first digit behind it decides the rounding.
  const auto before = static_cast<std::ptrdiff_t>(point) + *exponent + 3;
  if (before < 0) return 0;
  const auto kept = static_cast<std::size_t>(before);
  const bool up = kept < digits.size() && digits[kept] >= '5';
  digits.resize(kept, '0');
  const std::optional<std::int64_t> value = whole<std::int64_t>(digits.empty() ? "0" : digits);
  if (!value || (up && *value == INT64_MAX)) return std::nullopt;
  const std::int64_t rounded = *value + (up ? 1 : 0);
  return negative ? -rounded : rounded;
}

}  // namespace orrery::workload
