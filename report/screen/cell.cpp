// SPDX-License-Identifier: MIT
#include "report/screen/cell.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"

namespace orrery::report {
namespace {

struct Unit {
  std::string_view name;
  double size;  // in picoseconds, bytes, seconds, ones
};
// From small to large.
constexpr std::array<Unit, 5> kTimes = {{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}};
constexpr std::array<Unit, 7> kSizes = {
    {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}, {"EiB", 0x1p60}}};
constexpr std::array<Unit, 4> kRates = {{{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}}};
constexpr std::array<Unit, 2> kLongTimes = {{{"hours", 3600}, {"days", kDay}}};
constexpr std::array<Unit, 5> kNumbers = {{{"", 1}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}}};

struct KnownQuantity {
  Cell::Quantity quantity;
  std::span<const Unit> units;
  bool is_whole;  // no number in the smallest unit has a fraction
};
constexpr std::array<KnownQuantity, 5> kQuantities = {{{Cell::Quantity::kTime, kTimes, true},
                                                       {Cell::Quantity::kSize, kSizes, true},
                                                       {Cell::Quantity::kRate, kRates, true},
                                                       {Cell::Quantity::kLongTime, kLongTimes, false},
                                                       {Cell::Quantity::kNumber, kNumbers, false}}};

// Number that the largest of a column may have in a smaller unit than its own.
constexpr double kLargestShown = 1e5;

double size_of(const Cell& cell) { return std::abs(cell.value()); }

// Decimals of a number in this unit: more where there is no smaller unit to go to.
int most_decimals(const KnownQuantity& known, const Unit& unit) { return unit.size == 1 && !known.is_whole ? 6 : 3; }

// Size of what has three digits with so many decimals.
double least_shown(const KnownQuantity& known, const Unit& unit) {
  return std::pow(10, 2 - most_decimals(known, unit)) * unit.size;
}

// The number of decimals and the unit of "24.340 s".
std::pair<std::size_t, std::string_view> form_of(std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::size_t point = std::min(text.find('.'), end);
  return {point == end ? 0 : end - point - 1, text.substr(end)};
}

// The unit of a column, by the quantities in it that are not zero.
std::size_t unit_for(std::span<const Cell* const> cells, const KnownQuantity& known) {
  const std::span<const Unit> units = known.units;
  double largest = 0;
  for (const Cell* cell : cells) largest = std::max(largest, size_of(*cell));
  std::size_t own = 0;
  while (own + 1 < units.size() && largest >= units[own + 1].size) ++own;
  if (own == 0 || largest >= kLargestShown * units[own - 1].size) return own;
  const bool shows_more = std::ranges::any_of(cells, [&](const Cell* cell) {
    return size_of(*cell) < least_shown(known, units[own]) && size_of(*cell) >= least_shown(known, units[own - 1]);
  });
  return shows_more ? own - 1 : own;
}

// Decimals for four digits of the smallest; for three where the largest has more than three before its point.
int decimals_for(std::span<const Cell* const> cells, const Unit& unit, const KnownQuantity& known) {
  constexpr double kThousand = 1000;
  if (known.is_whole && unit.size == 1) return 0;
  const auto [least, most] = std::ranges::minmax(cells, {}, [](const Cell* cell) { return size_of(*cell); });
  const int digits = size_of(*most) < kThousand * unit.size ? 4 : 3;
  const int before = static_cast<int>(std::floor(std::log10(size_of(*least) / unit.size))) + 1;
  int decimals = std::clamp(digits - before, 0, most_decimals(known, unit));
  // Rates are as they were given: zeros at the end of all say nothing.
  const auto is_exact = [&](const Cell* cell) {
    const double scaled = cell->value() / unit.size * std::pow(10, decimals - 1);
    return std::abs(scaled - std::round(scaled)) < 1e-6;
  };
  if (known.quantity == Cell::Quantity::kRate)
    while (decimals > 0 && std::ranges::all_of(cells, is_exact)) --decimals;
  return decimals;
}

// Writes the texts of the cells of one quantity.
void write(std::span<const Cell> cells, const KnownQuantity& known, std::vector<std::string>& texts) {
  std::vector<const Cell*> some;
  for (const Cell& cell : cells)
    if (cell.quantity() == known.quantity && cell.value() != 0) some.push_back(&cell);
  const auto form = [](const Cell* cell) { return form_of(cell->text()); };
  const auto write_zeros = [&](std::string_view behind) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (cells[i].quantity() == known.quantity && cells[i].value() == 0) texts[i] = fmt::format("0{}", behind);
  };
  if (std::ranges::adjacent_find(some, std::ranges::not_equal_to{}, form) == some.end()) {
    if (!some.empty()) write_zeros(form(some.front()).second);
    return;
  }
  const Unit& unit = known.units[unit_for(some, known)];
  std::erase_if(some, [&](const Cell* cell) { return size_of(*cell) < least_shown(known, unit); });
  if (some.empty()) return;
  const int decimals = decimals_for(some, unit, known);
  const std::string behind = unit.name.empty() ? "" : fmt::format(" {}", unit.name);
  for (const Cell* cell : some)
    texts[static_cast<std::size_t>(cell - cells.data())] =
        fmt::format("{}{:.{}f}{}", cell->is_difference() && cell->value() > 0 ? "+" : "", cell->value() / unit.size,
                    decimals, behind);
  write_zeros(behind);
}

}  // namespace

Cell::Cell(Duration time)
    : text_(rounded(time)), quantity_(Quantity::kTime), value_(static_cast<double>(time.count())) {}

Cell::Cell(Bytes size) : text_(rounded(size)), quantity_(Quantity::kSize), value_(static_cast<double>(size.count())) {
  if (size.count() < 0) text_ = "-" + rounded(Bytes(-size.count()));
}

Cell::Cell(Bandwidth rate)
    : text_(rounded(rate)), quantity_(Quantity::kRate), value_(static_cast<double>(rate.count())) {}

Cell Cell::time(double seconds) {
  if (!std::isfinite(seconds) || std::abs(seconds) >= static_cast<double>(Duration::max().count()) * 1e-12) return "-";
  return Duration(std::llround(seconds * 1e12));
}

Cell Cell::long_time(double seconds) {
  Cell cell = days_text(seconds);
  cell.quantity_ = Quantity::kLongTime;
  cell.value_ = seconds;
  return cell;
}

Cell Cell::number(double number) {
  constexpr double kExponent = 9999.5;  // from which on fmt writes one
  Cell cell = std::abs(number) < kExponent ? fmt::format("{:.4g}", number) : large_count(number);
  cell.quantity_ = Quantity::kNumber;
  cell.value_ = number;
  return cell;
}

Cell Cell::difference(Duration time) {
  Cell cell = time;
  cell.is_difference_ = true;
  if (cell.value_ >= 0) cell.text_.insert(0, "+");
  return cell;
}

Cell Cell::difference(Bytes size) {
  Cell cell = size;
  cell.is_difference_ = true;
  if (cell.value_ >= 0) cell.text_.insert(0, "+");
  return cell;
}

std::vector<std::string> in_one_unit(std::span<const Cell> cells) {
  std::vector<std::string> texts;
  for (const Cell& cell : cells) texts.push_back(cell.text());
  for (const KnownQuantity& known : kQuantities) write(cells, known, texts);
  return texts;
}

}  // namespace orrery::report
