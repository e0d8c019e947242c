// SPDX-License-Identifier: MIT
#include "study/calibrate/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/assert.h"
#include "core/units.h"
#include "study/calibrate/least_squares.h"
#include "study/calibrate/prediction.h"

namespace orrery::study {

double rounded_to_digits(double value, int digits) {
  if (value == 0) return 0;
  const double unit = std::pow(10, digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value)))));
  return std::round(value * unit) / unit;
}

namespace {

// The relative error to be expected of a measurement: at first, and where the fit has shown what it is.
constexpr double kFirstError = 0.05;
constexpr double kLeastError = 1e-5;
// Measurements farther off than so many times the expected error are taken for outliers.
constexpr double kOutlier = 2;
// A factor of e in a constant weighs as much as the expected error in one measurement.
constexpr double kPrior = 1;

// What a protocol's format leaves for data: a flag beside each word, a flag in 128 bytes.
double most_share(std::string_view path) {
  if (path == "efficiency.ll") return 0.5;
  return path == "efficiency.ll128" ? 120.0 / 128 : 1;
}

constexpr int kDigits = 4;  // of a fitted constant
constexpr double kMostLatency = 1e-2;
constexpr double kFarthest = 1000;  // times a constant, or this part of it
constexpr double kLeastShare = 0.01;
constexpr double kSameAlgorithms = 1e-4;  // how much of its effect a constant must have for itself to be offered
constexpr double kSameRows = 1e-2;        // and to be fitted
constexpr double kUncertain = 0.5;
constexpr double kExhausted = 0.2;  // what is left of a constant
// A sigma is so many median absolute deviations.
constexpr double kDeviations = 1.4826;

// Of a latency that is 0, in seconds: a change that may matter.
constexpr double kLatencyScale = 1e-6;
// How far a constant is moved, in parts of it, to see what it does to each algorithm.
constexpr std::array<double, 2> kProbes = {-0.5, 1};
// And to the fastest: small, so that the fastest algorithm stays the fastest; large enough that whole bytes on the wire
// do not show.
constexpr double kStep = 1e-3;

using Numbers = std::vector<std::size_t>;
using Column = std::vector<double>;

// The constants, one of them changed by `step`, in parts of it.
collectives::NcclConstants moved(collectives::NcclConstants constants, std::size_t number, double step) {
  const double value = constants.value(number);
  constants.set(number, value + step * (value == 0 ? kLatencyScale : value));
  return constants;
}

// Of every algorithm that could run, whichever is the fastest: its relative change for each row, when the constant is
// halved and doubled.
Column effect_on_algorithms(const CalibrationData& data, std::span<const CalibrationRow> rows,
                            const collectives::NcclConstants& constants, std::size_t number) {
  Column column;
  for (const CalibrationRow& row : rows) {
    const NcclBenchmark& benchmark = data.benchmarks[row.table];
    const Column times = possible_seconds(benchmark, row.bytes, constants);
    for (const double probe : kProbes) {
      const Column there = possible_seconds(benchmark, row.bytes, moved(constants, number, probe));
      ORRERY_ASSERT(there.size() == times.size());
      for (std::size_t i = 0; i < times.size(); ++i) column.push_back((there[i] - times[i]) / times[i]);
    }
  }
  return column;
}

// Of the fastest: the change of the logarithm of its time for each row, when the constant changes a little.
Column effect_on_rows(const CalibrationData& data, std::span<const CalibrationRow> rows,
                      const collectives::NcclConstants& constants, std::size_t number) {
  // Nothing takes less than no time.
  const collectives::NcclConstants less = moved(constants, number, constants.value(number) == 0 ? 0 : -kStep);
  const collectives::NcclConstants more = moved(constants, number, kStep);
  Column column;
  for (const CalibrationRow& row : rows)
    column.push_back(std::log(predicted_seconds(data, row, more) / predicted_seconds(data, row, less)));
  return column;
}

class NcclFitter {
 public:
  NcclFitter(const CalibrationData& data, std::span<const CalibrationRow> rows)
      : data_(data), rows_(rows), start_(data.constants), now_(data.constants) {}

