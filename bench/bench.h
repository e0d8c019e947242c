// SPDX-License-Identifier: MIT
// Tools that the benchmarks share: a clock, and one line of output per figure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::bench {

// Seconds that `work` takes, the best of `repeats`.
template <class Work>
double best_seconds(int repeats, const Work& work) {
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// Pop and push rate of the bare event heap, in events per second: the yardstick of the other rates.
double heap_rate();

void measure_reading(const std::vector<std::string>& files);
void measure_collectives(double heap_rate);
void measure_networks(double heap_rate);

// Time, classes and events of folded jobs.
void measure_folding();

// Time and events of jobs with contention, and as parts of those without it.
void measure_contention();

// Two tables of what `network.granularity: phase` differs by from `step`.
void print_granularity();

// Three tables of what NCCL takes and how fast it is.
void print_nccl();

// One line: messages per second in both models, and as parts of the heap's rate.
void print_rates(std::string_view what, double alpha_beta, double flow, double heap_rate);

}  // namespace orrery::bench
