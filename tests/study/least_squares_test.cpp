// SPDX-License-Identifier: MIT
// Fitting constants of models whose constants are known.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "study/fit/least_squares.h"
#include "tests/scatter.h"

using namespace orrery;
using namespace orrery::study;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The faster of two protocols over a number of hops: alpha + n * hop + bytes / bandwidth.
struct Message {
  double hops;
  double bytes;
};

const std::vector<double> kProtocols = {5e-6, 0.4e-6, 60e9, 14e-6, 1.1e-6, 230e9};
const std::array kNames = {"LL alpha", "LL hop", "LL bandwidth", "Simple alpha", "Simple hop", "Simple bandwidth"};

double protocol_time(std::span<const double> constants, Message message) {
  return constants[0] + message.hops * constants[1] + message.bytes / constants[2];
}

double time_of(std::span<const double> constants, Message message) {
  return std::min(protocol_time(constants, message), protocol_time(constants.subspan(3), message));
}

std::vector<Message> messages() {
  std::vector<Message> result;
  for (const double hops : {1.0, 2.0, 7.0, 15.0})
    for (int power = 3; power <= 30; ++power) result.push_back({hops, std::exp2(power)});
  return result;
}

FitProblem protocols_from(const std::vector<double>& start, std::vector<double> measured) {
  FitProblem problem;
  for (std::size_t i = 0; i < start.size(); ++i) problem.constants.push_back({kNames[i], start[i]});
  problem.residual_count = measured.size();
  problem.residuals = [measured = std::move(measured), rows = messages()](std::span<const double> values,
                                                                          std::span<double> residuals) {
    for (std::size_t i = 0; i < rows.size(); ++i) residuals[i] = std::log(time_of(values, rows[i]) / measured[i]);
  };
  return problem;
}

std::vector<double> exact_times() {
  std::vector<double> times;
  for (const Message& message : messages()) times.push_back(time_of(kProtocols, message));
  return times;
}

// Every constant wrong by 25 %, upwards where the bit of `signs` is set.
std::vector<double> perturbed(unsigned signs) {
  std::vector<double> start = kProtocols;
  for (std::size_t i = 0; i < start.size(); ++i) start[i] *= (signs >> i & 1u) != 0 ? 1.25 : 1 / 1.25;
  return start;
}

using Residuals = std::function<void(std::span<const double>, std::span<double>)>;

FitResult fit(std::vector<FittedConstant> constants, std::size_t count, Residuals residuals, double loss_scale = 0) {
  return fit_constants({std::move(constants), std::move(residuals), count, loss_scale});
}

}  // namespace

TEST_CASE("constants of two protocols come back from any start that is 25 % off") {
  for (unsigned signs = 0; signs < 64; ++signs) {
    INFO("signs " << signs);
    const FitResult result = fit_constants(protocols_from(perturbed(signs), exact_times()));
    for (std::size_t i = 0; i < kProtocols.size(); ++i) {
      INFO(kNames[i] << " after " << result.iterations << " iterations");
      CHECK(std::abs(result.values[i] / kProtocols[i] - 1) < 1e-6);
      CHECK(result.determined[i]);
      CHECK(result.spread[i] < 1e-6);  // nothing is left to err by
    }
    CHECK(result.rms_before > 0.1);
    CHECK(result.rms_after < 1e-7);
  }
}

TEST_CASE("a constant that changes nothing is named and left alone") {
  const FitResult result =
      fit({{"used", 1}, {"unused", 7}}, 3, [](std::span<const double> values, std::span<double> residuals) {
        for (std::size_t i = 0; i < 3; ++i) residuals[i] = values[0] - 2 + 0.1 * (static_cast<double>(i) - 1);
      });
  CHECK(result.values[0] == Approx(2).epsilon(1e-9));
  CHECK(result.values[1] == 7);
  CHECK((result.determined[0] && !result.determined[1]));
  CHECK(std::isfinite(result.spread[0]));
  CHECK(result.spread[1] == kInfinity);
  CHECK(result.correlated.empty());
}

