// SPDX-License-Identifier: MIT
// orrery_bench [TRACE.et ...]: reads the given traces (or the shipped ones), simulates all-reduces and bare
// networks; prints rates.
// orrery_bench folding: folded jobs of growing size, in place of all that.
// orrery_bench contention: jobs whose calls slow what is computed beside them, and the same without, in place of all
// that. orrery_bench granularity: what `phase` differs by from `step`, in place of all that. orrery_bench nccl: which
// algorithm and protocol NCCL takes, in place of all that.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/bench.h"
#include "report/screen/screen.h"

namespace orrery::bench {

void print_rates(std::string_view what, double alpha_beta, double flow, double heap_rate) {
  fmt::print("{}: alpha-beta {:.2f} M messages/s, flow {:.2f}; of the bare heap's rate {:.2f} and {:.2f}\n", what,
             alpha_beta * 1e-6, flow * 1e-6, alpha_beta / heap_rate, flow / heap_rate);
}

}  // namespace orrery::bench

// Columns that hold every table whole: documents have them.
constexpr std::size_t kWide = 200;

int main(int argc, char** argv) {
  orrery::report::set_screen_width(kWide);
  std::vector<std::string> files(argv + 1, argv + argc);
  if (files == std::vector<std::string>{"granularity"}) {
    orrery::bench::print_granularity();
    return 0;
  }
  if (files == std::vector<std::string>{"nccl"}) {
    orrery::bench::print_nccl();
    return 0;
  }
  if (files == std::vector<std::string>{"contention"}) {
    orrery::bench::measure_contention();
    return 0;
  }
  if (files == std::vector<std::string>{"folding"}) {
    orrery::bench::measure_folding();
    return 0;
  }
  if (files.empty())
    for (int rank = 0; rank < 16; ++rank)
      files.push_back(fmt::format("{}/traces/gpt-tp4pp2dp2/rank.{}.et", ORRERY_SOURCE_DIR, rank));
  orrery::bench::measure_reading(files);
  const double heap = orrery::bench::heap_rate();
  fmt::print("event heap, 4096 pending: {:.1f} M pop+push/s\n", heap * 1e-6);
  orrery::bench::measure_collectives(heap);
  orrery::bench::measure_networks(heap);
  return 0;
}
