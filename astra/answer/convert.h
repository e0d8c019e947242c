// SPDX-License-Identifier: MIT
// ASTRA-sim's inputs as an experiment of Orrery's own, which says in comments what differs in meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "astra/input/inputs.h"
#include "astra/input/program.h"

namespace orrery::astra {

// A text of YAML. `prefix` and `groups` are of the traces and groups as the experiment is to name them; no groups if
// empty. `notes`: of departures().
std::string experiment_text(const Inputs& inputs, const Job& job, const std::string& prefix, const std::string& groups,
                            const std::vector<std::string>& notes);

// A cluster with this device.
std::string cluster_text(const NetworkFile& network, std::string_view device);

}  // namespace orrery::astra
