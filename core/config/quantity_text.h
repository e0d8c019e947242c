// SPDX-License-Identifier: MIT
// Quantities as people write them: "300 GB/s", "2.5 us", "64 KiB", "312 TFLOP/s", "50 %". A bare number is refused: a
// quantity without a unit is how 7 % errors and factors of 1,000 come into simulations.
//
// Only a count may do without one: "300e9", "300 B".
//
// GB = 10^9, GiB = 2^30, Gb = 10^9 bits. Decimal fractions are exact; what is finer than the base unit is rounded to
// the nearest (a non-zero value that would become zero is refused).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace orrery {

// Either a value, or what is wrong with the text and what to write instead.
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string problem;
  std::string hint;
};

// The quantities are not negative; Bandwidth, FlopRate, Power, Count and Efficiency are positive, and an
// Efficiency ("80 %", never a bare number) is at most 100 %.
template <class Q>
Parsed<Q> parse_quantity(std::string_view text);

// True if parse_quantity() has a value, of a Bandwidth, Duration or Efficiency. Costs no explanation.
template <class Q>
bool is_quantity(std::string_view text);

// Ratio of two units: 1000 for "GB/s" and "MB/s"; 1 for "" and "", two plain numbers. Nothing where one of them is no
// unit, or they are not units of the same.
std::optional<double> ratio_of_units(std::string_view unit, std::string_view other);

// A whole number and nothing else: no sign but '-', no spaces, within 64 bits.
std::optional<std::int64_t> parse_whole_number(std::string_view text);

// Truth as YAML's core schema writes it: true, True, TRUE, false, False, FALSE.
std::optional<bool> parse_boolean(std::string_view text);

// A share: "85 %" or "0.85" (a ratio has no unit). Not negative.
Parsed<double> parse_share(std::string_view text);

// True of texts of one value, whatever their units: "400 Gb/s" and "50 GB/s", "25 MB" and "25000000 B", "100 %" and
// "1".
bool stand_for_one_value(std::string_view one, std::string_view other);

// Exact text that parse_quantity reads back, in the largest unit that keeps it short: "300 GB/s", "1500 ps".
std::string to_text(Bytes bytes);
std::string to_text(Bandwidth bandwidth);
std::string to_text(Duration duration);
std::string to_text(Flops flops);
std::string to_text(FlopRate rate);
std::string to_text(Power power);
std::string to_text(Count count);
std::string to_text(Efficiency efficiency);

// Rounded for reading, about four significant digits: "612.4 ms", "64.00 MiB".
std::string rounded(Duration duration);
std::string rounded(Bytes bytes);
// Without trailing zeros: "240 GB/s", "31.5 GB/s".
std::string rounded(Bandwidth bandwidth);

// Hint at what to write in place of a number that is written otherwise than numbers are here: "1,000,000", "2,5", "2.0"
// of a whole one. Empty where that is not the slip.
std::string hint_for_number(std::string_view text);

// Three digits and the unit of that power of 1,000: "48.2 GFLOP".
std::string three_digits(double number, std::span<const char* const> units);
// "8.03 B" of 8,030,261,248.
std::string rounded_count(std::int64_t count);

// "1 rank", "2 ranks".
std::string counted(std::uint64_t count, std::string_view what);

// Units of a type of keys as docs/config.md names it ("size", "bandwidth", "time", "rate", "power", "efficiency"), from
// large to small; none of other types. A `b` stands for `bit` and `bits` as well.
std::vector<std::string_view> units_of_type(std::string_view type);

}  // namespace orrery
