// SPDX-License-Identifier: MIT
#include "study/compare/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/whole_memory.h"

namespace orrery::study {
namespace {

constexpr std::string_view kTime = "iteration_time_s";

// Words for what a job does, by the key of `workload` that has it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWorks = {
    {{"model", "trains a model"},
     {"chakra", "replays traces"},
     {"profile", "replays a profile"},
     {"layers", "runs a file of layers"},
     {"goal", "runs a GOAL schedule"},
     {"collective", "calls one collective"},
     {"exchange", "dispatches tokens once"},
     {"product", "computes one product"}}};

std::vector<MemoryDifference> memory_of(const workload::MemoryNeed& need) {
  std::vector<MemoryDifference> uses;
  for (std::size_t use = 0; use < workload::kMemoryUseCount; ++use)
    uses.push_back({std::string(workload::name_of(static_cast<workload::MemoryUse>(use))), need.by[use].count()});
  uses.push_back({"libraries", need.reserve.count()});
  return uses;
}

}  // namespace

bool is_same(double one, double other) {
  constexpr double kSame = 1e-9;
  return std::abs(one - other) <= kSame * std::abs(other);
}

std::vector<ComparedFigure> compared_figures(Results results) {
  std::vector<report::FigureValues> values;
  for (const report::Result* result : results) values.push_back(report::figure_values(report::figure_source(*result)));
  std::vector<ComparedFigure> compared;
  for (const report::Figure& figure : report::figures()) {
    const std::string name = figure.name();
    const auto has = [&](const report::FigureValues& of) { return of.contains(name); };
    if (!figure.is_compared || name == kTime || std::ranges::none_of(values, has)) continue;
    ComparedFigure& one = compared.emplace_back(ComparedFigure{&figure});
    for (const report::FigureValues& of : values) {
      const auto found = of.find(name);
      one.values.push_back(found == of.end() ? std::nullopt : std::optional(found->second));
      one.numbers.push_back(report::number_of(of, name));
    }
  }
  return compared;
}

bool tells_the_same(const ComparedFigure& one, const ComparedFigure& other) {
  const bool is_bare = one.figure->unit == report::FigureUnit::kNumber;  // of whatever the heading says
  if (is_bare || one.figure->unit != other.figure->unit || !one.numbers.front() || !other.numbers.front()) return false;
  for (std::size_t i = 1; i < one.numbers.size(); ++i) {
    if (one.numbers[i].has_value() != other.numbers[i].has_value()) return false;
    const double left = one.numbers[i].value_or(0) * *other.numbers.front();
    const double right = other.numbers[i].value_or(0) * *one.numbers.front();
    if (!is_same(right, left)) return false;
  }
  return true;
}

std::vector<MemoryDifference> differing_memory(const report::Result& first, const report::Result& second) {
  if (!first.training || !second.training) return {};
  std::vector<MemoryDifference> uses = memory_of(first.training->memory);
  const std::vector<MemoryDifference> others = memory_of(second.training->memory);
  for (std::size_t i = 0; i < uses.size(); ++i) uses[i].second = others[i].first;
  std::erase_if(uses, [](const MemoryDifference& one) { return one.first == 0 && one.second == 0; });
  std::ranges::stable_sort(uses, std::ranges::greater{},
                           [](const MemoryDifference& one) { return std::abs(one.difference()); });
  return uses;
}

MemoryFit memory_fit(const report::Result& result) {
  if (!result.training) return MemoryFit::kFits;
  const report::TrainingFigures& training = *result.training;
  if (training.memory.total() > training.capacity) return MemoryFit::kOver;
  return training.memory.in_use() > whole_memory(training.capacity) ? MemoryFit::kTight : MemoryFit::kFits;
}

std::string work_of(const report::Result& result) {
  if (!result.jobs.empty()) return "runs several jobs";
  if (const ConfigEntry* workload = result.experiment.find("workload"))
    for (const auto& [key, work] : kWorks)
      if (workload->value.find(key) != nullptr) return std::string(work);
  return "replays traces";
}

bool has_tokens(const report::Result& result) { return result.training && result.training->has_tokens; }

double tokens_of(const report::Result& result) {
  if (!result.training) return 0;
  return result.training->tokens_per_s_per_gpu * static_cast<double>(result.training->workers) *
         seconds(report::iteration_time(result));
}

}  // namespace orrery::study
