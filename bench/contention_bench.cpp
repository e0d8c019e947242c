// SPDX-License-Identifier: MIT
// Measures what contention costs: the same jobs with and without calls that slow what is beside them, in one run.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/bench.h"
#include "core/config/tree.h"
#include "experiment/runs/run.h"

namespace orrery::bench {
namespace {

struct ContendedJob {
  std::string_view what;
  std::string_view file;  // below configs/studies
  std::vector<std::string> settings;
};

struct ContendedTimes {
  double seconds = 1e300;
  std::uint64_t events = 0;
};

// Keeps the faster of both.
void measure_contended(const ContendedJob& job, bool contends, ContendedTimes& best) {
  const ConfigFiles files(ORRERY_SOURCE_DIR "/configs");
  experiment::RunRequest request;
  request.file = fmt::format("{}/configs/studies/{}", ORRERY_SOURCE_DIR, job.file);
  request.settings = job.settings;
  request.settings.push_back(fmt::format("collectives.contention={}", contends));
  best.seconds = std::min(
      best.seconds, best_seconds(1, [&] { best.events = experiment::run_experiment(request, files).result.events; }));
}

}  // namespace

void measure_contention() {
  const std::array<ContendedJob, 3> cases = {
      ContendedJob{"passes repeated beside sends, 128 ranks", "gpt3-175b-128-a100.yaml", {}},
      ContendedJob{"all ranks, gradients beside passes, 32 ranks", "llama2-13b-four-nodes.yaml", {"fold=off"}},
      ContendedJob{"all ranks, a pipeline, 1,024 ranks", "gpt3-175b-1024.yaml", {"fold=off"}}};
  for (const ContendedJob& job : cases) {
    ContendedTimes with, without;
    for (int repeat = 0; repeat < 3; ++repeat) {  // by turns: the machine may be busy for a while
      measure_contended(job, true, with);
      measure_contended(job, false, without);
    }
    fmt::print("contention, {}: {:.3f} s, {} events; without {:.3f} s, {} events; time {:.2f}, events {:.2f}\n",
               job.what, with.seconds, with.events, without.seconds, without.events, with.seconds / without.seconds,
               static_cast<double>(with.events) / static_cast<double>(without.events));
  }
}

}  // namespace orrery::bench
