// SPDX-License-Identifier: MIT
#include "workload/training/program/expert_loads.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "core/draw.h"
#include "small_training.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

std::vector<double> zipf(std::int64_t experts, double exponent) {
  std::vector<double> popularity;
  for (std::int64_t i = 0; i < experts; ++i) popularity.push_back(zipf_popularity(i, exponent));
  return popularity;
}

}  // namespace

// Popularity 6, 3 and 2 of 11, two picks. The first expert is picked first by 6/11, or second behind the second expert
// (3/11 of the first picks, then 6 of the 8 left) or behind the third (2/11, then 6 of 9):
// 6/11 + 3/11 * 6/8 + 2/11 * 6/9 = 115/132. The second: 3/11 + 6/11 * 3/5 + 2/11 * 3/9 = 109/165. The third: 103/220.
TEST_CASE("a token picks different experts, each among those that are left") {
  const std::vector<double> chances = chances_of_experts(zipf(3, 1), 2);
  CHECK(chances[0] == Approx(115.0 / 132).epsilon(1e-12));
  CHECK(chances[1] == Approx(109.0 / 165).epsilon(1e-12));
  CHECK(chances[2] == Approx(103.0 / 220).epsilon(1e-12));
}

// One pick is popularity itself; as many as there are experts are all of them.
TEST_CASE("no expert gets more rows than there are tokens, and all rows go to an expert") {
  for (const std::int64_t experts : {1, 2, 8, 64, 256})
    for (const std::int64_t picks : {1, 2, 8})
      for (const double exponent : {0.1, 1.0, 4.0}) {
        if (picks > experts) continue;
        INFO(experts << " experts, " << picks << " picks, exponent " << exponent);
        const std::vector<double> popularity = zipf(experts, exponent);
        const std::vector<double> chances = chances_of_experts(popularity, picks);
        CHECK(std::accumulate(chances.begin(), chances.end(), 0.0) == Approx(static_cast<double>(picks)));
        CHECK(std::ranges::max(chances) <= 1);
        CHECK(std::ranges::is_sorted(chances, std::ranges::greater{}));
        if (picks == experts) CHECK(std::ranges::min(chances) == 1);
        if (picks == 1)
          CHECK(chances.back() ==
                Approx(popularity.back() / std::accumulate(popularity.begin(), popularity.end(), 0.0)).epsilon(1e-9));
      }
}

TEST_CASE("popular experts lie where a seed draws them, not all on the first rank") {
  TrainingSpec training = small_training(small_experts());
  training.parallel.degrees[static_cast<std::size_t>(ParallelDimension::kData)] = 4;
  training.parallel.expert = 4;
  CHECK(expert_loads(training) == std::vector<double>{1});
  training.parallel.expert_skew = 1;
  const std::vector<double> loads = expert_loads(training);
  CHECK(loads == expert_loads(training));
  CHECK(std::accumulate(loads.begin(), loads.end(), 0.0) == Approx(4));
  // Two experts lie on a rank and every token picks two of eight: at most each token picks both, four times the mean.
  CHECK(std::ranges::max(loads) < 4);
  bool differs = false, moves = false;
  for (std::uint64_t seed = 2; seed < 20; ++seed) {
    training.parallel.expert_seed = seed;
    const std::vector<double> other = expert_loads(training);
    differs = differs || other != loads;
    moves = moves || std::ranges::max_element(other) - other.begin() != std::ranges::max_element(loads) - loads.begin();
  }
  CHECK(differs);
  CHECK(moves);
}
