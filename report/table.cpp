#include "report/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"

namespace orrery {
namespace {

// Columns on a terminal: bytes that start a UTF-8 character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
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

}  // namespace orrery
