// SPDX-License-Identifier: MIT
// Measured calls as experiments: what `workload: {collective: ...}` asks of a machine that tables of measurements name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/tree.h"
#include "core/units.h"
#include "experiment/experiment.h"
#include "workload/calls/operation.h"

namespace orrery::study {

struct MeasuredCall {
  Location where;       // of the table
  std::string cluster;  // a name, a file or, in braces, the cluster itself
  std::uint32_t nodes = 1;
  std::uint32_t ranks_per_node = 1;
  workload::CallOperation operation;
  Bytes size{1};                                                // as workload::CallSize says
  std::vector<std::pair<std::string, ConfigValue>> settings{};  // "collectives.launch"
};

// Reads the experiment. InputError; warnings go to `diagnostics`.
experiment::Experiment read_call_experiment(const MeasuredCall& call, const ConfigFiles& files,
                                            Diagnostics& diagnostics);

}  // namespace orrery::study
