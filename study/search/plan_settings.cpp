// SPDX-License-Identifier: MIT
// Plans as settings of an experiment.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "study/search/plan.h"

namespace orrery::study {
namespace {

// "[norm, mlp]".
std::string text_of(const workload::RecomputeModules& modules) {
  std::vector<std::string_view> words;
  workload::RecomputeModules named;
  for (const workload::RecomputeWord& word : workload::kRecomputeWords)
    if (modules.*word.module && !std::exchange(named.*word.module, true)) words.push_back(word.word);
  return fmt::format("[{}]", fmt::join(words, ", "));
}

// True for keys that are set only where a plan has another value than the job.
bool is_set_apart(PlanKey key) {
  return key == PlanKey::kSchedule || key == PlanKey::kOffload || key == PlanKey::kContextKind;
}

}  // namespace

std::vector<std::string> settings_of(const workload::TrainingSpec& base, const Plan& plan) {
  const workload::TrainingSpec training = with_plan(base, plan);
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < kPlanKeyCount; ++i)
    if (!is_set_apart(static_cast<PlanKey>(i)))
      settings.push_back(
          fmt::format("{}={}", path_of(static_cast<PlanKey>(i)), value_text(static_cast<PlanKey>(i), plan.values[i])));
  if (training.parallel.context_kind != base.parallel.context_kind)
    settings.push_back(fmt::format("workload.parallel.context_kind={}",
                                   value_text(PlanKey::kContextKind, plan[PlanKey::kContextKind])));
  if (training.parallel.context_balance != base.parallel.context_balance)
    settings.emplace_back("workload.parallel.context_balance=zigzag");
  if (training.parallel.context_inner != base.parallel.context_inner)
    settings.emplace_back("workload.parallel.context_inner=0");
  if (training.offload.states != base.offload.states)
    settings.push_back(fmt::format("workload.offload.states={} %", plan[PlanKey::kOffload]));
  if (training.offload.on_host != base.offload.on_host) settings.emplace_back("workload.offload.update=device");
  if (is_one_behind_the_other(base.schedule) || training.schedule != base.schedule)
    settings.push_back(fmt::format("workload.schedule.kind={}", workload::name_of(training.schedule)));
  if (training.overlap_passes != base.overlap_passes) settings.emplace_back("workload.schedule.overlap_passes=false");
  if (training.keep != base.keep) settings.emplace_back("workload.keep=[]");
  if (training.parallel.expert_skew != base.parallel.expert_skew)
    settings.emplace_back("workload.parallel.expert_skew=0");
  if (training.parallel.expert_seed != base.parallel.expert_seed)
    settings.push_back(fmt::format("workload.parallel.expert_seed={}", training.parallel.expert_seed));
  if (training.experts.dispatch.name != base.experts.dispatch.name)
    settings.push_back(fmt::format("workload.experts.dispatch={}", training.experts.dispatch.name));
  if (training.experts.overlap_shared != base.experts.overlap_shared)
    settings.emplace_back("workload.experts.overlap_shared=false");
  if (training.experts.redundant != base.experts.redundant)
    settings.push_back(fmt::format("workload.experts.redundant={}", training.experts.redundant));
  if (training.recompute_modules != base.recompute_modules)
    settings.push_back(fmt::format("workload.recompute_modules={}", text_of(training.recompute_modules)));
  if (training.parallel.shard != base.parallel.shard) settings.emplace_back("workload.parallel.shard=0");
  if (training.schedule_group != base.schedule_group)
    settings.push_back(fmt::format("workload.schedule.group={}", training.schedule_group));
  if (!base.pipeline_layers.empty() || !base.layer_rule.is_even() || !training.pipeline_layers.empty())
    settings.push_back(fmt::format("workload.pipeline_layers=[{}]", fmt::join(training.layers_of_stages(), ", ")));
  return settings;
}

std::vector<std::string> settings_of_one_rank() {
  const Plan plain;
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < kPlanKeyCount; ++i)
    if (static_cast<PlanKey>(i) != PlanKey::kRecompute && !is_set_apart(static_cast<PlanKey>(i)))
      settings.push_back(
          fmt::format("{}={}", path_of(static_cast<PlanKey>(i)), value_text(static_cast<PlanKey>(i), plain.values[i])));
  std::ranges::copy(settings_without_plan(), std::back_inserter(settings));
  return settings;
}

std::vector<std::string> settings_without_plan() {
  return {"workload.pipeline_layers=even", "workload.parallel.shard=0", "workload.schedule.group=0"};
}

}  // namespace orrery::study
