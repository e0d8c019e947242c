// SPDX-License-Identifier: MIT
// Goodput over the work between checkpoints.
#include <algorithm>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "report/plot/picture.h"
#include "study/goodput/study.h"

namespace orrery::study {

report::Picture goodput_picture(const Goodput& goodput) {
  report::Picture picture;
  picture.title = "Goodput by checkpoint interval";
  picture.captions = {fmt::format("The job fails every {}; a checkpoint takes {}, a restart {}",
                                  long_time_text(goodput.model.mtbf), long_time_text(goodput.model.write),
                                  long_time_text(goodput.model.restart))};
  picture.fields = {"by"};
  report::PicturePanel& panel = picture.panels.emplace_back();
  report::PictureSeries expected{"expected", report::SeriesShape::kLine, 0, 0, {"expected"}, {}};
  report::PictureSeries simulated{"simulated failures", report::SeriesShape::kMarks, 1, 1, {"simulated failures"}, {}};
  double longest = 0;
  for (const IntervalGoodput& one : goodput.intervals) {
    const auto spot = [&](double share) {
      report::PictureSpot found{one.work, share};
      found.note = fmt::format("{} iterations, {}: {}", one.iterations, long_time_text(one.work), percent(share));
      return found;
    };
    expected.spots.push_back(spot(one.goodput));
    if (one.simulated_goodput) simulated.spots.push_back(spot(*one.simulated_goodput));
    longest = std::max(longest, one.work);
  }
  panel.x = {"work between checkpoints", "work_s", longest < 7200 ? report::Unit{"min", 60} : report::Unit{"h", 3600},
             true};
  panel.y = {"goodput", "goodput_share", report::unit_for("share", 1)};
  panel.y.from_zero = false;
  panel.rules.push_back({seconds(goodput.iteration) * static_cast<double>(goodput.best), "best"});
  panel.series.push_back(std::move(expected));
  if (!simulated.spots.empty()) panel.series.push_back(std::move(simulated));
  picture.keys = {report::key_of_series(picture.panels)};
  return picture;
}

}  // namespace orrery::study
