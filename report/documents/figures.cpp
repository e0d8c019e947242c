// SPDX-License-Identifier: MIT
// Figures as texts, and in JSON documents.
#include "report/figures.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"

namespace orrery::report {
namespace {

std::string number_text(FigureUnit unit, double number) {
  using enum FigureUnit;
  switch (unit) {
    case kSeconds:
      return time_text(number);
    case kDays:
      return days_text(number * kDay);
    case kShare:
      return percent(number);
    case kBytes:
      return rounded(Bytes(std::llround(number)));
    case kTeraflops:
      return fmt::format("{:.1f}", number);
    case kTokensPerSecond:
    case kSamplesPerSecond:
      return fmt::format("{:.1f} {}", number, name_of(unit));
    case kGigabytesPerSecond:
      return fmt::format("{:.2f} {}", number, name_of(unit));
    case kNumber:
    case kText:
      break;
  }
  return Cell::number(number).text();
}

}  // namespace

std::string cell_text(const Figure& figure, const FigureValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    return number_text(figure.unit, static_cast<double>(*whole));
  return number_text(figure.unit, std::get<double>(value));
}

Cell cell_of(const Figure& figure, const FigureValue& value) {
  using enum FigureUnit;
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* fraction = std::get_if<double>(&value);
  if (whole == nullptr && fraction == nullptr) return cell_text(figure, value);
  const double number = whole == nullptr ? *fraction : static_cast<double>(*whole);
  if (figure.unit == kSeconds) return Cell::time(number);
  if (figure.unit == kBytes) return Bytes(std::llround(number));
  if (figure.unit == kDays) return Cell::long_time(number * kDay);
  if (figure.unit == kNumber && fraction != nullptr) return Cell::number(number);
  return cell_text(figure, value);
}

nlohmann::ordered_json to_json(const FigureValue& value) {
  return std::visit([](const auto& one) { return nlohmann::ordered_json(one); }, value);
}

FigureValue value_of(const nlohmann::ordered_json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

void put_figures(FigureGroup group, const FigureSource& source, nlohmann::ordered_json& to) {
  for (const Figure& figure : figures())
    if (figure.group == group && !figure.path.empty())
      if (const std::optional<FigureValue> value = figure.take(source)) to[std::string(figure.path)] = to_json(*value);
}

nlohmann::ordered_json figures_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Figure* figure : keyed_figures())
    list.push_back({{"key", figure->key},
                    {"path", figure->full_path()},
                    {"heading", figure->heading},
                    {"unit", name_of(figure->unit)},
                    {"better", name_of(figure->better)},
                    {"is_default", figure->is_default},
                    {"is_of_plans", figure->is_of_plans}});
  return list;
}

std::string row_name(const Figure& figure) {
  const bool is_rate = figure.unit == FigureUnit::kTokensPerSecond || figure.unit == FigureUnit::kSamplesPerSecond;
  if (!is_rate) return std::string(figure.heading);
  constexpr std::string_view kPer = "per ";
  return figure.heading.starts_with(kPer)
             ? fmt::format("{}/{}", name_of(figure.unit), figure.heading.substr(kPer.size()))
             : fmt::format("{} {}", name_of(figure.unit), figure.heading);
}

Cell bare_cell(const Figure& figure, const FigureValue& value) {
  if (row_name(figure) == figure.heading) return cell_of(figure, value);
  std::string text = cell_text(figure, value);
  const std::string unit = fmt::format(" {}", name_of(figure.unit));
  if (text.ends_with(unit)) text.resize(text.size() - unit.size());
  return text;
}

}  // namespace orrery::report
