// SPDX-License-Identifier: MIT
// Goodput: the share of its time that a job keeps when its hardware fails now and then; it writes checkpoints and goes
// back to the last one. Failures are independent and come at a constant rate 1 / M. Between checkpoints the job works
// for a time w, and a checkpoint takes d; after each failure a restart takes R, and it may fail as well. Then w of work
// takes, on average,
//
//   E(w) = M e^(R/M) (e^((w+d)/M) - 1)
//
// (J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future Generation Computer
// Systems 22, 2006), and the goodput is w / E(w).
#pragma once

#include <cstdint>
#include <optional>

namespace orrery::study {

// Work that is cut by checkpoints: whole intervals, at least one, and what is left of it. A checkpoint follows each,
// also the last: what has been trained is kept.
struct Intervals {
  double work = 0;  // seconds, of a whole one
  std::int64_t whole = 0;
  std::optional<double> rest{};  // seconds

  std::int64_t checkpoints() const { return whole + (rest ? 1 : 0); }
  double total() const { return work * static_cast<double>(whole) + rest.value_or(0); }
};

// In seconds.
struct FailureModel {
  double mtbf = 0;     // of the job: M
  double write = 0;    // of a checkpoint: d
  double restart = 0;  // R

  // Mean time that `work` and the checkpoint behind it take, failures included; infinite where it is beyond numbers.
  double expected(double work) const;
  double goodput(double work) const { return work / expected(work); }
  double expected(const Intervals& intervals) const;
  double goodput(const Intervals& intervals) const { return intervals.total() / expected(intervals); }
  // The work between checkpoints with the best goodput: (1 - w/M) e^((w+d)/M) = 1. Zero where checkpoints cost nothing.
  double best_work() const;
  // Two approximations of it: sqrt(2 d M) (J. W. Young, A first order approximation to the optimum checkpoint interval,
  // Communications of the ACM 17, 1974), and Daly's of higher order.
  double young() const;
  double daly() const;
};

// A training of `iterations`, of so many seconds each, with a checkpoint behind every `every` of them.
Intervals intervals_of(std::int64_t iterations, double iteration, std::int64_t every);

// Number of whole iterations between checkpoints with the best goodput, from 1 to all of a training: the best of
// endless work, or one that cuts the training into as many equal parts.
std::int64_t best_iterations(const FailureModel& model, double iteration, std::int64_t iterations);

// Runs with failures drawn from a hash of the seed, the run and the failure's number: the same on every machine.
struct SimulatedRuns {
  std::size_t runs = 0;
  double mean = 0;    // seconds of a run
  double error = 0;   // standard error of the mean
  double median = 0;  // of the runs
  double p90 = 0;
  double p99 = 0;
  double failures = 0;  // of a run, mean
};

// Simulates as many runs as soon finish, at most 1,000; empty if those are fewer than 30.
std::optional<SimulatedRuns> simulate_runs(const FailureModel& model, const Intervals& intervals,
                                           std::uint64_t seed = 1);

}  // namespace orrery::study
