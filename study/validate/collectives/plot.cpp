// SPDX-License-Identifier: MIT
#include "study/validate/collectives/validate.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/quantity_text.h"
#include "study/validate/collectives/svg.h"

namespace orrery::study {
namespace {

// Told apart by shape and by lightness, not by hue alone.
constexpr std::string_view kStyles =
    "  text { font-family: sans-serif; font-size: 12px; fill: #333 }\n"
    "  .title { font-size: 18px; font-weight: bold; fill: #000 }\n"
    "  .heading { font-weight: bold }\n"
    "  .left { text-anchor: end }\n"
    "  .middle { text-anchor: middle }\n"
    "  .paper { fill: #fff }\n"
    "  .frame { fill: none; stroke: #666 }\n"
    "  .grid { stroke: #e2e2e2 }\n"
    "  .zero { stroke: #666 }\n"
    "  .predicted { fill: none; stroke: #3a86d8; stroke-width: 2.5; stroke-linejoin: round }\n"
    "  .predicted-spot { fill: #3a86d8 }\n"
    "  .measured { fill: none; stroke: #111; stroke-width: 1.8 }\n";

constexpr double kWidth = 800, kMargin = 20, kLabels = 64, kLine = 17;
constexpr double kLeft = kMargin + kLabels, kRight = kWidth - kMargin;
constexpr double kRateHeight = 300, kErrorHeight = 150;
constexpr double kRing = 4.2, kDot = 4, kSmallDot = 2.6;
constexpr double kHeadingGap = 12;
constexpr std::size_t kLineWidth = 115;  // of a line of text

// At spaces where there are any.
std::vector<std::string> wrapped(std::string_view text) {
  std::vector<std::string> lines;
  while (text.size() > kLineWidth) {
    std::size_t end = text.rfind(' ', kLineWidth);
    if (end == std::string_view::npos || end == 0) end = kLineWidth;
    // A character of several bytes stays whole.
    while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  lines.emplace_back(text);
  return lines;
}

std::vector<std::string> captions(const ValidatedTable& validated) {
  const ValidationTable& table = *validated.table;
  std::string what =
      fmt::format("{} on {} x {} GPUs of {}", table.operation.name, table.nodes, table.gpus_per_node, table.cluster);
  for (const std::string& word : table.forced) what += fmt::format(", {}", word);
  const auto error = validated.summary();
  const std::string how = fmt::format(
      "Error: median {:.1f} %, 90 % of the rows at most {:.1f} %, worst {:+.1f} % at {}", 100 * error->median,
      100 * error->ninetieth, 100 * validated.worst().error(), rounded(validated.worst().measured.bytes));
  std::vector<std::string> lines;
  for (const std::string& text : {what, how, "Measured: " + table.measured, "Source: " + table.source})
    for (std::string& line : wrapped(text)) lines.push_back(std::move(line));
  return lines;
}

// GB/s.
double bus_bandwidth(const ValidationTable& table, Bytes bytes, Duration time) {
  return static_cast<double>(bytes.count()) / seconds(time) * 1e-9 *
         bus_factor(table.operation, table.nodes * table.gpus_per_node);
}

// A frame with its two axes.
struct Panel {
  double top;
  double height;
  const Axis& across;
  const Axis& up;

  Spot spot(double x, double y) const {
    return {kLeft + (kRight - kLeft) * across.share(x), top + height * (1 - up.share(y))};
  }

  void draw(Svg& svg) const {
    for (const Tick& tick : across.ticks()) {
      const double x = spot(tick.value, up.ticks().front().value).x;
      svg.line({x, top}, {x, top + height}, "grid");
    }
    for (const Tick& tick : up.ticks()) {
      const double y = spot(across.ticks().front().value, tick.value).y;
      svg.line({kLeft, y}, {kRight, y}, "grid");
      svg.text({kLeft - 8, y + 4}, tick.label, "left");
    }
    svg.rectangle({kLeft, top}, {kRight, top + height}, "frame");
  }
};

void draw_legend(Svg& svg, double y) {
  const double predicted = kRight - 190, measured = kRight - 80;
  svg.line({predicted, y - 4}, {predicted + 24, y - 4}, "predicted");
  svg.dot({predicted + 12, y - 4}, kSmallDot, "predicted-spot");
  svg.text({predicted + 30, y}, "predicted", "legend");
  svg.dot({measured + 10, y - 4}, kRing, "measured");
  svg.text({measured + 20, y}, "measured", "legend");
}

void draw_rates(Svg& svg, const ValidatedTable& validated, const Axis& across, double top) {
  std::vector<double> predicted, measured;
  for (const ValidatedRow& row : validated.rows) {
    predicted.push_back(bus_bandwidth(*validated.table, row.measured.bytes, row.predicted));
    measured.push_back(bus_bandwidth(*validated.table, row.measured.bytes, row.measured.time));
  }
  const Axis up = Axis::logarithmic(std::min(std::ranges::min(predicted), std::ranges::min(measured)),
                                    std::max(std::ranges::max(predicted), std::ranges::max(measured)));
  const Panel panel{top, kRateHeight, across, up};
  svg.text({kMargin, top - kHeadingGap}, "Bus bandwidth (GB/s)", "heading");
  draw_legend(svg, top - kHeadingGap);
  panel.draw(svg);
  std::vector<Spot> line;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    line.push_back(panel.spot(static_cast<double>(validated.rows[i].measured.bytes.count()), predicted[i]));
  svg.line(line, "predicted");
  for (const Spot& spot : line) svg.dot(spot, kSmallDot, "predicted-spot");
  for (std::size_t i = 0; i < measured.size(); ++i)
    svg.dot(panel.spot(static_cast<double>(validated.rows[i].measured.bytes.count()), measured[i]), kRing, "measured");
}

void draw_errors(Svg& svg, const ValidatedTable& validated, const Axis& across, double top) {
  std::vector<double> errors;
  for (const ValidatedRow& row : validated.rows) errors.push_back(100 * row.error());
  const Axis up = Axis::signed_percent(std::ranges::min(errors), std::ranges::max(errors));
  const Panel panel{top, kErrorHeight, across, up};
  svg.text({kMargin, top - kHeadingGap}, "Error of the predicted time (%): above 0 it is too slow, below 0 too fast",
           "heading");
  panel.draw(svg);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double bytes = static_cast<double>(validated.rows[i].measured.bytes.count());
    svg.line(panel.spot(bytes, 0), panel.spot(bytes, errors[i]), "predicted");
    svg.dot(panel.spot(bytes, errors[i]), kDot, "predicted-spot");
  }
  const double zero = panel.spot(across.ticks().front().value, 0).y;
  svg.line({kLeft, zero}, {kRight, zero}, "zero");
  for (const Tick& tick : across.ticks())
    svg.text({panel.spot(tick.value, 0).x, top + kErrorHeight + kLine}, tick.label, "middle");
  svg.text({(kLeft + kRight) / 2, top + kErrorHeight + 2.3 * kLine}, "Message size (bytes)", "heading middle");
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

std::string validation_plot(const ValidatedTable& validated) {
  ORRERY_ASSERT(!validated.rows.empty());
  const std::vector<std::string> lines = captions(validated);
  const double rates = kMargin + 16 + kLine * (static_cast<double>(lines.size()) + 2.6);
  const double errors = rates + kRateHeight + 2.4 * kLine;
  const Spot size{kWidth, errors + kErrorHeight + 2.3 * kLine + kMargin};
  Svg svg(size, validated.table->name, kStyles);
  svg.rectangle({0, 0}, size, "paper");
  svg.text({kMargin, kMargin + 14}, validated.table->name, "title");
  for (std::size_t i = 0; i < lines.size(); ++i)
    svg.text({kMargin, kMargin + 16 + kLine * static_cast<double>(i + 1)}, lines[i], "caption");
  const auto [least, most] =
      std::ranges::minmax_element(validated.rows, {}, [](const ValidatedRow& row) { return row.measured.bytes; });
  const Axis across = Axis::sizes(least->measured.bytes, most->measured.bytes);
  draw_rates(svg, validated, across, rates);
  draw_errors(svg, validated, across, errors);
  return svg.file();
}

}  // namespace orrery::study
