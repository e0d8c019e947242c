// SPDX-License-Identifier: MIT
#include "study/sweep/picture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "report/plot/drawing.h"
#include "report/plot/front.h"
#include "study/sweep/axis_numbers.h"
#include "study/sweep/data.h"
#include "study/sweep/lines.h"

namespace orrery::study {
namespace {

using report::Picture;
using report::PictureKind;
using report::PicturePanel;
using report::PictureSeries;
using report::PictureSpot;

constexpr std::size_t kManyRows = 8;  // of a second axis of numbers: with more it is that of a heat map
constexpr std::size_t kMostSeries = 24, kMostPanels = 12, kMostBars = 40;
constexpr std::size_t kMostReasons = 3;
constexpr std::string_view kTimeKey = "iteration_time_s";

bool is_number(const report::Figure& figure) { return figure.unit != report::FigureUnit::kText; }

// The figures that a name may stand for: one by its key, or all of a column.
std::vector<const report::Figure*> figures_named(std::string_view name) {
  std::vector<const report::Figure*> found;
  for (const report::Figure* figure : report::keyed_figures())
    if (is_number(*figure) && (figure->key == name || figure->column_name() == name)) found.push_back(figure);
  return found;
}

// Names of combinations by what they have on some axes.
class Combinations {
 public:
  explicit Combinations(const Sweep& sweep) : sweep_(sweep) {
    for (const SweepAxis& axis : sweep.axes) is_number_.push_back(numbers_of(axis).has_value());
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
      if (sweep.axes[axis].choices.size() > 1) varied_.push_back(axis);
  }

  // "t8, nodes 2": an axis is named where its labels are numbers.
  std::string name(const std::vector<std::size_t>& axes, const std::vector<std::size_t>& choices) const {
    std::string name;
    for (const std::size_t axis : axes)
      name += fmt::format("{}{}{}", name.empty() ? "" : ", ", is_number_[axis] ? sweep_.axes[axis].name + " " : "",
                          sweep_.label(axis, choices));
    return name;
  }
  // Name by all axes that have several values.
  std::string name(const std::vector<std::size_t>& choices) const { return name(varied_, choices); }

 private:
  const Sweep& sweep_;
  std::vector<bool> is_number_;
  std::vector<std::size_t> varied_;
};

// Part each axis has in the picture.
struct Roles {
  SweepDrawing drawing = SweepDrawing::kCurves;
  std::vector<std::size_t> over;  // horizontal, in a panel each
  std::optional<std::size_t> colour;
  std::optional<std::size_t> lines;  // marks and dashes; without `colour` also colours; rows of a heat map
  std::vector<std::size_t> panels;   // a panel for each combination
};

class RoleChoice {
 public:
  explicit RoleChoice(const Sweep& sweep) : sweep_(sweep) {
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
      if (sweep.axes[axis].choices.size() > 1 && sweep.layout.aggregated != axis) left_.push_back(axis);
  }

  Roles roles() {
    Roles roles;
    const SweepPictureChoice& choice = sweep_.picture;
    roles.over = choice.over;
    if (roles.over.empty() && choice.drawing != SweepDrawing::kBars)
      if (const auto first = first_of_numbers()) roles.over = {*first};
    for (const std::size_t axis : roles.over) take(axis);
    if (choice.panels) roles.panels.push_back(*choice.panels), take(*choice.panels);
    roles.drawing = choice.drawing.value_or(roles.over.empty()     ? SweepDrawing::kBars
                                            : has_many_rows(roles) ? SweepDrawing::kHeat
                                                                   : SweepDrawing::kCurves);
    if (roles.drawing == SweepDrawing::kHeat) {
      roles.lines = first_of_numbers();
      if (roles.lines) take(*roles.lines);
    } else {
      if (const auto compared = sweep_.layout.compared; compared && take(*compared)) roles.colour = compared;
      if (roles.drawing == SweepDrawing::kCurves && !left_.empty()) roles.lines = left_.front(), take(left_.front());
    }
    // The rest of bars are their names.
    if (roles.drawing != SweepDrawing::kBars) roles.panels.insert(roles.panels.end(), left_.begin(), left_.end());
    return roles;
  }

