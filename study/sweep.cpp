#include "study/sweep.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "report/run.h"
#include "study/in_parallel.h"
#include "system/experiment_job.h"

namespace orrery {
namespace {

std::vector<Problem> with_severity(std::span<const Problem> problems, Severity severity) {
  std::vector<Problem> chosen;
  std::ranges::copy_if(problems, std::back_inserter(chosen),
                       [&](const Problem& problem) { return problem.severity == severity; });
  return chosen;
}

// Calls `work` with the point's configuration; what is wrong with the point ends in it.
void attempt(const Sweep& sweep, std::size_t number, const ConfigFiles& files, SweepPoint& point,
             const std::function<void(ConfigValue)>& work) {
  try {
    Diagnostics diagnostics;
    ConfigValue root = configuration_of(sweep, number, files, diagnostics);
    diagnostics.throw_if_errors();
    work(std::move(root));
  } catch (const InputError& error) {
    point.refusal.assign(error.problems().begin(), error.problems().end());
  } catch (const StuckError& error) {
    point.stuck = error.what();
  }
}

SweepFigures figures_of(const Result& result) {
  SweepFigures figures{iteration_time(result), result.training, mean_parts(result)};
  for (Part& part : figures.parts) part.seconds /= static_cast<double>(result.iterations);
  return figures;
}

// "tp8 pp8 dp2, dgx-a100".
std::string labels_of(const Sweep& sweep, std::size_t number) {
  const std::vector<std::size_t> choices = sweep.choices_of(number);
  std::vector<std::string> labels;
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) labels.push_back(sweep.label(axis, choices));
  return fmt::format("{}", fmt::join(labels, ", "));
}

}  // namespace

std::vector<SweepPoint> run_sweep(const Sweep& sweep, const SweepOptions& options, const ConfigFiles& files,
                                  const PointDone& done) {
  std::vector<SweepPoint> points(sweep.point_count());
  std::mutex mutex;
  in_parallel(points.size(), options.jobs, [&](std::size_t number) {
    SweepPoint& point = points[number];
    std::optional<Result> result;
    attempt(sweep, number, files, point, [&](ConfigValue root) {
      result = run_configuration(sweep.file, std::move(root), options.allow_oom, files).result;
      point.figures = figures_of(*result);
      point.warnings = with_severity(result->warnings, Severity::kWarning);
    });
    const std::lock_guard lock(mutex);
    if (done) done(number, result ? &*result : nullptr);
  });
  return points;
}

std::vector<SweepPoint> check_points(const Sweep& sweep, const SweepOptions& options, const ConfigFiles& files) {
  std::vector<SweepPoint> points(sweep.point_count());
  in_parallel(points.size(), options.jobs, [&](std::size_t number) {
    SweepPoint& point = points[number];
    Diagnostics diagnostics;
    attempt(sweep, number, files, point, [&](ConfigValue root) {
      check_memory(read_experiment(sweep.file, std::move(root), files, diagnostics), options.allow_oom, diagnostics);
    });
    point.warnings = with_severity(diagnostics.problems(), Severity::kWarning);
  });
  return points;
}

std::vector<Problem> refusals_of(const Sweep& sweep, std::span<const SweepPoint> points) {
  struct Refusal {
    Problem problem;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::vector<Refusal> refusals;
  std::map<std::string, std::size_t> known;
  for (std::size_t number = 0; number < points.size(); ++number)
    for (const Problem& problem : with_severity(points[number].refusal, Severity::kError)) {
      const auto [found, is_new] = known.try_emplace(to_string(problem), refusals.size());
      if (is_new) refusals.push_back({problem, number, 0});
      ++refusals[found->second].count;
    }
  std::vector<Problem> problems;
  for (Refusal& refusal : refusals) {
    const std::string labels = labels_of(sweep, refusal.first);
    const std::string who = refusal.count == 1 ? fmt::format("point '{}'", labels)
                                               : fmt::format("{} points, '{}' first", refusal.count, labels);
    refusal.problem.message = fmt::format("{}: {}", who, refusal.problem.message);
    problems.push_back(std::move(refusal.problem));
  }
  return problems;
}

void refuse_if_all_refused(const Sweep& sweep, std::span<const SweepPoint> points) {
  if (!std::ranges::all_of(points, [](const SweepPoint& point) { return !point.refusal.empty(); })) return;
  std::vector<Problem> problems = {
      {Severity::kError, {sweep.file}, fmt::format("none of {} points can be simulated:", points.size()), {}}};
  std::ranges::move(refusals_of(sweep, points), std::back_inserter(problems));
  throw InputError(std::move(problems));
}

std::vector<Problem> warnings_of(std::span<const SweepPoint> points) {
  std::vector<Problem> warnings;
  std::set<std::string> known;
  for (const SweepPoint& point : points)
    for (const Problem& warning : point.warnings)
      if (known.insert(to_string(warning)).second) warnings.push_back(warning);
  return warnings;
}

}  // namespace orrery
