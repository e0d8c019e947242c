// SPDX-License-Identifier: MIT
#include "study/sweep/layout.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "core/suggest.h"
#include "study/sweep/columns.h"

namespace orrery::study {
namespace {

std::vector<std::string> column_names(bool only_defaults = false) {
  std::vector<std::string> names;
  for (const SweepColumn& column : sweep_columns())
    if (column.is_default || !only_defaults) names.push_back(column.name);
  return names;
}

// "" where it is one; else what is wrong with the word, and a hint.
struct Refusal {
  std::string problem;
  std::string hint;
};
std::optional<Refusal> add_column(std::string word, SweepLayout& layout) {
  for (const report::Figure* figure : report::keyed_figures())
    if (figure->key == word) word = figure->column_name();
  const std::vector<std::string> known = column_names();
  const auto found = std::ranges::find(known, word);
  if (found == known.end())
    return Refusal{fmt::format("unknown column '{}'", printable(word)), suggestion(word, known)};
  layout.columns.push_back(word);
  if (column_named(word).is_relative && !layout.compared)
    return Refusal{fmt::format("'{}' has nothing to be relative to", word), "name an axis by 'compare'"};
  return std::nullopt;
}

// The axis of this name, or of this key.
std::optional<std::size_t> axis_named(const Sweep& sweep, const std::string& name) {
  const std::vector<std::string> names = sweep.axis_names();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const auto is_of_key = [&](const SweepAxis& axis) {
    return std::ranges::all_of(axis.choices, [&](const SweepChoice& choice) {
      return choice.settings.size() == 1 && choice.settings.front().path == name;
    });
  };
  const auto axis = std::ranges::find_if(sweep.axes, is_of_key);
  return axis == sweep.axes.end() ? std::nullopt : std::optional(static_cast<std::size_t>(axis - sweep.axes.begin()));
}

Refusal no_axis(const Sweep& sweep, const std::string& name) {
  return {fmt::format("no axis is called '{}'", printable(name)), suggestion(name, sweep.axis_names())};
}

std::optional<std::size_t> read_axis_name(Section& section, std::string_view key, const Sweep& sweep,
                                          std::string_view meaning) {
  const auto name = section.maybe<std::string>(key, meaning);
  if (!name) return std::nullopt;
  if (const std::optional<std::size_t> axis = axis_named(sweep, *name)) return axis;
  const Refusal refusal = no_axis(sweep, *name);
  section.error(key, refusal.problem, refusal.hint);
  return std::nullopt;
}

std::vector<std::size_t> read_axis_names(Section& section, std::string_view key, const Sweep& sweep,
                                         std::string_view meaning) {
  std::vector<std::size_t> axes;
  for (const std::string& name : section.words(key, meaning)) {
    if (const std::optional<std::size_t> axis = axis_named(sweep, name)) {
      axes.push_back(*axis);
    } else {
      const Refusal refusal = no_axis(sweep, name);
      section.error(key, refusal.problem, refusal.hint);
    }
  }
  return axes;
}

void read_picture(Section& section, Sweep& sweep) {
  SweepPictureChoice& picture = sweep.picture;
  section.takes("figure", picture.figure, "figure that is drawn, by its key or its column", "iteration_time_s");
  picture.figure_where = section.where("figure");
  picture.over = read_axis_names(
      section, "over", sweep, "axes of numbers that are horizontal, each in a panel of its own; by default the first");
  picture.over_where = section.where("over");
  picture.panels_where = section.where("panels");
  picture.panels =
      read_axis_name(section, "panels", sweep,
                     "axis with a panel for each value; by default one that neither colours nor lines stand for");
  section.takes(
      "draw", picture.drawing, Names(kSweepDrawingNames),
      "curves over an axis, cells over two (`heat`), bars, or time against `memory`; by default what the axes "
      "are for");
  section.takes("scale", picture.scale, Names{"linear", "log"}, "of the vertical axis");
}

// Keeps the combinations that meet the constraints on their values; the other constraints are on results.
void keep_points(Sweep& sweep, std::span<const Constraint> constraints) {
  const std::vector<std::string> names = sweep.axis_names();
  std::vector<const Constraint*> of_axes;
  for (const Constraint& constraint : constraints)
    if (constraint.is_of(names))
      of_axes.push_back(&constraint);
    else
      sweep.layout.where.push_back(constraint);
  if (of_axes.empty()) return;
  std::vector<std::size_t> kept;
  for (std::size_t point = 0; point < sweep.point_count(); ++point) {
    const std::vector<std::size_t> choices = sweep.choices_of(point);
    const auto value_of = [&](std::string_view name) -> std::optional<NamedValue> {
      const auto axis = std::ranges::find(names, name);
      if (axis == names.end()) return std::nullopt;
      return named_value(sweep.label(static_cast<std::size_t>(axis - names.begin()), choices));
    };
    if (std::ranges::all_of(of_axes, [&](const Constraint* one) { return one->holds(value_of); }))
      kept.push_back(sweep.kept.empty() ? point : sweep.kept[point]);
  }
  if (kept.empty())
    throw InputError(of_axes.back()->where(),
                     fmt::format("no combination of the axes meets '{}'", printable(of_axes.back()->text(), 80)),
                     "names are those of the axes, values their labels in the table");
  sweep.kept = std::move(kept);
}

}  // namespace

void read_layout(Section& section, Sweep& sweep) {
  SweepLayout& layout = sweep.layout;
  layout.compared = read_axis_name(section, "compare", sweep,
                                   "the axis laid out in columns (in rows if it is the only one); times of its later "
                                   "values are followed by their ratio to the first");
  layout.aggregated = read_axis_name(section, "aggregate", sweep,
                                     "the axis whose points are one line: mean, median, 99th percentile and maximum of "
                                     "their times. Example: an axis of seeds");
  if (layout.aggregated && layout.aggregated == layout.compared)
    section.error("aggregate", "the axis that is compared cannot be aggregated", "name another axis");
  const std::vector<std::string> where = section.words(
      "where",
      "combinations of the axes that are points, by their values; and lines that are shown, by figures of "
      "points.csv. Example: `[tensor * pipeline <= 64, mfu > 0.4]`");
  const std::vector<std::string> words =
      section.words("show", fmt::format("columns of the table: {}; by default {}", fmt::join(column_names(), ", "),
                                        fmt::join(column_names(true), ", ")));
  section.accepts(
      "sort", layout.sort,
      "figure that lines are sorted by, the best first: a column, or a figure of points.csv; `-` before it: "
      "the worst first");
  layout.sort_where = section.where("sort");
  std::int64_t top = 0;
  section.accepts("top", top, {1, 1'000'000}, "number of lines that are shown");
  if (top > 0) layout.top = static_cast<std::size_t>(top);
  for (const std::string& word : words)
    if (const std::optional<Refusal> refusal = add_column(word, layout))
      section.error("show", refusal->problem, refusal->hint);
  if (layout.columns.empty()) layout.columns = column_names(true);
  section.section("picture", "what `--svg`, `--vega` and the page draw",
                  [&](Section& picture) { read_picture(picture, sweep); });
  std::vector<Constraint> constraints;
  try {
    for (const std::string& text : where) constraints.emplace_back(text, section.where("where"));
    if (sweep.combinations() > 0 && sweep.combinations() <= kMostPoints) keep_points(sweep, constraints);
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) section.error("where", problem.message, problem.hint);
  }
}

