// SPDX-License-Identifier: MIT
// Keys that are written out but are nobody's own choice: repetitions of shipped files, and calibrated constants.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/config/tree.h"
#include "experiment/experiment.h"

namespace orrery::study {

// Paths below `cluster`, `collectives.constants` and `workload.software` of a resolved experiment whose values shipped
// files have as well, with what follows from these: of a plan that a search wrote, of a calibrated file. Software and
// constants are compared with the file of their `name`; a cluster, which has none, with that of the same device which
// differs in the fewest values.
std::set<std::string> keys_as_shipped(const ConfigValue& resolved, const ConfigFiles& files);

// True of a path below one of these.
bool may_be_shipped(std::string_view key);

// Paths of constants that were measured on the machine, or fitted to what was: those of `cluster.nccl`, and those that
// their file marks so (experiment/evidence/figures.h). Settings are none.
std::set<std::string> calibrated_keys(const experiment::Experiment& experiment, const ConfigFiles& files);

}  // namespace orrery::study
