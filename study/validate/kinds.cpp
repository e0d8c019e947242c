// SPDX-License-Identifier: MIT
#include "study/validate/kinds.h"

#include <algorithm>
#include <array>

#include "core/assert.h"
#include "study/validate/collectives/validate.h"
#include "study/validate/compute/validation.h"
#include "study/validate/experts/validation.h"
#include "study/validate/traces/traces.h"
#include "study/validate/training/validation.h"

namespace orrery::study {
namespace {

constexpr std::array<ValidationKind, 5> kKinds = {
    {{"nccl", "", "validation table", validate_collectives, check_collective_table},
     {"compute", "compute", "table of operators", validate_operators, check_table<ComputeTable>},
     {"experts", "experts", "table of dispatch and combine", validate_exchanges, check_table<ExpertTable>},
     {"training", "training", "table of training jobs", validate_jobs, check_training_table},
     {"traces", "traces", "table of recorded traces", validate_replays, check_table<TraceTable>}}};

}  // namespace

std::span<const ValidationKind> validation_kinds() { return kKinds; }

const ValidationKind& validation_kind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &ValidationKind::name);
  ORRERY_ASSERT(found != kKinds.end());
  return *found;
}

}  // namespace orrery::study
