// SPDX-License-Identifier: MIT
// Lines and cells of CSV files. What is read has no comma in a cell; what is written may have any text in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// Without blanks around it, and without quotes.
struct CsvCell {
  std::string_view text;
  int column = 0;  // of its first character in the line, from 1
};

struct CsvLine {
  std::string_view text;
  int number = 0;     // from 1
  bool ended = true;  // by a line end

  std::vector<CsvCell> cells() const;
};

// The lines that are neither blank nor comments ("# ...").
class CsvLines {
 public:
  explicit CsvLines(std::string_view text) : rest_(text) {}

  std::optional<CsvLine> next();

 private:
  std::string_view rest_;
  int number_ = 0;
};

// `text` as a cell that is written, by RFC 4180: in quotes where needed, quotes doubled. Spreadsheets run a text that
// begins with = + - @ as a formula, so it gets an apostrophe in front, which they do not show; numbers stay as they
// are.
std::string csv_cell(std::string_view text);

}  // namespace orrery
