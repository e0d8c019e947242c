// SPDX-License-Identifier: MIT
// Runs side by side: times, ratios, and what explains the difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/units.h"
#include "report/critical_path.h"
#include "report/documents/documents.h"
#include "report/result.h"
#include "study/compare/no_difference.h"
#include "study/interval/ratio.h"

namespace orrery::study {

struct NamedResult {
  std::string name;
  const report::Result* result = nullptr;  // outlives the comparison
  std::optional<report::CriticalPath> path{};
  std::vector<NoDifference> reasons{};  // of one that takes as long as the first: why nothing comes of what differs
  std::optional<RatioError> ratio{};    // how far off ratios to the first are; none where no published run tells
  std::string by_hand{};                // a key of this run or the first for which none does
};

// A key of the resolved configurations whose values differ; "-" stands for none.
struct SettingDifference {
  std::string key;
  std::string first, second;
};

// By key, in the order of the first configuration; what is for people only (sources, assumptions) is left out.
std::vector<SettingDifference> differing_settings(const ConfigValue& first, const ConfigValue& second);

// Operations of one name on the critical paths.
struct OperationDifference {
  std::string what;
  Duration first{}, second{};

  Duration difference() const { return second - first; }
};

// All operations of both, matched by name: what differs most first. They sum to the difference of the times to the
// picosecond, as the paths sum to the times.
std::vector<OperationDifference> differing_operations(const report::CriticalPath& first,
                                                      const report::CriticalPath& second);

// One table: a row for the iteration time and for every part of it (mean over ranks), a column for each run and, from
// the second on, its ratio to the first. Below it, per run, the parts that make up its difference from the first. Of
// two runs with paths also the settings and the operations that differ, the layers of a model together.
std::string comparison_text(const std::vector<NamedResult>& runs);
// The document "orrery.comparison/1": of each run its times in seconds, by part the mean over ranks, and the ratios to
// the first run. Of two also `settings` and, with paths, `operations`, each by itself.
nlohmann::ordered_json comparison_json(const std::vector<NamedResult>& runs);
report::Document comparison_document();

// Excess of a time over another in percent; empty if the other is zero. As text "+4.3 %", or "-".
std::optional<double> percent_above(Duration time, Duration other);
std::string above_text(Duration time, Duration other);

}  // namespace orrery::study
