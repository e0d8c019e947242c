// SPDX-License-Identifier: MIT
// A run as a document, with what Orrery says of its own runs and in the same words, and as the data of a page.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "astra/engine/simulation.h"

namespace orrery::astra {

// schema "orrery.astra-sim/1", described in docs/astra-sim.md. `notes`: of departures().
nlohmann::ordered_json document_of(const Inputs& inputs, const Job& job, const Result& result,
                                   const std::vector<std::string>& notes);

// Data that report/page/run.js draws.
nlohmann::ordered_json page_data(const Inputs& inputs, const Job& job, const Result& result,
                                 const std::vector<std::string>& notes);

}  // namespace orrery::astra