TEST_CASE("of two constants that appear only as a product, only the product is fitted") {
  const FitResult result =
      fit({{"links", 1}, {"rate", 2}, {"latency", 1}}, 9, [](std::span<const double> values, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i) {
          const double bytes = std::exp2(static_cast<double>(i));
          out[i] = std::log((values[2] + bytes / (values[0] * values[1])) / (3 + bytes / 8));
        }
      });
  // The product grows from 2 to 8; both matter alike, so that each takes half of it in logarithms: a factor of 2.
  CHECK(result.values[0] == Approx(2).epsilon(1e-6));
  CHECK(result.values[1] == Approx(4).epsilon(1e-6));
  CHECK(result.values[2] == Approx(3).epsilon(1e-6));
  CHECK(result.determined == std::vector<bool>{false, false, true});
  CHECK((result.spread[0] == kInfinity && result.spread[1] == kInfinity && std::isfinite(result.spread[2])));
  REQUIRE(result.correlated.size() == 1);
  CHECK(result.correlated[0] == std::pair<std::size_t, std::size_t>(0, 1));
}

TEST_CASE("constants whose errors go together are named, but determined") {
  // A line through points at x = 100, 101, 102: intercept and slope correlate by -mean(x) / rms(x), about -0.99997.
  const FitResult result =
      fit({{"intercept", 1}, {"slope", 1}}, 3, [](std::span<const double> values, std::span<double> residuals) {
        for (std::size_t i = 0; i < 3; ++i) {
          const double x = 100 + static_cast<double>(i);
          residuals[i] = values[0] + values[1] * x - (3 + 2 * x);
        }
      });
  CHECK(result.values[0] == Approx(3).epsilon(1e-6));
  CHECK(result.values[1] == Approx(2).epsilon(1e-6));
  CHECK(result.determined == std::vector<bool>{true, true});
  CHECK(result.correlated.size() == 1);
}

TEST_CASE("outliers do not move a fit with soft-L1") {
  std::vector<double> measured = exact_times();
  for (std::size_t i = 5; i < measured.size(); i += 10) measured[i] *= 3;
  FitProblem problem = protocols_from(perturbed(0b010110), measured);
  const auto worst = [](const FitResult& result) {
    double farthest = 0;
    for (std::size_t i = 0; i < kProtocols.size(); ++i)
      farthest = std::max(farthest, std::abs(result.values[i] / kProtocols[i] - 1));
    return farthest;
  };
  // Plain squares go 1/10 of log 3 = 0.11 upwards. An outlier pulls with the scale at most, against 9 that pull back
  // with their distance: about 0.001 / 9 from one constant for all, of which the least determined gets some times more.
  CHECK(worst(fit_constants(problem)) > 0.05);
  problem.loss_scale = 0.001;
  CHECK(worst(fit_constants(problem)) < 0.001);
}

TEST_CASE("a constant stops at its bound, and the others fit what it leaves") {
  // Residuals v - 10 and (v + w) - 15: with v held to 8, w = 7.
  const Residuals residuals = [](std::span<const double> values, std::span<double> out) {
    out[0] = values[0] - 10;
    out[1] = values[0] + values[1] - 15;
  };
  const FitResult above = fit({{"v", 2, 1, 8}, {"w", 1}}, 2, residuals);
  CHECK(above.values[0] == 8);
  CHECK(above.values[1] == Approx(7).epsilon(1e-9));
  CHECK((above.at_bound[0] && !above.at_bound[1]));
  // v held to 12 or more: w = 3.
  const FitResult below = fit({{"v", 20, 12, 30}, {"w", 1}}, 2, residuals);
  CHECK(below.values[0] == 12);
  CHECK(below.values[1] == Approx(3).epsilon(1e-9));
  // Not in the way of the best values, bounds change nothing.
  const FitResult inside = fit({{"v", 2, 1, 30}, {"w", 1, 0.5, 30}}, 2, residuals);
  CHECK(inside.values[0] == Approx(10).epsilon(1e-9));
  CHECK(inside.values[1] == Approx(5).epsilon(1e-9));
  CHECK((!inside.at_bound[0] && !inside.at_bound[1]));
  const FitResult held = fit({{"v", 2, 2, 2}, {"w", 1}}, 2, residuals);
  CHECK(held.values[0] == 2);
  CHECK(held.values[1] == Approx(13).epsilon(1e-9));
  CHECK_FALSE(held.determined[0]);
}

TEST_CASE("a prior weighs as much as a measurement") {
  // One measurement of 4 and a prior of 1, both 10 % wide: halfway in logarithms. Twice as wide a prior: 4/5 of the
  // way.
  const Residuals residuals = [](std::span<const double> values, std::span<double> out) {
    out[0] = std::log(values[0] / 4) / 0.1;
  };
  CHECK(fit({{"v", 1, 0, kInfinity, 0.1}}, 1, residuals).values[0] == Approx(2).epsilon(1e-6));
  CHECK(fit({{"v", 1, 0, kInfinity, 0.2}}, 1, residuals).values[0] == Approx(std::pow(4, 0.8)).epsilon(1e-6));
  // What a prior alone holds, the data do not determine.
  const FitResult unused = fit({{"v", 1, 0, kInfinity, 0.1}, {"u", 3, 0, kInfinity, 0.1}}, 1, residuals);
  CHECK(unused.values[1] == 3);
  CHECK_FALSE(unused.determined[1]);
}

