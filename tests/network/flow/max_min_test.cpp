// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "tests/network/flow/max_min.h"
#include "tests/network/flow/max_min_problem.h"

using namespace orrery;
using namespace orrery::test;

TEST_CASE("equal flows on a link get floor(bandwidth / flows)") {
  CHECK(solve({{100}, {{{0}}, {{0}}, {{0}}}}).rates == std::vector<std::int64_t>{33, 33, 33});
  CHECK(solve({{100}, {{{0}}}}).rates == std::vector<std::int64_t>{100});
}

TEST_CASE("what a flow cannot use because of one bottleneck goes to the others") {
  // Link 0 (90 B/s) has flows a, b, c: 30 each. Link 1 (100 B/s) has a and d: d gets the other 70.
  const Solution solution = solve({{90, 100}, {{{0}, {1}}, {{0}}, {{0}}, {{1}}}});
  CHECK(solution.rates == std::vector<std::int64_t>{30, 30, 30, 70});
  CHECK(solution.bottlenecks == std::vector<std::uint32_t>{0, 0, 0, 1});
}

TEST_CASE("a flow that crosses a link twice takes twice its rate, however that is said") {
  CHECK(solve({{90}, {{{0}, {0}}, {{0}}}}).rates == std::vector<std::int64_t>{30, 30});
  CHECK(solve({{90}, {{{0, 2}}, {{0}}}}).rates == std::vector<std::int64_t>{30, 30});
}

TEST_CASE("links that fill at the same rate are frozen together, although the floor would let one rise on") {
  // Both links fill at floor(5 / 2) = 2. One by one, the second would have 5 - 2 = 3 for its last flow.
  const Problem problem = {{5, 5}, {{{0}}, {{0}, {1}}, {{1}}}};
  CHECK(solve(problem).rates == std::vector<std::int64_t>{2, 2, 2});
}

TEST_CASE("a link with fewer bytes per second than flows gives each 1 B/s, and nobody waits for ever") {
  const Solution solution = solve({{2, 100}, {{{0}}, {{0}}, {{0}, {1}}, {{1}}}});
  CHECK(solution.rates == std::vector<std::int64_t>{1, 1, 1, 99});
}

TEST_CASE("the largest bandwidths and weights stay within 64 bits") {
  const std::int64_t most = Bandwidth::max().count();
  CHECK(solve({{most}, {{{0}}}}).rates == std::vector<std::int64_t>{most});
  const auto heaviest = static_cast<std::uint64_t>(most);
  CHECK(solve({{most}, {{{0, heaviest}}}}).rates == std::vector<std::int64_t>{1});
  CHECK(solve({{7}, {{{0, heaviest}}}}).rates == std::vector<std::int64_t>{1});
  CHECK(solve({{most}, {{{0}}, {{0}}}}).rates == std::vector<std::int64_t>{most / 2, most / 2});
}

