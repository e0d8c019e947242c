// SPDX-License-Identifier: MIT
#include "workload/import/decimal.h"

#include <charconv>
#include <limits>
#include <system_error>

#include "core/units.h"

namespace orrery::workload {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The exponent behind an "e", if there is one; nothing when it is no number.
std::optional<int> take_exponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> thousandths(std::string_view text) {
  constexpr Int128 kLimit = Int128{1} << 100;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  Int128 digits = 0;
  int scale = 3;  // the number is digits * 10^scale thousandths
  bool any = false, after_point = false;
  while (!text.empty() && (is_digit(text[0]) || (text[0] == '.' && !after_point))) {
    if (text[0] == '.') {
      after_point = true;
    } else {
      any = true;
      // Digits beyond the thirtieth change nothing that fits.
      if (digits < kLimit / 10) {
        digits = digits * 10 + (text[0] - '0');
        scale -= after_point ? 1 : 0;
      } else if (!after_point) {
        return std::nullopt;
      }
    }
    text.remove_prefix(1);
  }
  const std::optional<int> exponent = take_exponent(text);
  if (!any || !exponent || *exponent > 1000 || *exponent < -1000) return std::nullopt;
  scale += *exponent;
  for (; scale > 0 && digits != 0; --scale) {
    digits *= 10;
    if (digits > kLimit) return std::nullopt;
  }
  int dropped = 0;
  for (; scale < 0 && (digits != 0 || dropped != 0); ++scale) {
    dropped = static_cast<int>(digits % 10);
    digits /= 10;
  }
  if (dropped >= 5) ++digits;
  if (digits > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(negative ? -digits : digits);
}

}  // namespace orrery::workload