  NcclFit fit() {
    // 1. From several places, since the fastest of several algorithms has many minima.
    do {
      offer();
      approach();
    } while (give_up_exhausted());
    // 2. With the errors that the measurements have shown.
    for (int round = 0; round < 2; ++round) {
      error_ = std::clamp(typical_error(), kLeastError, error_);
      solve(values_of(offered_, now_));
    }
    // 3. Only what they determine.
    while (leave_out_dependent() || leave_out_uncertain()) solve(values_of(offered_, now_));
    return report();
  }

 private:
  static Column values_of(const Numbers& numbers, const collectives::NcclConstants& constants) {
    Column values;
    for (const std::size_t number : numbers) values.push_back(constants.value(number));
    return values;
  }

  collectives::NcclConstants with(const Numbers& numbers, std::span<const double> values) const {
    collectives::NcclConstants constants = start_;
    for (std::size_t i = 0; i < numbers.size(); ++i) constants.set(numbers[i], values[i]);
    return constants;
  }

  // All constants. The file lists a base before the hops that it can stand for; on a cluster that was measured before,
  // what several nodes add is the network's. What is known already goes behind, and last what can stand for no more.
  Numbers preferred() const {
    Numbers numbers(collectives::kNcclConstants);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    std::ranges::stable_sort(numbers, {}, [&](std::size_t number) {
      const bool is_known =
          std::ranges::any_of(data_.measured, [&](const auto& known) { return known.first == number; });
      const bool is_network = collectives::nccl_constant_entries()[number].path.starts_with("hop.network.");
      if (std::ranges::count(exhausted_, number) > 0) return 3;
      if (is_known) return 2;
      return is_network && data_.nodes > 1 && !data_.measured.empty() ? 0 : 1;
    });
    return numbers;
  }

  // A base that has shrunk to next to nothing, and a share that has come to all: it can do no more.
  bool is_exhausted(std::size_t number) const {
    const collectives::ConstantKind kind = collectives::nccl_constant_entries()[number].kind;
    if (kind == collectives::ConstantKind::kShare) return now_.value(number) >= 1;
    return kind == collectives::ConstantKind::kLatency && now_.value(number) < kExhausted * start_.value(number);
  }

  // What a constant that is exhausted stands for goes before it then. True if there is a new one.
  bool give_up_exhausted() {
    const std::size_t before = exhausted_.size();
    for (const std::size_t number : offered_) {
      const bool stands_for_others = std::ranges::any_of(unfitted_, [&](const UnfittedNcclConstant& unfitted) {
        return std::ranges::count(unfitted.with, number) > 0;
      });
      const bool is_new = std::ranges::count(exhausted_, number) == 0;
      if (stands_for_others && is_new && is_exhausted(number)) exhausted_.push_back(number);
    }
    return exhausted_.size() > before;
  }

  // Offers the constants that the algorithms tell apart, whichever of them is the fastest.
  void offer() {
    offered_.clear();
    unfitted_.clear();
    const Numbers all = preferred();
    std::vector<Column> columns;
    for (const std::size_t number : all) columns.push_back(effect_on_algorithms(data_, rows_, start_, number));
    const ColumnChoice choice = independent_columns(columns, kSameAlgorithms);
    for (const std::size_t column : choice.kept) offered_.push_back(all[column]);
    for (const DependentColumn& left : choice.left)
      if (!left.on.empty()) leave_out(all, left);
  }

  void leave_out(const Numbers& numbers, const DependentColumn& left) {
    UnfittedNcclConstant unfitted{numbers[left.column], UnfittedReason::kTogether, {}};
    for (const std::size_t column : left.on) unfitted.with.push_back(numbers[column]);
    unfitted_.push_back(std::move(unfitted));
  }

  FittedConstant constant(std::size_t number) const {
    const collectives::NcclConstantEntry& entry = collectives::nccl_constant_entries()[number];
    FittedConstant c;
    c.name = entry.path;
    c.start = start_.value(number);
    c.prior = kPrior;
    c.most = c.start * kFarthest;
    c.least = c.start / kFarthest;
    if (entry.kind == collectives::ConstantKind::kShare) {
      c.most = std::max(most_share(entry.path), c.start);
      c.least = std::min(kLeastShare, c.start);
    } else if (c.start == 0) {
      c.scale = kLatencyScale;
      c.most = kMostLatency;
    }
    return c;
  }

