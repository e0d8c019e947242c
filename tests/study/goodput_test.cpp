// SPDX-License-Identifier: MIT
// Goodput under failures: the closed form against what it follows from, and against simulated runs.
#include <catch2/catch.hpp>
#include <cmath>

#include "study/goodput/goodput.h"

using namespace orrery::study;

namespace {

constexpr double kHour = 3600;

// Llama 3 on 16,384 GPUs: 419 unexpected interruptions in 54 days (arXiv 2407.21783, section 3.3.4).
const FailureModel kOften{54 * 24 * kHour / 419, 60, 600};

// E by its definition: an attempt of `work` and a checkpoint ends with probability e^(-L/M); each that does not takes
// the mean of a lifetime below L, and a restart, whose own attempts take E of R without a checkpoint behind.
double expected_by_attempts(const FailureModel& model, double work) {
  const auto attempts = [&](double length, double again) {
    if (length == 0) return 0.0;
    const double fails = -std::expm1(-length / model.mtbf);
    const double lifetime = model.mtbf - length / std::expm1(length / model.mtbf);  // given that it is below `length`
    return length + fails / (1 - fails) * (lifetime + again);
  };
  const double restart = attempts(model.restart, 0);
  return attempts(work + model.write, restart);
}

}  // namespace

TEST_CASE("the closed form is the mean over attempts") {
  for (const double work : {60.0, 600.0, 1800.0, 7200.0})
    for (const FailureModel& model : {kOften, FailureModel{kHour, 300, 1800}, FailureModel{100 * kHour, 1, 0}})
      CHECK(model.expected(work) == Approx(expected_by_attempts(model, work)).epsilon(1e-9));
}

TEST_CASE("without failures, goodput is what checkpoints leave") {
  const FailureModel model{1e12, 60, 600};
  CHECK(model.goodput(540) == Approx(0.9).epsilon(1e-6));
}

TEST_CASE("no interval is better than the best") {
  for (const FailureModel& model : {kOften, FailureModel{kHour, 300, 1800}, FailureModel{1000 * kHour, 10, 100}}) {
    const double best = model.best_work();
    CHECK((1 - best / model.mtbf) * std::exp((best + model.write) / model.mtbf) == Approx(1).epsilon(1e-9));
    for (const double factor : {0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 10.0})
      CHECK(model.goodput(factor * best) < model.goodput(best));
  }
}

TEST_CASE("a training is cut into whole intervals and what is left") {
  const Intervals cut = intervals_of(1000, 0.5, 300);
  CHECK(cut.whole == 3);
  CHECK(cut.work == 150);
  CHECK(cut.rest == 50);
  CHECK(cut.checkpoints() == 4);
  CHECK(cut.total() == 500);
  const Intervals even = intervals_of(900, 0.5, 300);
  CHECK_FALSE(even.rest);
  CHECK(even.checkpoints() == 3);
  CHECK(kOften.expected(cut) == Approx(3 * kOften.expected(150) + kOften.expected(50)).epsilon(1e-12));
  CHECK(kOften.expected(even) == Approx(3 * kOften.expected(150)).epsilon(1e-12));
}

TEST_CASE("the best number of iterations is the best of all") {
  const double iteration = 40;
  for (const std::int64_t iterations : {1, 2, 17, 30, 50, 100, 1000, 10'000, 1'000'000}) {
    const std::int64_t best = best_iterations(kOften, iteration, iterations);
    CHECK(best >= 1);
    CHECK(best <= iterations);
    const double expected = kOften.expected(intervals_of(iterations, iteration, best));
    // Of equal parts, whole iterations or not, none is better; a rest that is shorter costs a checkpoint at most, which
    // the attempts that it takes make a little longer.
    for (std::int64_t parts = 1; parts < 2000 && parts <= iterations; ++parts) {
      const double length = static_cast<double>(iterations) * iteration / static_cast<double>(parts);
      CHECK(expected <= static_cast<double>(parts) * kOften.expected(length) + kOften.expected(0));
    }
    for (std::int64_t every = 1; every <= iterations && every < 4 * best; ++every)
      CHECK(expected <= kOften.expected(intervals_of(iterations, iteration, every)) + kOften.expected(0));
  }
  CHECK(best_iterations({kHour, 0, 600}, iteration, 1000) == 1);  // checkpoints cost nothing
  CHECK(best_iterations({kHour, 60, 600}, 1e6, 1000) == 1);       // an iteration is longer than any interval
  // The best interval of endless work is 1.3 times the training: one checkpoint, at its end.
  const FailureModel seldom{1e6, 60, 600};
  CHECK(best_iterations(seldom, 1, static_cast<std::int64_t>(seldom.best_work() / 1.3)) ==
        static_cast<std::int64_t>(seldom.best_work() / 1.3));
  // And 1 / 1.1 of it: two checkpoints cost more than what is lost of an interval a tenth longer.
  const auto longer = static_cast<std::int64_t>(seldom.best_work() * 1.1);
  CHECK(best_iterations(seldom, 1, longer) == longer);
}

TEST_CASE("Daly's formula and Young's are near the best interval where checkpoints are short") {
  // Both are expansions in sqrt(d / 2M): 1e-3 here, so that Young is off by d, of sqrt(2 d M) = 2000 d, and Daly by
  // less.
  const FailureModel model{1e6, 2, 600};
  CHECK(model.daly() == Approx(model.best_work()).epsilon(1e-6));
  CHECK(model.young() == Approx(model.best_work()).epsilon(1e-3));
  CHECK(std::abs(model.daly() - model.best_work()) < std::abs(model.young() - model.best_work()));
  CHECK(FailureModel{100, 500, 1}.daly() == 100);  // M where checkpoints take longer than that
}

TEST_CASE("simulated runs take the time of the closed form") {
  // Four standard errors: one case in 16,000 of draws that are as they should be lies outside, and draws are always
  // the same.
  for (const FailureModel& model : {kOften, FailureModel{kHour, 300, 1800}, FailureModel{20 * kHour, 30, 0}})
    for (const Intervals& work :
         {Intervals{600, 500}, Intervals{3600, 500}, Intervals{3600, 20, 900}, Intervals{9000, 1, 10}}) {
      const auto simulated = simulate_runs(model, work);
      REQUIRE(simulated);
      CHECK(simulated->runs == 1000);
      CHECK(std::abs(simulated->mean - model.expected(work)) < 4 * simulated->error);
      CHECK(simulated->error < 0.1 * simulated->mean);
      CHECK(simulated->median <= simulated->p90);
      CHECK(simulated->p90 <= simulated->p99);
      // Failures come at a rate of 1 / M all the time; the variance of their number is that number.
      const double failures = simulated->mean / model.mtbf;
      CHECK(std::abs(simulated->failures - failures) < 4 * std::sqrt(failures / 1000));
      CHECK(simulate_runs(model, work)->mean == simulated->mean);
      CHECK(simulate_runs(model, work, 2)->mean != simulated->mean);
    }
}

TEST_CASE("runs that hardly ever end are not simulated") {
  const FailureModel model{60, 10, 10};
  CHECK_FALSE(simulate_runs(model, {3600, 1000}));  // e^60 attempts a segment
  CHECK(std::isinf(model.expected(1e6)));
  CHECK(model.goodput(1e6) == 0);
}
