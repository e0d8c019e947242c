// SPDX-License-Identifier: MIT
// Sentences on runs side by side that the screen, the document and the page have alike.
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/whole_memory.h"
#include "study/compare/compare.h"
#include "study/compare/figures.h"

namespace orrery::study {
namespace {

// "trains a model", with what its iterations are counted in.
std::string counted_work(const report::Result& result) {
  if (!result.training) return work_of(result);
  return fmt::format("{} of {}", work_of(result), has_tokens(result) ? "tokens" : "samples");
}

// "megatron" of "megatron-2024": software of one name and several years.
std::string_view family_of(std::string_view software) { return software.substr(0, software.rfind('-')); }

}  // namespace

bool takes_as_long(const NamedResult& run, const NamedResult& first) {
  return is_same(seconds(run.result->finish), seconds(first.result->finish));
}

std::string sureness_sentence(const NamedResult& run, const NamedResult& first) {
  const double time = seconds(run.result->finish), other = seconds(first.result->finish);
  if (takes_as_long(run, first) || time <= 0 || other <= 0) return {};
  return run.ratio ? ratio_interval_text(time / other, *run.ratio) : run.no_ratio_error;
}

std::string unlike_sentence(const NamedResult& run, const NamedResult& first) {
  constexpr double kSame = 1e-6;
  const report::Result &one = *run.result, &other = *first.result;
  const bool trains = one.training && other.training;
  if (work_of(one) != work_of(other) || (trains && has_tokens(one) != has_tokens(other)))
    return fmt::format("{} {}, {} {}: their times are of other work", printable(run.name),
                       trains ? counted_work(one) : work_of(one), printable(first.name),
                       trains ? counted_work(other) : work_of(other));
  const double tokens = tokens_of(one), before = tokens_of(other);
  if (std::abs(tokens - before) <= kSame * before || before <= 0 || tokens <= 0) return {};
  return fmt::format("an iteration of {} is of {} {}, of {} of {}: compare the pace, not the time", printable(run.name),
                     large_count(tokens), has_tokens(one) ? "tokens" : "samples", printable(first.name),
                     large_count(before));
}

std::string software_sentence(const std::vector<NamedResult>& runs) {
  std::map<std::string, std::vector<std::string>> names;  // of runs, by software
  for (const NamedResult& run : runs)
    if (!run.default_software.empty()) names[run.default_software].push_back(printable(run.name));
  if (names.size() < 2) return {};
  std::vector<std::string> parts;
  for (const auto& [software, of] : names)
    parts.push_back(fmt::format("{} (default) of {}", printable(software, 40), fmt::join(of, ", ")));
  const std::string text = fmt::format("workload.software differs: {}", fmt::join(parts, "; "));
  const std::string& newest = names.rbegin()->first;
  if (family_of(names.begin()->first) != family_of(newest)) return text;
  return fmt::format("{}; --set workload.software={} takes that away", text, newest);
}

std::vector<std::string> memory_sentences(const std::vector<NamedResult>& runs) {
  std::map<std::pair<MemoryFit, std::string>, std::vector<std::string>> alike;  // by need, the names of runs
  for (const NamedResult& run : runs) {
    const MemoryFit fit = memory_fit(*run.result);
    if (fit == MemoryFit::kFits) continue;
    const report::TrainingFigures& training = *run.result->training;
    const std::string need =
        fit == MemoryFit::kTight
            ? fmt::format("with libraries {} of {}", rounded(training.memory.in_use()),
                          rounded(whole_memory(training.capacity)))
            : fmt::format("{} of {}", rounded(training.memory.total()), rounded(training.capacity));
    alike[{fit, need}].push_back(printable(run.name));
  }
  std::vector<std::string> sentences;
  for (const auto& [key, names] : alike)
    sentences.push_back(fmt::format("{} {} run out of memory: {}", fmt::join(names, ", "),
                                    key.first == MemoryFit::kTight ? "may" : "would", key.second));
  return sentences;
}

}  // namespace orrery::study
