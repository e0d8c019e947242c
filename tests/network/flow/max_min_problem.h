// SPDX-License-Identifier: MIT
// Problems of max-min fair sharing, by the solver and by the textbook.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/network/flow/max_min.h"
#include "tests/network/natural.h"

namespace orrery::test {

struct Crossing {
  std::uint32_t link = 0;
  std::uint64_t weight = 1;
};

struct Problem {
  std::vector<std::int64_t> bandwidths;
  std::vector<std::vector<Crossing>> flows;
};

struct Solution {
  std::vector<std::int64_t> rates;
  std::vector<std::uint32_t> bottlenecks;
};

Solution solve(const Problem& problem, MaxMin solver = {});

// Progressive filling as the textbook has it, in exact fractions: what is left of all links has one denominator, which
// grows by the weight of each link that fills.
std::vector<Fraction> exact_rates(const Problem& problem);

// Up to 40 flows over up to 14 links of 1 to 1,000 GB/s, a third of them with weights up to 100.
Problem random_problem(std::mt19937& random);

// What the flows take of a link, in B/s.
std::int64_t taken(const Problem& problem, const Solution& solution, std::uint32_t link);

}  // namespace orrery::test
