// SPDX-License-Identifier: MIT
// Decimal numbers as people write them, exactly.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace orrery {

// mantissa / 10^decimals.
struct Decimal {
  Int128 mantissa = 0;
  int decimals = 0;
};

inline constexpr int kMostDigits = 24;  // leaves room for a unit's factor in 128 bits

// Reads digits[.digits][e[+-]dd], of kMostDigits digits at most, at the front of `text` and removes it; digit
// separators
// '_' and ',' are refused.
std::optional<Decimal> take_decimal(std::string_view& text);

// The product; what is beyond kMostDigits digits is rounded to the nearest. Nothing where it has no such text.
std::optional<Decimal> product(Decimal a, Decimal b);

// Without an exponent and without trailing zeros: "300", "0.85".
std::string to_text(Decimal number);

double to_double(const Decimal& number);

}  // namespace orrery
