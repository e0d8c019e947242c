// SPDX-License-Identifier: MIT
#include "report/plot/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery::report {
namespace {

constexpr int kMostSizes = 10;
constexpr int kMostPercents = 7;
constexpr int kDecades = 3;  // with 2 and 5 between

int floor_division(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

std::string size_label(int power) {
  constexpr std::array kUnits = {"", "K", "M", "G", "T", "P", "E"};
  return fmt::format("{}{}", 1 << (power % 10), kUnits[static_cast<std::size_t>(power / 10)]);
}

// ..., 0.5, 1, 2, 5, 10, ...: 1 is the number 0.
double round_number(int number) {
  constexpr std::array<double, 3> kSteps = {1, 2, 5};
  const int decade = floor_division(number, 3);
  const double step = kSteps[static_cast<std::size_t>(number - 3 * decade)];
  return decade < 0 ? step / std::pow(10, -decade) : step * std::pow(10, decade);
}

// The largest that does not exceed `value`.
int round_number_below(double value) {
  int number = 3 * static_cast<int>(std::floor(std::log10(value))) - 1;
  while (round_number(number + 1) <= value) ++number;
  return number;
}

// The least that `value` does not exceed.
int round_number_above(double value) {
  const int below = round_number_below(value);
  return round_number(below) == value ? below : below + 1;
}

}  // namespace

std::string short_number(double number) {
  const std::string text = fmt::format("{:.6g}", number);
  if (text.find('e') == std::string::npos) return text;
  return std::abs(number) >= 1 ? fmt::format("{:.0f}", number) : text;
}

Unit unit_for(std::string_view base, double most) {
  struct Named {
    std::string_view base;
    std::vector<Unit> units;  // from small to large
  };
  static const std::array<Named, 5> kUnits = {
      {{"s", {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}},
       {"B",
        {{"B", 1, true}, {"KiB", 0x1p10, true}, {"MiB", 0x1p20, true}, {"GiB", 0x1p30, true}, {"TiB", 0x1p40, true}}},
       {"B/s", {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}}},
       {"FLOP/s", {{"FLOP/s", 1}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}}},
       {"share", {{"%", 0.01}}}}};
  const auto found = std::ranges::find(kUnits, base, &Named::base);
  if (found == kUnits.end()) return {std::string(base), 1};
  Unit unit = found->units.front();
  for (const Unit& one : found->units)
    if (most >= one.size) unit = one;
  return unit;
}

Axis Axis::sizes(Bytes least, Bytes most) {
  ORRERY_ASSERT(Bytes(0) < least && least <= most);
  int first = 0, last = 0;
  while (first < 62 && least.count() >> (first + 1) > 0) ++first;
  while (last < 62 && Bytes(std::int64_t{1} << last) < most) ++last;
  Axis axis;
  axis.logarithmic_ = true;
  axis.first_ = (first - 0.5) * std::log(2);
  axis.last_ = (std::max(first, last) + 0.5) * std::log(2);
  for (const int step : {1, 2, 5, 10}) {
    axis.ticks_.clear();
    for (int power = (first + step - 1) / step * step; power <= last; power += step)
      axis.ticks_.push_back({std::exp2(power), size_label(power)});
    if (axis.ticks_.size() <= kMostSizes) break;
  }
  return axis;
}

Axis Axis::logarithmic(double least, double most, const Unit& unit) {
  least /= unit.size;
  most /= unit.size;
  ORRERY_ASSERT(0 < least && least <= most && std::isfinite(most));
  int first = round_number_below(least), last = round_number_above(most);
  if (last - first < 2) --first, ++last;
  int step = 1;
  if (last - first > 3 * kDecades) {
    step = 3;
    first = 3 * floor_division(first, 3);
    last = 3 * floor_division(last + 2, 3);
  }
  Axis axis;
  axis.logarithmic_ = true;
  axis.first_ = std::log(round_number(first) * unit.size);
  axis.last_ = std::log(round_number(last) * unit.size);
  for (int number = first; number <= last; number += step)
    axis.ticks_.push_back({round_number(number) * unit.size, short_number(round_number(number))});
  return axis;
}

