// orrery_bench [TRACE.et ...]: reads the given traces (or the shipped ones) and simulates rings; prints rates.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/bench.h"

int main(int argc, char** argv) {
  std::vector<std::string> files(argv + 1, argv + argc);
  if (files.empty())
    for (int rank = 0; rank < 16; ++rank)
      files.push_back(fmt::format("{}/traces/gpt-tp4pp2dp2/rank.{}.et", ORRERY_SOURCE_DIR, rank));
  orrery::bench::measure_reading(files);
  const double heap = orrery::bench::heap_rate();
  fmt::print("event heap, 4096 pending: {:.1f} M pop+push/s\n", heap * 1e-6);
  orrery::bench::measure_rings(heap);
  orrery::bench::measure_flow(heap);
  return 0;
}