 private:
  bool take(std::size_t axis) { return std::erase(left_, axis) > 0; }

  std::optional<std::size_t> first_of_numbers() const {
    const auto found = std::ranges::find_if(left_, [&](std::size_t axis) {
      return axis != sweep_.picture.panels && axis != sweep_.layout.compared && numbers_of(sweep_.axes[axis]);
    });
    if (found != left_.end()) return *found;
    const auto compared = sweep_.layout.compared;
    const bool is_left = compared && std::ranges::find(left_, *compared) != left_.end();
    return is_left && numbers_of(sweep_.axes[*compared]) ? compared : std::nullopt;
  }

  bool has_many_rows(const Roles& roles) const {
    if (roles.over.size() != 1 || sweep_.axes[roles.over.front()].choices.size() <= kManyRows / 2) return false;
    const auto second = first_of_numbers();
    return second && sweep_.axes[*second].choices.size() > kManyRows;
  }

  const Sweep& sweep_;
  std::vector<std::size_t> left_;  // that have no part yet
};

// Points that stand for a combination: those that differ along the aggregated axis only.
struct Cell {
  std::vector<std::size_t> choices;
  const SweepCell* points;
};

class SweepPicture {
 public:
  SweepPicture(const Sweep& sweep, std::span<const SweepPoint> points)
      : sweep_(sweep),
        points_(points),
        combinations_(sweep),
        roles_(RoleChoice(sweep).roles()),
        lines_(lines_of(sweep, points)) {
    if (roles_.lines) row_numbers_ = numbers_of(sweep.axes[*roles_.lines]);
    for (const SweepLine& line : lines_.lines)
      for (const SweepCell& cell : line)
        if (!cell.points.empty()) cells_.push_back({sweep.choices_of(cell.points.front()), &cell});
    choose_figure();
  }

  Picture picture() {
    picture_.title = sweep_.title.empty() ? fmt::format("{} of {}", figure_title_, sweep_.file) : sweep_.title;
    picture_.kind = roles_.drawing == SweepDrawing::kHeat   ? PictureKind::kHeat
                    : roles_.drawing == SweepDrawing::kBars ? PictureKind::kBars
                                                            : PictureKind::kCurves;
    for (const std::optional<std::size_t>& axis : {roles_.colour, roles_.lines})
      if (axis) picture_.fields.push_back(sweep_.axes[*axis].name);
    picture_.mark_field = roles_.colour && roles_.lines ? 1 : 0;
    if (roles_.drawing == SweepDrawing::kHeat) {
      y_.from_zero = false;
      const report::PictureAxis rows{sweep_.axes[*roles_.lines].name, "", row_numbers_->unit};
      picture_.rows_title = report::heading_of(rows);
    }
    if (roles_.drawing == SweepDrawing::kBars)
      add_bars();
    else
      for (const std::size_t over : roles_.over) add_panels(over);
    add_keys();
    add_captions();
    return std::move(picture_);
  }

