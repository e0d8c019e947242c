// SPDX-License-Identifier: MIT
#include "core/config/csv_lines.h"

namespace orrery {
namespace {

constexpr std::string_view kBlank = " \t\r";

}  // namespace

std::vector<CsvCell> CsvLine::cells() const {
  std::vector<CsvCell> cells;
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

}  // namespace orrery
