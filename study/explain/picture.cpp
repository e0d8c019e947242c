// SPDX-License-Identifier: MIT
// Bars of what would make a job faster, and by how much.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/plot/picture.h"
#include "study/explain/explain.h"

namespace orrery::study {
namespace {

constexpr std::size_t kMostPlans = 15;

// Share of the iteration that a variant saves.
double saving_of(const Variant& variant, const Explanation& explanation) {
  if (!variant.ran() || explanation.base.time == Duration::zero()) return report::kNoValue;
  return 1 - seconds(variant.time) / seconds(explanation.base.time);
}

report::PictureSpot spot_of(const Variant& variant, const std::string& name, std::size_t row,
                            const Explanation& explanation) {
  report::PictureSpot spot{static_cast<double>(row), saving_of(variant, explanation)};
  spot.text = name;
  spot.error = variant.refusal;
  if (variant.ran()) spot.label = percent(spot.y);
  spot.note = variant.ran() ? fmt::format("{}: {}, {}", name, rounded(variant.time), signed_percent(-spot.y))
                            : fmt::format("{}: {}", name, variant.refusal);
  return spot;
}

report::PictureAxis savings() { return {"iteration time saved", "saved_share", report::unit_for("share", 1)}; }

report::PicturePanel resources_panel(const Explanation& explanation) {
  report::PicturePanel panel{"Resources of the cluster", {"resource", "what"}, savings()};
  std::array<report::PictureSeries, 2> series = {
      {{"twice as good", report::SeriesShape::kLine, 0, 0, {"twice as good"}, {}},
       {"1.1 times as good", report::SeriesShape::kLine, 1, 1, {"1.1 times as good"}, {}}}};
  for (std::size_t i = 0; i < explanation.resources.size(); ++i) {
    const ExplainedResource& one = explanation.resources[i];
    const std::string name =
        one.resource.now.empty() ? one.resource.name : fmt::format("{} ({})", one.resource.name, one.resource.now);
    panel.x.ticks.push_back({static_cast<double>(i), name});
    series[0].spots.push_back(spot_of(one.twice, name, i, explanation));
    series[1].spots.push_back(spot_of(one.slightly, name, i, explanation));
  }
  panel.series.assign(series.begin(), series.end());
  return panel;
}

report::PicturePanel changes_panel(const Explanation& explanation) {
  report::PicturePanel panel{"Other plans", {"plan", "what"}, savings()};
  report::PictureSeries series{"in its place", report::SeriesShape::kLine, 2, 2, {"in its place"}, {}};
  for (const Variant& change : explanation.changes) {
    const std::size_t row = panel.x.ticks.size();
    if (!change.ran() || !change.fits() || row == kMostPlans) continue;
    panel.x.ticks.push_back({static_cast<double>(row), change.name});
    series.spots.push_back(spot_of(change, change.name, row, explanation));
  }
  panel.series.push_back(std::move(series));
  return panel;
}

}  // namespace

report::Picture explanation_picture(const Explanation& explanation) {
  report::Picture picture;
  picture.kind = report::PictureKind::kBars;
  picture.title = "What would make it faster";
  if (!explanation.job.empty()) picture.captions.push_back(explanation.job);
  picture.captions.push_back(fmt::format("{}; {} an iteration", explanation.devices, rounded(explanation.base.time)));
  picture.fields = {"change"};
  std::array panels = {resources_panel(explanation), changes_panel(explanation)};
  for (report::PicturePanel& panel : panels)
    if (!panel.x.ticks.empty()) picture.panels.push_back(std::move(panel));
  picture.keys = {report::key_of_series(picture.panels)};
  return picture;
}

}  // namespace orrery::study