TEST_CASE("the spread of a mean is its standard error") {
  // 2, 4, 6, 8 have the mean 5 and the deviations -3, -1, 1, 3: variance 20 / 3, of the mean 20 / 3 / 4 = 5 / 3.
  const Residuals residuals = [](std::span<const double> values, std::span<double> out) {
    for (std::size_t i = 0; i < 4; ++i) out[i] = values[0] - 2 * static_cast<double>(i + 1);
  };
  const FitResult relative = fit({{"mean", 1}}, 4, residuals);
  CHECK(relative.values[0] == Approx(5).epsilon(1e-9));
  CHECK(relative.spread[0] == Approx(std::sqrt(5.0 / 3) / 5).epsilon(1e-5));  // of a derivative by differences
  CHECK(relative.rms_before == Approx(std::sqrt((1 + 9 + 25 + 49) / 4.0)));
  CHECK(relative.rms_after == Approx(std::sqrt(5.0)));
  // From 0 it is fitted in multiples of its scale.
  const FitResult linear = fit({{"mean", 0, -100, 100, 0, 0.5}}, 4, residuals);
  CHECK(linear.values[0] == Approx(5).epsilon(1e-9));
  CHECK(linear.spread[0] == Approx(std::sqrt(5.0 / 3) / 0.5).epsilon(1e-5));
}

TEST_CASE("standard errors are how far fits of other measurements scatter, of constants that trade off and of others") {
  // Lines through 24 points whose errors are 3 % of a normal distribution: x around 0 tells intercept and slope apart;
  // around 3 they correlate by -0.98, around 30 by -0.9998. Both losses; one that lets go of outliers scatters more.
  constexpr std::size_t kRows = 24, kDraws = 400;
  constexpr double kError = 0.03;
  for (const double middle : {0.0, 3.0, 30.0})
    for (const double loss_scale : {0.0, 2.0}) {
      INFO("middle " << middle << ", loss " << loss_scale);
      std::uint64_t random = 7;
      std::array<std::vector<double>, 2> values, errors;
      for (std::size_t draw = 0; draw < kDraws; ++draw) {
        std::vector<double> x, y;
        for (std::size_t i = 0; i < kRows; ++i) {
          x.push_back(middle + 2 * static_cast<double>(i) / (kRows - 1) - 1);
          y.push_back(4 + 2 * x.back() + kError * testing::standard_normal(random));
        }
        const Residuals residuals = [&](std::span<const double> line, std::span<double> out) {
          for (std::size_t i = 0; i < kRows; ++i) out[i] = (line[0] + line[1] * x[i] - y[i]) / kError;
        };
        const FitResult result = fit({{"intercept", 3}, {"slope", 1}}, kRows, residuals, loss_scale);
        for (std::size_t k = 0; k < 2; ++k) {
          values[k].push_back(result.values[k]);
          errors[k].push_back(result.spread[k] * result.values[k]);
        }
      }
      // The deviation of 400 draws is itself known to 1 / sqrt(800), 3.5 %.
      for (std::size_t k = 0; k < 2; ++k)
        CHECK(testing::mean_of(errors[k]) / testing::deviation_of(values[k]) == Approx(1).margin(0.07));
    }
}

TEST_CASE("one measurement determines a constant, but not its error") {
  const FitResult result =
      fit({{"v", 1}}, 1, [](std::span<const double> values, std::span<double> out) { out[0] = values[0] - 3; });
  CHECK(result.values[0] == Approx(3).epsilon(1e-9));
  CHECK(result.determined[0]);
  CHECK(result.spread[0] == kInfinity);
}

