// SPDX-License-Identifier: MIT
#include "core/config/decimal.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace orrery {
namespace {

int digits_of(Int128 number) {
  int digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

// Without zeros behind the last digit that counts.
Decimal shortened(Decimal number) {
  while (number.mantissa != 0 && number.mantissa % 10 == 0) {
    number.mantissa /= 10;
    --number.decimals;
  }
  return number;
}

}  // namespace

std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal number;
  std::size_t i = 0;
  int digits = 0;
  bool fraction = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!std::isdigit(static_cast<unsigned char>(c))) break;
    if (++digits > kMostDigits) return std::nullopt;
    number.mantissa = number.mantissa * 10 + (c - '0');
    number.decimals += fraction ? 1 : 0;
  }
  if (digits == 0) return std::nullopt;
  const bool exponent = i + 1 < text.size() && (text[i] == 'e' || text[i] == 'E') &&
                        (std::isdigit(static_cast<unsigned char>(text[i + 1])) ||
                         ((text[i + 1] == '-' || text[i + 1] == '+') && i + 2 < text.size() &&
                          std::isdigit(static_cast<unsigned char>(text[i + 2]))));
  if (exponent) {
    const char* first = text.data() + i + 1 + (text[i + 1] == '+' ? 1 : 0);
    int power = 0;
    const auto [end, code] = std::from_chars(first, text.data() + text.size(), power);
    if (code != std::errc{} || power > kMostDigits || power < -kMostDigits) return std::nullopt;
    number.decimals -= power;
    i = static_cast<std::size_t>(end - text.data());
  }
  text.remove_prefix(i);
  return number;
}

std::optional<Decimal> product(Decimal a, Decimal b) {
  constexpr int kMostTogether = 37;  // digits that 128 bits hold
  a = shortened(a);
  b = shortened(b);
  if (digits_of(a.mantissa) + digits_of(b.mantissa) > kMostTogether) return std::nullopt;
  Decimal whole{a.mantissa * b.mantissa, a.decimals + b.decimals};
  for (int extra = digits_of(whole.mantissa) - kMostDigits; extra > 0; --extra) {
    whole.mantissa = (whole.mantissa + (extra == 1 ? 5 : 0)) / 10;
    --whole.decimals;
  }
  if (whole.decimals > kMostDigits || digits_of(whole.mantissa) - whole.decimals > kMostDigits) return std::nullopt;
  return whole;
}

std::string to_text(Decimal number) {
  number = shortened(number);
  std::string digits;
  for (Int128 left = number.mantissa; left > 0; left /= 10)
    digits.insert(0, 1, static_cast<char>('0' + static_cast<int>(left % 10)));
  if (digits.empty()) return "0";
  if (number.decimals <= 0) return digits.append(static_cast<std::size_t>(-number.decimals), '0');
  const auto decimals = static_cast<std::size_t>(number.decimals);
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  return digits.insert(digits.size() - decimals, ".");
}

double to_double(const Decimal& number) {
  return static_cast<double>(number.mantissa) * std::pow(10.0, -number.decimals);
}

}  // namespace orrery
