// SPDX-License-Identifier: MIT
#include "core/config/price.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery {
namespace {

std::string_view stripped(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

char capital(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool ends_alike(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         std::ranges::equal(text.substr(text.size() - end.size()), end, {}, capital, capital);
}

bool begins_alike(std::string_view text, std::string_view begin) {
  return text.size() >= begin.size() && std::ranges::equal(text.substr(0, begin.size()), begin, {}, capital, capital);
}

// Takes the first of `words` that is there off an end of the text; false if none is.
template <class Words>
bool take_off(std::string_view& text, const Words& words) {
  for (const std::string_view word : words) {
    const bool is_last = ends_alike(text, word);
    if (!is_last && !begins_alike(text, word)) continue;
    text = stripped(is_last ? text.substr(0, text.size() - word.size()) : text.substr(word.size()));
    return true;
  }
  return false;
}

// Signs and codes of the currencies in which devices are let.
constexpr std::array<std::string_view, 14> kCurrencies = {"US$", "$",   "\u20AC", "\u00A3", "\u00A5", "\u20B9", "USD",
                                                          "EUR", "GBP", "CNY",    "RMB",    "JPY",    "INR",    "CHF"};
// The longest first.
constexpr std::array<std::string_view, 16> kHours = {
    "per device-hour", "per GPU-hour", "per GPU hour", "/device-hour", "/GPU-hour", "/GPU/hour", "/GPU/h", "/GPUh",
    "per hour",        "an hour",      "/hour",        "/hr",          "/h",        "per GPU",   "/GPU",   "/device"};

}  // namespace

Parsed<double> parse_price(std::string_view whole, PriceOf of) {
  std::string_view text = stripped(whole);
  const bool has_currency = take_off(text, kCurrencies);
  if (of == PriceOf::kHour && take_off(text, kHours) && !has_currency) take_off(text, kCurrencies);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc{} && end == text.data() + text.size() && std::isfinite(value) && value >= 0)
    return {value, {}, {}};
  const std::string hint = of == PriceOf::kHour
                               ? "write the price of one device for an hour, such as 2.50, '$2.50' or '2.50 USD/h'"
                               : "write a number, such as 1500, '$1500' or '1500 EUR'";
  const std::string slip = hint_for_number(text);
  return {{}, fmt::format("'{}' is not a price", printable(whole, 40)), slip.empty() ? hint : slip};
}

std::optional<double> price_of(Section& section, std::string_view key, std::string_view text, PriceOf of) {
  Parsed<double> parsed = parse_price(text, of);
  if (!parsed.value) section.error(key, fmt::format("{}: {}", key, parsed.problem), parsed.hint);
  return parsed.value;
}

std::optional<double> read_price(Section& section, std::string_view key, PriceOf of, std::string_view meaning) {
  const ConfigValue* value = section.raw(key, "price", "optional", meaning);
  if (value == nullptr) return std::nullopt;
  if (value->kind != ConfigValue::Kind::kScalar) {
    section.error(key, fmt::format("'{}' is {}; expected: price", key, kind_name(value->kind)), {});
    return std::nullopt;
  }
  return price_of(section, key, value->scalar, of);
}

}  // namespace orrery
