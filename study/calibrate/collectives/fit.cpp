// SPDX-License-Identifier: MIT
#include "study/calibrate/collectives/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "core/assert.h"
#include "core/units.h"
#include "study/benchmark/prediction.h"
#include "study/calibrate/collectives/least_way.h"
#include "study/fit/confidence.h"
#include "study/fit/least_squares.h"

namespace orrery::study {

namespace {

// The relative error to be expected of a measurement: at first, and where the fit has shown what it is.
constexpr double kFirstError = 0.05;
constexpr double kLeastError = 1e-5;
// Measurements farther off than so many times the expected error are taken for outliers.
constexpr double kOutlier = 2;
// A factor of e in a constant weighs as much as the expected error in one measurement.
constexpr double kPrior = 1;

// Share that a protocol's format leaves for data: LL has a flag beside each word, LL128 one in 128 bytes.
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
// Parts of a half-width at which it is tried whether an interval reaches farther than slopes say.
constexpr std::array<double, 2> kFarther = {1.6, 2.5};
constexpr double kEnoughGain = 1e-4;
constexpr double kShown = 0.01;     // part of a constant's change by which a row that shows it changes
constexpr double kExhausted = 0.2;  // what is left of a constant
// A sigma is so many median absolute deviations.
constexpr double kDeviations = 1.4826;

// Scale of a latency that is 0, in seconds: a change that may matter.
constexpr double kLatencyScale = 1e-6;
// Relative changes of a constant by which its effect on each algorithm is probed.
constexpr std::array<double, 2> kProbes = {-0.5, 1};
// Relative change by which its effect on the fastest algorithm is probed: small, so that this stays the fastest; large
// enough that whole bytes on the wire do not show.
constexpr double kStep = 1e-3;

using Numbers = std::vector<std::size_t>;
using Column = std::vector<double>;

// The constants, one of them changed by `step`, in parts of it.
collectives::NcclConstants moved(collectives::NcclConstants constants, std::size_t number, double step) {
  const double value = constants.value(number);
  constants.set(number, value + step * (value == 0 ? kLatencyScale : value));
  return constants;
}

// Effect on every algorithm that could run, fastest or not: its relative change for each row when the constant is
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

// Effect on the fastest algorithm: the derivative of the logarithm of its time by the constant, for each row.
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

bool is_in(const Numbers& numbers, std::size_t number) { return std::ranges::count(numbers, number) > 0; }

collectives::ConstantKind kind_of(std::size_t number) { return collectives::nccl_constant_entries()[number].kind; }

Column values_of(const Numbers& numbers, const collectives::NcclConstants& constants) {
  Column values;
  for (const std::size_t number : numbers) values.push_back(constants.value(number));
  return values;
}

// The fit of the constants that it is offered. All others stay where they start.
class ConstantFit {
 public:
  ConstantFit(const CalibrationData& data, std::span<const CalibrationRow> rows)
      : data_(data), rows_(rows), start_(data.constants), now_(data.constants) {}

  const collectives::NcclConstants& start() const { return start_; }
  const collectives::NcclConstants& now() const { return now_; }
  const Numbers& offered() const { return offered_; }
  const FitResult& result() const { return result_; }  // in the order of the offered ones

  void offer(Numbers numbers) { offered_ = std::move(numbers); }

  // From several places, since the fastest of several algorithms has many minima.
  void approach() {
    const double latency = first_error(true), rate = 1 / first_error(false);
    FitResult best = fit_from(scaled_start(1, 1));
    for (const auto& [l, r] : {std::pair{latency, 1.0}, {1.0, rate}, {latency, rate}})
      if (FitResult result = fit_from(scaled_start(l, r)); result.cost < best.cost) best = std::move(result);
    take(std::move(best));
  }

  // From where the fit has come to.
  void go_on() { take(fit_from(values_of(offered_, now_))); }

  // Refines with the error that the measurements have shown.
  void refine() {
    error_ = std::clamp(typical_error(), kLeastError, error_);
    go_on();
  }

  bool has_moved(std::size_t number) const {
    const double before = start_.value(number);
    return std::abs(now_.value(number) - before) > 1e-6 * (before == 0 ? kLatencyScale : before);
  }

  // Spread of the offered constant `i`, relative to the larger of its former and its present value, so that the change
  // is known as precisely as the value.
  double spread_of(std::size_t i) const {
    const double before = start_.value(offered_[i]), after = now_.value(offered_[i]);
    const double spread = result_.spread[i] * (before == 0 ? kLatencyScale : after);
    const double larger = std::max(before, after);
    return larger == 0 ? std::numeric_limits<double>::infinity() : spread / larger;
  }

