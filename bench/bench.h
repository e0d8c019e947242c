// What the benchmarks share: a clock, and one line of output per figure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/units.h"
#include "workload/job.h"

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
void measure_rings(double heap_rate);
void measure_flow(double heap_rate);

// All ranks call one all-reduce.
Job all_reduce_job(std::uint32_t ranks, Bytes bytes);

}  // namespace orrery::bench
