// SPDX-License-Identifier: MIT
#include "report/plot/picture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/config/csv_lines.h"
#include "core/error.h"
#include "core/files/json.h"
#include "report/plot/picture_table.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPaperFont = 8;
constexpr double kInch = 72;                              // points
constexpr double kLeastLetters = 22, kMostLetters = 400;  // of a sheet's width

struct LengthUnit {
  std::string_view name;
  double points;
};
constexpr std::array<LengthUnit, 4> kLengths = {{{"in", kInch}, {"mm", kInch / 25.4}, {"cm", kInch / 2.54}, {"pt", 1}}};

struct NamedWidth {
  std::string_view name;
  double points;
};
// Widths of a column of the ACM's two-column style, and of both with the gap between them.
constexpr std::array<NamedWidth, 2> kWidths = {{{"column", 3.33 * kInch}, {"2-column", 7 * kInch}}};

PictureLook on_paper(double points) { return {points, kPaperFont, SvgUnit::kPoints, false}; }

std::string cell_of(const Json& value) {
  return csv_cell(value.is_null() ? "" : value.is_string() ? value.get<std::string>() : dump_json(value));
}

}  // namespace

bool Picture::is_empty() const {
  for (const PicturePanel& panel : panels)
    for (const PictureSeries& one : panel.series)
      for (const PictureSpot& spot : one.spots)
        if (std::isfinite(spot.y)) return false;
  return true;
}

PictureKey key_of_series(const std::vector<PicturePanel>& panels) {
  PictureKey key;
  std::set<std::string> names;
  for (const PicturePanel& panel : panels)
    for (const PictureSeries& series : panel.series)
      if (names.insert(series.name).second)
        key.entries.push_back({series.name, series.colour, series.mark, series.shape});
  return key;
}

Parsed<PictureLook> picture_look(std::string_view width) {
  const std::string hint = "800px for a screen; column, 2-column, 3.3in, 84mm, 8.4cm or 240pt for paper";
  for (const NamedWidth& named : kWidths)
    if (named.name == width) return {on_paper(named.points), {}, {}};
  double number = 0;
  const auto [end, code] = std::from_chars(width.data(), width.data() + width.size(), number);
  std::string_view unit(end, static_cast<std::size_t>(width.data() + width.size() - end));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto refuse = [&](const std::string& problem) {
    return Parsed<PictureLook>{std::nullopt, fmt::format("'{}' {}", printable(width, 40), problem), hint};
  };
  const auto length = std::ranges::find(kLengths, unit, &LengthUnit::name);
  if (code != std::errc() || !std::isfinite(number) || (length == kLengths.end() && unit != "px"))
    return refuse("is no width of a picture");
  PictureLook look;
  if (unit == "px")
    look.width = number;
  else
    look = on_paper(number * length->points);
  if (look.width < kLeastLetters * look.font) return refuse("is too narrow for a picture");
  if (look.width > kMostLetters * look.font) return refuse("is too wide for a picture");
  return {look, {}, {}};
}

PictureTable picture_table(const Picture& picture) {
  PictureTable table;
  const auto add = [&](const std::string& column) {
    if (std::ranges::find(table.columns, column) == table.columns.end()) table.columns.push_back(column);
  };
  const auto any_spot = [&](const auto& is) {
    return std::ranges::any_of(picture.panels, [&](const PicturePanel& panel) {
      return std::ranges::any_of(panel.series,
                                 [&](const PictureSeries& series) { return std::ranges::any_of(series.spots, is); });
    });
  };
  const bool has_panels = picture.panels.size() > 1;
  if (has_panels) add("panel");
  for (const std::string& field : picture.fields) add(field);
  if (!picture.name_field.empty()) add(picture.name_field);
  for (const PicturePanel& panel : picture.panels) add(panel.x.field);
  for (const PicturePanel& panel : picture.panels) add(panel.y.field);
  const bool has_extent = any_spot([](const PictureSpot& spot) { return spot.low <= spot.high; });
  if (has_extent) add("low"), add("high");
  const bool has_errors = any_spot([](const PictureSpot& spot) { return !spot.error.empty(); });
  if (has_errors) add("error");
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  for (const PicturePanel& panel : picture.panels)
    for (const PictureSeries& series : panel.series)
      for (const PictureSpot& spot : series.spots) {
        Json row = Json::object();
        for (const std::string& column : table.columns) row[column] = nullptr;
        if (has_panels) row["panel"] = panel.title;
        for (std::size_t i = 0; i < series.values.size(); ++i) row[picture.fields[i]] = series.values[i];
        if (!picture.name_field.empty()) row[picture.name_field] = spot.name;
        row[panel.x.field] = spot.text.empty() ? number(spot.x) : Json(spot.text);
        row[panel.y.field] = number(spot.y);
        if (has_extent) row["low"] = number(spot.low), row["high"] = number(spot.high);
        if (has_errors && !spot.error.empty()) row["error"] = spot.error;
        table.rows.push_back(std::move(row));
        table.places.push_back(spot.x);
      }
  return table;
}

std::string picture_csv(const Picture& picture) {
  const PictureTable table = picture_table(picture);
  std::string text;
  for (const std::string& column : table.columns) text += (text.empty() ? "" : ",") + csv_cell(column);
  text += "\n";
  for (const Json& row : table.rows) {
    std::string line;
    for (const std::string& column : table.columns)
      line += (&column == table.columns.data() ? "" : ",") + cell_of(row[column]);
    text += line + "\n";
  }
  return text;
}

Json picture_for_page(const Picture& picture) {
  constexpr double kWide = 1130, kNarrow = 372, kFont = 12;
  std::vector<std::string> up, across;
  const auto note = [](std::vector<std::string>& titles, const std::string& title) {
    if (std::ranges::find(titles, title) == titles.end()) titles.push_back(title);
  };
  for (const PicturePanel& panel : picture.panels) note(up, panel.y.title), note(across, panel.x.title);
  const bool has_curves = picture.kind == PictureKind::kCurves || picture.kind == PictureKind::kHeat;
  std::string heading =
      fmt::format("{} {} {}", fmt::join(up, " and "), has_curves ? "over" : "by", fmt::join(across, " and "));
  if (heading.front() >= 'a' && heading.front() <= 'z')
    heading.front() = static_cast<char>(heading.front() - 'a' + 'A');
  const auto drawn = [&](double width) { return picture_svg(picture, {width, kFont, SvgUnit::kPixels, false, true}); };
  return {
      {"title", picture.title},       {"heading", heading},   {"about", fmt::format("{}: {}", picture.title, heading)},
      {"captions", picture.captions}, {"wide", drawn(kWide)}, {"narrow", drawn(kNarrow)},
      {"data", picture_csv(picture)}};
}

}  // namespace orrery::report
