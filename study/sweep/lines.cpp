// SPDX-License-Identifier: MIT
#include "study/sweep/lines.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/quantile.h"
#include "core/suggest.h"
#include "study/sweep/data.h"

namespace orrery::study {
namespace {

bool has_most_first(std::string_view name) {
  return std::ranges::any_of(report::keyed_figures(), [&](const report::Figure* figure) {
    return figure->better == report::Better::kMore && (figure->key == name || figure->column_name() == name);
  });
}

// Figures and axes of the points, by name.
class Figures {
 public:
  Figures(const Sweep& sweep, std::span<const SweepPoint> points) : sweep_(sweep), points_(points) {
    for (const SweepAxis& axis : sweep.axes) names_.insert(axis.name);
    for (const SweepPoint& point : points)
      if (point.ran())
        for (const auto& [name, value] : figures_of(point)) names_.insert(name);
    for (const report::Figure* figure : report::keyed_figures())
      if (names_.contains(std::string(figure->key))) names_.emplace(figure->column_name());
  }

  std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

  std::optional<NamedValue> value(std::size_t point, std::string_view name) const {
    const std::vector<std::string> axes = sweep_.axis_names();
    if (const auto axis = std::ranges::find(axes, name); axis != axes.end())
      return named_value(sweep_.label(static_cast<std::size_t>(axis - axes.begin()), sweep_.choices_of(point)));
    if (!points_[point].ran()) return std::nullopt;
    const std::map<std::string, NamedValue> figures = figures_of(points_[point]);
    if (const auto found = figures.find(std::string(name)); found != figures.end()) return found->second;
    const report::Figure* figure = report::find_column(points_[point].figures->values, name);
    if (figure == nullptr || figure->key.empty()) return std::nullopt;
    return figures.at(std::string(figure->key));
  }

 private:
  const Sweep& sweep_;
  std::span<const SweepPoint> points_;
  std::set<std::string> names_;
};

void sort_lines(const Sweep& sweep, const Figures& figures, std::vector<SweepLine>& lines) {
  std::string name = sweep.layout.sort;
  const bool is_reversed = name.starts_with('-');
  if (is_reversed) name.erase(0, 1);
  const std::vector<std::string> names = figures.names();
  if (std::ranges::find(names, name) == names.end())
    throw InputError(sweep.layout.sort_where, fmt::format("no point has a figure '{}' to sort by", printable(name, 40)),
                     suggestion(name, names));
  const bool most_first = has_most_first(name) != is_reversed;
  std::vector<std::pair<std::optional<NamedValue>, SweepLine>> keyed;
  for (SweepLine& line : lines) {
    std::optional<NamedValue> value;
    for (std::size_t i = 0; i < line.size() && !value; ++i) value = figures.value(line[i].median(), name);
    keyed.emplace_back(std::move(value), std::move(line));
  }
  std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
    if (!a.first || !b.first) return a.first.has_value() && !b.first;
    return most_first ? *a.first > *b.first : *a.first < *b.first;
  });
  lines.clear();
  for (auto& [value, line] : keyed) lines.push_back(std::move(line));
}

// Points by what they have along the axes that do not make lines.
std::vector<SweepLine> all_lines(const Sweep& sweep, std::span<const SweepPoint> points,
                                 std::optional<std::size_t> across) {
  std::vector<SweepLine> lines;
  std::map<std::vector<std::size_t>, std::size_t> known;
  const std::size_t groups = across ? sweep.axes[*across].choices.size() : 1;
  for (std::size_t point = 0; point < points.size(); ++point) {
    std::vector<std::size_t> choices = sweep.choices_of(point);
    const std::size_t group = across ? std::exchange(choices[*across], 0) : 0;
    if (sweep.layout.aggregated) choices[*sweep.layout.aggregated] = 0;
    const auto [line, is_new] = known.try_emplace(choices, lines.size());
    if (is_new) lines.emplace_back(groups);
    lines[line->second][group].points.push_back(point);
  }
  for (SweepLine& line : lines)
    for (SweepCell& cell : line) {
      if (cell.points.empty()) continue;  // a combination that is no point
      const auto refused = std::stable_partition(cell.points.begin(), cell.points.end(),
                                                 [&](std::size_t one) { return points[one].ran(); });
      if (refused == cell.points.begin())
        cell.points.resize(1);
      else
        cell.points.erase(refused, cell.points.end());
      if (cell.points.size() > 1)
        std::ranges::stable_sort(cell.points, {}, [&](std::size_t one) { return points[one].figures->iteration_time; });
    }
  return lines;
}

// Names that points may have: axes, columns of the table, those of points.csv.
std::vector<std::string> likely_names(const Sweep& sweep) {
  std::vector<std::string> names = sweep.axis_names();
  for (const report::Figure* figure : report::keyed_figures()) names.emplace_back(figure->column_name());
  std::ranges::copy(point_columns(), std::back_inserter(names));
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());  // columns of that name
  return names;
}

}  // namespace

void check_view(const Sweep& sweep) {
  const SweepLayout& layout = sweep.layout;
  std::vector<std::string> names = likely_names(sweep);
  std::vector<Problem> problems;
  for (const Constraint& constraint : layout.where) {
    std::vector<std::string> all = names;
    for (const std::string& word : constraint.words())
      if (is_point_column(word)) all.push_back(word);
    try {
      constraint.check(all);
    } catch (const InputError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  const std::string name = layout.sort.substr(layout.sort.starts_with('-') ? 1 : 0);
  if (!name.empty() && !is_point_column(name) && std::ranges::find(names, name) == names.end())
    problems.push_back({Severity::kError, layout.sort_where,
                        fmt::format("unknown figure '{}' to sort by", printable(name, 40)), suggestion(name, names)});
  if (!problems.empty()) throw InputError(std::move(problems));
}

SweepLines lines_of(const Sweep& sweep, std::span<const SweepPoint> points) {
  const SweepLayout& layout = sweep.layout;
  SweepLines found;
  const std::size_t others = sweep.axes.size() - layout.compared.has_value() - layout.aggregated.has_value();
  if (layout.compared && others > 0) found.across = layout.compared;
  found.lines = all_lines(sweep, points, found.across);
  if (!found.across && !found.lines.empty()) found.first = found.lines.front().front();
  if (layout.where.empty() && layout.sort.empty() && !layout.top) return found;
  const Figures figures(sweep, points);
  const std::vector<std::string> names = figures.names();
  for (const Constraint& constraint : layout.where) constraint.check(names);
  const auto meets_all = [&](const SweepCell& cell) {
    return !cell.points.empty() && std::ranges::all_of(layout.where, [&](const Constraint& constraint) {
      return constraint.holds([&](std::string_view name) { return figures.value(cell.median(), name); });
    });
  };
  std::erase_if(found.lines, [&](const SweepLine& line) { return std::ranges::none_of(line, meets_all); });
  if (!layout.sort.empty()) sort_lines(sweep, figures, found.lines);
  if (layout.top && found.lines.size() > *layout.top) found.lines.resize(*layout.top);
  return found;
}

TimeSpread spread_of(const SweepCell& cell, std::span<const SweepPoint> points) {
  const auto time = [&](std::size_t i) { return points[cell.points[i]].figures->iteration_time; };
  const std::size_t count = cell.points.size();
  Int128 sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += time(i).count();
  const auto mean = (sum + static_cast<Int128>(count / 2)) / static_cast<Int128>(count);
  return {Duration(static_cast<std::int64_t>(mean)), time(place_of_percentile(50, count)),
          time(place_of_percentile(99, count)), time(count - 1)};
}

}  // namespace orrery::study
