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

TEST_CASE("an expert takes tokens up to its capacity, and as many where it pads") {
  TrainingSpec training = small_training(small_experts());
  training.parallel.degrees[static_cast<std::size_t>(ParallelDimension::kData)] = 4;
  training.parallel.expert = 4;
  training.experts.capacity = 0.75;
  CHECK(expert_loads(training) == std::vector<double>{0.75});
  training.experts.capacity = 1.25;
  CHECK(expert_loads(training) == std::vector<double>{1});
  training.experts.pads = true;
  CHECK(expert_loads(training) == std::vector<double>{1.25});
  training.experts.pads = false;
  // Every rank has an expert: with a skew of 1 and two of four experts a token, chances of the four are, drawn one
  // after the other in proportion to 12 : 6 : 4 : 3 of 25,
  //   12/25 + 6/25 12/19 + 4/25 12/21 + 3/25 12/22 = 0.7884...,
  // so that the first has 1.577 times the mean of 0.5, and takes 1.25 times.
  TransformerSpec model = small_experts();
  model.experts = 4;
  training.model.sizes = model;
  training.parallel.expert_skew = 1;
  const double first = 12.0 / 25 + 6.0 / 25 * 12 / 19 + 4.0 / 25 * 12 / 21 + 3.0 / 25 * 12 / 22;
  const std::vector<double> loads = expert_loads(training);
  CHECK(std::ranges::max(loads) == 1.25);
  training.experts.capacity = 0;
  const std::vector<double> all = expert_loads(training);
  CHECK(std::ranges::max(all) == Approx(2 * first).epsilon(1e-9));
  for (std::size_t i = 0; i < loads.size(); ++i) CHECK(loads[i] == std::min(all[i], 1.25));
}

TEST_CASE("copies of popular experts share their tokens, and are packed evenly") {
  TransformerSpec model = small_experts();
  model.experts = 4;
  model.experts_per_token = 1;
  TrainingSpec training = small_training(model);
  training.parallel.degrees[static_cast<std::size_t>(ParallelDimension::kData)] = 4;
  training.parallel.expert = 2;
  training.parallel.expert_skew = 1;
  training.experts.redundant = 2;
  // Popularities are 12 : 6 : 4 : 3 of 25. The first copy is of the first expert, 6 : 6 : 6 : 4 : 3; the second of the
  // first of those with 6 again, 4 : 4 : 4 : 6 : 4 : 3. Packed by size on two ranks: 6 | 4 + 4, then 4 on the first,
  // and 4 on the second (8 < 10), which is full then with 12; 3 on the first, 13. The mean is 12.5.
  std::vector<double> loads = expert_loads(training);
  std::ranges::sort(loads);
  REQUIRE(loads.size() == 2);
  CHECK(loads[0] == Approx(12 / 12.5));
  CHECK(loads[1] == Approx(13 / 12.5));
}