 private:
  // Throws where no point has it.
  void choose_figure() {
    const std::string& name = sweep_.picture.figure;
    for (const report::Figure* figure : figures_named(name))
      for (const SweepPoint& point : points_)
        if (figure_key_.empty() && point.ran() && report::number_of(point.figures->values, figure->key)) {
          figure_key_ = figure->key;
          figure_title_ = figure->heading;
          figure_unit_ = report::name_of(figure->unit);
        }
    if (figure_key_ == kTimeKey) figure_title_ = "iteration time";
    is_figure_ = !figure_key_.empty();
    if (!is_figure_ && figures_named(name).empty()) figure_key_ = name, figure_title_ = name, figure_unit_ = "s";
    double most = 0;
    bool has_any = false;
    for (const Cell& cell : cells_)
      if (const auto value = value_of(cell.points->median())) most = std::max(most, std::abs(*value)), has_any = true;
    if (!has_any)
      throw InputError(sweep_.picture.figure_where,
                       fmt::format("no point{} has a figure '{}' to draw",
                                   sweep_.layout.where.empty() ? "" : " that meets 'where'", printable(name, 40)),
                       sweep_.layout.where.empty() ? "name another: --figure"
                                                   : "leave 'where' out, or name another figure: --figure");
    y_ = {figure_title_, figure_key_, report::unit_for(figure_unit_, most),
          sweep_.picture.scale == SweepScale::kLogarithmic};
  }

  std::optional<double> value_of(std::size_t point) const {
    if (!points_[point].ran()) return std::nullopt;
    if (is_figure_) return report::number_of(points_[point].figures->values, figure_key_);
    const std::map<std::string, NamedValue> figures = figures_of(points_[point]);
    const auto found = figures.find(figure_key_);
    if (found == figures.end() || !std::holds_alternative<double>(found->second)) return std::nullopt;
    return std::get<double>(found->second);
  }

  std::string label(std::size_t axis, const Cell& cell) const { return sweep_.label(axis, cell.choices); }

  PictureSpot spot_of(double x, std::string text, const Cell& cell) {
    PictureSpot spot{x};
    spot.text = std::move(text);
    const std::size_t median = cell.points->median();
    const std::string settings = combinations_.name(cell.choices);
    if (!points_[median].ran()) {
      spot.error = reason_of(points_[median]);
      ++reasons_[spot.error];
      spot.note = fmt::format("{}: {}", settings, spot.error);
      return spot;
    }
    spot.y = value_of(median).value_or(report::kNoValue);
    if (y_.is_logarithmic && roles_.drawing != SweepDrawing::kBars && spot.y <= 0) {
      ++not_above_zero_;
      spot.y = report::kNoValue;
    }
    spot.note = fmt::format("{}: {}", settings, report::value_text(y_, spot.y, true));
    if (cell.points->points.size() == 1) return spot;
    report::Extent extent;
    for (const std::size_t point : cell.points->points) extent.take(value_of(point).value_or(report::kNoValue));
    spot.low = extent.least;
    spot.high = extent.most;
    return spot;
  }

  // Axes that are held where another is horizontal: at what the experiment has, or at their first value.
  std::vector<std::pair<std::size_t, std::size_t>> held(std::size_t over) const {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (const std::size_t axis : roles_.over) {
      if (axis == over) continue;
      const auto& choices = sweep_.axes[axis].choices;
      const auto as_it_is = std::ranges::find(choices, "x1", &SweepChoice::label);
      found.emplace_back(axis, as_it_is == choices.end() ? 0 : static_cast<std::size_t>(as_it_is - choices.begin()));
    }
    return found;
  }

  void add_panels(std::size_t over) {
    const AxisNumbers numbers = *numbers_of(sweep_.axes[over]);
    const auto holds = held(over);
    std::map<std::string, std::size_t> known;  // panels by title
    for (const Cell& cell : cells_) {
      if (!std::ranges::all_of(holds, [&](const auto& one) { return cell.choices[one.first] == one.second; })) continue;
      std::string title = roles_.over.size() > 1 ? sweep_.axes[over].name : std::string();
      std::string held_at;
      for (const auto& [axis, choice] : holds)
        held_at += fmt::format("{}{} {}", held_at.empty() ? "" : ", ", sweep_.axes[axis].name,
                               sweep_.axes[axis].choices[choice].label);
      if (!held_at.empty()) title += fmt::format(" ({})", held_at);
      if (!roles_.panels.empty())
        title += (title.empty() ? "" : "; ") + combinations_.name(roles_.panels, cell.choices);
      const auto [at, is_new] = known.try_emplace(title, picture_.panels.size());
      if (is_new && picture_.panels.size() == kMostPanels) {
        ++panels_left_;
        at->second = kMostPanels;
      }
      if (at->second >= kMostPanels) continue;
      if (is_new) picture_.panels.push_back({title, axis_of(over, numbers), y_});
      add_cell(picture_.panels[at->second], numbers.values[cell.choices[over]], label(over, cell), cell);
    }
    for (PicturePanel& panel : picture_.panels) {
      for (PictureSeries& series : panel.series) std::ranges::stable_sort(series.spots, {}, &PictureSpot::x);
      std::ranges::stable_sort(panel.series, {}, [&](const PictureSeries& one) { return rank_of(one); });
    }
  }

