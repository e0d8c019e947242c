// SPDX-License-Identifier: MIT
// Warnings for what ASTRA-sim keeps silent about: inputs that mean something else than they seem to, and results that
// are wrong by its own network file.
#pragma once

#include <string>
#include <vector>

#include "astra/input/inputs.h"
#include "astra/input/program.h"

namespace orrery::astra {

// Problems of the inputs, one for each cause.
std::vector<Problem> silent_problems(const Inputs& inputs, const Job& job);

// Departures of the answer from the network file, a sentence each.
std::vector<std::string> departures(const Inputs& inputs, const Job& job);

}  // namespace orrery::astra
