// SPDX-License-Identifier: MIT
// What ASTRA-sim keeps silent about: inputs that mean something else than they seem to, and results that are wrong by
// its own network file.
#pragma once

#include <string>
#include <vector>

#include "astra/input/inputs.h"
#include "astra/input/program.h"

namespace orrery::astra {

// Of inputs, one for each cause.
std::vector<Problem> silent_problems(const Inputs& inputs, const Job& job);

// Where the answer departs from what the network file says, a sentence each.
std::vector<std::string> departures(const Inputs& inputs, const Job& job);

}  // namespace orrery::astra
