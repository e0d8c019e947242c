// SPDX-License-Identifier: MIT
#include "study/sweep/axis_numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/config/relative.h"

namespace orrery::study {
namespace {

constexpr double kManyTimes = 8;
constexpr double kLeastDoubling = 1.9, kMostDoubling = 2.1;

enum class What { kNumber, kRelative, kBytes, kBandwidth, kTime, kFlops, kPower, kShare };

struct Number {
  What what = What::kNumber;
  double value = 0;
  std::string digits{};  // as written
  std::string unit{};    // likewise
};

// The number at the beginning, and what is behind it.
std::optional<std::pair<double, std::string_view>> leading_number(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || !std::isfinite(number)) return std::nullopt;
  return std::pair(number, text.substr(static_cast<std::size_t>(end - text.data())));
}

template <class Quantity>
bool take(std::string_view text, What what, double size, Number& number) {
  const auto parsed = parse_quantity<Quantity>(text);
  if (!parsed.value) return false;
  number.what = what;
  number.value = static_cast<double>(parsed.value->count()) * size;
  return true;
}

std::optional<Number> number_of(const std::string& label) {
  if (const auto factor = factor_of(label))
    if (const auto number = leading_number(*factor))
      return Number{What::kRelative, number->first, std::string(*factor)};
  const auto leading = leading_number(label);
  if (!leading) return std::nullopt;
  const std::string_view unit = leading->second;
  const std::size_t first = unit.find_first_not_of(' ');
  Number number{What::kNumber, leading->first, label.substr(0, label.size() - unit.size())};
  if (first == std::string_view::npos) return number;
  number.unit = unit.substr(first);
  const bool is_known =
      take<Bytes>(label, What::kBytes, 1, number) || take<Bandwidth>(label, What::kBandwidth, 1, number) ||
      take<Duration>(label, What::kTime, 1e-12, number) || take<FlopRate>(label, What::kFlops, 1, number) ||
      take<Power>(label, What::kPower, 1, number) || take<Efficiency>(label, What::kShare, 1e-6, number);
  return is_known ? std::optional(number) : std::nullopt;
}

// Values in the unit of all labels, if there is one: as it was written, so that 0.1 of it is 0.1.
report::Unit unit_of(const std::vector<Number>& numbers) {
  const std::string& name = numbers.front().unit;
  if (name.empty() || !std::ranges::all_of(numbers, [&](const Number& one) { return one.unit == name; })) return {};
  const auto one = number_of("1 " + name);
  return {name, one ? one->value : 1, name.find("iB") != std::string::npos};
}

}  // namespace

bool are_logarithmic(const std::vector<double>& ascending) {
  if (ascending.size() < 2 || ascending.front() <= 0) return false;
  if (ascending.back() >= kManyTimes * ascending.front()) return true;
  for (std::size_t i = 1; i < ascending.size(); ++i)
    if (const double ratio = ascending[i] / ascending[i - 1]; ratio < kLeastDoubling || ratio > kMostDoubling)
      return false;
  return true;
}

std::optional<AxisNumbers> numbers_of(const SweepAxis& axis) {
  std::vector<Number> numbers;
  for (const SweepChoice& choice : axis.choices) {
    const std::optional<Number> number = number_of(choice.label);
    if (!number || (!numbers.empty() && number->what != numbers.front().what)) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.empty()) return std::nullopt;
  AxisNumbers found;
  const bool is_relative = numbers.front().what == What::kRelative;
  found.unit = is_relative ? report::Unit{"relative"} : unit_of(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Number& number = numbers[i];
    found.values.push_back(number.value);
    const bool is_bare = number.unit.empty() || !found.unit.name.empty();
    found.ticks.push_back({number.value, is_relative ? "\xC3\x97" + number.digits
                                         : is_bare   ? number.digits
                                                     : axis.choices[i].label});
  }
  std::ranges::stable_sort(found.ticks, {}, &report::Tick::value);
  const auto same = std::ranges::adjacent_find(found.ticks, {}, &report::Tick::value);
  if (same != found.ticks.end()) return std::nullopt;  // "1 KiB" and "1024 B": two points in one place
  std::vector<double> ascending = found.values;
  std::ranges::sort(ascending);
  found.is_logarithmic = are_logarithmic(ascending);
  return found;
}

}  // namespace orrery::study
