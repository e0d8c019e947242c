// SPDX-License-Identifier: MIT
#include "core/config/number_text.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery {

std::string percent(double share, int decimals) { return percent_of(share, 1, decimals); }

std::string percent(std::optional<double> share, int decimals) { return share ? percent(*share, decimals) : "-"; }

std::string percent_of(double part, double whole, int decimals) {
  const std::string text = fmt::format("{:.{}f} %", whole > 0 ? 100 * part / whole : 0.0, decimals);
  return text.starts_with("-0") && text.find_first_of("123456789") == std::string::npos ? text.substr(1) : text;
}

std::string signed_percent(double share, int decimals) { return fmt::format("{:+.{}f} %", 100 * share, decimals); }

std::string short_percent(double share) {
  return share < 0.0995 ? fmt::format("{:.2g} %", 100 * share) : percent(share, 0);
}

std::string percent_number(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string signed_percent_number(double share) { return fmt::format("{:+.1f}", 100 * share); }

std::string ratio_text(double value, double base) { return base > 0 ? fmt::format("{:.3f}", value / base) : "-"; }

std::string time_text(double seconds) { return rounded(Duration(std::llround(seconds * 1e12))); }

std::string signed_time(double seconds) { return (seconds < 0 ? "-" : "+") + time_text(std::abs(seconds)); }

std::string long_time_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.3g} ms", 1e3 * seconds);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.3g} min", seconds / 60);
  if (seconds < 2 * kDay) return fmt::format("{:.3g} h", seconds / 3600);
  return days_text(seconds);
}

std::string days_text(double seconds) {
  if (seconds < kDay) return fmt::format("{:.3g} hours", seconds / 3600);
  if (seconds < kYear) return fmt::format("{:.3g} days", seconds / kDay);
  return fmt::format("{:.4g} years", seconds / kYear);
}

std::string large_count(double count) { return three_digits(count, std::array{"", " K", " M", " B", " T", " Q"}); }

}  // namespace orrery
