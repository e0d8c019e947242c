// SPDX-License-Identifier: MIT
#include "study/plot/curves.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "core/assert.h"
#include "study/plot/frame.h"

namespace orrery::study {
namespace {

constexpr double kHeight = 420, kNames = 190;

// Told apart by colour and dash; colours of Okabe and Ito, which readers with any colour vision tell apart.
constexpr std::array<std::string_view, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#e69f00", "#56b4e9", "#000000"};
constexpr std::array<std::string_view, 3> kDashes = {"none", "7 3", "2 3"};

std::string styles_for(std::size_t curves) {
  std::string styles = "  .bound { fill: none; stroke: #999; stroke-width: 3; stroke-dasharray: 1 4 }\n";
  for (std::size_t i = 0; i < curves; ++i)
    styles += fmt::format("  .curve{} {{ fill: none; stroke: {}; stroke-width: 2; stroke-dasharray: {} }}\n", i,
                          kColours[i % kColours.size()], kDashes[i / kColours.size() % kDashes.size()]);
  return styles;
}

// Names stand beside the ends of their curves, or where there is room below.
void draw_names(Svg& svg, const CurvePlot& plot, const Panel& panel, std::span<const std::string> styles) {
  struct Name {
    std::size_t curve;
    Spot end;
  };
  std::vector<Name> names;
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const auto& [bytes, value] = plot.curves[i].values.back();
    names.push_back({i, panel.spot(static_cast<double>(bytes.count()), value)});
  }
  std::ranges::stable_sort(names, {}, [](const Name& name) { return name.end.y; });
  const double needed = kPlotLine * static_cast<double>(names.size());
  double free = panel.top + kPlotLine / 2;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double last =
        std::max(panel.top + panel.height, panel.top + needed) - kPlotLine * static_cast<double>(names.size() - 1 - i);
    const double y = std::min(std::max(free, names[i].end.y), last);
    svg.line({panel.right + 8, y}, {panel.right + 34, y}, styles[names[i].curve]);
    svg.text({panel.right + 40, y + 4}, plot.curves[names[i].curve].name, "name");
    free = y + kPlotLine;
  }
}

}  // namespace

std::string curve_plot(const CurvePlot& plot) {
  Bytes first = Bytes::max(), last{0};
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Curve& curve : plot.curves)
    for (const auto& [bytes, value] : curve.values) {
      first = std::min(first, bytes);
      last = std::max(last, bytes);
      least = std::min(least, value);
      most = std::max(most, value);
    }
  ORRERY_ASSERT(most > 0);
  Sheet sheet(plot.title, plot.captions, kHeight + 2.3 * kPlotLine + kPlotMargin, styles_for(plot.curves.size()));
  const Axis across = Axis::sizes(first, last), up = Axis::logarithmic(least, most);
  const Panel panel{sheet.top, kHeight, across, up, kPlotRight - kNames};
  panel.draw(sheet.svg, plot.up);
  panel.label_across(sheet.svg, "Message size (bytes)");
  std::vector<std::string> styles;
  for (std::size_t i = 0; i < plot.curves.size(); ++i)
    styles.push_back(plot.curves[i].is_bound ? "bound" : fmt::format("curve{}", i));
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    std::vector<Spot> line;
    for (const auto& [bytes, value] : plot.curves[i].values)
      line.push_back(panel.spot(static_cast<double>(bytes.count()), value));
    sheet.svg.line(line, styles[i]);
  }
  draw_names(sheet.svg, plot, panel, styles);
  return sheet.svg.file();
}

}  // namespace orrery::study
