// SPDX-License-Identifier: MIT
// Runs side by side: times, ratios, and what explains the difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/units.h"
#include "report/critical_path.h"
#include "report/documents/documents.h"
#include "report/plot/picture.h"
#include "report/result.h"
#include "study/compare/no_difference.h"
#include "study/interval/ratio.h"

namespace orrery::study {

struct NamedResult {
  std::string name;
  const report::Result* result = nullptr;  // outlives the comparison
  std::optional<report::CriticalPath> path{};
  // Reasons of a run that takes as long as the first: why nothing comes of what differs. Of others, faster links that
  // are held up.
  std::vector<NoDifference> reasons{};
  std::optional<RatioError> ratio{};  // how far off ratios to the first are; none where no published run tells
  std::string by_hand{};              // a key of this run or the first for which none does
  std::string no_ratio_error{};       // why none does: a sentence; empty where nothing is to be said
  std::string default_software{};     // that the job takes as nobody named one; empty where somebody did
};

// A key of the resolved configurations whose values differ; "-" stands for none.
struct SettingDifference {
  std::string key;
  std::string first, second;
};

// Differences by key, in the order of the first configuration; what is for people only (sources, assumptions) is left
// out.
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

// The same with the layers, micro-batches and buckets of a job together: "layer * attention forward".
std::vector<OperationDifference> differing_kinds(const report::CriticalPath& first, const report::CriticalPath& second);

// kScreen: what is of most interest, as much as a screen has room for; all where tables are for other programs. kAll:
// all parts, figures, settings, uses of memory and operations.
enum class Detail : std::uint8_t { kScreen, kAll };

// Writes of two runs one table: a row for the iteration time, for every part of it (mean over ranks) and for every
// figure that comparisons show, a column for each run and the ratio of the second to the first. Of more, tables with a
// line for each run. Below, per run, the parts that make up its difference from the first, how sure that is, and what
// differs in memory. Of two runs with paths also the settings and the operations that differ, the layers of a model
// together.
std::string comparison_text(const std::vector<NamedResult>& runs, Detail detail = Detail::kScreen);
// True if the times of two runs differ by no more than a billionth, which no figure shows.
bool takes_as_long(const NamedResult& run, const NamedResult& first);
// Tells how sure the ratio of a run to the first is, in a sentence: what pairs of published runs tell, or why they do
// not; empty where nothing is to be said.
std::string sureness_sentence(const NamedResult& run, const NamedResult& first);
// Why the times of a run and the first are no measure of their speed: other work, or iterations of other sizes; empty
// of runs of equal work.
std::string unlike_sentence(const NamedResult& run, const NamedResult& first);
// "workload.software differs: megatron-2022 (default) of b; megatron-2024 (default) of a; --set
// workload.software=megatron-2024 takes that away", where runs take software of several names as nobody named one.
std::string software_sentence(const std::vector<NamedResult>& runs);
// Sentences on runs that may run out of memory, with what they need, or would.
std::vector<std::string> memory_sentences(const std::vector<NamedResult>& runs);

// A bar for each run, of the parts of its iteration.
report::Picture comparison_picture(const std::vector<NamedResult>& runs);
// The document "orrery.comparison/1": of each run its times in seconds, by part the mean over ranks, its figures, its
// memory by use, and the ratios to the first run. Of two also `settings` and, with paths, `operations`, each by itself.
nlohmann::ordered_json comparison_json(const std::vector<NamedResult>& runs);
report::Document comparison_document();

// Excess of a time over another in percent; empty if the other is zero. As text "+4.3 %", or "-".
std::optional<double> percent_above(Duration time, Duration other);
std::string above_text(Duration time, Duration other);

}  // namespace orrery::study
