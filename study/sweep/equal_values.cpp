// SPDX-License-Identifier: MIT
// Values of an axis that make no difference, and why.
#include <algorithm>
#include <map>
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

// Takes, where values change several keys, the reasons of those that could act, where there are any; else the known
// ones.
std::vector<NoDifference> worth_telling(std::vector<NoDifference> reasons) {
  const auto keep = [&](const auto& is_wanted) {
    if (std::ranges::any_of(reasons, is_wanted))
      std::erase_if(reasons, [&](const NoDifference& one) { return !is_wanted(one); });
  };
  keep([](const NoDifference& one) { return one.is_known; });
  keep([](const NoDifference& one) { return !one.is_idle; });
  return reasons;
}

std::vector<NoDifference> reasons_of(const Sweep& sweep, std::span<const SweepPoint> points, const Neighbours& pair,
                                     const ConfigFiles& files) {
  Diagnostics told;  // with the points
  const auto read = [&](std::size_t point) {
    return experiment::read_experiment(sweep.file, configuration_of(sweep, point, files, told), files, told);
  };
  const experiment::Experiment first = read(pair.first), second = read(pair.second);
  EqualPair equal{first, second, {}, OperationTimes::kUnknown, 0, false};
  std::vector<std::size_t> ranks;
  for (const std::size_t point : {pair.first, pair.second}) {
    if (!points[point].ran()) continue;
    equal.take(points[point].figures->links, points[point].figures->parts);
    equal.computes_as_measured = points[point].figures->computes_as_measured;
    ranks.push_back(points[point].figures->ranks);
  }
  if (ranks.size() == 2 && ranks.front() == ranks.back()) equal.ranks = static_cast<std::uint32_t>(ranks.front());
  equal.waits_for_hosts = equal.waits_for_hosts || ranks.size() < 2;
  return why_no_difference(equal);
}

// Neighbouring values of an axis that are equal for one reason.
struct EqualValues {
  std::size_t first = 0, last = 0;  // of the axis's choices
  std::string where;                // "" where that holds in all points
  NoDifference reason;
};

// One that goes on from the last one is part of it.
void add(std::vector<EqualValues>& equal, EqualValues next) {
  const auto goes_on = [&](const EqualValues& one) {
    return one.last == next.first && one.where.empty() && next.where.empty() &&
           to_text(one.reason) == to_text(next.reason);
  };
  if (const auto before = std::ranges::find_if(equal, goes_on); before != equal.end())
    before->last = next.last;
  else
    equal.push_back(std::move(next));
}

// Text of the reason, with the key if the name of the axis does not say it.
std::string reason_text(const SweepAxis& axis, const NoDifference& reason) {
  const std::string& key = reason.keys.front();
  const bool is_named = reason.keys.size() == 1 && (key == axis.name || key.ends_with("." + axis.name));
  return is_named ? short_text(reason) : to_text(reason);
}

Problem warning_of(const SweepAxis& axis, const EqualValues& equal) {
  std::string values;
  for (std::size_t i = equal.first; i <= equal.last; ++i)
    values += fmt::format("{}'{}'", i == equal.first ? "" : i == equal.last ? " and " : ", ", axis.choices[i].label);
  return {Severity::kWarning,
          axis.choices[equal.first + 1].where,
          fmt::format("{} {} take equally long{}: {}", axis.name, values, equal.where, reason_text(axis, equal.reason)),
          {}};
}

// Equal values of one axis.
std::vector<EqualValues> equal_values_of(const Sweep& sweep, std::size_t axis, std::span<const SweepPoint> points,
                                         bool has_results, const ConfigFiles& files) {
  std::vector<EqualValues> equal;
  const std::vector<Line> lines = lines_along(sweep, axis);
  for (std::size_t choice = 0; choice + 1 < sweep.axes[axis].choices.size() && equal.size() < kMostTold; ++choice) {
    std::vector<Neighbours> pairs = neighbours_in(lines, choice);
    std::erase_if(pairs, [&](const Neighbours& pair) {
      return !could_run(points[pair.first]) || !could_run(points[pair.second]);
    });
    const std::size_t all = pairs.size();
    std::erase_if(pairs, [&](const Neighbours& pair) {
      return has_results && !take_equally_long(points[pair.first], points[pair.second]);
    });
    if (pairs.empty()) continue;
    std::vector<NoDifference> reasons = reasons_of(sweep, points, pairs.front(), files);
    if (has_results)
      reasons = worth_telling(std::move(reasons));
    else if (!std::ranges::all_of(reasons, &NoDifference::is_idle))
      continue;
    const std::string where = pairs.size() == all ? "" : fmt::format(" in {} of {} points", pairs.size(), all);
    for (const NoDifference& reason : reasons) add(equal, {choice, choice + 1, where, reason});
  }
  return equal;
}

}  // namespace

std::vector<Problem> equal_values(const Sweep& sweep, std::span<const SweepPoint> points, const ConfigFiles& files) {
  const bool has_results = std::ranges::any_of(points, &SweepPoint::ran);
  std::vector<Problem> told;
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
    for (const EqualValues& equal : equal_values_of(sweep, axis, points, has_results, files))
      if (told.size() < kMostTold) told.push_back(warning_of(sweep.axes[axis], equal));
  return told;
}

}  // namespace orrery::study
