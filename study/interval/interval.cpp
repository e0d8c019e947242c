// SPDX-License-Identifier: MIT
#include "study/interval/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/assert.h"
#include "core/config/number_text.h"

namespace orrery::study {
namespace {

constexpr std::size_t kLeastFamilies = 5;
constexpr std::size_t kOwnFamilies = 3;  // that share the first word: of fewer, quantiles are no more than the extremes
constexpr double kTail = (1 - kIntervalShare) / 2;

// Circle 0 is the narrowest, of runs that share all words; the last one, of as many as there are words, holds all.
std::size_t words_in_circle(std::size_t circle, const RunKind& run) { return run.words.size() - circle; }

bool in_circle(std::size_t circle, const RunKind& a, const RunKind& b) {
  return std::equal(a.words.begin(), a.words.begin() + static_cast<long>(words_in_circle(circle, a)), b.words.begin());
}

std::string name_of_circle(std::size_t circle, const RunKind& run, const RunSchema& schema) {
  const std::size_t count = words_in_circle(circle, run);
  if (count == 0) return std::string(schema.any);
  std::string name;
  for (std::size_t i = 0; i < count; ++i) name += fmt::format("{}{}", schema.words[i].before, run.words[i]);
  return name;
}

struct Pool {
  std::vector<const MeasuredError*> runs;  // those with the least errors first
  std::map<std::string_view, std::size_t> runs_of_family;
};

Pool pool_of(std::size_t circle, const RunKind& run, std::span<const MeasuredError> errors) {
  Pool pool;
  for (const MeasuredError& one : errors)
    if (in_circle(circle, run, one.kind)) {
      pool.runs.push_back(&one);
      ++pool.runs_of_family[one.family];
    }
  std::ranges::stable_sort(pool.runs, {}, [](const MeasuredError* one) { return one->error; });
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

// Share left out on either side, for this number of families.
double tail_of(std::size_t families) {
  const auto n = static_cast<double>(families);
  return std::max(0.0, (kTail * (n + 1) - 0.5) / n);
}

// "more than 2240 devices and precision fp8": what none of the runs had.
std::string beyond_of(const RunKind& one, const Pool& pool) {
  std::int64_t most = 0;
  bool precision = false;
  for (const MeasuredError* run : pool.runs) {
    most = std::max(most, run->kind.devices);
    precision |= run->kind.precision == one.precision;
  }
  std::string text;
  if (one.devices > most) text = fmt::format("more than {} devices", most);
  if (!precision) text += fmt::format("{}precision {}", text.empty() ? "" : " and ", one.precision);
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

std::vector<std::string> families_of(std::span<const MeasuredError> errors) {
  std::set<std::string> names;
  for (const MeasuredError& one : errors) names.insert(one.family);
  return {names.begin(), names.end()};
}

// Share of `runs` inside the intervals that `known` gives.
double share_inside(std::span<const MeasuredError> runs, std::span<const MeasuredError> known,
                    const RunSchema& schema) {
  std::map<RunKind, ErrorInterval> intervals;
  const auto count = std::ranges::count_if(runs, [&](const MeasuredError& run) {
    const auto [found, is_new] = intervals.try_emplace(run.kind);
    if (is_new) found->second = interval_of(run.kind, known, schema);
    return found->second.low <= run.error && run.error <= found->second.high;
  });
  return static_cast<double>(count) / static_cast<double>(runs.size());
}

double covered_by_halves(std::span<const MeasuredError> errors, std::vector<std::string> families,
                         const RunSchema& schema) {
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
      covered += share_inside(parts[side], parts[1 - side], schema) * static_cast<double>(parts[side].size()) / all;
  }
  return covered / kSplits;
}

}  // namespace

ErrorInterval interval_of(const RunKind& run, std::span<const MeasuredError> errors, const RunSchema& schema) {
  ORRERY_ASSERT(!errors.empty());
  const std::size_t widest = schema.words.size();
  std::size_t circle = 0;
  std::optional<Pool> own;  // runs that share the first word, once there are others as well
  Pool pool = pool_of(circle, run, errors);
  const auto widen = [&] {
    if (circle + 1 == widest) own = std::move(pool);
    pool = pool_of(++circle, run, errors);
  };
  while (pool.runs_of_family.size() < kLeastFamilies && circle < widest) widen();
  const std::size_t narrow = circle;
  // An operation that nobody measured is like no other.
  const bool is_known = std::ranges::any_of(
      errors, [&](const MeasuredError& one) { return one.kind.words.front() == run.words.front(); });
  const std::string beyond = is_known ? beyond_of(run, pool) : run.words.front();
  if (!beyond.empty() && circle < widest) widen();
  const double tail = tail_of(pool.runs_of_family.size());
  ErrorInterval interval = interval_in(pool, beyond.empty() ? tail : tail / 2);
  if (schema.holds_own && own && own->runs_of_family.size() >= kOwnFamilies) {
    const ErrorInterval of_own = interval_in(*own, tail_of(own->runs_of_family.size()));
    interval.low = std::min(interval.low, of_own.low);
    interval.high = std::max(interval.high, of_own.high);
  }
  interval.of = name_of_circle(circle, run, schema);
  if (!beyond.empty())
    interval.beyond = is_known ? fmt::format("{} with {}", name_of_circle(narrow, run, schema), beyond) : beyond;
  return interval;
}

report::TimeInterval time_interval(const ErrorInterval& interval, Duration predicted) {
  const auto times = [&](double error) {
    return Duration(std::llround(static_cast<double>(predicted.count()) * (1 + error)));
  };
  return {times(interval.low), times(interval.high), kIntervalShare, interval.runs,
          interval.families,   interval.of,          interval.beyond};
}

Coverage coverage(std::span<const MeasuredError> errors, const RunSchema& schema) {
  const std::vector<std::string> families = families_of(errors);
  if (families.size() < 2) return {};
  Coverage result;
  for (const std::string& family : families) {
    std::array<std::vector<MeasuredError>, 2> parts;
    for (const MeasuredError& one : errors) parts[one.family == family ? 1 : 0].push_back(one);
    const double share = share_inside(parts[1], parts[0], schema);
    result.families += share / static_cast<double>(families.size());
    result.runs += share * static_cast<double>(parts[1].size()) / static_cast<double>(errors.size());
  }
  result.halves = covered_by_halves(errors, families, schema);
  return result;
}

std::string coverage_text(const Coverage& coverage) {
  return fmt::format(
      "intervals of {} that the errors of other families give hold {} of the runs, {} in the mean of families; "
      "those of a random half of the families {} of the runs of the other half\n",
      percent(kIntervalShare, 0), percent(coverage.runs, 0), percent(coverage.families, 0),
      percent(coverage.halves, 0));
}

nlohmann::ordered_json to_json(const Coverage& coverage) {
  return {{"share", kIntervalShare},
          {"runs_inside", coverage.runs},
          {"families_inside", coverage.families},
          {"halves_inside", coverage.halves}};
}

}  // namespace orrery::study