  // The value so many spreads from `after`, what the offered constant `i` comes to, within its bounds.
  double beside(std::size_t i, double after, double spreads) const {
    const FittedConstant c = constant(offered_[i]);
    const double move = result_.spread[i] * spreads;
    const double value = c.start == 0 ? after + move * c.scale : after * std::exp(move);
    return std::clamp(value, std::min(c.least, after), std::max(c.most, after));
  }

  // The interval of so many spreads around `after`, by the slopes where the fit has come to.
  std::pair<double, double> interval_of(std::size_t i, double after, double spreads) const {
    return {beside(i, after, -spreads), beside(i, after, spreads)};
  }

  // Looks as far as the rows allow: slopes say nothing of another algorithm that is the fastest farther off. A value
  // belongs to it if the fit of all others to it is no worse than by `spreads` spreads.
  std::pair<double, double> widened(std::size_t i, double after, double spreads,
                                    std::pair<double, double> interval) const {
    const double at = constant(offered_[i]).start == 0 ? now_.value(offered_[i]) / kLatencyScale
                                                       : std::log(now_.value(offered_[i]) / start_.value(offered_[i]));
    const double best = result_.cost - at * at / (kPrior * kPrior);
    const double worse = spreads * spreads * std::max(1.0, result_.rms_after * result_.rms_after);
    for (const double direction : {-1.0, 1.0})
      for (const double factor : kFarther) {
        const double value = beside(i, after, direction * factor * spreads);
        double& bound = direction < 0 ? interval.first : interval.second;
        const bool is_farther = direction < 0 ? value < bound : value > bound;
        if (is_farther && cost_at(i, value) - best <= worse) bound = value;
      }
    return interval;
  }

 private:
  collectives::NcclConstants with(std::span<const double> values) const {
    collectives::NcclConstants constants = start_;
    for (std::size_t i = 0; i < offered_.size(); ++i) constants.set(offered_[i], values[i]);
    return constants;
  }

