// SPDX-License-Identifier: MIT
// The points of a sweep for programs: CSV and JSON.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/csv_lines.h"
#include "core/version.h"
#include "study/sweep/data.h"
#include "study/sweep/lines.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPoint = "point", kError = "error";
constexpr std::array<std::string_view, 6> kBefore = {"iteration_time_s",     "mfu",
                                                     "tokens_per_s_per_gpu", "samples_per_s_per_gpu",
                                                     "model_tflops_per_gpu", "memory_peak_bytes"};
// Columns that are there where a point has them.
constexpr std::array<std::string_view, 6> kOfSomeJobs = {"training_days", "device_years", "energy_kwh",
                                                         "cost",          "algbw_GBps",   "busbw_GBps"};
constexpr std::array<std::string_view, 8> kBehind = {"compute_s", "bubble_s",           "wait_s",
                                                     "idle_s",    "busiest_link_class", "busiest_link_utilisation",
                                                     "bound_by",  "bound_share"};

// What one point says, by column; a column it has nothing for is left out.
struct PointData {
  Json settings = Json::object();
  Json figures = Json::object();
  Json exposed = Json::object();
  std::string error;
};

void add_figures(const SweepFigures& found, PointData& data) {
  Json& figures = data.figures;
  figures["iteration_time_s"] = seconds(found.iteration_time);
  if (const auto& training = found.training) {
    figures["mfu"] = training->mfu;
    figures[training->has_tokens ? "tokens_per_s_per_gpu" : "samples_per_s_per_gpu"] = training->tokens_per_s_per_gpu;
    figures["model_tflops_per_gpu"] = training->model_tflops_per_gpu;
    figures["memory_peak_bytes"] = training->memory.total().count();
    if (const auto& run = training->run) {
      figures["training_days"] = run->seconds / report::kDay;
      figures["device_years"] = run->device_hours * 3600 / report::kYear;
      if (run->kilowatt_hours) figures["energy_kwh"] = *run->kilowatt_hours;
      if (run->cost) figures["cost"] = *run->cost;
    }
  }
  if (found.call) {
    figures["algbw_GBps"] = found.call->algorithm_bandwidth * 1e-9;
    figures["busbw_GBps"] = found.call->bus_bandwidth * 1e-9;
  }
  for (const report::JobFigures& job : found.jobs) {
    const std::string name = printable(job.name, SIZE_MAX);
    figures["time_alone_" + name + "_s"] = seconds(job.alone);
    figures["time_together_" + name + "_s"] = seconds(job.together);
  }
  for (const char* key : {"compute_s", "bubble_s", "wait_s", "idle_s"}) figures[key] = 0.0;
  double compute = 0;
  for (const report::Part& part : found.parts) switch (part.kind) {
      case report::PartKind::kCompute:
      case report::PartKind::kHost:
      case report::PartKind::kMemory:
        compute += part.seconds;
        break;
      case report::PartKind::kCommunication:
        data.exposed[printable(part.family, SIZE_MAX)] = part.seconds;
        break;
      case report::PartKind::kBubble:
      case report::PartKind::kWait:
      case report::PartKind::kIdle:
        figures[report::short_name(part) + "_s"] = part.seconds;
        break;
    }
  figures["compute_s"] = compute;
  if (!found.links.empty()) {
    figures["busiest_link_class"] = printable(found.links.front().first, SIZE_MAX);
    figures["busiest_link_utilisation"] = found.links.front().second;
  }
  if (found.parts.empty() || found.iteration_time <= Duration::zero()) return;
  figures["bound_by"] = printable(report::short_name(found.parts.front()), SIZE_MAX);
  figures["bound_share"] = found.parts.front().seconds / seconds(found.iteration_time);
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
  return csv_cell(value.is_string() ? value.get<std::string>() : value.dump());
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

// Of all points that differ along the aggregated axis only.
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
  for (const std::span<const std::string_view> part :
       {std::span<const std::string_view>(kBefore), {kOfSomeJobs}, {kBehind}})
    columns.insert(columns.end(), part.begin(), part.end());
  return columns;
}

PointTable point_table(const Sweep& sweep, std::span<const SweepPoint> points) {
  std::vector<std::string> before(kBefore.begin(), kBefore.end());
  const std::vector<std::string> behind(kBehind.begin(), kBehind.end());
  const std::vector<PointData> data = data_of(sweep, points);
  for (const std::string_view key : kOfSomeJobs)
    if (std::ranges::any_of(data, [&](const PointData& point) { return point.figures.contains(key); }))
      before.emplace_back(key);
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
  for (const Json& point : document["points"]) lines += point.dump() + "\n";
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

}  // namespace orrery::study
