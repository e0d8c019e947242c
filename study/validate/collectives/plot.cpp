// SPDX-License-Identifier: MIT
#include "core/config/number_text.h"
#include "study/validate/collectives/validate.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/assert.h"
#include "report/plot/frame.h"

namespace orrery::study {
namespace {

using report::Axis;
using report::kPlotHeadingGap;
using report::kPlotLeft;
using report::kPlotLine;
using report::kPlotMargin;
using report::kPlotRight;
using report::Panel;
using report::Sheet;
using report::Spot;
using report::Svg;

// Told apart by shape and by lightness, not by hue alone.
constexpr std::string_view kStyles =
    "  .zero { stroke: #666 }\n"
    "  .predicted { fill: none; stroke: #3a86d8; stroke-width: 2.5; stroke-linejoin: round }\n"
    "  .predicted-spot { fill: #3a86d8 }\n"
    "  .measured { fill: none; stroke: #111; stroke-width: 1.8 }\n";

constexpr double kRateHeight = 300, kErrorHeight = 150;
constexpr double kRing = 4.2, kDot = 4, kSmallDot = 2.6;

double bytes_of(const Measured& row) { return static_cast<double>(size_of(row).count()); }

std::vector<std::string> captions(const MeasuredGroup& validated) {
  const auto& table = table_of<ValidationTable>(validated.rows.front());
  std::string what =
      fmt::format("{} on {} x {} GPUs of {}", table.operation.name, table.nodes, table.gpus_per_node, table.machine);
  for (const std::string& word : table.forced) what += fmt::format(", {}", word);
  const auto error = errors_of(validated.rows);
  const Measured& worst = *worst_of(validated.rows);
  const std::string how =
      fmt::format("Error: median {}, 90 % of the rows at most {}, worst {} at {}", percent(error->median),
                  percent(error->ninetieth), signed_percent(worst.error()), worst.label);
  return {what, how, "Measured: " + table.measured, "Source: " + table.source};
}

// GB/s.
double bus_bandwidth(const Measured& row, double time) {
  const auto& table = table_of<ValidationTable>(row);
  return bytes_of(row) / time * 1e-9 * workload::bus_factor(table.operation, table.nodes * table.gpus_per_node);
}

void draw_legend(Svg& svg, double y) {
  const double predicted = kPlotRight - 190, measured = kPlotRight - 80;
  svg.line({predicted, y - 4}, {predicted + 24, y - 4}, "predicted");
  svg.dot({predicted + 12, y - 4}, kSmallDot, "predicted-spot");
  svg.text({predicted + 30, y}, "predicted", "legend");
  svg.dot({measured + 10, y - 4}, kRing, "measured");
  svg.text({measured + 20, y}, "measured", "legend");
}

void draw_rates(Svg& svg, const MeasuredGroup& validated, const Axis& across, double top) {
  std::vector<double> predicted, measured;
  for (const Measured& row : validated.rows) {
    predicted.push_back(bus_bandwidth(row, row.predicted));
    measured.push_back(bus_bandwidth(row, row.measured));
  }
  const Axis up = Axis::logarithmic(std::min(std::ranges::min(predicted), std::ranges::min(measured)),
                                    std::max(std::ranges::max(predicted), std::ranges::max(measured)));
  const Panel panel{top, kRateHeight, across, up};
  panel.draw(svg, "Bus bandwidth (GB/s)");
  draw_legend(svg, top - kPlotHeadingGap);
  std::vector<Spot> line;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    line.push_back(panel.spot(bytes_of(validated.rows[i]), predicted[i]));
  svg.line(line, "predicted");
  for (const Spot& spot : line) svg.dot(spot, kSmallDot, "predicted-spot");
  for (std::size_t i = 0; i < measured.size(); ++i)
    svg.dot(panel.spot(bytes_of(validated.rows[i]), measured[i]), kRing, "measured");
}

void draw_errors(Svg& svg, const MeasuredGroup& validated, const Axis& across, double top) {
  std::vector<double> errors;
  for (const Measured& row : validated.rows) errors.push_back(100 * row.error());
  const Axis up = Axis::signed_percent(std::ranges::min(errors), std::ranges::max(errors));
  const Panel panel{top, kErrorHeight, across, up};
  panel.draw(svg, "Error of the predicted time (%): above 0 it is too slow, below 0 too fast");
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double bytes = bytes_of(validated.rows[i]);
    svg.line(panel.spot(bytes, 0), panel.spot(bytes, errors[i]), "predicted");
    svg.dot(panel.spot(bytes, errors[i]), kDot, "predicted-spot");
  }
  const double zero = panel.spot(across.ticks().front().value, 0).y;
  svg.line({kPlotLeft, zero}, {kPlotRight, zero}, "zero");
  panel.label_across(svg, "Message size (bytes)");
}

}  // namespace

std::string plot_file_name(const ValidationTable& table) {
  constexpr std::string_view kFine = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  constexpr std::size_t kLongest = 200;
  const std::string& name = table.name;
  if (name.empty() || name.front() == '.' || name.size() > kLongest ||
      name.find_first_not_of(kFine) != std::string::npos)
    throw InputError(table.where, fmt::format("'{}' cannot be the name of a picture", printable(name, 40)),
                     "name the table by letters, digits, '_', '-' and '.'");
  return name + ".svg";
}

std::string validation_plot(const MeasuredGroup& validated) {
  ORRERY_ASSERT(!validated.rows.empty());
  const double between = kRateHeight + 2.4 * kPlotLine;
  Sheet sheet(validated.name, captions(validated), between + kErrorHeight + 2.3 * kPlotLine + kPlotMargin, kStyles);
  const auto [least, most] =
      std::ranges::minmax_element(validated.rows, {}, [](const Measured& row) { return size_of(row); });
  const Axis across = Axis::sizes(size_of(*least), size_of(*most));
  draw_rates(sheet.svg, validated, across, sheet.top);
  draw_errors(sheet.svg, validated, across, sheet.top + between);
  return sheet.svg.file();
}

}  // namespace orrery::study
