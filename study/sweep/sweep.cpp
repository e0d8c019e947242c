// SPDX-License-Identifier: MIT
#include "study/sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/in_parallel.h"
#include "experiment/job.h"
#include "experiment/plans/work.h"

namespace orrery::study {
namespace {

ConfigValue configuration_of(const Sweep& sweep, std::size_t point, const ConfigFiles& files) {
  Diagnostics diagnostics;
  ConfigValue root = configuration_of(sweep, point, files, diagnostics);
  diagnostics.throw_if_errors();
  return root;
}

// Estimates how long the simulation of each point takes. Reading them is stopped when it takes long itself; the rest,
// and those that cannot be read, count as the mean of the others do.
std::vector<double> efforts_of(const Sweep& sweep, unsigned jobs, const ConfigFiles& files) {
  constexpr auto kMost = std::chrono::seconds(1);
  const auto started = std::chrono::steady_clock::now();
  std::vector<double> efforts(sweep.point_count());
  in_parallel(efforts.size(), jobs, [&](std::size_t number) {
    if (std::chrono::steady_clock::now() - started > kMost) return;
    Diagnostics diagnostics;
    try {
      efforts[number] = experiment::simulation_work(
          experiment::read_experiment(sweep.file, configuration_of(sweep, number, files), files, diagnostics));
    } catch (const InputError&) {  // is told when its turn comes
    }
  });
  const auto known = static_cast<double>(efforts.size() - static_cast<std::size_t>(std::ranges::count(efforts, 0.0)));
  if (known == 0) return {};
  const double mean = std::accumulate(efforts.begin(), efforts.end(), 0.0) / known;
  std::ranges::replace(efforts, 0.0, mean);
  return efforts;
}

}  // namespace

std::vector<SweepPoint> run_sweep(const Sweep& sweep, bool allow_oom, Points& points, const ConfigFiles& files,
                                  const PointDone& done) {
  std::vector<SweepPoint> found(sweep.point_count());
  const std::vector<double> efforts =
      points.wants_efforts() ? efforts_of(sweep, points.jobs(), files) : std::vector<double>();
  const auto work = [&](std::size_t number, Points::Ask& ask) {
    const auto read = [&](Diagnostics& diagnostics) {
      return experiment::read_experiment(sweep.file, configuration_of(sweep, number, files), files, diagnostics);
    };
    SweepPoint point;
    nlohmann::ordered_json result;
    const bool has_result = done || points.is_kept();
    if (!evaluate(ask, {"sweep", sweep.file, read, allow_oom}, point, has_result ? &result : nullptr)) return;
    if (!point.ran()) point.warnings.clear();  // what is told of it is why
    ask.one_at_a_time([&] {
      found[number] = std::move(point);
      if (done) done(number, found[number], result);
    });
  };
  points.take("points", found.size(), work, efforts);
  return found;
}

std::vector<SweepPoint> check_points(const Sweep& sweep, unsigned jobs, bool allow_oom, const ConfigFiles& files) {
  std::vector<SweepPoint> points(sweep.point_count());
  in_parallel(points.size(), jobs, [&](std::size_t number) {
    SweepPoint& point = points[number];
    Diagnostics diagnostics;
    try {
      ConfigValue root = configuration_of(sweep, number, files);
      experiment::check_memory(experiment::read_experiment(sweep.file, std::move(root), files, diagnostics), allow_oom,
                               diagnostics);
    } catch (const InputError& error) {
      point.refusal.assign(error.problems().begin(), error.problems().end());
    }
    std::ranges::copy_if(diagnostics.problems(), std::back_inserter(point.warnings),
                         [](const Problem& problem) { return problem.severity == Severity::kWarning; });
  });
  return points;
}

}  // namespace orrery::study