  void write_residuals(std::span<const double> values, std::span<double> residuals) {
    const collectives::NcclConstants constants = with(offered_, values);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      residuals[i] = std::log(predicted_seconds(data_, rows_[i], constants) / rows_[i].seconds) / error_;
  }

  // Fits the offered constants, beginning with `from`.
  void solve(Column from) {
    FitProblem problem;
    for (const std::size_t number : offered_) problem.constants.push_back(constant(number));
    problem.residuals = [this](std::span<const double> values, std::span<double> r) { write_residuals(values, r); };
    problem.residual_count = rows_.size();
    problem.loss_scale = kOutlier;
    problem.from = std::move(from);
    result_ = fit_constants(problem);
    now_ = with(offered_, result_.values);
  }

  // What a fit makes small.
  double cost() const {
    double sum = 0;
    for (const CalibrationRow& row : rows_) {
      const double r = std::log(predicted_seconds(data_, row, now_) / row.seconds) / error_ / kOutlier;
      sum += 2 * kOutlier * kOutlier * (std::sqrt(1 + r * r) - 1);
    }
    for (const std::size_t number : offered_) {
      const double before = start_.value(number), after = now_.value(number);
      const double moved = before == 0 ? after / kLatencyScale : std::log(after / before);
      sum += moved * moved / (kPrior * kPrior);
    }
    return sum;
  }

  // Latencies times `latency`, and all rates times `rate`.
  Column scaled_start(double latency, double rate) const {
    Column values;
    for (const std::size_t number : offered_) {
      const collectives::ConstantKind kind = collectives::nccl_constant_entries()[number].kind;
      double factor = 1;
      if (kind == collectives::ConstantKind::kLatency) factor = latency;
      if (kind == collectives::ConstantKind::kRate || kind == collectives::ConstantKind::kShare) factor = rate;
      values.push_back(start_.value(number) * factor);
    }
    return values;
  }

  // Measured over predicted, of the smallest or the largest message.
  double first_error(bool smallest) const {
    const auto less = [](const CalibrationRow& a, const CalibrationRow& b) { return a.bytes < b.bytes; };
    const auto row = smallest ? std::ranges::min_element(rows_, less) : std::ranges::max_element(rows_, less);
    return std::clamp(row->seconds / predicted_seconds(data_, *row, start_), 0.1, 10.0);
  }

  void approach() {
    const double latency = first_error(true), rate = 1 / first_error(false);
    collectives::NcclConstants best = start_;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [l, r] : {std::pair{1.0, 1.0}, {latency, 1.0}, {1.0, rate}, {latency, rate}}) {
      solve(scaled_start(l, r));
      const double now = cost();
      if (now >= least) continue;
      least = now;
      best = now_;
    }
    now_ = best;
  }

  double typical_error() const {
    std::vector<double> errors;
    for (const CalibrationRow& row : rows_)
      errors.push_back(std::abs(std::log(predicted_seconds(data_, row, now_) / row.seconds)));
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::ranges::nth_element(errors, middle);
    return *middle * kDeviations;
  }

  bool has_moved(std::size_t number) const {
    const double before = start_.value(number);
    return std::abs(now_.value(number) - before) > 1e-6 * (before == 0 ? kLatencyScale : before);
  }

  // Constants that no row depends on, or that act as others do where the fit has come to. True if any was left out.
  bool leave_out_dependent() {
    const Numbers before = std::exchange(offered_, {});
    gives_way_.clear();
    std::vector<Column> columns;
    for (const std::size_t number : before) columns.push_back(effect_on_rows(data_, rows_, now_, number));
    const ColumnChoice choice = independent_columns(columns, kSameRows);
    for (const std::size_t column : choice.kept) offered_.push_back(before[column]);
    bool any = false;
    for (const DependentColumn& left : choice.left) {
      const std::size_t number = before[left.column];
      if (left.on.empty() && has_moved(number)) {
        // Back at its start it would be seen, against the measurements.
        gives_way_.push_back(number);
        offered_.push_back(number);
        continue;
      }
      any = true;
      if (left.on.empty())
        unfitted_.push_back({number, UnfittedReason::kNotShown, {}});
      else
        leave_out(before, left);
    }
    const auto place = [&](std::size_t number) { return std::ranges::find(before, number) - before.begin(); };
    std::ranges::sort(offered_, {}, place);
    if (any) now_ = with(offered_, values_of(offered_, now_));
    return any;
  }