  report::PictureAxis axis_of(std::size_t over, const AxisNumbers& numbers) const {
    report::PictureAxis axis{sweep_.axes[over].name, sweep_.axes[over].name, numbers.unit, numbers.is_logarithmic};
    axis.ticks = numbers.ticks;
    return axis;
  }

  // The series of a cell in a panel, which begins with its first cell.
  void add_cell(PicturePanel& panel, double x, std::string text, const Cell& cell) {
    std::vector<std::string> values;
    for (const std::optional<std::size_t>& axis : {roles_.colour, roles_.lines})
      if (axis) values.push_back(label(*axis, cell));
    auto series = std::ranges::find(panel.series, values, &PictureSeries::values);
    if (series == panel.series.end()) {
      if (roles_.drawing != SweepDrawing::kHeat && panel.series.size() == kMostSeries)
        return void(series_left_.insert(values));
      PictureSeries one{fmt::format("{}", fmt::join(values, ", "))};
      one.values = values;
      const std::size_t line = roles_.lines ? cell.choices[*roles_.lines] : 0;
      one.colour = roles_.colour ? cell.choices[*roles_.colour] : line;
      one.mark = roles_.colour && roles_.lines ? line : report::mark_beside(one.colour);
      if (roles_.drawing == SweepDrawing::kHeat) one.name = row_name(one);
      series = panel.series.insert(panel.series.end(), std::move(one));
    }
    series->spots.push_back(spot_of(x, std::move(text), cell));
  }

  // Labels of the horizontal axis.
  std::string row_name(const PictureSeries& series) const {
    const auto tick = std::ranges::find(row_numbers_->ticks, rank_of(series), &report::Tick::value);
    return tick->label;
  }

  // Rows of a heat map by their numbers, other series in the order of the file.
  double rank_of(const PictureSeries& series) const {
    if (!roles_.lines) return 0;
    const SweepAxis& axis = sweep_.axes[*roles_.lines];
    const auto choice =
        std::ranges::find(axis.choices, series.values.back(), &SweepChoice::label) - axis.choices.begin();
    if (roles_.drawing == SweepDrawing::kHeat) return row_numbers_->values[static_cast<std::size_t>(choice)];
    return static_cast<double>(choice);
  }

  void add_bars() {
    std::vector<std::size_t> named;
    for (std::size_t axis = 0; axis < sweep_.axes.size(); ++axis)
      if (axis != roles_.colour && axis != sweep_.layout.aggregated && sweep_.axes[axis].choices.size() > 1)
        named.push_back(axis);
    PicturePanel& panel = picture_.panels.emplace_back();
    std::vector<std::string> names;
    for (const std::size_t axis : named) names.push_back(sweep_.axes[axis].name);
    panel.x = {fmt::format("{}", fmt::join(names, ", ")),
               names.empty() ? "sweep" : fmt::format("{}", fmt::join(names, ", "))};
    panel.y = y_;
    panel.y.is_logarithmic = false;
    std::map<std::string, double> rows;
    for (const Cell& cell : cells_) {
      const std::string name = names.empty() ? std::string("all") : combinations_.name(named, cell.choices);
      const auto [row, is_new] = rows.try_emplace(name, static_cast<double>(panel.x.ticks.size()));
      if (is_new && panel.x.ticks.size() == kMostBars) row->second = -1;
      if (row->second < 0) continue;
      if (is_new) panel.x.ticks.push_back({row->second, name});
      add_cell(panel, row->second, name, cell);
    }
    bars_left_ = rows.size() - panel.x.ticks.size();
  }

