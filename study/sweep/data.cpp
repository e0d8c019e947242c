// SPDX-License-Identifier: MIT
// The points of a sweep for programs: CSV and JSON.
#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/csv_lines.h"
#include "core/files/json.h"
#include "core/version.h"
#include "study/sweep/data.h"
#include "study/sweep/lines.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPoint = "point", kError = "error";

// Place of a figure in points.csv: at first, behind these where a point has it, or behind the exposed communication.
enum class Place { kBefore, kWherePresent, kBehind };

std::vector<std::string> columns_at(Place place) {
  std::vector<std::string> columns;
  for (const report::Figure* figure : report::keyed_figures()) {
    const bool is_behind = figure->group == report::FigureGroup::kParts;
    const Place its = is_behind ? Place::kBehind : figure->is_always_column() ? Place::kBefore : Place::kWherePresent;
    if (its == place) columns.emplace_back(figure->key);
  }
  return columns;
}

// Data of one point, by column; columns without a value are left out.
struct PointData {
  Json settings = Json::object();
  Json figures = Json::object();
  Json exposed = Json::object();
  std::string error;
};

void add_figures(const SweepFigures& found, PointData& data) {
  const auto add = [&](Place place) {
    for (const std::string& key : columns_at(place))
      if (const auto value = found.values.find(key); value != found.values.end())
        data.figures[key] = report::to_json(value->second);
  };
  add(Place::kBefore);
  add(Place::kWherePresent);
  for (const report::JobFigures& job : found.jobs) {
    const std::string name = printable(job.name, SIZE_MAX);
    data.figures["time_alone_" + name + "_s"] = seconds(job.alone);
    data.figures["time_together_" + name + "_s"] = seconds(job.together);
  }
  add(Place::kBehind);
  for (const report::Part& part : found.parts)
    if (part.kind == report::PartKind::kCommunication) data.exposed[printable(part.family, SIZE_MAX)] = part.seconds;
}

std::vector<PointData> data_of(const Sweep& sweep, std::span<const SweepPoint> points) {
  std::vector<PointData> all;
  for (std::size_t number = 0; number < points.size(); ++number) {
    const SweepPoint& point = points[number];
    PointData& data = all.emplace_back();
    const std::vector<std::size_t> choices = sweep.choices_of(number);
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
      data.settings[sweep.axes[axis].name] = sweep.label(axis, choices);
    if (point.ran()) add_figures(*point.figures, data);
    if (point.is_stuck()) data.error = printable(point.stuck, SIZE_MAX);
    if (!point.refusal.empty()) data.error = reason_of(point);
  }
  return all;
}

std::string cell_of(const Json& value) {
  if (value.is_null()) return {};
  return csv_cell(value.is_string() ? value.get<std::string>() : dump_json(value));
}

Json value_of(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? Json() : *found;
}

// A point that ran without any has 0.
Json exposed_of(const PointData& point, const std::string& family) {
  if (point.figures.empty()) return {};
  return point.exposed.contains(family) ? point.exposed[family] : Json(0.0);
}

// Aggregates of all points that differ along the aggregated axis only.
Json aggregates_json(const Sweep& sweep, std::span<const SweepPoint> points) {
  Sweep all = sweep;
  all.layout = {};
  all.layout.aggregated = sweep.layout.aggregated;
  Json aggregates = Json::array();
  for (const SweepLine& line : lines_of(all, points).lines) {
    const SweepCell& cell = line.front();
    Json settings = Json::object();
    const std::vector<std::size_t> choices = sweep.choices_of(cell.points.front());
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
      if (axis != *sweep.layout.aggregated) settings[sweep.axes[axis].name] = sweep.label(axis, choices);
    const bool ran = points[cell.points.front()].ran();
    Json one = {{"settings", std::move(settings)}, {"points", ran ? cell.points.size() : 0}};
    if (ran) {
      const TimeSpread spread = spread_of(cell, points);
      one["iteration_time_s"] = {{"mean", seconds(spread.mean)},
                                 {"p50", seconds(spread.median)},
                                 {"p99", seconds(spread.p99)},
                                 {"max", seconds(spread.most)}};
    }
    aggregates.push_back(std::move(one));
  }
  return aggregates;
}

}  // namespace

std::map<std::string, NamedValue> figures_of(const SweepPoint& point) {
  PointData data;
  add_figures(*point.figures, data);
  std::map<std::string, NamedValue> figures;
  for (const auto& [name, value] : data.figures.items())
    figures.emplace(name, value.is_string() ? NamedValue(value.get<std::string>()) : NamedValue(value.get<double>()));
  for (const auto& [family, value] : data.exposed.items())
    figures.emplace("exposed_" + family + "_s", value.get<double>());
  return figures;
}

bool is_point_column(std::string_view name) {
  const auto is_of = [&](std::string_view before) { return name.starts_with(before) && name.ends_with("_s"); };
  const std::vector<std::string> columns = point_columns();
  return std::ranges::find(columns, name) != columns.end() || is_of("exposed_") || is_of("time_alone_") ||
         is_of("time_together_");
}

std::vector<std::string> point_columns() {
  std::vector<std::string> columns = {std::string(kPoint), std::string(kError)};
  for (const report::Figure* figure : report::keyed_figures()) columns.emplace_back(figure->key);
  return columns;
}