  bool leave_out_uncertain() {
    std::size_t worst = offered_.size();
    double most = kUncertain;
    for (std::size_t i = 0; i < offered_.size(); ++i) {
      if (std::ranges::count(gives_way_, offered_[i]) > 0 || spread_of(i) <= most) continue;
      most = spread_of(i);
      worst = i;
    }
    if (worst == offered_.size()) return false;
    unfitted_.push_back({offered_[worst], UnfittedReason::kUncertain, {}});
    offered_.erase(offered_.begin() + static_cast<std::ptrdiff_t>(worst));
    return true;
  }

  // Relative to the larger of what it was and what it is: how far it came from there is known as well as that.
  double spread_of(std::size_t i) const {
    const double before = start_.value(offered_[i]), after = now_.value(offered_[i]);
    const double spread = result_.spread[i] * (before == 0 ? kLatencyScale : after);
    const double larger = std::max(before, after);
    return larger == 0 ? std::numeric_limits<double>::infinity() : spread / larger;
  }

  // Which reasons hold where the fit has come to: what acted as others may belong to an algorithm that no row shows.
  void explain_unfitted() {
    std::vector<Column> columns;
    for (const std::size_t number : offered_) columns.push_back(effect_on_rows(data_, rows_, now_, number));
    for (UnfittedNcclConstant& unfitted : unfitted_) {
      columns.push_back(effect_on_rows(data_, rows_, now_, unfitted.number));
      const ColumnChoice choice = independent_columns(columns, kSameRows);
      columns.pop_back();
      unfitted.reason = UnfittedReason::kUncertain;
      unfitted.with.clear();
      if (choice.left.empty() || choice.left.back().column < offered_.size()) continue;
      const DependentColumn& left = choice.left.back();
      unfitted.reason = left.on.empty() ? UnfittedReason::kNotShown : UnfittedReason::kTogether;
      for (const std::size_t column : left.on) unfitted.with.push_back(offered_[column]);
    }
  }

  NcclFit report() {
    explain_unfitted();
    NcclFit fit;
    fit.constants = start_;
    for (std::size_t i = 0; i < offered_.size(); ++i) {
      const std::size_t number = offered_[i];
      FittedNcclConstant fitted{number,       start_.value(number), rounded_to_digits(now_.value(number), kDigits),
                                spread_of(i), result_.at_bound[i],  std::ranges::count(gives_way_, number) > 0};
      fit.constants.set(number, fitted.after);
      fit.fitted.push_back(fitted);
    }
    for (const auto& [a, b] : result_.correlated) fit.correlated.emplace_back(offered_[a], offered_[b]);
    fit.unfitted = std::move(unfitted_);
    std::ranges::sort(fit.fitted, {}, &FittedNcclConstant::number);
    std::ranges::sort(fit.unfitted, {}, &UnfittedNcclConstant::number);
    return fit;
  }

  const CalibrationData& data_;
  std::span<const CalibrationRow> rows_;
  const collectives::NcclConstants start_;
  collectives::NcclConstants now_;
  double error_ = kFirstError;
  Numbers offered_;    // by preference
  Numbers gives_way_;  // of the offered ones
  Numbers exhausted_;
  std::vector<UnfittedNcclConstant> unfitted_;
  FitResult result_;  // of the offered ones
};

}  // namespace

NcclFit fit_nccl_constants(const CalibrationData& data, std::span<const CalibrationRow> rows) {
  ORRERY_ASSERT(!rows.empty());
  return NcclFitter(data, rows).fit();
}

}  // namespace orrery::study
