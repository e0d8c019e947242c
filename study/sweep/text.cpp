// SPDX-License-Identifier: MIT
// The table of a sweep for people.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/sweep/columns.h"
#include "study/sweep/lines.h"
#include "study/sweep/sweep.h"

namespace orrery::study {
namespace {

constexpr std::string_view kNothing = "-";

using Align = report::Table::Align;

// "8", "none", of an axis over one key also "500 kB": does not say what it is of.
bool is_bare(const SweepChoice& choice) {
  const std::string& label = choice.label;
  const std::size_t end = std::min(label.find_first_not_of("0123456789.,+-"), label.size());
  if (end > 0 && end == label.size()) return true;
  const bool is_value = choice.settings.size() == 1 &&
                        choice.settings.front().value.kind == ConfigValue::Kind::kScalar &&
                        choice.settings.front().value.scalar == label;
  if (end > 0 && is_value && label[end] == ' ') return true;
  return label == "none" || label == "true" || label == "false" || label == "on" || label == "off";
}

// Labels of the compared values, with the axis if one of them is bare.
std::vector<std::string> compared_names(const Sweep& sweep) {
  if (!sweep.layout.compared) return {};
  const SweepAxis& axis = sweep.axes[*sweep.layout.compared];
  const bool needs_axis = std::ranges::any_of(axis.choices, is_bare);
  std::vector<std::string> names;
  for (const SweepChoice& choice : axis.choices)
    names.push_back(needs_axis ? axis.name + " " + choice.label : choice.label);
  return names;
}

// Notes on why points did not run: a number in the line of the point, the reason once below the table.
class Notes {
 public:
  // "refused (1)"; "..." of a point that has no answer yet, as one sees while they come; empty of one that ran.
  std::string mark(const SweepPoint& point) {
    if (point.ran()) return {};
    if (!point.was_begun()) return "...";
    const std::string reason = reason_of(point);
    const auto [number, is_new] = numbers_.try_emplace(reason, reasons_.size() + 1);
    if (is_new) reasons_.push_back(reason + hints_of(point));
    return fmt::format("{} ({})", point.is_stuck() ? "stuck" : "refused", number->second);
  }

  std::string text() const {
    std::string text = reasons_.empty() ? "" : "\n";
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      const std::string mark = fmt::format("  ({}) ", i + 1);
      text += report::wrapped(reasons_[i], {mark, std::string(mark.size(), ' ')});
    }
    return text;
  }

 private:
  static std::string hints_of(const SweepPoint& point) {
    std::string hints;
    for (const Problem& problem : point.refusal)
      if (!problem.hint.empty()) hints += "; " + printable(problem.hint, SIZE_MAX);
    return hints;
  }

  std::vector<std::string> reasons_;
  std::map<std::string, std::size_t> numbers_;
};

// The values of the compared axis stand side by side; of a sweep with no other axis below one another, as those of axes
// that are not compared do.
class SweepTable {
 public:
  SweepTable(const Sweep& sweep, std::span<const SweepPoint> points)
      : sweep_(sweep), points_(points), lines_(lines_of(sweep, points)), compared_(compared_names(sweep)) {
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
      if (has_column(axis)) table_.column(sweep.axes[axis].name, Align::kLeft, report::Interest::kName);
    const std::size_t groups = lines_.across ? sweep.axes[*lines_.across].choices.size() : 1;
    for (std::size_t group = 0; group < groups; ++group) add_columns(group);
    for (const SweepLine& line : lines_.lines) add_line(line);
  }

  std::string text() const { return table_.text() + notes_.text(); }

 private:
  bool has_column(std::size_t axis) const { return lines_.across != axis && sweep_.layout.aggregated != axis; }

  // True if a time is followed by its ratio to the first.
  bool has_ratio(std::string_view column, std::size_t group) const {
    return column == kTimeColumn && sweep_.layout.compared && (group > 0 || !lines_.across);
  }
  bool is_spread(std::string_view column) const { return column == kTimeColumn && sweep_.layout.aggregated; }

