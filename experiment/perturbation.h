// SPDX-License-Identifier: MIT
// Reads `perturb` of an experiment.
#pragma once

#include <optional>

#include "core/config/config.h"
#include "network/fabric/fabric.h"
#include "system/devices/perturbation.h"

namespace orrery::experiment {

// The links of `fabric`, if there is one, become as `perturb.links` says.
system::Perturbation read_perturbation(Section& perturb, std::optional<network::Fabric>& fabric);

}  // namespace orrery::experiment
