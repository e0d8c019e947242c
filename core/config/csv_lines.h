// SPDX-License-Identifier: MIT
// Lines and cells of a CSV file: what readers of tables share. No cell holds a comma.
#pragma once

#include <optional>
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

}  // namespace orrery
