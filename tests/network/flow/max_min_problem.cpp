// SPDX-License-Identifier: MIT
#include "tests/network/flow/max_min_problem.h"

#include <algorithm>
#include <utility>

namespace orrery::test {

Solution solve(const Problem& problem, MaxMin solver) {
  solver.clear();
  for (const std::int64_t bandwidth : problem.bandwidths) solver.add_link(Bandwidth(bandwidth));
  for (const auto& crossings : problem.flows) {
    solver.add_flow();
    for (const Crossing& crossing : crossings) solver.cross(crossing.link, crossing.weight);
  }
  solver.solve();
  Solution solution;
  for (std::uint32_t flow = 0; flow < problem.flows.size(); ++flow) {
    solution.rates.push_back(solver.rate(flow));
    solution.bottlenecks.push_back(solver.bottleneck(flow));
  }
  return solution;
}

std::vector<Fraction> exact_rates(const Problem& problem) {
  std::vector<Natural> left;
  for (const std::int64_t bandwidth : problem.bandwidths)
    left.push_back(Natural(static_cast<std::uint64_t>(bandwidth)));
  Natural denominator = 1;
  std::vector<Fraction> rates(problem.flows.size());
  std::vector<bool> is_frozen(problem.flows.size(), false);
  for (;;) {
    std::vector<std::uint64_t> weights(left.size(), 0);
    for (std::size_t flow = 0; flow < rates.size(); ++flow)
      if (!is_frozen[flow])
        for (const Crossing& crossing : problem.flows[flow]) weights[crossing.link] += crossing.weight;
    std::size_t first = left.size();
    for (std::size_t link = 0; link < left.size(); ++link)
      if (weights[link] > 0 &&
          (first == left.size() || left[link] * Natural(weights[first]) < left[first] * Natural(weights[link])))
        first = link;
    if (first == left.size()) return rates;
    const Natural rate = left[first];  // over denominator * weights[first]
    denominator = denominator * Natural(weights[first]);
    for (Natural& each : left) each = each * Natural(weights[first]);
    for (std::size_t flow = 0; flow < rates.size(); ++flow) {
      const auto& crossings = problem.flows[flow];
      if (is_frozen[flow] || std::ranges::find(crossings, first, &Crossing::link) == crossings.end()) continue;
      is_frozen[flow] = true;
      rates[flow] = {rate, denominator};
      for (const Crossing& crossing : crossings)
        left[crossing.link] = left[crossing.link] - rate * Natural(crossing.weight);
    }
  }
}

Problem random_problem(std::mt19937& random) {
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  Problem problem;
  const std::uint32_t links = 1 + below(14);
  for (std::uint32_t i = 0; i < links; ++i)
    problem.bandwidths.push_back(below(2) == 0 ? 1'000'000'000LL * (1 + below(1000))
                                               : 1'000'000'000LL + static_cast<std::int64_t>(random()) * 200);
  const std::uint32_t flows = 1 + below(40);
  for (std::uint32_t i = 0; i < flows; ++i) {
    auto& crossings = problem.flows.emplace_back();
    const std::uint32_t hops = 1 + below(std::min(links, 5U));
    const bool odd = below(3) == 0;
    for (std::uint32_t hop = 0; hop < hops; ++hop) crossings.push_back({below(links), odd ? 1 + below(100) : 1});
  }
  return problem;
}

std::int64_t taken(const Problem& problem, const Solution& solution, std::uint32_t link) {
  std::int64_t sum = 0;
  for (std::size_t flow = 0; flow < problem.flows.size(); ++flow)
    for (const Crossing& crossing : problem.flows[flow])
      if (crossing.link == link) sum += solution.rates[flow] * static_cast<std::int64_t>(crossing.weight);
  return sum;
}

}  // namespace orrery::test