  // The logarithm of predicted over measured.
  double error_of(const CalibrationRow& row, const collectives::NcclConstants& constants) const {
    return std::log(predicted_seconds(data_, row, constants) / row.seconds);
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

  // Cost of the best fit of the others with the offered constant `i` at a value.
  double cost_at(std::size_t i, double value) const {
    Column from = values_of(offered_, now_);
    from[i] = value;
    return fit_from(std::move(from), i).cost;
  }

  // From these values, of which one may be `held`.
  FitResult fit_from(Column from, std::optional<std::size_t> held = {}) const {
    FitProblem problem;
    for (const std::size_t number : offered_) problem.constants.push_back(constant(number));
    if (held) {
      problem.small_gain = kEnoughGain;  // the cost alone is of interest
      FittedConstant& c = problem.constants[*held];
      c.start = c.least = c.most = from[*held];
      c.prior = 0;
      c.scale = c.start == 0 ? kLatencyScale : 0;
    }
    problem.residuals = [this](std::span<const double> values, std::span<double> residuals) {
      const collectives::NcclConstants constants = with(values);
      for (std::size_t i = 0; i < rows_.size(); ++i) residuals[i] = error_of(rows_[i], constants) / error_;
    };
    problem.residual_count = rows_.size();
    problem.loss_scale = kOutlier;
    problem.from = std::move(from);
    return fit_constants(problem);
  }

  void take(FitResult result) {
    result_ = std::move(result);
    now_ = with(result_.values);
  }

  // Latencies times `latency`, and all rates times `rate`.
  Column scaled_start(double latency, double rate) const {
    Column values;
    for (const std::size_t number : offered_) {
      const collectives::ConstantKind kind = kind_of(number);
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

  double typical_error() const {
    std::vector<double> errors;
    for (const CalibrationRow& row : rows_) errors.push_back(std::abs(error_of(row, now_)));
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::ranges::nth_element(errors, middle);
    return *middle * kDeviations;
  }

  const CalibrationData& data_;
  std::span<const CalibrationRow> rows_;
  const collectives::NcclConstants start_;
  collectives::NcclConstants now_;
  double error_ = kFirstError;
  Numbers offered_;
  FitResult result_;
};

// Decides which constants are fitted: those that the rows tell apart.
class NcclFitter {
 public:
  NcclFitter(const CalibrationData& data, std::span<const CalibrationRow> rows, FitIntervals intervals)
      : data_(data), rows_(rows), intervals_(intervals), fit_(data, rows) {}

  NcclFit fit() {
    do {
      offer();
      fit_.approach();
    } while (give_up_exhausted());
    for (int round = 0; round < 2; ++round) fit_.refine();
    while (leave_out_dependent() || leave_out_uncertain()) fit_.go_on();
    return report();
  }

 private:
  // All constants. The file lists a base before the hops that it can stand for; on a cluster that was measured before,
  // what several nodes add is the network's. What is known already goes behind, and last what can stand for no more.
  Numbers preferred() const {
    Numbers numbers(collectives::kNcclConstants);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    std::ranges::stable_sort(numbers, {}, [&](std::size_t number) {
      const bool is_known =
          std::ranges::any_of(data_.measured, [&](const auto& known) { return known.first == number; });
      const bool is_network = collectives::nccl_constant_entries()[number].path.starts_with("hop.network.");
      if (is_in(exhausted_, number)) return 3;
      if (is_known) return 2;
      return is_network && data_.nodes > 1 && !data_.measured.empty() ? 0 : 1;
    });
    return numbers;
  }

  // A base that has shrunk to next to nothing, and a share that has come to all: it can do no more.
  bool is_exhausted(std::size_t number) const {
    const double now = fit_.now().value(number);
    if (kind_of(number) == collectives::ConstantKind::kShare) return now >= 1;
    return kind_of(number) == collectives::ConstantKind::kLatency && now < kExhausted * fit_.start().value(number);
  }

  // Replaces an exhausted constant by what it stood for. True if there is a new one.
  bool give_up_exhausted() {
    const std::size_t before = exhausted_.size();
    for (const std::size_t number : fit_.offered())
      if (is_in(stand_ins_, number) && !is_in(exhausted_, number) && is_exhausted(number)) exhausted_.push_back(number);
    return exhausted_.size() > before;
  }

  // Offers the constants that the algorithms tell apart, whichever of them is the fastest.
  void offer() {
    unfitted_.clear();
    held_.clear();
    stand_ins_.clear();
    const Numbers all = preferred();
    std::vector<Column> columns;
    for (const std::size_t number : all) columns.push_back(effect_on_algorithms(data_, rows_, fit_.start(), number));
    const ColumnChoice choice = independent_columns(columns, kSameAlgorithms);
    Numbers offered;
    for (const std::size_t column : choice.kept) offered.push_back(all[column]);
    for (const DependentColumn& left : choice.left) {
      if (left.on.empty()) continue;
      unfitted_.push_back(all[left.column]);
      for (const std::size_t column : left.on) stand_ins_.push_back(all[column]);
    }
    fit_.offer(std::move(offered));
  }

  // Constants that no row depends on, or that act as others do where the fit has come to. True if any was left out.
  bool leave_out_dependent() {
    const Numbers before = fit_.offered();
    Numbers offered = before;
    gives_way_.clear();
    for (const DependentColumn& left : independent_columns(effects_of(before), kSameRows).left) {
      const std::size_t number = before[left.column];
      if (left.on.empty() && fit_.has_moved(number)) {
        gives_way_.push_back(number);  // back at its start it would be seen, against the measurements
        continue;
      }
      unfitted_.push_back(number);
      std::erase(offered, number);
    }
    const bool any = offered.size() < before.size();
    fit_.offer(std::move(offered));
    return any;
  }

  bool leave_out_uncertain() {
    Numbers offered = fit_.offered();
    std::size_t worst = offered.size();
    double most = kUncertain;
    for (std::size_t i = 0; i < offered.size(); ++i) {
      if (is_in(gives_way_, offered[i]) || fit_.spread_of(i) <= most) continue;
      most = fit_.spread_of(i);
      worst = i;
    }
    if (worst == offered.size()) return false;
    unfitted_.push_back(offered[worst]);
    held_.push_back(offered[worst]);
    offered.erase(offered.begin() + static_cast<std::ptrdiff_t>(worst));
    fit_.offer(std::move(offered));
    return true;
  }

  // Effect of each constant at the current values.
  std::vector<Column> effects_of(const Numbers& numbers) const {
    std::vector<Column> columns;
    for (const std::size_t number : numbers) columns.push_back(effect_on_rows(data_, rows_, fit_.now(), number));
    return columns;
  }

  // Reason why a constant is not fitted at the current values: constants that seemed to act alike may belong to an
  // algorithm that no row shows.
  UnfittedNcclConstant explained(std::size_t number, std::vector<Column> effects) const {
    effects.push_back(effect_on_rows(data_, rows_, fit_.now(), number));
    const ColumnChoice choice = independent_columns(effects, kSameRows);
    if (choice.left.empty() || choice.left.back().column < fit_.offered().size())
      return {number, UnfittedReason::kUncertain, {}};
    UnfittedNcclConstant unfitted{number, UnfittedReason::kNotShown, {}};
    for (const std::size_t column : choice.left.back().on) {
      unfitted.reason = UnfittedReason::kTogether;
      unfitted.with.push_back(fit_.offered()[column]);
    }
    return unfitted;
  }

  // Factors on the standard errors of the offered constants: those that the fit holds at their start, since the rows
  // leave them too uncertain, are known only as well as a prior says. Of constants that trade off, whoever moved may
  // have moved for the other, and other rows of the same machine may let the other one move. What always acts as
  // another does is no part of it: the error is that of what they come to together. 1 where nothing is held.
  std::vector<double> growth_of_errors() const {
    const Numbers& offered = fit_.offered();
    std::vector<Column> columns = effects_of(offered);
    std::vector<std::size_t> free;
    std::vector<Column> slopes;  // derivatives, of logarithms of times by logarithms of constants
    double error = 0;            // of a row: what the fit's own spreads say
    const auto add = [&](std::size_t number, Column column) {
      const bool from_nothing = fit_.now().value(number) == 0;
      for (double& effect : column) effect /= from_nothing ? kStep : 2 * kStep;
      slopes.push_back(std::move(column));
    };
    for (std::size_t i = 0; i < offered.size(); ++i) {
      if (!std::isfinite(fit_.result().spread[i]) || is_in(gives_way_, offered[i])) continue;
      free.push_back(i);
      add(offered[i], std::move(columns[i]));
    }
    std::vector<double> growth(offered.size(), 1);
    if (free.empty()) return growth;
    const std::vector<double> alone = marginal_errors(slopes, free.size(), 1, kPrior);
    for (std::size_t i = 0; i < free.size() && error == 0; ++i)
      if (alone[i] > 0) error = fit_.result().spread[free[i]] / alone[i];
    for (const std::size_t number : held_) add(number, effect_on_rows(data_, rows_, fit_.now(), number));
    if (error == 0 || held_.empty()) return growth;
    const std::vector<double> all = marginal_errors(slopes, free.size(), error, kPrior);
    for (std::size_t i = 0; i < free.size(); ++i) growth[free[i]] = std::max(1.0, all[i] / (alone[i] * error));
    return growth;
  }

  // Errors of the offered constants, which are estimated from the rows that are left beyond them.
  double spreads_of_95_percent() const {
    return standard_errors_of_95_percent(static_cast<double>(rows_.size()) -
                                         static_cast<double>(fit_.offered().size()));
  }

  NcclFit report() const {
    const Numbers& offered = fit_.offered();
    const std::vector<double> growth = growth_of_errors();
    const std::vector<Column> effects = effects_of(offered);
    NcclFit fit;
    fit.constants = fit_.start();
    collectives::NcclConstants now = fit_.now();
    for (const std::size_t number : gives_way_) now.set(number, least_way(data_, rows_, fit_.start(), now, number));
    for (std::size_t i = 0; i < offered.size(); ++i) {
      FittedNcclConstant fitted{offered[i], fit_.start().value(offered[i])};
      fitted.after = rounded_to_digits(now.value(offered[i]), kDigits);
      fit.constants.set(offered[i], fitted.after);
      fitted.spread = fit_.spread_of(i) * growth[i];
      fitted.at_bound = fit_.result().at_bound[i];
      fitted.gives_way = is_in(gives_way_, offered[i]);
      if (!fitted.gives_way && std::isfinite(fitted.spread)) {
        const double spreads = spreads_of_95_percent();
        auto interval = fit_.interval_of(i, fitted.after, growth[i] * spreads);
        if (intervals_ == FitIntervals::kWide) interval = fit_.widened(i, fitted.after, spreads, interval);
        std::tie(fitted.low, fitted.high) = interval;
      }
      for (std::size_t row = 0; row < effects[i].size(); ++row)
        if (std::abs(effects[i][row]) > 2 * kStep * kShown) fitted.shown_by.push_back(row);
      fit.fitted.push_back(std::move(fitted));
    }
    for (const auto& [a, b] : fit_.result().correlated) fit.correlated.emplace_back(offered[a], offered[b]);
    for (const std::size_t number : unfitted_) fit.unfitted.push_back(explained(number, effects));
    std::ranges::sort(fit.fitted, {}, &FittedNcclConstant::number);
    std::ranges::sort(fit.unfitted, {}, &UnfittedNcclConstant::number);
    return fit;
  }

  const CalibrationData& data_;
  std::span<const CalibrationRow> rows_;
  const FitIntervals intervals_;
  ConstantFit fit_;
  Numbers gives_way_;  // of the offered ones
  Numbers stand_ins_;  // of these too: each moves for others that act as it does
  Numbers exhausted_;
  Numbers unfitted_;
  Numbers held_;  // of these, those that the rows leave too uncertain
};

}  // namespace

NcclFit fit_nccl_constants(const CalibrationData& data, std::span<const CalibrationRow> rows, FitIntervals intervals) {
  ORRERY_ASSERT(!rows.empty());
  return NcclFitter(data, rows, intervals).fit();
}

}  // namespace orrery::study
