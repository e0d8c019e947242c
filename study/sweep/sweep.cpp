// SPDX-License-Identifier: MIT
#include "study/sweep/sweep.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/in_parallel.h"
#include "experiment/job.h"

namespace orrery::study {
namespace {

ConfigValue configuration_of(const Sweep& sweep, std::size_t point, const ConfigFiles& files) {
  Diagnostics diagnostics;
  ConfigValue root = configuration_of(sweep, point, files, diagnostics);
  diagnostics.throw_if_errors();
  return root;
}

}  // namespace

std::vector<SweepPoint> run_sweep(const Sweep& sweep, bool allow_oom, Points& points, const ConfigFiles& files,
                                  const PointDone& done) {
  std::vector<SweepPoint> found(sweep.point_count());
  points.take("points", found.size(), [&](std::size_t number, Points::Ask& ask) {
    const auto read = [&](Diagnostics& diagnostics) {
      return experiment::read_experiment(sweep.file, configuration_of(sweep, number, files), files, diagnostics);
    };
    SweepPoint point;
    nlohmann::ordered_json result;
    if (!evaluate(ask, {"sweep", sweep.file, read, allow_oom}, point, &result)) return;
    if (!point.ran()) point.warnings.clear();  // what is told of it is why
    ask.one_at_a_time([&] {
      found[number] = std::move(point);
      if (done) done(number, found[number], result);
    });
  });
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
