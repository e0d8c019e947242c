// SPDX-License-Identifier: MIT
#include "study/goodput/goodput.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/hash.h"

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
    return std::llround(-mtbf_ * std::log(uniform));
  }
  std::uint64_t drawn() const { return drawn_; }

 private:
  double mtbf_;
  std::uint64_t seed_, run_;
  std::uint64_t drawn_ = 0;
};

// Of one run. Segments until the next failure are counted, not gone through.
std::int64_t time_of_run(std::int64_t segment, std::int64_t segments, std::int64_t restart, Lifetimes& lifetimes) {
  std::int64_t time = 0;
  for (std::int64_t life = lifetimes.next();;) {
    const std::int64_t done = life / segment;
    if (done >= segments) return time + segments * segment;
    segments -= done;
    time += life;
    for (life = lifetimes.next(); life < restart; life = lifetimes.next()) time += life;
    time += restart;
    life -= restart;
  }
}

double percentile(const std::vector<std::int64_t>& sorted, double share) {
  const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return static_cast<double>(sorted[std::max<std::size_t>(at, 1) - 1]) / kMicro;
}

}  // namespace

double FailureModel::expected(double work) const {
  return mtbf * std::exp(restart / mtbf) * std::expm1((work + write) / mtbf);
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

std::int64_t best_iterations(const FailureModel& model, double iteration) {
  const auto below = std::max<std::int64_t>(1, static_cast<std::int64_t>(model.best_work() / iteration));
  const auto goodput = [&](std::int64_t count) { return model.goodput(static_cast<double>(count) * iteration); };
  return goodput(below + 1) > goodput(below) ? below + 1 : below;
}

std::optional<SimulatedRuns> simulate_runs(const FailureModel& model, double work, std::int64_t segments,
                                           std::uint64_t seed) {
  const double expected = model.expected(work) * static_cast<double>(segments);
  constexpr double kMostSeconds = 1e12;  // microseconds of all stay within 63 bits, whatever is drawn
  if (!(expected < kMostSeconds)) return std::nullopt;
  const double runs = std::min(kMostRuns, std::floor(kMostDraws / (expected / model.mtbf + 1)));
  if (runs < kLeastRuns) return std::nullopt;
  const auto segment = std::max<std::int64_t>(1, std::llround((work + model.write) * kMicro));
  const std::int64_t restart = std::llround(model.restart * kMicro);
  SimulatedRuns simulated;
  std::vector<std::int64_t> times;
  double draws = 0;
  for (std::uint64_t run = 0; run < static_cast<std::uint64_t>(runs); ++run) {
    Lifetimes lifetimes(model.mtbf, seed, run);
    times.push_back(time_of_run(segment, segments, restart, lifetimes));
    draws += static_cast<double>(lifetimes.drawn() - 1);
  }
  std::ranges::sort(times);
  simulated.runs = times.size();
  for (const std::int64_t time : times) simulated.mean += static_cast<double>(time) / kMicro / runs;
  double squares = 0;
  for (const std::int64_t time : times) squares += std::pow(static_cast<double>(time) / kMicro - simulated.mean, 2);
  simulated.error = std::sqrt(squares / (runs - 1) / runs);
  simulated.median = percentile(times, 0.5);
  simulated.p90 = percentile(times, 0.9);
  simulated.p99 = percentile(times, 0.99);
  simulated.failures = draws / runs;
  return simulated;
}

}  // namespace orrery::study
