// SPDX-License-Identifier: MIT
// Values of an axis that make no difference, and why.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "study/compare/no_difference.h"
#include "study/sweep/sweep.h"

namespace orrery::study {
namespace {

constexpr std::size_t kMostTold = 8;  // of all axes

// Points that differ in nothing but two neighbouring values of an axis.
struct Neighbours {
  std::size_t first = 0;
  std::size_t second = 0;
};

// Points that differ along one axis only: by its choice, which point.
using Line = std::map<std::size_t, std::size_t>;

std::vector<Line> lines_along(const Sweep& sweep, std::size_t axis) {
  std::map<std::vector<std::size_t>, Line> by_others;
  for (std::size_t point = 0; point < sweep.point_count(); ++point) {
    std::vector<std::size_t> others = sweep.choices_of(point);
    const std::size_t choice = std::exchange(others[axis], 0);
    by_others[others].emplace(choice, point);
  }
  std::vector<Line> lines;
  for (auto& [others, line] : by_others) lines.push_back(std::move(line));
  return lines;
}

std::vector<Neighbours> neighbours_in(const std::vector<Line>& lines, std::size_t choice) {
  std::vector<Neighbours> found;
  for (const Line& line : lines)
    if (const auto first = line.find(choice), second = line.find(choice + 1);
        first != line.end() && second != line.end())
      found.push_back({first->second, second->second});
  return found;
}

bool take_equally_long(const SweepPoint& first, const SweepPoint& second) {
  return first.ran() && second.ran() && first.figures->iteration_time == second.figures->iteration_time;
}

bool could_run(const SweepPoint& point) { return point.refusal.empty() && !point.is_stuck(); }

std::vector<NoDifference> reasons_of(const Sweep& sweep, std::span<const SweepPoint> points, const Neighbours& pair,
                                     const ConfigFiles& files) {
  Diagnostics told;  // with the points
  const auto read = [&](std::size_t point) {
    return experiment::read_experiment(sweep.file, configuration_of(sweep, point, files, told), files, told);
  };
  const experiment::Experiment first = read(pair.first), second = read(pair.second);
  std::set<std::string> used;
  for (const std::size_t point : {pair.first, pair.second})
    if (points[point].ran())
      for (const auto& [name, utilisation] : points[point].figures->links) used.insert(name);
  return why_no_difference({first, second, std::move(used)}, files);
}

Problem warning_of(const SweepAxis& axis, std::size_t choice, std::string_view where, const NoDifference& reason) {
  return {Severity::kWarning,
          axis.choices[choice + 1].where,
          fmt::format("{} '{}' and '{}' take equally long{}: {}", axis.name, axis.choices[choice].label,
                      axis.choices[choice + 1].label, where, to_text(reason)),
          {}};
}

}  // namespace

std::vector<Problem> equal_values(const Sweep& sweep, std::span<const SweepPoint> points, const ConfigFiles& files) {
  const bool has_results = std::ranges::any_of(points, &SweepPoint::ran);
  std::vector<Problem> told;
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
    const std::vector<Line> lines = lines_along(sweep, axis);
    for (std::size_t choice = 0; choice + 1 < sweep.axes[axis].choices.size(); ++choice) {
      std::vector<Neighbours> pairs = neighbours_in(lines, choice);
      std::erase_if(pairs, [&](const Neighbours& pair) {
        return !could_run(points[pair.first]) || !could_run(points[pair.second]);
      });
      const std::size_t all = pairs.size();
      std::erase_if(pairs, [&](const Neighbours& pair) {
        return has_results && !take_equally_long(points[pair.first], points[pair.second]);
      });
      if (pairs.empty()) continue;
      const std::vector<NoDifference> reasons = reasons_of(sweep, points, pairs.front(), files);
      if (!has_results && !std::ranges::all_of(reasons, &NoDifference::is_idle)) continue;
      const std::string where = pairs.size() == all ? "" : fmt::format(" in {} of {} points", pairs.size(), all);
      for (const NoDifference& reason : reasons) {
        if (told.size() == kMostTold) return told;
        told.push_back(warning_of(sweep.axes[axis], choice, where, reason));
      }
    }
  }
  return told;
}

}  // namespace orrery::study