TEST_CASE("a constant that loses its effect goes back to its start unless that is worse") {
  // `detour` matters only while `way` is below 1.5, and is pulled along by the first steps.
  const FitResult back =
      fit({{"way", 0.5}, {"detour", 1}}, 2, [](std::span<const double> values, std::span<double> out) {
        out[0] = values[0] - 2;
        out[1] = values[0] < 1.5 ? values[1] - 1.4 : 0;
      });
  CHECK(back.values[0] == Approx(2).epsilon(1e-9));
  CHECK(back.values[1] == 1);
  CHECK_FALSE(back.determined[1]);
  const FitResult stays = fit({{"v", 1}}, 1, [](std::span<const double> values, std::span<double> out) {
    out[0] = std::max(0.0, 2 - values[0]);
  });
  CHECK(stays.values[0] >= 2);
  CHECK(stays.rms_after == 0);
  CHECK_FALSE(stays.determined[0]);
}

TEST_CASE("an algorithm that starts too slow to be the fastest anywhere is found") {
  // The faster of 1 + bytes and 10 + bytes / 10, over 1 to 64 bytes. From 70 on the second is never the faster
  // one: 76.4 against 65 at 64 bytes.
  const FitResult result =
      fit({{"first", 1.2}, {"second", 70}}, 64, [](std::span<const double> values, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i) {
          const auto bytes = static_cast<double>(i + 1);
          const double measured = std::min(1 + bytes, 10 + bytes / 10);
          out[i] = std::log(std::min(values[0] + bytes, values[1] + bytes / 10) / measured);
        }
      });
  CHECK(result.values[0] == Approx(1).epsilon(1e-6));
  CHECK(result.values[1] == Approx(10).epsilon(1e-6));
  CHECK(result.determined == std::vector<bool>{true, true});
}

TEST_CASE("values without an answer are gone around") {
  const Residuals residuals = [](std::span<const double> values, std::span<double> out) {
    out[0] = values[0] > 2 ? kNaN : values[0] - 3;
  };
  const FitResult result = fit({{"v", 1}}, 1, residuals);
  // The best that has an answer is 2; the last steps that get nearer are shorter than what a derivative looks at.
  CHECK(result.values[0] <= 2);
  CHECK(result.values[0] > 1.9);
}

TEST_CASE("what cannot be fitted is an error") {
  const auto answer = [](double number) {
    return [number](std::span<const double>, std::span<double> out) { std::ranges::fill(out, number); };
  };
  CHECK_THROWS_WITH(fit({{"v", 1}}, 0, answer(1)), Catch::Contains("no measurements"));
  CHECK_THROWS_WITH(fit({{"v", 1}}, 2, answer(kNaN)), Catch::Contains("no answer"));
  CHECK_THROWS_AS(fit({{"v", 1}}, 2, answer(kInfinity)), InputError);
  const Residuals narrow = [](std::span<const double> values, std::span<double> out) {
    out[0] = values[0] == 1 ? 1 : kNaN;
  };
  CHECK_THROWS_WITH(fit({{"v", 1}}, 1, narrow), Catch::Contains("'v' beside 1"));
}

TEST_CASE("without constants, or with nothing to gain, a fit is its start") {
  const FitResult none = fit({}, 2, [](std::span<const double>, std::span<double> out) { out[0] = out[1] = 3; });
  CHECK((none.values.empty() && none.rms_before == 3 && none.rms_after == 3));
  const FitResult best = fit_constants(protocols_from(kProtocols, exact_times()));
  CHECK(best.values == kProtocols);
}

TEST_CASE("where a fit begins decides which of several minima it finds, and not what it is compared with") {
  // |log(v)| = log 4: minima at 1/4 and at 4, alike but for the side.
  FitProblem problem;
  problem.constants = {{"v", 2}};
  problem.residual_count = 1;
  problem.residuals = [](std::span<const double> values, std::span<double> out) {
    out[0] = std::abs(std::log(values[0])) - std::log(4.0);
  };
  CHECK(fit_constants(problem).values[0] == Approx(4));
  problem.from = {0.5};
  const FitResult other = fit_constants(problem);
  CHECK(other.values[0] == Approx(0.25));
  CHECK(other.rms_before == Approx(std::log(2.0)));  // at the start, 2
}

TEST_CASE("the same fit twice gives the same bits") {
  std::vector<double> measured = exact_times();
  for (std::size_t i = 0; i < measured.size(); ++i) measured[i] *= 1 + 0.05 * std::sin(static_cast<double>(i * i));
  FitProblem problem = protocols_from(perturbed(0b101001), measured);
  problem.loss_scale = 0.02;
  const FitResult first = fit_constants(problem), second = fit_constants(problem);
  CHECK(first.values == second.values);
  CHECK(first.spread == second.spread);
  CHECK(first.iterations == second.iterations);
  CHECK(first.rms_after == second.rms_after);
  CHECK(first.rms_after < first.rms_before);
}
