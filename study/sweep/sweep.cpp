// SPDX-License-Identifier: MIT
#include "study/sweep/sweep.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "core/in_parallel.h"
#include "experiment/job.h"
#include "experiment/run.h"
#include "study/benchmark/study.h"

namespace orrery::study {
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

std::vector<std::pair<std::string, double>> links_of(const report::Result& result) {
  std::vector<std::pair<std::string, double>> links;
  for (const report::LinkClassUse& use : result.links) {
    const std::string name = without_direction(use.name);
    const auto known = std::ranges::find(links, name, &std::pair<std::string, double>::first);
    if (known != links.end())
      known->second = std::max(known->second, use.most);
    else
      links.emplace_back(name, use.most);
  }
  std::erase_if(links, [](const auto& link) { return link.second <= 0; });
  std::ranges::stable_sort(links, std::ranges::greater{}, &std::pair<std::string, double>::second);
  return links;
}

SweepFigures figures_of(const report::Result& result) {
  SweepFigures figures{report::iteration_time(result), result.training, result.jobs, report::mean_parts(result),
                       links_of(result)};
  for (report::Part& part : figures.parts) part.seconds /= static_cast<double>(result.iterations);
  return figures;
}

}  // namespace

std::vector<SweepPoint> run_sweep(const Sweep& sweep, const SweepOptions& options, const ConfigFiles& files,
                                  const PointDone& done) {
  std::vector<SweepPoint> points(sweep.point_count());
  std::mutex mutex;
  in_parallel(points.size(), options.jobs, [&](std::size_t number) {
    SweepPoint& point = points[number];
    std::optional<report::Result> result;
    attempt(sweep, number, files, point, [&](ConfigValue root) {
      result = experiment::run_configuration(sweep.file, std::move(root), options.allow_oom, files).result;
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
      experiment::check_memory(experiment::read_experiment(sweep.file, std::move(root), files, diagnostics),
                               options.allow_oom, diagnostics);
    });
    point.warnings = with_severity(diagnostics.problems(), Severity::kWarning);
  });
  return points;
}

}  // namespace orrery::study
