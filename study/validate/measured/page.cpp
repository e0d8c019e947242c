// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "report/plot/frame.h"
#include "study/validate/measured/accuracy.h"

namespace orrery::study {
namespace {

using report::Sheet;
using report::Spot;
using report::Svg;
using report::kPlotMargin;
using report::kPlotWidth;

// Told apart by lightness and width, so that it can be read without colour.
constexpr std::string_view kStyles =
    "  .band { fill: #e6eefa }\n"
    "  .exact { stroke: #666; stroke-width: 1 }\n"
    "  .one { fill: #1f5fa8; fill-opacity: 0.75 }\n"
    "  .small { font-size: 10.5px }\n";

constexpr int kColumns = 4;
constexpr double kGap = 14, kCellHeight = 96, kHeading = 32, kDot = 2.2;
constexpr double kBand = 0.1;             // what the band stands for: 10 % to either side
constexpr double kFarthest = 2;           // predicted / measured at the upper edge; its inverse at the lower
constexpr std::size_t kLongestName = 30;  // of a family above its plot

std::string shortened(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 2) + "…";
}

std::string time_text(double time) {
  if (time < 1e-3) return fmt::format("{:.3g} us", time * 1e6);
  if (time < 1) return fmt::format("{:.3g} ms", time * 1e3);
  return fmt::format("{:.3g} s", time);
}

// One family in the rectangle from `corner` on.
void draw(Svg& svg, const MeasuredGroup& family, Spot corner, double width) {
  const MeasuredRows rows = rows_where(family.rows, &Measured::scored);
  const Spot end{corner.x + width, corner.y + kCellHeight};
  const auto height_of = [&](double ratio) {
    const double share = std::log(std::clamp(ratio, 1 / kFarthest, kFarthest)) / std::log(kFarthest);
    return corner.y + kCellHeight * (1 - share) / 2;
  };
  const auto [least, most] = std::ranges::minmax_element(rows, {}, &Measured::measured);
  const double first = std::log(least->measured), last = std::log(most->measured);
  const ErrorSummary errors = *errors_of(rows);
  svg.text({corner.x, corner.y - 18}, shortened(family.name), "small");
  svg.text({corner.x, corner.y - 5}, fmt::format("{}: median {}", errors.rows, percent(errors.median)), "small");
  svg.rectangle({corner.x, height_of(1 + kBand)}, {end.x, height_of(1 - kBand)}, "band");
  svg.rectangle(corner, end, "frame");
  svg.line({corner.x, height_of(1)}, {end.x, height_of(1)}, "exact");
  std::set<std::pair<double, double>> dots;  // on whole pixels: hundreds that lie on one another are one
  for (const Measured& time : rows) {
    const double along = last > first ? (std::log(time.measured) - first) / (last - first) : 0.5;
    dots.emplace(std::round(corner.x + 6 + along * (width - 12)),
                 std::round(height_of(time.predicted / time.measured)));
  }
  for (const auto& [x, y] : dots) svg.dot({x, y}, kDot, "one");
  const std::string range =
      last > first ? time_text(least->measured) + " to " + time_text(most->measured) : time_text(least->measured);
  svg.text({corner.x, end.y + 12}, range, "small");
}

}  // namespace

std::string picture_name(const AccuracySection& section) { return "accuracy-" + section.name + ".svg"; }

std::string accuracy_picture(const AccuracySection& section) {
  const auto rows = (section.families.size() + kColumns - 1) / kColumns;
  const double row_height = kHeading + kCellHeight + 22;
  const std::vector<std::string> captions = {
      "Predicted / measured time of each row over its measured time (logarithmic). Line: exact; band: within 10 %; "
      "upper edge: twice as long as measured, or longer; lower edge: half, or less."};
  Sheet sheet(section.title, captions, static_cast<double>(rows) * row_height + kPlotMargin, kStyles);
  const double width = (kPlotWidth - 2 * kPlotMargin - (kColumns - 1) * kGap) / kColumns;
  for (std::size_t i = 0; i < section.families.size(); ++i) {
    const Spot corner{kPlotMargin + static_cast<double>(i % kColumns) * (width + kGap),
                      sheet.top + static_cast<double>(i / kColumns) * row_height + kHeading};
    draw(sheet.svg, section.families[i], corner, width);
  }
  return sheet.svg.file();
}

std::string accuracy_page(std::span<const AccuracySection> sections, const std::string& pictures) {
  std::string page =
      "# Accuracy\n\nPredicted against published measurements, family by family. The error of a row is |predicted / "
      "measured - 1|; the bias is\nthe median of the signed errors, above 0 where most predictions are too slow. "
      "`orrery validate --page FILE` writes this page.\n";
  for (const AccuracySection& section : sections) {
    const auto overall = errors_of_medians(section.families);
    if (!overall) continue;
    page +=
        fmt::format("\n## {}\n\nMedian of the medians of {} families: {}.\n\n![{}]({}/{})\n\n", section.title,
                    section.families.size(), percent(overall->median), section.title, pictures, picture_name(section));
    page += fmt::format("| family | {} | median | 90 % of them at most | worst | bias |\n|---|---|---|---|---|---|\n",
                        section.unit);
    for (const MeasuredGroup& family : section.families) {
      const ErrorSummary errors = *errors_of(family.rows);
      page += fmt::format("| {} | {} | {} | {} | {} | {} |\n", family.name, errors.rows, percent(errors.median),
                          percent(errors.ninetieth), signed_percent(worst_of(family.rows)->error()),
                          signed_percent(errors.bias));
    }
  }
  return page;
}

}  // namespace orrery::study
