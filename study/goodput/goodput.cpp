// SPDX-License-Identifier: MIT
#include "study/goodput/goodput.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/hash.h"
#include "core/quantile.h"

namespace orrery::study {
namespace {

constexpr double kMicro = 1e6;  // microseconds of a second: simulated times are whole numbers of them
constexpr double kMostDraws = 2e7;
constexpr double kMostRuns = 1000, kLeastRuns = 30;

// Times to failure of one run, in microseconds.
class Lifetimes {
 public:
  Lifetimes(double mtbf, std::uint64_t seed, std::uint64_t run) : mtbf_(mtbf * kMicro), seed_(seed), run_(run) {}

  std::int64_t next() {
    const double uniform = static_cast<double>((hash_of({seed_, run_, drawn_++}) >> 11) + 1) * 0x1p-53;  // (0, 1]
    constexpr double kMost = 4e18;  // within 63 bits, and longer than any run
    return std::llround(std::min(-mtbf_ * std::log(uniform), kMost));
  }
  std::uint64_t drawn() const { return drawn_; }

 private:
  double mtbf_;
  std::uint64_t seed_, run_;
  std::uint64_t drawn_ = 0;
};

// Work between failures, in microseconds: `count` segments of an interval and its checkpoint, and one that may be
// shorter.
struct Segments {
  std::int64_t each = 1;
  std::int64_t count = 0;
  std::int64_t last = 0;
};

Segments segments_of(const FailureModel& model, const Intervals& intervals) {
  const auto length = [&](double work) {
    return std::max<std::int64_t>(1, std::llround((work + model.write) * kMicro));
  };
  return {length(intervals.work), intervals.whole, intervals.rest ? length(*intervals.rest) : 0};
}

// Simulated time of one run. Segments until the next failure are counted, not gone through.
std::int64_t time_of_run(Segments left, std::int64_t restart, Lifetimes& lifetimes) {
  std::int64_t time = 0;
  for (std::int64_t life = lifetimes.next();;) {
    const std::int64_t done = std::min(life / left.each, left.count);
    left.count -= done;
    if (left.count == 0 && life - done * left.each >= left.last) return time + done * left.each + left.last;
    time += life;
    for (life = lifetimes.next(); life < restart; life = lifetimes.next()) time += life;
    time += restart;
    life -= restart;
  }
}

double percentile(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  return static_cast<double>(sorted[place_of_percentile(percent, sorted.size())]) / kMicro;
}

}  // namespace

double FailureModel::expected(double work) const {
  return mtbf * std::exp(restart / mtbf) * std::expm1((work + write) / mtbf);
}

double FailureModel::expected(const Intervals& intervals) const {
  return static_cast<double>(intervals.whole) * expected(intervals.work) +
         (intervals.rest ? expected(*intervals.rest) : 0);
}

double FailureModel::best_work() const {
  if (write <= 0) return 0;
  double low = 0, high = mtbf;  // the left side falls from e^(d/M) > 1 to 0
  for (int halvings = 0; halvings < 200; ++halvings) {
    const double work = (low + high) / 2;
    ((1 - work / mtbf) * std::exp((work + write) / mtbf) > 1 ? low : high) = work;
  }
  return (low + high) / 2;
}

double FailureModel::young() const { return std::sqrt(2 * write * mtbf); }

double FailureModel::daly() const {
  if (write >= 2 * mtbf) return mtbf;
  const double ratio = write / (2 * mtbf);
  return young() * (1 + std::sqrt(ratio) / 3 + ratio / 9) - write;
}

Intervals intervals_of(std::int64_t iterations, double iteration, std::int64_t every) {
  Intervals intervals{static_cast<double>(every) * iteration, iterations / every};
  if (const std::int64_t rest = iterations % every; rest > 0) intervals.rest = static_cast<double>(rest) * iteration;
  return intervals;
}

std::int64_t best_iterations(const FailureModel& model, double iteration, std::int64_t iterations) {
  // 1. Of endless work.
  const double most = static_cast<double>(iterations);
  const auto below = static_cast<std::int64_t>(std::clamp(model.best_work() / iteration, 1.0, most));
  const auto endless = [&](std::int64_t count) { return model.goodput(static_cast<double>(count) * iteration); };
  std::int64_t best = below < iterations && endless(below + 1) > endless(below) ? below + 1 : below;
  // 2. A short rest costs a checkpoint as well: as many parts, or one fewer, that are alike.
  const auto goodput = [&](std::int64_t every) { return model.goodput(intervals_of(iterations, iteration, every)); };
  const std::int64_t parts = iterations / best;
  for (const std::int64_t count : {parts, parts + 1}) {
    const std::int64_t every = iterations / count + (iterations % count > 0 ? 1 : 0);
    if (goodput(every) > goodput(best)) best = every;
  }
  return best;
}

std::optional<SimulatedRuns> simulate_runs(const FailureModel& model, const Intervals& intervals, std::uint64_t seed) {
  const double expected = model.expected(intervals);
  constexpr double kMostSeconds = 1e12;  // microseconds of all stay within 63 bits, whatever is drawn
  if (!(expected < kMostSeconds)) return std::nullopt;
  const double runs = std::min(kMostRuns, std::floor(kMostDraws / (expected / model.mtbf + 1)));
  if (runs < kLeastRuns) return std::nullopt;
  const Segments segments = segments_of(model, intervals);
  const std::int64_t restart = std::llround(model.restart * kMicro);
  SimulatedRuns simulated;
  std::vector<std::int64_t> times;
  double draws = 0;
  for (std::uint64_t run = 0; run < static_cast<std::uint64_t>(runs); ++run) {
    Lifetimes lifetimes(model.mtbf, seed, run);
    times.push_back(time_of_run(segments, restart, lifetimes));
    draws += static_cast<double>(lifetimes.drawn() - 1);
  }
  std::ranges::sort(times);
  simulated.runs = times.size();
  for (const std::int64_t time : times) simulated.mean += static_cast<double>(time) / kMicro / runs;
  double squares = 0;
  for (const std::int64_t time : times) squares += std::pow(static_cast<double>(time) / kMicro - simulated.mean, 2);
  simulated.error = std::sqrt(squares / (runs - 1) / runs);
  simulated.median = percentile(times, 50);
  simulated.p90 = percentile(times, 90);
  simulated.p99 = percentile(times, 99);
  simulated.failures = draws / runs;
  return simulated;
}

}  // namespace orrery::study
