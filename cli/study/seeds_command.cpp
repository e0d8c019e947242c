// SPDX-License-Identifier: MIT
#include <optional>

#include "cli/output.h"
#include "cli/seeds.h"
#include "cli/study/points.h"
#include "study/seeds/seeds.h"

namespace orrery::cli {

int run_seeds(const SeedsRequest& request, const Session& session) {
  check_points(request.points, request.experiment, session);
  session.outputs.check({}, FolderUse::kShared);
  RunningPoints running(request.points, session);
  study::SeedDistribution distribution;
  const auto study = [&] {
    distribution = study::simulate_seeds(
        {request.experiment, request.settings, session.allow_oom, request.fast_forward, request.count},
        running.points(), session.files);
  };
  if (const std::optional<int> code = running.run(study)) return *code;
  print_warnings(distribution.warnings);
  session.outputs.give({study::seeds_text(distribution), study::seeds_json(distribution)});
  return kDone;
}

}  // namespace orrery::cli
