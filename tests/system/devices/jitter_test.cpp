// SPDX-License-Identifier: MIT
// The noise that is drawn for computations: the same everywhere, of mean 1 and the spread that was asked for.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "system/devices/perturbation.h"

using namespace orrery;
using namespace orrery::system;

namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
};

// Of the factors less one, by unit or by number.
Moments moments_of(const Jitter& jitter, std::uint64_t units, std::uint64_t numbers) {
  double sum = 0, squares = 0;
  for (std::uint64_t unit = 0; unit < units; ++unit)
    for (std::uint64_t number = 0; number < numbers; ++number) {
      const double factor = static_cast<double>(draw(jitter, unit, number).count()) / 1e6;
      sum += factor;
      squares += factor * factor;
    }
  const double count = static_cast<double>(units * numbers);
  return {sum / count, std::sqrt(squares / count - sum / count * (sum / count))};
}

}  // namespace

TEST_CASE("draws are the same on every machine") {
  // Worked out apart from this program, in floating point, by the definitions of jitter.h and core/hash.h.
  const Jitter noise{JitterUnit::kRank, 20'000, 1};
  const std::array<std::int64_t, 4> first = {976'413, 1'005'220, 995'124, 988'811};
  for (std::uint64_t number = 0; number < first.size(); ++number)
    CHECK(draw(noise, 0, number) == TimeFactor(first[number]));
  CHECK(draw({JitterUnit::kNode, 200'000, 7}, 5, 3) == TimeFactor(1'010'964));
  CHECK(draw({JitterUnit::kOperation, 1'000'000, 1}, 1, 0) == TimeFactor(862'462));
  CHECK(draw({JitterUnit::kRank, 0, 1}, 1, 0) == kUnchanged);
}

TEST_CASE("factors have mean 1 and the standard deviation of the log-normal distribution") {
  // sqrt(exp(sigma^2) - 1): close to sigma while that is small. The mean of 40,000 draws is off by deviation / 200, and
  // their deviation by about as much; four times that is allowed, for which a chance of 1 in 10,000 remains.
  for (const std::int64_t sigma : {10'000, 50'000, 200'000}) {
    const double share = static_cast<double>(sigma) / 1e6;
    const double deviation = std::sqrt(std::exp(share * share) - 1);
    for (const std::array<std::uint64_t, 2> shape :
         {std::array<std::uint64_t, 2>{40'000, 1}, {1, 40'000}, {200, 200}}) {
      const Moments moments = moments_of({JitterUnit::kRank, sigma, 3}, shape[0], shape[1]);
      CHECK(std::abs(moments.mean - 1) < 4 * deviation / 200);
      CHECK(std::abs(moments.deviation - deviation) < 4 * deviation / 200);
    }
  }
}

TEST_CASE("logarithms of factors are normal out to three standard deviations") {
  // Of the normal distribution 15.866 % are above one deviation, 2.275 % above two, 0.135 % above three. A share p of
  // 100,000 draws is off by sqrt(p / 100,000); four times that is allowed.
  constexpr std::int64_t kDraws = 100'000;
  const Jitter noise{JitterUnit::kRank, 100'000, 11};
  for (const auto& [deviations, share] : {std::pair{1.0, 0.15866}, {2.0, 0.02275}, {3.0, 0.00135}})
    for (const double side : {1.0, -1.0}) {
      std::int64_t beyond = 0;
      for (std::uint64_t unit = 0; unit < kDraws; ++unit) {
        const double log = std::log(static_cast<double>(draw(noise, unit, 0).count()) / 1e6) + 0.1 * 0.1 / 2;
        beyond += side * log > 0.1 * deviations ? 1 : 0;
      }
      CHECK(std::abs(static_cast<double>(beyond) / kDraws - share) < 4 * std::sqrt(share / kDraws));
    }
}

TEST_CASE("a time is rounded half up by a factor and does not vanish") {
  CHECK(Duration(10) * TimeFactor(1'300'000) == Duration(13));
  CHECK(Duration(5) * TimeFactor(1'300'000) == Duration(7));  // 6.5
  CHECK(Duration(5) * TimeFactor(1'299'999) == Duration(6));
  CHECK(Duration(1) * TimeFactor(1) == Duration(1));
  CHECK(Duration(0) * TimeFactor(5'000'000) == Duration(0));
  CHECK(Duration::max() * TimeFactor(1'000'001) == Duration::max());
  CHECK(TimeFactor(1'500'000) * TimeFactor(1'500'000) == TimeFactor(2'250'000));
  CHECK(TimeFactor(1) * TimeFactor(1) == TimeFactor(1));
}