void change_view(Sweep& sweep, const SweepView& view) {
  SweepLayout& layout = sweep.layout;
  if (!view.show.empty()) layout.columns.clear();
  for (const std::string& word : view.show)
    if (const std::optional<Refusal> refusal = add_column(word, layout))
      throw InputError({"--show"}, refusal->problem, refusal->hint);
  if (!view.sort.empty()) layout.sort = view.sort, layout.sort_where = {"--sort"};
  if (view.top) layout.top = view.top;
  std::vector<Constraint> constraints;
  for (const std::string& text : view.where) constraints.emplace_back(text, Location{"--where"});
  keep_points(sweep, constraints);
}

void change_picture(Sweep& sweep, const SweepPictureView& view) {
  SweepPictureChoice& picture = sweep.picture;
  const auto axis = [&](const char* option, const std::string& name) {
    if (const std::optional<std::size_t> found = axis_named(sweep, name)) return *found;
    const Refusal refusal = no_axis(sweep, name);
    throw InputError({option}, refusal.problem, refusal.hint);
  };
  if (!view.figure.empty()) picture.figure = view.figure, picture.figure_where = {"--figure"};
  if (!view.over.empty()) picture.over.clear(), picture.over_where = {"--over"};
  for (const std::string& name : view.over) picture.over.push_back(axis("--over", name));
  if (!view.panels.empty()) picture.panels = axis("--panels", view.panels), picture.panels_where = {"--panels"};
  if (const auto drawing = std::ranges::find(kSweepDrawingNames, view.draw); drawing != kSweepDrawingNames.end())
    picture.drawing = static_cast<SweepDrawing>(drawing - kSweepDrawingNames.begin());
  if (!view.scale.empty()) picture.scale = view.scale == "log" ? SweepScale::kLogarithmic : SweepScale::kLinear;
}

}  // namespace orrery::study
