// SPDX-License-Identifier: MIT
#include "report/plot/frame.h"

#include "report/screen/screen.h"

namespace orrery::report {
namespace {

constexpr std::string_view kStyles =
    "  text { font-family: sans-serif; font-size: 12px; fill: #333 }\n"
    "  .title { font-size: 18px; font-weight: bold; fill: #000 }\n"
    "  .heading { font-weight: bold }\n"
    "  .left { text-anchor: end }\n"
    "  .middle { text-anchor: middle }\n"
    "  .paper { fill: #fff }\n"
    "  .frame { fill: none; stroke: #666 }\n"
    "  .grid { stroke: #e2e2e2 }\n";
constexpr std::size_t kLineWidth = 115;  // of a line of text

std::vector<std::string> all_wrapped(std::span<const std::string> captions) {
  std::vector<std::string> lines;
  for (const std::string& caption : captions) {
    const std::vector<std::string> of_caption = wrapped_lines(caption, {"", "", kLineWidth, Wrapping::Break::kWords});
    lines.insert(lines.end(), of_caption.begin(), of_caption.end());
  }
  return lines;
}

double top_below(std::span<const std::string> captions) {
  return kPlotMargin + 16 + kPlotLine * (static_cast<double>(all_wrapped(captions).size()) + 2.6);
}

}  // namespace

Sheet::Sheet(std::string_view title, std::span<const std::string> captions, double height, std::string_view styles)
    : top(top_below(captions)), svg({kPlotWidth, top + height}, title, std::string(kStyles) + std::string(styles)) {
  svg.rectangle({0, 0}, {kPlotWidth, top + height}, "paper");
  svg.text({kPlotMargin, kPlotMargin + 14}, title, "title");
  double y = kPlotMargin + 16;
  for (const std::string& line : all_wrapped(captions)) svg.text({kPlotMargin, y += kPlotLine}, line, "caption");
}

Spot Panel::spot(double x, double y) const {
  return {kPlotLeft + (right - kPlotLeft) * across.share(x), top + height * (1 - up.share(y))};
}

void Panel::draw(Svg& svg, std::string_view heading) const {
  svg.text({kPlotMargin, top - kPlotHeadingGap}, heading, "heading");
  for (const Tick& tick : across.ticks()) {
    const double x = spot(tick.value, up.ticks().front().value).x;
    svg.line({x, top}, {x, top + height}, "grid");
  }
  for (const Tick& tick : up.ticks()) {
    const double y = spot(across.ticks().front().value, tick.value).y;
    svg.line({kPlotLeft, y}, {right, y}, "grid");
    svg.text({kPlotLeft - 8, y + 4}, tick.label, "left");
  }
  svg.rectangle({kPlotLeft, top}, {right, top + height}, "frame");
}

void Panel::label_across(Svg& svg, std::string_view heading) const {
  for (const Tick& tick : across.ticks())
    svg.text({spot(tick.value, up.ticks().front().value).x, top + height + kPlotLine}, tick.label, "middle");
  svg.text({(kPlotLeft + right) / 2, top + height + 2.3 * kPlotLine}, heading, "heading middle");
}

}  // namespace orrery::report
