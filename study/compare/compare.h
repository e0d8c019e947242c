// SPDX-License-Identifier: MIT
// Runs side by side: times, ratios, and what explains the difference.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/result.h"

namespace orrery::study {

struct NamedResult {
  std::string name;
  const report::Result* result = nullptr;  // outlives the comparison
};

// One table: a row for the iteration time and for every part of it (mean over ranks), a column for each run and, from
// the second on, its ratio to the first. Below it, per run, the parts that make up its difference from the first.
std::string comparison_text(const std::vector<NamedResult>& runs);
// The document "orrery.comparison/1": of each run its times in seconds, by part the mean over ranks, and the ratios to
// the first run.
nlohmann::ordered_json comparison_json(const std::vector<NamedResult>& runs);

}  // namespace orrery::study