  // Colours and marks of two axes are explained apart.
  void add_keys() {
    const auto key_of = [&](std::size_t axis, bool has_colour, bool has_mark) {
      report::PictureKey key{sweep_.axes[axis].name};
      std::set<std::string> used;
      for (const PicturePanel& panel : picture_.panels)
        for (const PictureSeries& series : panel.series) used.insert(series.values.begin(), series.values.end());
      for (std::size_t i = 0; i < sweep_.axes[axis].choices.size(); ++i) {
        report::PictureKey::Entry entry{sweep_.axes[axis].choices[i].label};
        if (!used.contains(entry.name)) continue;
        if (has_colour) entry.colour = i;
        if (has_mark) entry.mark = has_colour ? report::mark_beside(i) : i;
        key.entries.push_back(std::move(entry));
      }
      picture_.keys.push_back(std::move(key));
    };
    const bool is_heat = roles_.drawing == SweepDrawing::kHeat;
    if (roles_.colour) key_of(*roles_.colour, true, !roles_.lines && roles_.drawing == SweepDrawing::kCurves);
    if (roles_.lines && !is_heat) key_of(*roles_.lines, !roles_.colour, true);
    if (reasons_.empty()) return;
    report::PictureKey::Entry refused{"no result"};
    refused.is_refused = true;
    picture_.keys.push_back({"", {refused}});
  }

  void add_captions() {
    if (sweep_.layout.aggregated)
      picture_.captions.push_back(fmt::format("Of each {} the median, with the least and the most.",
                                              sweep_.axes[*sweep_.layout.aggregated].name));
    const auto leave = [&](std::size_t left, std::size_t shown, const char* what) {
      if (left > 0)
        picture_.captions.push_back(
            fmt::format("The first {} {} of {}; all are in the table.", shown, what, shown + left));
    };
    leave(bars_left_, kMostBars, "bars");
    leave(panels_left_, kMostPanels, "panels");
    leave(series_left_.size(), kMostSeries, "lines");
    if (not_above_zero_ > 0)
      picture_.captions.push_back(
          fmt::format("{} not above 0, which a logarithmic axis has no place for.",
                      not_above_zero_ == 1 ? "1 point is" : fmt::format("{} points are", not_above_zero_)));
    std::vector<std::pair<std::size_t, std::string>> reasons;
    for (const auto& [reason, count] : reasons_) reasons.emplace_back(count, reason);
    std::ranges::stable_sort(reasons, std::ranges::greater{}, &std::pair<std::size_t, std::string>::first);
    for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i)
      picture_.captions.push_back(
          fmt::format("No result, {}: {}", counted(reasons[i].first, "point"), reasons[i].second));
    if (reasons.size() > kMostReasons)
      picture_.captions.push_back(
          fmt::format("No result for {} other reasons; the table has them.", reasons.size() - kMostReasons));
  }

  const Sweep& sweep_;
  std::span<const SweepPoint> points_;
  const Combinations combinations_;
  const Roles roles_;
  const SweepLines lines_;
  std::optional<AxisNumbers> row_numbers_;  // of the axis of lines, where it is one of numbers
  std::vector<Cell> cells_;
  bool is_figure_ = false;  // of the table of figures, and not of what the sweep defines
  std::string figure_key_, figure_title_, figure_unit_;
  report::PictureAxis y_;
  Picture picture_;
  std::map<std::string, std::size_t> reasons_;  // why points have no result, and how many
  std::size_t not_above_zero_ = 0;              // points that a logarithmic axis has no place for
  std::size_t bars_left_ = 0, panels_left_ = 0;
  std::set<std::vector<std::string>> series_left_;
};

}  // namespace

