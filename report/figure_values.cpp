// SPDX-License-Identifier: MIT
// Values of figures, and how they are found and told.
#include <algorithm>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "report/figures.h"

namespace orrery::report {

std::vector<const Figure*> keyed_figures() {
  std::vector<const Figure*> keyed;
  for (const Figure& figure : figures())
    if (!figure.key.empty()) keyed.push_back(&figure);
  return keyed;
}

FigureValues figure_values(const FigureSource& source) {
  FigureValues values;
  for (const Figure& figure : figures())
    if (std::optional<FigureValue> value = figure.take(source)) values.emplace(figure.name(), std::move(*value));
  return values;
}

const Figure* find_column(const FigureValues& values, std::string_view column) {
  const auto found = std::ranges::find_if(figures(), [&](const Figure& figure) {
    return figure.column_name() == column && values.contains(figure.name());
  });
  return column.empty() || found == figures().end() ? nullptr : &*found;
}

std::optional<double> number_of(const FigureValues& values, std::string_view name) {
  const auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&found->second);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<TrainingRun> whole_training(const FigureValues& values) {
  const std::optional<double> time = number_of(values, "training_run.time_s");
  const std::optional<double> device_days = number_of(values, "training_run.device_days");
  if (!time || !device_days) return std::nullopt;
  TrainingRun run;
  run.seconds = *time;
  run.device_hours = 24 * *device_days;
  run.kilowatt_hours = number_of(values, "energy_kwh");
  run.cost = number_of(values, "cost");
  return run;
}

std::string bound_text(const FigureValues& values) {
  const std::optional<double> share = number_of(values, "bound_share"), bubble = number_of(values, "bubble_share");
  if (!share) return "-";
  std::string text = fmt::format("{} {}", std::get<std::string>(values.at("bound_by")), percent(*share, 0));
  if (bubble.value_or(0) >= kLargeBubble) text += ", bubble " + percent(*bubble, 0);
  return text;
}

std::string column_text(const FigureValues& values, std::string_view column) {
  const Figure* figure = find_column(values, column);
  return figure == nullptr ? std::string("-") : cell_text(*figure, values.find(figure->name())->second);
}

Cell column_cell(const FigureValues& values, std::string_view column) {
  const Figure* figure = find_column(values, column);
  return figure == nullptr ? Cell("-") : cell_of(*figure, values.find(figure->name())->second);
}

}  // namespace orrery::report
