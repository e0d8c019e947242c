// SPDX-License-Identifier: MIT
// Reports on the points of a sweep that cannot be simulated.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/assert.h"
#include "study/sweep/sweep.h"

namespace orrery::study {
namespace {

// Choices that were taken, by axis and choice.
using Chosen = std::vector<std::vector<bool>>;

// "tp8 pp8 dp2, dgx-a100".
std::string labels_of(const Sweep& sweep, std::size_t number) {
  const std::vector<std::size_t> choices = sweep.choices_of(number);
  std::vector<std::string> labels;
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) labels.push_back(sweep.label(axis, choices));
  return fmt::format("{}", fmt::join(labels, ", "));
}

std::vector<Problem> errors_of(const SweepPoint& point) {
  std::vector<Problem> errors;
  std::ranges::copy_if(point.refusal, std::back_inserter(errors),
                       [](const Problem& problem) { return problem.severity == Severity::kError; });
  return errors;
}

// Problems, and of how many points each is one.
class Refusals {
 public:
  void add(std::size_t number, const SweepPoint& point) { add(number, errors_of(point)); }
  void add(std::size_t number, std::span<const Problem> problems) {
    for (const Problem& problem : problems) {
      const auto [found, is_new] = known_.try_emplace(cause_of(problem), refusals_.size());
      if (is_new) refusals_.push_back({problem, number, 0});
      ++refusals_[found->second].count;
    }
  }

  // Problems with the points they are of; `common`: without the points, of those of so many.
  std::vector<Problem> told(const Sweep& sweep, std::size_t common = 0) const {
    std::vector<Problem> problems;
    for (const Refusal& refusal : refusals_) {
      if (refusal.count == common) {
        problems.push_back(refusal.problem);
        continue;
      }
      const std::string labels = labels_of(sweep, refusal.first);
      const std::string who = refusal.count == 1 ? fmt::format("point '{}'", labels)
                                                 : fmt::format("{} points, '{}' first", refusal.count, labels);
      problems.push_back(refusal.problem);
      problems.back().message = fmt::format("{}: {}", who, refusal.problem.message);
    }
    return problems;
  }

  // The most frequent problem; the first one on a tie.
  const Problem& commonest() const {
    ORRERY_ASSERT(!refusals_.empty());
    return std::ranges::max_element(refusals_, {}, &Refusal::count)->problem;
  }

 private:
  // The values of an axis stand at places of their own, but are wrong for one reason.
  static std::string cause_of(Problem problem) {
    problem.where = {problem.where.file};
    if (problem.tight_memory) problem.message.clear();  // the figures of the first stand for all
    return to_string(problem);
  }

