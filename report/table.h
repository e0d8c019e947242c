// Text tables: columns aligned, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace orrery {

class Table {
 public:
  enum class Align { kLeft, kRight };

  // Columns in order.
  void column(std::string heading, Align align = Align::kRight);
  // As many cells as columns. A cell is one line of printable text, whatever it is made of.
  void row(std::vector<std::string> cells);

  // Each line indented by two spaces and ended by a newline; columns two spaces apart; no trailing spaces.
  std::string text() const;

 private:
  struct Column {
    std::string heading;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace orrery
