// SPDX-License-Identifier: MIT
// ASTRA-sim's inputs as an experiment of Orrery's own, which says in comments what differs in meaning.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "astra/answer/custom_uses.h"
#include "astra/input/inputs.h"
#include "astra/input/program.h"

namespace orrery::astra {

// Name of a file, or of a prefix of files, in the experiment.
using PathOf = std::function<std::string(const std::string&)>;

// A text of YAML. `custom`: of custom_uses(). `prefix` and `groups` are of the traces and groups as the experiment is
// to name them; no groups if empty. `notes`: of departures().
std::string experiment_text(const Inputs& inputs, const Job& job, const std::map<CommKind, CustomUse>& custom,
                            const std::string& prefix, const std::string& groups, const std::vector<std::string>& notes,
                            const PathOf& path_of);

// A cluster with this device.
std::string cluster_text(const NetworkFile& network, std::string_view device);

}  // namespace orrery::astra
