// SPDX-License-Identifier: MIT
#include "report/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"

namespace orrery::report {
namespace {

// Columns on a terminal: bytes that start a UTF-8 character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

constexpr std::string_view kNothing = "-";

struct ColumnUnit {
  std::string_view name;
  double size = 1;
};

// `units` from small to large. Three decimals, none of the smallest unit: there is nothing below it.
template <class Quantity>
std::vector<std::string> cells_of(std::span<const Quantity> values, std::span<const ColumnUnit> units) {
  double largest = 0;
  for (const Quantity& value : values) largest = std::max(largest, static_cast<double>(value.count()));
  const ColumnUnit* unit = &units.front();
  for (const ColumnUnit& one : units)
    if (largest >= one.size) unit = &one;
  std::vector<std::string> cells;
  for (const Quantity& value : values)
    cells.push_back(value.count() == 0 ? std::string(kNothing)
                                       : fmt::format("{:.{}f} {}", static_cast<double>(value.count()) / unit->size,
                                                     unit == &units.front() ? 0 : 3, unit->name));
  return cells;
}

}  // namespace

void Table::column(std::string heading, Align align) {
  columns_.push_back({printable(heading, std::string::npos), align});
}

void Table::row(std::vector<std::string> cells) {
  ORRERY_ASSERT(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = printable(cell, std::string::npos);
  rows_.push_back(std::move(cells));
}

void Table::column_of(std::string heading, std::vector<std::string> cells, Align align) {
  if (std::ranges::all_of(cells, [](const std::string& cell) { return cell == kNothing; })) return;
  ORRERY_ASSERT(columns_.empty() || rows_.size() == cells.size());
  column(std::move(heading), align);
  rows_.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) rows_[i].push_back(printable(cells[i], std::string::npos));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = width(columns_[c].heading);
    for (const auto& row : rows_) widest = std::max(widest, width(row[c]));
    widths.push_back(widest);
  }
  std::string text;
  const auto append = [&](std::size_t c, const std::string& cell) {
    const std::string padding(widths[c] - width(cell), ' ');
    text += "  ";
    text += columns_[c].align == Align::kRight ? padding + cell : cell + padding;
  };
  const auto end_line = [&] {
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  for (std::size_t c = 0; c < columns_.size(); ++c) append(c, columns_[c].heading);
  end_line();
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < columns_.size(); ++c) append(c, row[c]);
    end_line();
  }
  return text;
}

std::vector<std::string> in_one_unit(std::span<const Duration> times) {
  constexpr std::array<ColumnUnit, 5> kUnits = {{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}};
  return cells_of(times, kUnits);
}

std::vector<std::string> in_one_unit(std::span<const Bytes> sizes) {
  constexpr double kKibi = 1024;
  constexpr std::array<ColumnUnit, 7> kUnits = {{{"B", 1},
                                                 {"KiB", kKibi},
                                                 {"MiB", kKibi * kKibi},
                                                 {"GiB", kKibi * kKibi * kKibi},
                                                 {"TiB", kKibi * kKibi * kKibi * kKibi},
                                                 {"PiB", kKibi * kKibi * kKibi * kKibi * kKibi},
                                                 {"EiB", kKibi * kKibi * kKibi * kKibi * kKibi * kKibi}}};
  return cells_of(sizes, kUnits);
}

std::vector<std::string> in_one_unit(std::span<const Bandwidth> bandwidths) {
  constexpr std::array<ColumnUnit, 4> kUnits = {{{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}}};
  std::vector<std::string> cells = cells_of(bandwidths, kUnits);
  for (std::string& cell : cells) {
    const std::size_t space = cell.find(' ');
    if (cell.find('.') >= space) continue;
    const std::size_t last = cell.find_last_not_of('0', space - 1);
    cell.erase(cell[last] == '.' ? last : last + 1, space - (cell[last] == '.' ? last : last + 1));
  }
  return cells;
}

std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 80;
  constexpr std::string_view kFirst = "  ", kNext = "    ";
  std::string lines, line(kFirst);
  bool is_empty = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view word = text.substr(at, text.find(' ', at) - at);
    at += word.size() + 1;
    if (!is_empty && line.size() + 1 + word.size() > kWidth) {
      lines += line + "\n";
      line = kNext;
      is_empty = true;
    }
    line.append(is_empty ? "" : " ").append(word);
    is_empty = false;
  }
  return lines + line + "\n";
}

}  // namespace orrery::report
