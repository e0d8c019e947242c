// SPDX-License-Identifier: MIT
#include "study/sweep/sweep.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>

#include <nlohmann/json.hpp>

#include "core/files/input_files.h"
#include "core/in_parallel.h"
#include "experiment/job.h"
#include "experiment/run.h"
#include "study/benchmark/study.h"
#include "study/sweep/store.h"

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
  }
}

std::vector<std::pair<std::string, double>> links_of(const report::Result& result) {
  std::vector<std::pair<std::string, double>> links;
  for (const report::LinkClassUse& use : result.links) {
    const std::string name = network::without_direction(use.name);
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
  SweepFigures figures{report::iteration_time(result), result.training, result.call, result.jobs,
                       report::mean_parts(result),     links_of(result)};
  for (report::Part& part : figures.parts) part.seconds /= static_cast<double>(result.iterations);
  return figures;
}

// Simulates the point, unless its result is known. The key of what has to be kept, also of a point that was refused or
// is stuck; empty where nothing has.
std::string run_point(const std::string& file, ConfigValue root, const SweepOptions& options, const ConfigFiles& files,
                      PointStore::Stored& found) {
  Diagnostics diagnostics;
  std::string key;
  try {
    std::optional<NotedFiles> named(std::in_place);
    const experiment::Experiment experiment = experiment::read_experiment(file, std::move(root), files, diagnostics);
    const std::vector<std::string> contents = named->paths();
    named.reset();
    if (options.store != nullptr) {
      key = key_of(experiment, contents, options.allow_oom);
      if (std::optional<PointStore::Stored> known = options.store->find(key)) {
        found = std::move(*known);
        return {};
      }
      if (options.only_known) return {};
    }
    const report::Result result = experiment::run_experiment(experiment, options.allow_oom, diagnostics).result;
    found.point.figures = figures_of(result);
    found.point.warnings = with_severity(result.warnings, Severity::kWarning);
    found.result = report::to_json(result, true);
  } catch (const InputError& error) {
    const InputError here = located(error, file);
    found.point.refusal.assign(here.problems().begin(), here.problems().end());
  } catch (const StuckError& error) {
    found.point.stuck = error.what();
  }
  return key;
}

}  // namespace

std::vector<SweepPoint> run_sweep(const Sweep& sweep, const SweepOptions& options, const ConfigFiles& files,
                                  const PointDone& done) {
  std::vector<SweepPoint> points(sweep.point_count());
  std::mutex mutex;
  std::atomic<bool> failed = false;
  in_parallel(points.size(), options.jobs, [&](std::size_t number) {
    if (failed || number % options.parts != options.part || (options.is_stopped && options.is_stopped())) return;
    PointStore::Stored found;
    std::string key;
    attempt(sweep, number, files, found.point,
            [&](ConfigValue root) { key = run_point(sweep.file, std::move(root), options, files, found); });
    try {
      if (!key.empty()) options.store->keep(key, found);
      const std::lock_guard lock(mutex);
      points[number] = std::move(found.point);
      if (done && points[number].was_begun()) done(number, points[number], found.result);
    } catch (...) {
      failed = true;
      throw;
    }
  });
  return points;
}

std::string key_of_point(const Sweep& sweep, std::size_t point, const SweepOptions& options, const ConfigFiles& files,
                         SweepPoint& refused) {
  std::string key;
  attempt(sweep, point, files, refused, [&](ConfigValue root) {
    Diagnostics diagnostics;
    try {
      const NotedFiles named;
      const experiment::Experiment experiment =
          experiment::read_experiment(sweep.file, std::move(root), files, diagnostics);
      key = key_of(experiment, named.paths(), options.allow_oom);
    } catch (const InputError& error) {
      throw located(error, sweep.file);
    }
  });
  return key;
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
