// SPDX-License-Identifier: MIT
// Distribution of an experiment's iteration time over the seeds of what is random in it: noise on computations,
// background traffic on links and the places of popular experts. Each time is that of `run --set` with the same seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/units.h"
#include "report/documents/documents.h"
#include "study/points/points.h"

namespace orrery::study {

struct SeedsRequest {
  std::string file;                   // an experiment, or a result
  std::vector<std::string> settings;  // a.b=v
  bool allow_oom = false;
  bool fast_forward = true;  // SimulationOptions
  std::size_t count = 1;     // of simulations: the experiment's own seeds, each plus 1, and so on
};

struct SeededRun {
  std::vector<std::string> settings;  // "perturb.jitter.seed=7"
  Duration time{};                    // of an iteration
};

struct SeedDistribution {
  std::string devices;     // "1024 ranks on 1024 devices a100-sxm-80gb"
  Duration undisturbed{};  // without `perturb`, and with experts that are all alike
  std::vector<SeededRun> runs;
  std::vector<Problem> warnings;

  // Percentile of the runs' times: the least that this many percent of them do not exceed.
  Duration percentile(unsigned percent) const;
  Duration mean() const;
};

// Throws InputError, also where nothing is random, and StuckError; PointsMissing where not all have been simulated.
SeedDistribution simulate_seeds(const SeedsRequest& request, Points& points, const ConfigFiles& files);

std::string seeds_text(const SeedDistribution& distribution);
// The document "orrery.seeds/1".
nlohmann::ordered_json seeds_json(const SeedDistribution& distribution);
report::Document seeds_document();

}  // namespace orrery::study