TEST_CASE("1,000 random problems: rates are those of exact fractions, up to the floors") {
  std::mt19937 random(20);
  for (int instance = 0; instance < 1'000; ++instance) {
    const Problem problem = random_problem(random);
    const Solution solution = solve(problem);
    const std::vector<Fraction> exact = exact_rates(problem);
    INFO("instance " << instance);
    for (std::size_t flow = 0; flow < exact.size(); ++flow) {
      // A floor takes less than 1 B/s from each of at most 40 flows, of weights up to 100; what it leaves goes to
      // others. Rates are 10^5 B/s and more.
      const Natural million(1'000'000);
      const Natural found = Natural(static_cast<std::uint64_t>(solution.rates[flow])) * exact[flow].denominator;
      REQUIRE(found * million <= exact[flow].numerator * Natural(1'000'001));
      REQUIRE(found * million >= exact[flow].numerator * Natural(999'999));
    }
  }
}

TEST_CASE("1,000 random problems: no link is overbooked, and every flow has a full link on which nobody is faster") {
  std::mt19937 random(21);
  for (int instance = 0; instance < 1'000; ++instance) {
    const Problem problem = random_problem(random);
    const Solution solution = solve(problem);
    INFO("instance " << instance);
    for (std::uint32_t link = 0; link < problem.bandwidths.size(); ++link)
      REQUIRE(taken(problem, solution, link) <= problem.bandwidths[link]);
    for (std::size_t flow = 0; flow < problem.flows.size(); ++flow) {
      const std::uint32_t bottleneck = solution.bottlenecks[flow];
      std::int64_t step = 0;  // what 1 B/s more for everybody who is as fast would take
      for (std::size_t other = 0; other < problem.flows.size(); ++other)
        for (const Crossing& crossing : problem.flows[other]) {
          if (crossing.link != bottleneck) continue;
          REQUIRE(solution.rates[other] <= solution.rates[flow]);
          if (solution.rates[other] == solution.rates[flow]) step += static_cast<std::int64_t>(crossing.weight);
        }
      REQUIRE(step > 0);
      REQUIRE(taken(problem, solution, bottleneck) + step > problem.bandwidths[bottleneck]);
    }
  }
}

TEST_CASE("rates do not depend on the order of flows, of links, or of a flow's crossings") {
  std::mt19937 random(22);
  for (int instance = 0; instance < 300; ++instance) {
    const Problem problem = random_problem(random);
    std::vector<std::uint32_t> flows(problem.flows.size());
    std::vector<std::uint32_t> links(problem.bandwidths.size());
    std::iota(flows.begin(), flows.end(), 0U);
    std::iota(links.begin(), links.end(), 0U);
    std::ranges::shuffle(flows, random);
    std::ranges::shuffle(links, random);
    Problem shuffled = problem;
    for (std::size_t link = 0; link < links.size(); ++link) shuffled.bandwidths[links[link]] = problem.bandwidths[link];
    for (std::size_t flow = 0; flow < flows.size(); ++flow) {
      auto& crossings = shuffled.flows[flows[flow]] = problem.flows[flow];
      for (Crossing& crossing : crossings) crossing.link = links[crossing.link];
      std::ranges::shuffle(crossings, random);
    }
    const Solution expected = solve(problem);
    const Solution found = solve(shuffled);
    for (std::size_t flow = 0; flow < flows.size(); ++flow) REQUIRE(found.rates[flows[flow]] == expected.rates[flow]);
  }
}

TEST_CASE("m equal flows are one flow of m times the weight, and independent problems may be solved as one") {
  std::mt19937 random(23);
  for (int instance = 0; instance < 300; ++instance) {
    const Problem folded = random_problem(random);
    Problem weighted = folded;
    Problem unfolded = folded;
    unfolded.flows.clear();
    std::vector<std::size_t> first;
    for (std::size_t flow = 0; flow < folded.flows.size(); ++flow) {
      const std::uint64_t copies = 1 + random() % 5;
      for (Crossing& crossing : weighted.flows[flow]) crossing.weight *= copies;
      first.push_back(unfolded.flows.size());
      unfolded.flows.insert(unfolded.flows.end(), copies, folded.flows[flow]);
    }
    const auto offset = static_cast<std::uint32_t>(unfolded.bandwidths.size());
    const Problem other = random_problem(random);
    unfolded.bandwidths.insert(unfolded.bandwidths.end(), other.bandwidths.begin(), other.bandwidths.end());
    const std::size_t first_other = unfolded.flows.size();
    for (const auto& flow : other.flows) {
      unfolded.flows.push_back(flow);
      for (Crossing& crossing : unfolded.flows.back()) crossing.link += offset;
    }
    const Solution expected = solve(weighted);
    const Solution expected_other = solve(other);
    const Solution found = solve(unfolded);
    for (std::size_t flow = 0; flow < first.size(); ++flow) REQUIRE(found.rates[first[flow]] == expected.rates[flow]);
    for (std::size_t flow = 0; flow < other.flows.size(); ++flow)
      REQUIRE(found.rates[first_other + flow] == expected_other.rates[flow]);
  }
}

TEST_CASE("a solver that was used before gives what a new one gives") {
  std::mt19937 random(24);
  MaxMin used;
  for (int instance = 0; instance < 100; ++instance) {
    const Problem problem = random_problem(random);
    used.clear();
    for (const std::int64_t bandwidth : problem.bandwidths) used.add_link(Bandwidth(bandwidth));
    for (const auto& crossings : problem.flows) {
      used.add_flow();
      for (const Crossing& crossing : crossings) used.cross(crossing.link, crossing.weight);
    }
    used.solve();
    const Solution expected = solve(problem);
    for (std::uint32_t flow = 0; flow < problem.flows.size(); ++flow) REQUIRE(used.rate(flow) == expected.rates[flow]);
  }
}