void check_picture(const Sweep& sweep) {
  const SweepPictureChoice& choice = sweep.picture;
  const std::string& name = choice.figure;
  if (figures_named(name).empty() && (!is_point_column(name) || !name.ends_with("_s"))) {
    std::set<std::string> known;
    for (const report::Figure* figure : report::keyed_figures())
      if (is_number(*figure)) known.emplace(figure->column_name());
    const std::vector<std::string> names(known.begin(), known.end());
    throw InputError(choice.figure_where, fmt::format("no number is called '{}', to be drawn", printable(name, 40)),
                     suggestion(name, names));
  }
  if (choice.panels && std::ranges::find(choice.over, *choice.panels) != choice.over.end())
    throw InputError(choice.panels_where,
                     fmt::format("the axis '{}' cannot be both horizontal and panels", sweep.axes[*choice.panels].name),
                     "name another: --panels AXIS");
  for (std::size_t i = 0; i < choice.over.size(); ++i)
    if (std::ranges::find(choice.over, choice.over[i]) - choice.over.begin() != static_cast<std::ptrdiff_t>(i))
      throw InputError(choice.over_where, fmt::format("the axis '{}' stands twice", sweep.axes[choice.over[i]].name),
                       "name each once");
  for (const std::size_t axis : choice.over)
    if (!numbers_of(sweep.axes[axis]))
      throw InputError(choice.over_where,
                       fmt::format("the axis '{}' cannot be horizontal: its values are no numbers of one quantity",
                                   sweep.axes[axis].name),
                       "--draw bars; or name an axis of numbers: --over");
  const Roles roles = RoleChoice(sweep).roles();
  if ((roles.drawing == SweepDrawing::kCurves || roles.drawing == SweepDrawing::kHeat) && roles.over.empty())
    throw InputError({"--draw"}, "curves and heat maps need an axis of numbers, and the sweep has none", "--draw bars");
  if (roles.drawing == SweepDrawing::kHeat && !roles.lines)
    throw InputError({"--draw"}, "a heat map needs two axes of numbers, and the sweep has one", "--draw curves");
}

Picture sweep_picture(const Sweep& sweep, std::span<const SweepPoint> points) {
  if (sweep.picture.drawing != SweepDrawing::kMemory) return SweepPicture(sweep, points).picture();
  if (std::optional<Picture> picture = memory_picture(sweep, points)) return std::move(*picture);
  throw InputError({"--draw"}, "no point has a memory that its time could be drawn against",
                   "memory is known of jobs from a model; --draw curves");
}

std::optional<Picture> memory_picture(const Sweep& sweep, std::span<const SweepPoint> points) {
  const Combinations combinations(sweep);
  std::vector<report::TimeAndMemory> variants;
  std::optional<double> capacity;
  bool has_one_capacity = true;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].ran()) continue;
    const auto bytes = report::number_of(points[i].figures->values, "memory_peak_bytes");
    if (!bytes || *bytes <= 0) continue;
    const auto own = report::number_of(points[i].figures->values, "memory.capacity_bytes");
    if (own && capacity && *own != *capacity) has_one_capacity = false;
    if (own) capacity = own;
    variants.push_back({combinations.name(sweep.choices_of(i)), seconds(points[i].figures->iteration_time), *bytes});
  }
  if (variants.empty()) return std::nullopt;
  const bool has_one_memory =
      std::ranges::all_of(variants, [&](const auto& one) { return one.bytes == variants.front().bytes; });
  if (has_one_memory && sweep.picture.drawing != SweepDrawing::kMemory) return std::nullopt;  // nothing to weigh
  const std::string title = sweep.title.empty() ? sweep.file : sweep.title;
  return report::front_picture(fmt::format("Time against memory: {}", title), variants,
                               has_one_capacity ? capacity : std::nullopt);
}

}  // namespace orrery::study
