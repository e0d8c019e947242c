// SPDX-License-Identifier: MIT
#include "study/seeds/seeds.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"
#include "core/quantile.h"
#include "experiment/experiment.h"
#include "report/table.h"
#include "study/compare/compare.h"

namespace orrery::study {
namespace {

// A seed that the experiment has, and where.
struct Seed {
  std::string path;
  std::int64_t value = 1;
};

void add_seed(const ConfigValue& holder, const std::string& path, std::vector<Seed>& seeds) {
  const ConfigEntry* seed = holder.find("seed");
  seeds.push_back({path + ".seed", seed == nullptr ? 1 : parse_whole_number(seed->value.scalar).value_or(1)});
}

// Sources of randomness, each with the settings that take it away.
struct Randomness {
  std::vector<Seed> seeds;
  std::vector<std::string> without = {"perturb={}"};
};

// Places of popular experts. Experts that are all alike have no places, no capacity that any exceeds, and no copies.
void add_places(const experiment::Experiment& experiment, Randomness& random) {
  const ConfigEntry* workload = experiment.resolved.find("workload");
  const ConfigEntry* parallel = workload == nullptr ? nullptr : workload->value.find("parallel");
  const ConfigEntry* skew = parallel == nullptr ? nullptr : parallel->value.find("expert_skew");
  if (skew == nullptr || parse_share(skew->value.scalar).value.value_or(0) == 0) return;
  const ConfigEntry* seed = parallel->value.find("expert_seed");
  random.seeds.push_back(
      {"workload.parallel.expert_seed", seed == nullptr ? 1 : parse_whole_number(seed->value.scalar).value_or(1)});
  for (const char* setting :
       {"parallel.expert_skew=0", "parallel.expert_seed=1", "experts.capacity_factor=0", "experts.redundant=0"})
    random.without.push_back(fmt::format("workload.{}", setting));
}

Randomness randomness_of(const experiment::Experiment& experiment) {
  Randomness random;
  std::vector<Seed>& seeds = random.seeds;
  add_places(experiment, random);
  const ConfigEntry* perturb = experiment.resolved.find("perturb");
  if (perturb == nullptr) return random;
  if (experiment.simulation.perturbation.jitter.sigma > 0)
    add_seed(perturb->value.find("jitter")->value, "perturb.jitter", seeds);
  for (const char* map : {"links", "nics"}) {
    const ConfigEntry* links = perturb->value.find(map);
    if (links == nullptr) continue;
    for (const ConfigEntry& link : links->value.entries)
      if (const ConfigEntry* traffic = link.value.find("traffic"))
        add_seed(traffic->value, fmt::format("perturb.{}.{}.traffic", map, link.key), seeds);
  }
  return random;
}

Randomness read_randomness(const SeedsRequest& request, const ConfigFiles& files) {
  Diagnostics diagnostics;
  const experiment::Experiment experiment =
      experiment::load_experiment(request.file, request.settings, files, diagnostics);
  Randomness random = randomness_of(experiment);
  if (random.seeds.empty())
    throw InputError({request.file},
                     "nothing of the experiment is random: it has neither noise nor traffic nor popular experts",
                     "--set perturb.jitter.sigma='2 %'; --cost says what a perturbation that is not random costs");
  return random;
}

std::vector<Duration> sorted_times(const SeedDistribution& distribution) {
  std::vector<Duration> times;
  for (const SeededRun& run : distribution.runs) times.push_back(run.time);
  std::ranges::sort(times);
  return times;
}

using Row = std::pair<const char*, Duration>;

std::array<Row, 6> rows_of(const SeedDistribution& distribution) {
  return {{{"mean", distribution.mean()},
           {"min", distribution.percentile(0)},
           {"p50", distribution.percentile(50)},
           {"p90", distribution.percentile(90)},
           {"p99", distribution.percentile(99)},
           {"max", distribution.percentile(100)}}};
}

}  // namespace

Duration SeedDistribution::percentile(unsigned percent) const {
  const std::vector<Duration> times = sorted_times(*this);
  return times[place_of_percentile(percent, times.size())];
}

Duration SeedDistribution::mean() const {
  Int128 sum = 0;
  for (const SeededRun& run : runs) sum += run.time.count();
  return Duration(static_cast<std::int64_t>(sum / static_cast<Int128>(runs.size())));
}

SeedDistribution simulate_seeds(const SeedsRequest& request, Points& points, const ConfigFiles& files) {
  const Randomness random = read_randomness(request, files);
  SeedDistribution distribution;
  for (std::size_t i = 0; i < request.count; ++i) {
    SeededRun& run = distribution.runs.emplace_back();
    for (const Seed& seed : random.seeds)
      run.settings.push_back(fmt::format("{}={}", seed.path, seed.value + static_cast<std::int64_t>(i)));
  }
  // The last one is without what is random, and without whatever else is perturbed.
  std::vector<Point> found(request.count + 1);
  points.take_all("seeds", found.size(), [&](std::size_t i, Points::Ask& ask) {
    const auto read = [&](Diagnostics& diagnostics) {
      std::vector<std::string> settings = request.settings;
      const std::vector<std::string>& more = i < request.count ? distribution.runs[i].settings : random.without;
      settings.insert(settings.end(), more.begin(), more.end());
      experiment::Experiment experiment = experiment::load_experiment(request.file, settings, files, diagnostics);
      experiment.simulation.fast_forward = request.fast_forward;
      return experiment;
    };
    evaluate(ask, {"seeds", request.file, read, request.allow_oom, experiment::RunFigures::none()}, found[i]);
  });
  for (const Point& point : found) throw_unless_ran(point);
  for (std::size_t i = 0; i < request.count; ++i) distribution.runs[i].time = found[i].figures->iteration_time;
  distribution.undisturbed = found.back().figures->iteration_time;
  const PointFigures& first = *found.front().figures;
  distribution.devices = fmt::format("{} on {} {}", counted(first.ranks, "rank"), counted(first.devices, "device"),
                                     printable(first.device));
  distribution.warnings = found.front().warnings;
  return distribution;
}

std::string seeds_text(const SeedDistribution& distribution) {
  std::vector<Row> rows = {{"undisturbed", distribution.undisturbed}};
  std::ranges::copy(rows_of(distribution), std::back_inserter(rows));
  const auto above = [&](const Row& row) {
    return &row == &rows.front() ? "-" : above_text(row.second, distribution.undisturbed);
  };
  const report::Table table = report::table_of(
      rows, {{"", &Row::first}, {"iteration time", &Row::second}, {"above undisturbed", above, report::kRight}});
  const std::vector<std::string>& first = distribution.runs.front().settings;
  const std::vector<std::string>& last = distribution.runs.back().settings;
  std::string text = fmt::format(
      "{} over {}: p50 {} ({}), p99 {} ({})\n", distribution.devices, counted(distribution.runs.size(), "seed"),
      rounded(distribution.percentile(50)), above_text(distribution.percentile(50), distribution.undisturbed),
      rounded(distribution.percentile(99)), above_text(distribution.percentile(99), distribution.undisturbed));
  for (std::size_t i = 0; i < first.size(); ++i)
    text += fmt::format("{} to {}\n", printable(first[i], 120), last[i].substr(last[i].rfind('=') + 1));
  return text + "\n" + table.text();
}

nlohmann::ordered_json seeds_json(const SeedDistribution& distribution) {
  nlohmann::ordered_json document = {{"schema", "orrery.seeds/1"},
                                     {"undisturbed_s", seconds(distribution.undisturbed)}};
  for (const auto& [name, time] : rows_of(distribution)) {
    document[fmt::format("{}_s", name)] = seconds(time);
    if (const auto percent = percent_above(time, distribution.undisturbed))
      document[fmt::format("{}_above_percent", name)] = *percent;
  }
  document["runs"] = nlohmann::ordered_json::array();
  for (const SeededRun& run : distribution.runs)
    document["runs"].push_back({{"settings", run.settings}, {"iteration_time_s", seconds(run.time)}});
  return document;
}

report::Document seeds_document() {
  using enum report::KeyType;
  report::DocumentKeys keys = {{kNumber, "undisturbed_s", "without noise"}};
  SeedDistribution any;
  any.runs.emplace_back();
  for (const auto& [name, time] : rows_of(any)) {
    keys.push_back({kNumber, fmt::format("{}_s", name), "over seeds"});
    keys.push_back(report::maybe({kNumber, fmt::format("{}_above_percent", name), "over the undisturbed time"}));
  }
  keys.push_back({kList, "runs", "", {{kTexts, "settings", ""}, {kNumber, "iteration_time_s", ""}}});
  return {"orrery.seeds/1", "`run --seeds --json`", "", std::move(keys)};
}

}  // namespace orrery::study
