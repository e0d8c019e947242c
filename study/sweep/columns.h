// SPDX-License-Identifier: MIT
// Columns of a sweep's table: every figure that has a name in points.csv (report/figures.h), and texts that several
// figures make.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/table.h"
#include "study/sweep/sweep.h"

namespace orrery::study {

struct SweepColumn {
  std::string name;  // as `show` has it
  std::string heading;
  std::string meaning;
  // `first`: figures of the first compared value; null if it did not run.
  std::function<report::Cell(const SweepFigures& figures, const SweepFigures* first)> cell;
  report::Table::Align align = report::Table::Align::kLeft;
  bool is_default = false;   // shown where nobody chose columns
  bool is_relative = false;  // needs an axis laid out in columns
  bool is_figure = false;    // of the table of figures
};

// The column whose ratio to the first value, and whose spread over seeds, is shown.
inline constexpr std::string_view kTimeColumn = "iteration_time";

const std::vector<SweepColumn>& sweep_columns();
// A column that there is.
const SweepColumn& column_named(std::string_view name);

}  // namespace orrery::study