Axis Axis::signed_percent(double least, double most) {
  ORRERY_ASSERT(std::isfinite(least) && std::isfinite(most) && least <= most);
  Axis axis;
  for (int number = 0;; ++number) {
    const double step = round_number(number);
    double first = std::floor(std::min(least, 0.0) / step), last = std::ceil(std::max(most, 0.0) / step);
    if (first == last) --first, ++last;
    if (last - first > kMostPercents - 1) continue;
    axis.first_ = first * step;
    axis.last_ = last * step;
    for (double tick = first; tick <= last; ++tick)
      axis.ticks_.push_back({tick * step, tick == 0 ? "0" : fmt::format("{:+.0f}", tick * step)});
    return axis;
  }
}

Axis Axis::linear(double least, double most, const Unit& unit, bool from_zero, int most_ticks) {
  ORRERY_ASSERT(std::isfinite(least) && std::isfinite(most) && least <= most);
  if (from_zero) least = std::min(least, 0.0), most = std::max(most, 0.0);
  const double spread = std::max(most - least, std::abs(most) * 1e-3) / unit.size;
  const bool doubles = unit.is_binary && spread >= kMostPercents;  // parts of a unit are decimal
  const auto step_number = [&](int number) { return doubles ? std::exp2(number) : round_number(number); };
  int number = spread > 0 ? static_cast<int>(std::floor(doubles ? std::log2(spread) : 3 * std::log10(spread))) - 12 : 0;
  Axis axis;
  for (;; ++number) {
    const double step = step_number(number) * unit.size;
    double first = std::floor(least / step + 1e-9), last = std::ceil(most / step - 1e-9);
    if (first == last) ++last;
    if (last - first > most_ticks - 1) continue;
    axis.first_ = first * step;
    axis.last_ = last * step;
    for (double tick = first; tick <= last; ++tick)
      axis.ticks_.push_back({tick * step, short_number(tick * step_number(number))});
    return axis;
  }
}

Axis Axis::given(std::vector<Tick> ticks, bool logarithmic) {
  ORRERY_ASSERT(!ticks.empty());
  Axis axis;
  axis.logarithmic_ = logarithmic;
  const double least = ticks.front().value, most = ticks.back().value;
  if (logarithmic) {
    const double room = least == most ? std::log(2) : 0.04 * std::log(most / least);
    axis.first_ = std::log(least) - room;
    axis.last_ = std::log(most) + room;
  } else {
    axis.first_ = std::min(least, 0.0);
    axis.last_ = std::max(most, 0.0);
    if (axis.first_ == axis.last_) axis.last_ = 1;
    const double room = 0.04 * (axis.last_ - axis.first_);
    if (axis.first_ < 0) axis.first_ -= room;
    if (axis.last_ > 0) axis.last_ += room;
  }
  axis.ticks_ = std::move(ticks);
  return axis;
}

Axis Axis::named(std::span<const std::string> names) {
  Axis axis;
  for (std::size_t i = 0; i < names.size(); ++i) axis.ticks_.push_back({static_cast<double>(i), names[i]});
  axis.first_ = -0.5;
  axis.last_ = std::max(static_cast<double>(names.size()), 1.0) - 0.5;
  return axis;
}

void Axis::thin_out(std::size_t most) {
  const std::size_t step = (ticks_.size() + most - 1) / std::max<std::size_t>(most, 1);
  for (std::size_t i = 0; step > 1 && i < ticks_.size(); ++i)
    if (i % step != 0) ticks_[i].label.clear();
}

double Axis::share(double value) const {
  return ((logarithmic_ ? std::log(value) : value) - first_) / (last_ - first_);
}

}  // namespace orrery::report