PointTable point_table(const Sweep& sweep, std::span<const SweepPoint> points) {
  std::vector<std::string> before = columns_at(Place::kBefore);
  const std::vector<std::string> behind = columns_at(Place::kBehind);
  const std::vector<PointData> data = data_of(sweep, points);
  for (const std::string& key : columns_at(Place::kWherePresent))
    if (std::ranges::any_of(data, [&](const PointData& point) { return point.figures.contains(key); }))
      before.push_back(key);
  for (const PointData& point : data)
    for (const auto& [key, value] : point.figures.items())
      if ((key.starts_with("time_alone_") || key.starts_with("time_together_")) && std::ranges::count(before, key) == 0)
        before.push_back(key);
  std::set<std::string> families;
  for (const PointData& point : data)
    for (const auto& [family, time] : point.exposed.items()) families.insert(family);
  PointTable table{{std::string(kPoint)}, {}};
  for (const SweepAxis& axis : sweep.axes) table.columns.push_back(axis.name);
  std::ranges::copy(before, std::back_inserter(table.columns));
  for (const std::string& family : families) table.columns.push_back("exposed_" + family + "_s");
  std::ranges::copy(behind, std::back_inserter(table.columns));
  table.columns.emplace_back(kError);
  for (std::size_t number = 0; number < data.size(); ++number) {
    if (!points[number].was_begun()) continue;
    const PointData& point = data[number];
    std::vector<Json>& row = table.rows.emplace_back();
    row.emplace_back(number + 1);
    for (const SweepAxis& axis : sweep.axes) row.push_back(value_of(point.settings, axis.name));
    for (const std::string& key : before) row.push_back(value_of(point.figures, key));
    for (const std::string& family : families) row.push_back(exposed_of(point, family));
    for (const std::string& key : behind) row.push_back(value_of(point.figures, key));
    row.push_back(point.error.empty() ? Json() : Json(point.error));
  }
  return table;
}

std::string sweep_csv(const Sweep& sweep, std::span<const SweepPoint> points) {
  const PointTable table = point_table(sweep, points);
  std::string text;
  for (const std::string& column : table.columns) text += (text.empty() ? "" : ",") + csv_cell(column);
  text += "\n";
  for (const std::vector<Json>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + cell_of(row[i]);
    text += "\n";
  }
  return text;
}

std::string sweep_json_lines(const nlohmann::ordered_json& document) {
  std::string lines;
  for (const Json& point : document["points"]) lines += dump_json(point) + "\n";
  return lines;
}

Json sweep_json(const Sweep& sweep, std::span<const SweepPoint> points) {
  Json document = {{"schema", "orrery.sweep/1"}, {"version", kVersion}, {"title", sweep.title}};
  document["axes"] = Json::array();
  for (const SweepAxis& axis : sweep.axes) {
    Json values = Json::array();
    for (const SweepChoice& choice : axis.choices) values.push_back(choice.label);
    document["axes"].push_back({{"name", axis.name}, {"values", std::move(values)}});
  }
  document["points"] = Json::array();
  const std::vector<PointData> data = data_of(sweep, points);
  for (std::size_t number = 0; number < data.size(); ++number) {
    Json point = {{"point", number + 1}, {"settings", data[number].settings}};
    point.update(data[number].figures);
    if (points[number].ran()) point["exposed_comm_s"] = data[number].exposed;
    if (!data[number].error.empty()) point["error"] = data[number].error;
    document["points"].push_back(std::move(point));
  }
  if (sweep.layout.aggregated) document["aggregates"] = aggregates_json(sweep, points);
  return document;
}

report::Document sweep_document() {
  using enum report::KeyType;
  const auto settings = [] {
    return report::DocumentKey{kMap, "settings", "value, or label, on each axis", {{kText, "<AXIS>", ""}}};
  };
  const report::DocumentKeys point = report::joined(
      {{{kWhole, "point", "number from 1; the first axis is the slowest"}, settings()},
       report::point_keys(),
       report::maybe(report::DocumentKeys{
           {kNumber, "time_alone_<JOB>_s", "of one iteration of each of several jobs"},
           {kNumber, "time_together_<JOB>_s", "of one iteration of each of several jobs, beside the others"},
           {kMap,
            "exposed_comm_s",
            "by kind of communication, mean over ranks; in points.csv `exposed_KIND_s`",
            {{kNumber, "<KIND>", ""}}},
           {kText, "error", "why the point has no figures"}})});
  const report::DocumentKeys spread = {
      {kNumber, "mean", ""}, {kNumber, "p50", ""}, {kNumber, "p99", ""}, {kNumber, "max", ""}};
  return {"orrery.sweep/1",
          "`sweep --json`",
          "`points.csv` has the keys of `points[]` as columns, with one for each axis in place of `settings`.",
          {{kText, "version", "of Orrery"},
           {kText, "title", ""},
           {kList, "axes", "", {{kText, "name", ""}, {kTexts, "values", ""}}},
           {kList, "points", "", point},
           report::maybe(
               {kList,
                "aggregates",
                "with `aggregate`",
                {settings(), {kWhole, "points", "how many"}, report::maybe({kMap, "iteration_time_s", "", spread})}}),
           report::maybe({kMap, "error", "where points are stuck, or no point of a value can be simulated",
                          report::failure_keys()})}};
}

}  // namespace orrery::study
