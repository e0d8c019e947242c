// SPDX-License-Identifier: MIT
// Numbers as people read them: shares, ratios, times and large counts. Quantities that have a type of their own:
// core/config/quantity_text.h.
#pragma once

#include <optional>
#include <string>

namespace orrery {

inline constexpr double kDay = 86'400;          // seconds
inline constexpr double kYear = 365.25 * kDay;  // seconds

// "12.3 %"; "-" where there is no share. What rounds to 0 has no sign.
std::string percent(double share, int decimals = 1);
std::string percent(std::optional<double> share, int decimals = 1);
// "0.0 %" where the whole is not above 0.
std::string percent_of(double part, double whole, int decimals = 1);
// "+12.3 %", "-0.0 %".
std::string signed_percent(double share, int decimals = 1);
// Two digits, or all before the point: "3.4 %", "34 %".
std::string short_percent(double share);
// "12.3" and "+12.3", where a heading says that numbers are in %.
std::string percent_number(double share);
std::string signed_percent_number(double share);

// "1.200": `value` over `base`; "-" where that is not above 0.
std::string ratio_text(double value, double base);

// Four digits, as rounded() has them: "612.4 ms"; with a sign: "+612.4 ms".
std::string time_text(double seconds);
std::string signed_time(double seconds);
// "90 min", "5.3 h", "27.1 days", "2.03 years": from milliseconds to years.
std::string long_time_text(double seconds);
// "5.3 hours", "27.1 days", "2.03 years": a whole training.
std::string days_text(double seconds);

// "27.8 K", "300 B": three digits.
std::string large_count(double count);

}  // namespace orrery
