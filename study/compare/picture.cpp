// SPDX-License-Identifier: MIT
// A bar for each run, of the parts of its iteration.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "report/parts.h"
#include "report/plot/picture.h"
#include "study/compare/compare.h"

namespace orrery::study {
namespace {

constexpr std::size_t kMostParts = 8;

}  // namespace

report::Picture comparison_picture(const std::vector<NamedResult>& runs) {
  std::vector<std::pair<std::string, double>> totals;  // of parts, over all runs
  std::vector<std::map<std::string, double>> parts(runs.size());
  double longest = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    longest = std::max(longest, seconds(runs[i].result->finish));
    for (const report::Part& part : report::mean_parts(*runs[i].result)) {
      parts[i][part.name] = part.seconds;
      auto total = std::ranges::find(totals, part.name, &std::pair<std::string, double>::first);
      if (total == totals.end()) total = totals.insert(totals.end(), {part.name, 0.0});
      total->second += part.seconds;
    }
  }
  std::ranges::stable_sort(totals, std::ranges::greater{}, &std::pair<std::string, double>::second);
  if (totals.size() > kMostParts) {  // the smallest together, so that each part has a colour of its own
    totals.resize(kMostParts - 1);
    for (std::map<std::string, double>& run : parts) {
      double rest = 0;
      for (const auto& [name, time] : run)
        if (std::ranges::find(totals, name, &std::pair<std::string, double>::first) == totals.end()) rest += time;
      run["all else"] = rest;
    }
    totals.emplace_back("all else", 0);
  }
  report::Picture picture;
  picture.kind = report::PictureKind::kStacks;
  picture.title = "Where the time goes";
  picture.fields = {"part"};
  report::PicturePanel& panel = picture.panels.emplace_back();
  panel.x = {"run", "run"};
  panel.y = {"iteration time, mean over ranks", "seconds", report::unit_for("s", longest)};
  for (std::size_t i = 0; i < runs.size(); ++i) panel.x.ticks.push_back({static_cast<double>(i), runs[i].name});
  for (std::size_t number = 0; number < totals.size(); ++number) {
    const std::string& name = totals[number].first;
    report::PictureSeries& series =
        panel.series.emplace_back(report::PictureSeries{name, report::SeriesShape::kLine, number, number, {name}, {}});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      report::PictureSpot spot{static_cast<double>(i), parts[i].contains(name) ? parts[i].at(name) : 0.0};
      spot.text = runs[i].name;
      spot.note = fmt::format("{}: {} {}", runs[i].name, name, time_text(spot.y));
      series.spots.push_back(std::move(spot));
    }
  }
  picture.keys = {report::key_of_series(picture.panels)};
  return picture;
}

}  // namespace orrery::study
