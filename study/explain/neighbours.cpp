// SPDX-License-Identifier: MIT
#include "study/explain/neighbours.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/assert.h"
#include "core/config/key_path.h"
#include "core/config/quantity_text.h"
#include "experiment/plans/levers.h"
#include "study/explain/neighbour_job.h"

namespace orrery::study {
namespace {

// "recompute_modules [norm, mlp], gradients bf16".
std::string readable(const experiment::LeverEdit& edit) {
  std::vector<std::string> words(edit.begin(), edit.end());
  for (std::string& word : words) word.replace(word.find('='), 1, " ");
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

NeighbourJob::NeighbourJob(const ConfigValue& workload, const ConfigValue& resolved,
                           const workload::TrainingSpec& training)
    : workload_(workload),
      resolved_(resolved),
      training_(training),
      plan_(plan_of(training)),
      own_(settings_of(training, plan_)) {}

const ConfigValue* NeighbourJob::at(std::string_view path) const { return value_at_path(workload_, path); }

double NeighbourJob::real(std::string_view path) const {
  const ConfigValue* value = at(path);
  return value == nullptr ? 0 : parse_share(value->scalar).value.value_or(0);
}

void NeighbourJob::add(std::string name, std::vector<std::string> settings) {
  const auto is_known = [&](const Neighbour& other) { return other.refusal.empty() && other.settings == settings; };
  if (settings.empty() || std::ranges::any_of(list_, is_known)) return;
  list_.push_back({std::string(kind_->name), std::move(name), std::move(settings), {}, kind_->has_bound});
}

void NeighbourJob::refuse(std::string name, std::string why) {
  list_.push_back({std::string(kind_->name), std::move(name), {}, std::move(why)});
}

void NeighbourJob::add(std::string name, const Plan& plan) {
  std::vector<std::string> settings = settings_of(training_, plan);
  std::erase_if(settings, [&](const std::string& one) { return std::ranges::find(own_, one) != own_.end(); });
  add(std::move(name), std::move(settings));
}

void NeighbourJob::add_lever(std::string_view lever, const workload::TrainingSpec& like,
                             const std::vector<std::string>& with) {
  const auto levers = experiment::memory_levers();
  const auto found = std::ranges::find(levers, lever, &experiment::Lever::name);
  ORRERY_ASSERT(found != levers.end());
  for (const experiment::LeverEdit& edit : found->edits({like})) {
    experiment::LeverEdit whole = with;
    whole.insert(whole.end(), edit.begin(), edit.end());
    std::vector<std::string> settings;
    for (const std::string& setting : whole) settings.push_back("workload." + setting);
    add(readable(whole), std::move(settings));
  }
}

std::vector<Neighbour> NeighbourJob::find() && {
  for (const auto kinds : {kinds_of_plans(), kinds_of_settings()})
    for (const NeighbourKind& kind : kinds) {
      kind_ = &kind;
      kind.add(*this);
    }
  return std::move(list_);
}

std::vector<Neighbour> neighbours_of(const ConfigValue& resolved, const workload::TrainingSpec* training) {
  const ConfigValue* workload = value_at_path(resolved, "workload");
  if (workload == nullptr || training == nullptr) return {};
  return NeighbourJob(*workload, resolved, *training).find();
}

}  // namespace orrery::study
