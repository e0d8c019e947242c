// SPDX-License-Identifier: MIT
#include "study/interval/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <variant>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/machine_kind.h"
#include "system/devices/device.h"

namespace orrery::study {
namespace {

constexpr std::size_t kLeastFamilies = 5;
constexpr double kTail = (1 - kIntervalShare) / 2;
constexpr std::size_t kCircles = 4;

// Whether runs of these kinds are comparable; circle 0 is the narrowest, the last one holds all.
bool in_circle(std::size_t circle, const JobKind& a, const JobKind& b) {
  const bool model = circle > 2 || a.model == b.model;
  const bool architecture = circle > 1 || a.architecture == b.architecture;
  return model && architecture && (circle > 0 || a.software == b.software);
}

std::string name_of_circle(std::size_t circle, const JobKind& job) {
  if (circle == 0) return fmt::format("{} on {} with {}", job.model, job.architecture, job.software);
  if (circle == 1) return fmt::format("{} on {}", job.model, job.architecture);
  return circle == 2 ? job.model : "any training";
}

struct Pool {
  std::vector<const MeasuredError*> runs;  // those with the least errors first
  std::map<std::string_view, std::size_t> runs_of_family;
};

Pool pool_of(std::size_t circle, const JobKind& job, std::span<const MeasuredError> errors) {
  Pool pool;
  for (const MeasuredError& one : errors)
    if (in_circle(circle, job, one.kind)) {
      pool.runs.push_back(&one);
      ++pool.runs_of_family[one.family];
    }
  std::ranges::stable_sort(pool.runs, {}, [](const MeasuredError* run) { return run->error; });
  return pool;
}

double weight(const Pool& pool, const MeasuredError& run) {
  return 1 / std::sqrt(static_cast<double>(pool.runs_of_family.at(run.family)));
}

// The error that runs of `share` of all weight do not exceed, from the end that `runs` begins with.
double error_at(const Pool& pool, std::span<const MeasuredError* const> runs, double share) {
  double all = 0;
  for (const MeasuredError* run : runs) all += weight(pool, *run);
  double sum = 0;
  for (const MeasuredError* run : runs) {
    sum += weight(pool, *run);
    if (sum >= share * all) return run->error;
  }
  return runs.back()->error;
}

// What is left out on a side, of so many families.
double tail_of(std::size_t families) {
  const auto n = static_cast<double>(families);
  return std::max(0.0, (kTail * (n + 1) - 0.5) / n);
}

// "more than 2240 devices and precision fp8": of a job what none of the runs had.
std::string beyond_of(const JobKind& job, const Pool& pool) {
  std::int64_t most = 0;
  bool precision = false;
  for (const MeasuredError* run : pool.runs) {
    most = std::max(most, run->kind.devices);
    precision |= run->kind.precision == job.precision;
  }
  std::string text;
  if (job.devices > most) text = fmt::format("more than {} devices", most);
  if (!precision) text += fmt::format("{}precision {}", text.empty() ? "" : " and ", job.precision);
  return text;
}

ErrorInterval interval_in(const Pool& pool, double tail) {
  std::vector<const MeasuredError*> slowest_first(pool.runs.rbegin(), pool.runs.rend());
  ErrorInterval interval;
  interval.low = error_at(pool, pool.runs, tail);
  interval.high = error_at(pool, slowest_first, tail);
  interval.runs = pool.runs.size();
  interval.families = pool.runs_of_family.size();
  return interval;
}

bool inside(const MeasuredError& run, std::span<const MeasuredError> others) {
  const ErrorInterval interval = interval_of(run.kind, others);
  return interval.low <= run.error && run.error <= interval.high;
}

std::vector<std::string> families_of(std::span<const MeasuredError> errors) {
  std::set<std::string> names;
  for (const MeasuredError& one : errors) names.insert(one.family);
  return {names.begin(), names.end()};
}

// Of `runs`, by the intervals that `known` gives.
double share_inside(std::span<const MeasuredError> runs, std::span<const MeasuredError> known) {
  const auto count = std::ranges::count_if(runs, [&](const MeasuredError& run) { return inside(run, known); });
  return static_cast<double>(count) / static_cast<double>(runs.size());
}

double covered_by_halves(std::span<const MeasuredError> errors, std::vector<std::string> families) {
  constexpr int kSplits = 100;
  std::mt19937_64 draw(1);
  double covered = 0;
  for (int split = 0; split < kSplits; ++split) {
    for (std::size_t i = families.size(); i > 1; --i) std::swap(families[i - 1], families[draw() % i]);
    const std::set<std::string> half(families.begin(), families.begin() + static_cast<long>(families.size() / 2));
    std::array<std::vector<MeasuredError>, 2> parts;
    for (const MeasuredError& one : errors) parts[half.contains(one.family) ? 1 : 0].push_back(one);
    const double all = static_cast<double>(errors.size());
    for (std::size_t side = 0; side < parts.size(); ++side)
      covered += share_inside(parts[side], parts[1 - side]) * static_cast<double>(parts[side].size()) / all;
  }
  return covered / kSplits;
}

std::string model_of(const workload::TrainingSpec& training) {
  if (training.lora) return "lora";
  struct Names {
    std::string operator()(const workload::TransformerSpec& model) const {
      return model.experts > 0 ? "experts" : "transformer";
    }
    std::string operator()(const workload::DlrmSpec&) const { return "dlrm"; }
    std::string operator()(const workload::ConvolutionalSpec&) const { return "convolutional"; }
    std::string operator()(const workload::RecurrentSpec&) const { return "recurrent"; }
    std::string operator()(const workload::EvoformerSpec&) const { return "evoformer"; }
  };
  return std::visit(Names{}, training.model.sizes);
}

}  // namespace

std::optional<JobKind> job_kind(const experiment::Experiment& experiment) {
  if (experiment.jobs.size() != 1 || !experiment.jobs.front().workload.training) return std::nullopt;
  const workload::TrainingSpec& training = *experiment.jobs.front().workload.training;
  return JobKind{training.software.name, std::string(name_of(system::oldest_architecture(experiment.devices))),
                 model_of(training), std::string(name_of(training.precision)), training.parallel.ranks()};
}

ErrorInterval interval_of(const JobKind& job, std::span<const MeasuredError> errors) {
  ORRERY_ASSERT(!errors.empty());
  std::size_t circle = 0;
  Pool pool = pool_of(circle, job, errors);
  while (pool.runs_of_family.size() < kLeastFamilies && circle + 1 < kCircles) pool = pool_of(++circle, job, errors);
  const std::size_t narrow = circle;
  const std::string beyond = beyond_of(job, pool);
  if (!beyond.empty() && circle + 1 < kCircles) pool = pool_of(++circle, job, errors);
  const double tail = tail_of(pool.runs_of_family.size());
  ErrorInterval interval = interval_in(pool, beyond.empty() ? tail : tail / 2);
  interval.of = name_of_circle(circle, job);
  if (!beyond.empty()) interval.beyond = fmt::format("{} with {}", name_of_circle(narrow, job), beyond);
  return interval;
}

report::TimeInterval time_interval(const ErrorInterval& interval, Duration iteration) {
  const auto times = [&](double error) {
    return Duration(std::llround(static_cast<double>(iteration.count()) * (1 + error)));
  };
  return {times(interval.low), times(interval.high), kIntervalShare, interval.runs,
          interval.families,   interval.of,          interval.beyond};
}

Coverage coverage(std::span<const MeasuredError> errors) {
  const std::vector<std::string> families = families_of(errors);
  if (families.size() < 2) return {};
  Coverage result;
  for (const std::string& family : families) {
    std::array<std::vector<MeasuredError>, 2> parts;
    for (const MeasuredError& one : errors) parts[one.family == family ? 1 : 0].push_back(one);
    const double share = share_inside(parts[1], parts[0]);
    result.families += share / static_cast<double>(families.size());
    result.runs += share * static_cast<double>(parts[1].size()) / static_cast<double>(errors.size());
  }
  result.halves = covered_by_halves(errors, families);
  return result;
}

}  // namespace orrery::study