  struct Refusal {
    Problem problem;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::vector<Refusal> refusals_;
  std::map<std::string, std::size_t> known_;
};

bool lacks_memory(const SweepPoint& point) {
  return std::ranges::any_of(point.refusal, [](const Problem& problem) { return problem.out_of_memory; });
}

// Points with each choice of each axis: none where constraints have left none.
std::vector<std::vector<std::size_t>> points_by_choice(const Sweep& sweep) {
  std::vector<std::vector<std::size_t>> counts;
  for (const SweepAxis& axis : sweep.axes) counts.emplace_back(axis.choices.size());
  for (std::size_t number = 0; number < sweep.point_count(); ++number) {
    const std::vector<std::size_t> choices = sweep.choices_of(number);
    for (std::size_t axis = 0; axis < choices.size(); ++axis) ++counts[axis][choices[axis]];
  }
  return counts;
}

// Choices all of whose points are refused, and not for want of memory, which is an answer. An axis of which only one
// has points has none: the fault is not its own.
Chosen refused_choices(const Sweep& sweep, std::span<const SweepPoint> points) {
  Chosen refused;
  for (const std::vector<std::size_t>& counts : points_by_choice(sweep)) {
    const auto in_use = std::ranges::count_if(counts, [](std::size_t count) { return count > 0; });
    std::vector<bool>& of_axis = refused.emplace_back();
    for (const std::size_t count : counts) of_axis.push_back(count > 0 && in_use > 1);
  }
  for (std::size_t number = 0; number < points.size(); ++number) {
    if (!points[number].refusal.empty() && !lacks_memory(points[number])) continue;
    const std::vector<std::size_t> choices = sweep.choices_of(number);
    for (std::size_t axis = 0; axis < choices.size(); ++axis) refused[axis][choices[axis]] = false;
  }
  return refused;
}

// Problem with a value of an axis that has `count` points.
Problem refused_value(const SweepAxis& axis, const SweepChoice& value, std::size_t count, const Problem& reason) {
  const std::string who = count == 1 ? "the point" : fmt::format("none of the {} points", count);
  const std::string_view can = count == 1 ? "cannot" : "can";
  return {Severity::kError, value.where,
          fmt::format("{} with {} '{}' {} be simulated: {}", who, axis.name, value.label, can, reason.message),
          reason.hint};
}

// Refusals by choice of the axis, for choices all of whose points are refused.
std::vector<Refusals> refusals_by_choice(const Sweep& sweep, std::span<const SweepPoint> points, std::size_t axis,
                                         const std::vector<bool>& refused) {
  std::vector<Refusals> refusals(refused.size());
  for (std::size_t number = 0; number < points.size(); ++number) {
    const std::size_t choice = sweep.choices_of(number)[axis];
    if (refused[choice]) refusals[choice].add(number, points[number]);
  }
  return refusals;
}

}  // namespace

std::string reason_of(const SweepPoint& point) {
  if (point.is_stuck()) {
    std::string first = point.stuck.substr(0, point.stuck.find('\n'));
    if (first.ends_with(':')) first.pop_back();  // what follows is in the report
    return printable(first, SIZE_MAX);
  }
  std::vector<std::string> reasons;
  for (const Problem& problem : errors_of(point)) reasons.push_back(printable(problem.message, SIZE_MAX));
  return fmt::format("{}", fmt::join(reasons, "; "));
}

std::vector<Problem> refusals_of(const Sweep& sweep, std::span<const SweepPoint> points) {
  Refusals refusals;
  for (std::size_t number = 0; number < points.size(); ++number) refusals.add(number, points[number]);
  return refusals.told(sweep);
}

std::vector<Problem> refused_values(const Sweep& sweep, std::span<const SweepPoint> points) {
  const Chosen refused = refused_choices(sweep, points);
  const std::vector<std::vector<std::size_t>> counts = points_by_choice(sweep);
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const SweepAxis& axis = sweep.axes[i];
    const std::vector<Refusals> refusals = refusals_by_choice(sweep, points, i, refused[i]);
    for (std::size_t choice = 0; choice < axis.choices.size(); ++choice)
      if (refused[i][choice])
        problems.push_back(refused_value(axis, axis.choices[choice], counts[i][choice], refusals[choice].commonest()));
  }
  return problems;
}

std::vector<Problem> refused_combinations(const Sweep& sweep, std::span<const SweepPoint> points) {
  const Chosen refused = refused_choices(sweep, points);
  Refusals refusals;
  for (std::size_t number = 0; number < points.size(); ++number) {
    const std::vector<std::size_t> choices = sweep.choices_of(number);
    bool is_told = false;
    for (std::size_t axis = 0; axis < choices.size(); ++axis) is_told = is_told || refused[axis][choices[axis]];
    if (!is_told) refusals.add(number, points[number]);
  }
  std::vector<Problem> problems = refusals.told(sweep);
  for (Problem& problem : problems) {
    problem.severity = Severity::kWarning;
    problem.hint.clear();
  }
  return problems;
}

std::vector<Problem> warnings_of(const Sweep& sweep, std::span<const SweepPoint> points) {
  Refusals warnings;
  for (std::size_t number = 0; number < points.size(); ++number) warnings.add(number, points[number].warnings);
  return warnings.told(sweep, points.size());
}

void refuse_if_all_refused(const Sweep& sweep, std::span<const SweepPoint> points) {
  if (!std::ranges::all_of(points, [](const SweepPoint& point) { return !point.refusal.empty(); })) return;
  std::vector<Problem> problems = {
      {Severity::kError, {sweep.file}, fmt::format("none of {} points can be simulated:", points.size()), {}}};
  problems.front().out_of_memory =
      std::ranges::all_of(points, [](const SweepPoint& point) { return point.refusal.front().out_of_memory; });
  std::ranges::move(refusals_of(sweep, points), std::back_inserter(problems));
  throw InputError(std::move(problems));
}

}  // namespace orrery::study
