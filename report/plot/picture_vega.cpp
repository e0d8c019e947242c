// SPDX-License-Identifier: MIT
// A picture as a specification of Vega-Lite 5 (https://vega.github.io/vega-lite/).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "report/plot/drawing.h"
#include "report/plot/picture_table.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHeight = 260, kWidth = 380, kStep = 22;
// Columns that specifications add to those of the data.
constexpr const char *kPlace = "_x", *kValue = "_y", *kLow = "_low", *kHigh = "_high";

std::string quoted(const std::string& text) { return dump_json(Json(text)); }
std::string field_of(const std::string& name) { return fmt::format("datum[{}]", quoted(name)); }

// Vega reads a dot or a bracket in the name of a field as a step to a part of it.
std::string field_name(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == '.' || c == '[' || c == ']' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

Json divided(const std::string& column, double size, const char* as) {
  return {{"calculate", fmt::format("isValid({0}) ? {0} / {1} : null", field_of(column), dump_json(Json(size)))},
          {"as", as}};
}

// Labels of ticks, and no others.
std::string labels_of(const std::vector<Tick>& ticks) {
  std::string text;
  for (const Tick& tick : ticks)
    text += fmt::format("datum.value == {} ? {} : ", dump_json(Json(tick.value)), quoted(tick.label));
  return text + "''";
}

Json scale_of(const PictureAxis& axis) {
  if (axis.is_logarithmic) return {{"type", "log"}, {"nice", false}, {"padding", 10}};
  return {{"type", "linear"}, {"zero", axis.from_zero}};
}

class Specification {
 public:
  explicit Specification(const Picture& picture) : picture_(picture), table_(picture_table(picture)) {}

  Json whole() const {
    Json spec = {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"}, {"title", picture_.title}};
    if (!picture_.captions.empty()) spec["title"] = {{"text", picture_.title}, {"subtitle", picture_.captions}};
    spec["data"] = {{"values", values()}};
    if (picture_.panels.size() == 1) {
      spec.update(panel(picture_.panels.front()));
    } else {
      spec["columns"] = picture_.kind == PictureKind::kCurves || picture_.kind == PictureKind::kHeat ? 2 : 1;
      if (has_one_vertical()) spec["resolve"] = {{"scale", {{"y", "shared"}}}};
      spec["concat"] = Json::array();
      for (const PicturePanel& one : picture_.panels) {
        Json part = {{"title", one.title}};
        part.update(panel(one));
        spec["concat"].push_back(std::move(part));
      }
    }
    spec["config"] = {{"view", {{"stroke", "#999"}}}, {"axis", {{"gridColor", "#ddd"}, {"labelLimit", 320}}}};
    return spec;
  }

 private:
  bool has_one_vertical() const {
    return picture_.kind == PictureKind::kCurves && std::ranges::all_of(picture_.panels, [&](const PicturePanel& one) {
             return one.y.field == picture_.panels.front().y.field;
           });
  }

  Json values() const {
    Json rows = table_.rows;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i][kPlace] = table_.places[i];
    return rows;
  }

  Json transforms(const PicturePanel& panel) const {
    Json list = Json::array();
    if (picture_.panels.size() > 1) list.push_back({{"filter", {{"field", "panel"}, {"equal", panel.title}}}});
    list.push_back(divided(panel.y.field, panel.y.unit.size, kValue));
    if (has_column("low")) {
      list.push_back(divided("low", panel.y.unit.size, kLow));
      list.push_back(divided("high", panel.y.unit.size, kHigh));
    }
    return list;
  }

  bool has_column(const char* name) const { return std::ranges::find(table_.columns, name) != table_.columns.end(); }

  Json panel(const PicturePanel& panel) const {
    switch (picture_.kind) {
      case PictureKind::kCurves:
        return curves(panel);
      case PictureKind::kHeat:
        return heat(panel);
      case PictureKind::kBars:
      case PictureKind::kStacks:
        break;
    }
    return bars(panel);
  }

  // Gives each value of a field the style that series with it have; `pick` is the colour or the mark of a series.
  template <class Style>
  Json encoding_of(std::size_t field, const Style& style) const {
    Json domain = Json::array(), range = Json::array();
    for (const PicturePanel& panel : picture_.panels)
      for (const PictureSeries& series : panel.series) {
        if (field >= series.values.size() || std::ranges::find(domain, Json(series.values[field])) != domain.end())
          continue;
        domain.push_back(series.values[field]);
        range.push_back(style(series));
      }
    return {{"field", field_name(picture_.fields[field])},
            {"type", "nominal"},
            {"scale", {{"domain", domain}, {"range", range}}},
            {"title", picture_.fields[field]}};
  }

  static Json colour_of(const PictureSeries& series) {
    return series.shape == SeriesShape::kBound ? "#999" : std::string(kColours[style_number(series.colour)]);
  }
  static Json dash_of(const PictureSeries& series) {
    static const std::array<Json, 8> kDashLengths = {Json{1, 0}, Json{6, 3}, Json{2, 2},  Json{8, 3, 2, 3},
                                                     Json{4, 2}, Json{1, 3}, Json{10, 4}, Json{5, 2, 1, 2}};
    return series.shape == SeriesShape::kBound ? Json{1, 4} : kDashLengths[style_number(series.mark)];
  }
  static Json mark_of(const PictureSeries& series) { return std::string(kMarks[style_number(series.mark)]); }

  // Labels of the horizontal axis; empty: those that Vega chooses.
  static std::vector<Tick> ticks_of(const PicturePanel& panel) {
    if (!panel.x.ticks.empty() || !panel.x.is_logarithmic || !panel.x.unit.is_binary) return panel.x.ticks;
    Extent extent;
    for (const PictureSeries& series : panel.series)
      for (const PictureSpot& spot : series.spots)
        if (spot.x > 0) extent.take(spot.x);
    if (extent.is_empty()) return {};
    return Axis::sizes(Bytes(std::llround(extent.least)), Bytes(std::llround(extent.most))).ticks();
  }

  Json across(const PicturePanel& panel) const {
    Json axis = {{"title", heading_of(panel.x)}};
    const std::vector<Tick> ticks = ticks_of(panel);
    if (!ticks.empty()) {
      axis["values"] = Json::array();
      for (const Tick& tick : ticks) axis["values"].push_back(tick.value);
      axis["labelExpr"] = labels_of(ticks);
      axis["labelOverlap"] = true;
    } else if (panel.x.unit.size != 1) {
      axis["labelExpr"] = fmt::format("datum.value / {}", dump_json(Json(panel.x.unit.size)));
    }
    return {{"field", kPlace}, {"type", "quantitative"}, {"scale", scale_of(panel.x)}, {"axis", axis}};
  }

  Json up(const PicturePanel& panel, const char* column) const {
    Json axis = {{"title", heading_of(panel.y)}};
    if (panel.y.is_logarithmic) axis["tickCount"] = 5;
    return {{"field", column}, {"type", "quantitative"}, {"scale", scale_of(panel.y)}, {"axis", axis}};
  }

  Json curves(const PicturePanel& panel) const {
    Json encoding = {{"x", across(panel)}, {"y", up(panel, kValue)}};
    if (!picture_.fields.empty()) encoding["color"] = encoding_of(picture_.colour_field, colour_of);
    Json line = encoding, points = encoding;
    if (!picture_.fields.empty()) {
      line["strokeDash"] = encoding_of(picture_.mark_field, dash_of);
      points["shape"] = encoding_of(picture_.mark_field, mark_of);
      line["detail"] = details();
    }
    const auto has = [&](SeriesShape shape) {
      return std::ranges::any_of(panel.series, [&](const PictureSeries& one) { return one.shape == shape; });
    };
    Json layers = Json::array();
    if (has(SeriesShape::kLine) || has(SeriesShape::kBound)) {
      Json layer = {{"mark", {{"type", "line"}}}, {"encoding", line}};
      if (has(SeriesShape::kMarks)) layer["transform"] = rows_without(panel, SeriesShape::kMarks);
      layers.push_back(std::move(layer));
    }
    Json marks = {{"mark", {{"type", "point"}, {"filled", true}, {"opacity", 1}, {"tooltip", {{"content", "data"}}}}},
                  {"encoding", points}};
    if (has(SeriesShape::kBound)) marks["transform"] = rows_without(panel, SeriesShape::kBound);
    layers.push_back(std::move(marks));
    if (has_column("low")) {
      Json extent = {{"x", across(panel)}, {"y", up(panel, kLow)}, {"y2", {{"field", kHigh}}}};
      if (encoding.contains("color")) extent["color"] = encoding["color"];
      layers.push_back({{"mark", "rule"}, {"encoding", extent}});
    }
    if (has_column("error"))
      layers.push_back({{"transform", Json::array({Json{{"filter", "isValid(datum.error)"}}})},
                        {"mark", {{"type", "text"}, {"text", "\xC3\x97"}, {"tooltip", {{"content", "data"}}}}},
                        {"encoding", {{"x", across(panel)}, {"y", {{"value", kHeight - 6}}}}}});
    for (const PictureRule& rule : panel.rules)
      layers.push_back({{"data", {{"values", Json::array({Json{{"at", rule.at}, {"name", rule.name}}})}}},
                        {"mark", {{"type", "rule"}, {"strokeDash", {5, 3}}, {"tooltip", {{"content", "data"}}}}},
                        {"encoding", {{"x", {{"field", "at"}, {"type", "quantitative"}}}}}});
    return {{"width", kWidth}, {"height", kHeight}, {"transform", transforms(panel)}, {"layer", layers}};
  }

  Json details() const {
    Json list = Json::array();
    for (const std::string& field : picture_.fields)
      list.push_back({{"field", field_name(field)}, {"type", "nominal"}});
    return list;
  }

  // Leaves the rows of series of other shapes than this.
  Json rows_without(const PicturePanel& panel, SeriesShape shape) const {
    std::string text;
    for (const PictureSeries& series : panel.series) {
      if (series.shape == shape) continue;
      std::string one;
      for (std::size_t i = 0; i < series.values.size(); ++i)
        one += fmt::format("{}{} == {}", one.empty() ? "" : " && ", field_of(picture_.fields[i]),
                           quoted(series.values[i]));
      text += fmt::format("{}({})", text.empty() ? "" : " || ", one);
    }
    return Json::array({Json{{"filter", text}}});
  }

  static Json order_of(const PictureAxis& axis) {
    Json names = Json::array();
    for (const Tick& tick : axis.ticks) names.push_back(tick.label);
    return names;
  }

  Json bars(const PicturePanel& panel) const {
    const bool stacked = picture_.kind == PictureKind::kStacks;
    Json encoding = {{"y",
                      {{"field", field_name(panel.x.field)},
                       {"type", "nominal"},
                       {"sort", order_of(panel.x)},
                       {"title", panel.x.title}}},
                     {"x", up(panel, kValue)}};
    encoding["x"]["stack"] = stacked ? Json("zero") : Json();
    if (!picture_.fields.empty()) {
      encoding["color"] = encoding_of(picture_.colour_field, colour_of);
      if (!stacked)
        encoding["yOffset"] = {{"field", field_name(picture_.fields[picture_.colour_field])},
                               {"sort", encoding["color"]["scale"]["domain"]}};
    }
    return {{"width", kWidth},
            {"height", {{"step", stacked ? kStep : kStep / 2}}},
            {"transform", transforms(panel)},
            {"mark", {{"type", "bar"}, {"tooltip", {{"content", "data"}}}}},
            {"encoding", encoding}};
  }

  Json heat(const PicturePanel& panel) const {
    Json rows = Json::array();
    for (const PictureSeries& series : panel.series) rows.push_back(series.values.at(picture_.mark_field));
    std::ranges::reverse(rows);  // the first at the bottom
    Json columns = Json::array();
    for (const PictureSeries& series : panel.series)
      for (const PictureSpot& spot : series.spots)
        if (std::ranges::find(columns, Json(spot.text)) == columns.end()) columns.push_back(spot.text);
    const Json x = {
        {"field", field_name(panel.x.field)}, {"type", "ordinal"}, {"sort", columns}, {"title", heading_of(panel.x)}};
    const Json y = {{"field", field_name(picture_.fields.at(picture_.mark_field))},
                    {"type", "ordinal"},
                    {"sort", rows},
                    {"title", picture_.rows_title}};
    Json scale = scale_of(panel.y);
    scale["scheme"] = "viridis";
    const Json colour = {{"field", kValue}, {"type", "quantitative"}, {"scale", scale}, {"title", heading_of(panel.y)}};
    return {{"width", kWidth},
            {"height", {{"step", kStep}}},
            {"transform", transforms(panel)},
            {"mark", {{"type", "rect"}, {"tooltip", {{"content", "data"}}}}},
            {"encoding", {{"x", x}, {"y", y}, {"color", colour}}}};
  }

  const Picture& picture_;
  const PictureTable table_;
};

}  // namespace

Json picture_vega(const Picture& picture) { return Specification(picture).whole(); }

}  // namespace orrery::report
