// SPDX-License-Identifier: MIT
// Reasons why ranks did not finish, which ASTRA-sim keeps silent about.
#pragma once

#include <optional>
#include <span>

#include "astra/engine/rank.h"
#include "core/error.h"

namespace orrery::astra {

// Nothing if all ranks finished.
std::optional<StuckError> stuck_error(const Inputs& inputs, const Job& job, const Cast& cast,
                                      std::span<const Rank> ranks);

}  // namespace orrery::astra
