// SPDX-License-Identifier: MIT
#include "core/config/csv_lines.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace orrery {
namespace {

constexpr std::string_view kBlank = " \t\r";

}  // namespace

std::vector<CsvCell> CsvLine::cells() const {
  std::vector<CsvCell> cells;
  cells.reserve(static_cast<std::size_t>(std::ranges::count(text, ',')) + 1);
  std::size_t start = 0;
  while (true) {
    const std::size_t comma = text.find(',', start);
    std::string_view cell = text.substr(start, comma == std::string_view::npos ? comma : comma - start);
    const std::size_t blank = cell.find_first_not_of(kBlank);
    const int column = static_cast<int>(start + (blank == std::string_view::npos ? 0 : blank)) + 1;
    cell = blank == std::string_view::npos ? std::string_view()
                                           : cell.substr(blank, cell.find_last_not_of(kBlank) - blank + 1);
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    cells.push_back({cell, column});
    if (comma == std::string_view::npos) return cells;
    start = comma + 1;
  }
}

std::optional<CsvLine> CsvLines::next() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    const CsvLine line{rest_.substr(0, end), ++number_, end != std::string_view::npos};
    rest_.remove_prefix(line.ended ? end + 1 : rest_.size());
    const std::size_t start = line.text.find_first_not_of(kBlank);
    if (start != std::string_view::npos && line.text[start] != '#') return line;
  }
  return std::nullopt;
}

namespace {

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

}  // namespace

std::string csv_cell(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  std::string cell(text);
  if (!text.empty() && kFormula.find(text.front()) != std::string_view::npos && !is_number(text))
    cell.insert(0, 1, '\'');
  if (cell.find_first_of("\",\n\r") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace orrery