  // Rates the first column of a group, which names it, times, and what compares with the first highest; texts lowest.
  report::Interest interest_of(std::size_t column) const {
    const std::string& name = sweep_.layout.columns[column];
    if (column == 0 || name == kTimeColumn || column_named(name).is_relative) return report::Interest::kAnswer;
    return column_named(name).align == Align::kLeft ? report::Interest::kDetail : report::Interest::kUsual;
  }

  // Columns of one figure leave the table together, as none can be compared with one that is not there; but for the
  // first, which says whose the others are. Those of one compared value stand in one table. A figure has one unit.
  void add_column(std::string heading, Align align, report::Interest interest, std::size_t column, std::size_t group) {
    table_.column(std::move(heading), align, interest);
    if (column > 0) table_.leaves_with(column);
    table_.stands_with(group + 1);
    table_.measures_with(column + 1);
  }

  void add_columns(std::size_t group) {
    const bool has_relative = std::ranges::any_of(
        sweep_.layout.columns, [](const std::string& name) { return column_named(name).is_relative; });
    for (std::size_t i = 0; i < sweep_.layout.columns.size(); ++i) {
      const std::string& column = sweep_.layout.columns[i];
      std::string whose = lines_.across && i == 0 ? compared_[group] + ": " : std::string();
      if (is_spread(column))
        for (const char* heading : {"mean", "p50", "p99", "max"})
          add_column(std::exchange(whose, std::string()) + heading, report::kRight, interest_of(i), i, group);
      else
        add_column(whose + column_named(column).heading, column_named(column).align, interest_of(i), i, group);
      if (has_ratio(column, group))
        add_column("ratio", report::kRight, has_relative ? report::Interest::kUsual : report::Interest::kAnswer,
                   sweep_.layout.columns.size(), group);
    }
  }

  void add_line(const SweepLine& line) {
    std::vector<report::Cell> cells;
    const auto some = std::ranges::find_if(line, [](const SweepCell& cell) { return !cell.points.empty(); });
    const std::vector<std::size_t> choices = sweep_.choices_of(some->points.front());
    for (std::size_t axis = 0; axis < sweep_.axes.size(); ++axis)
      if (has_column(axis)) cells.push_back(sweep_.label(axis, choices));
    const SweepCell& base = lines_.across ? line.front() : *lines_.first;
    const bool has_base = !base.points.empty() && points_[base.median()].ran();
    const SweepFigures* first = has_base ? &*points_[base.median()].figures : nullptr;
    for (std::size_t group = 0; group < line.size(); ++group) add_cells(line[group], group, first, cells);
    table_.row(std::move(cells));
  }

  void add_cells(const SweepCell& cell, std::size_t group, const SweepFigures* first,
                 std::vector<report::Cell>& cells) {
    const SweepPoint* point = cell.points.empty() ? nullptr : &points_[cell.median()];
    const bool ran = point != nullptr && point->ran();
    std::string nothing = point == nullptr ? std::string(kNothing) : notes_.mark(*point);  // in the first column
    for (const std::string& column : sweep_.layout.columns) {
      if (is_spread(column)) {
        const TimeSpread spread = ran ? spread_of(cell, points_) : TimeSpread{};
        for (const Duration time : {spread.mean, spread.median, spread.p99, spread.most})
          cells.push_back(ran ? report::Cell(time) : std::exchange(nothing, std::string(kNothing)));
      } else {
        cells.push_back(ran ? column_named(column).cell(*point->figures, first)
                            : std::exchange(nothing, std::string(kNothing)));
      }
      if (has_ratio(column, group))
        cells.push_back(ran && first != nullptr
                            ? ratio_text(seconds(point->figures->iteration_time), seconds(first->iteration_time))
                            : std::string(kNothing));
    }
  }

  const Sweep& sweep_;
  std::span<const SweepPoint> points_;
  const SweepLines lines_;
  std::vector<std::string> compared_;
  report::Table table_;
  Notes notes_;
};

}  // namespace

std::string sweep_text(const Sweep& sweep, std::span<const SweepPoint> points) {
  const std::string title = sweep.title.empty() ? std::string() : sweep.title + "\n\n";
  std::string text = title + SweepTable(sweep, points).text();
  if (lines_of(sweep, points).lines.empty()) text += "no line meets what is asked for (where)\n";
  return text;
}

}  // namespace orrery::study
