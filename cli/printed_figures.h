// SPDX-License-Identifier: MIT
// Single figures of a result, for shell scripts: `run --print`.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/result.h"

namespace orrery::cli {

// Figures by name: a key of the result's document, "memory.peak_bytes" or "breakdown.0.finish_s" within another; a
// figure as points.csv of a sweep has it (report/figures.h); or exposed communication, "exposed.tensor_s". One line of
// comma-separated values as CSV, else a line each with its name. InputError, which names --print.
std::string printed_figures(const std::vector<std::string>& names, bool as_csv, const nlohmann::ordered_json& document,
                            const report::Result& result);

}  // namespace orrery::cli
