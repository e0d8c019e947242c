// SPDX-License-Identifier: MIT
#include "core/config/other_names.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/key_path.h"
#include "core/error.h"

namespace orrery {
namespace {

// A name that is good at the root of an experiment, in `workload`, and in the section that has the key.
struct OtherName {
  std::string_view name;
  std::string_view section;
  std::string_view key;
};

constexpr std::string_view kParallel = "workload.parallel", kBatch = "workload.batch", kModel = "workload.model",
                           kSchedule = "workload.schedule";

// Names as people abbreviate them, and as Megatron-LM, DeepSpeed and recipes of Megatron-Bridge have them.
constexpr std::array<OtherName, 37> kOtherNames = {{
    {"gbs", kBatch, "global"},
    {"global_batch", kBatch, "global"},
    {"global_batch_size", kBatch, "global"},
    {"train_batch_size", kBatch, "global"},
    {"mbs", kBatch, "micro"},
    {"micro_batch", kBatch, "micro"},
    {"micro_batch_size", kBatch, "micro"},
    {"train_micro_batch_size_per_gpu", kBatch, "micro"},
    {"ga", kBatch, "accumulation"},
    {"gradient_accumulation", kBatch, "accumulation"},
    {"gradient_accumulation_steps", kBatch, "accumulation"},
    {"tp", kParallel, "tensor"},
    {"tensor_parallel_size", kParallel, "tensor"},
    {"tensor_model_parallel_size", kParallel, "tensor"},
    {"pp", kParallel, "pipeline"},
    {"pipeline_parallel_size", kParallel, "pipeline"},
    {"pipeline_model_parallel_size", kParallel, "pipeline"},
    {"dp", kParallel, "data"},
    {"data_parallel_size", kParallel, "data"},
    {"cp", kParallel, "context"},
    {"context_parallel_size", kParallel, "context"},
    {"sp", kParallel, "sequence"},
    {"sequence_parallel", kParallel, "sequence"},
    {"ep", kParallel, "expert"},
    {"expert_parallel_size", kParallel, "expert"},
    {"expert_model_parallel_size", kParallel, "expert"},
    {"etp", kParallel, "expert_tensor"},
    {"expert_tensor_parallel_size", kParallel, "expert_tensor"},
    {"zero_stage", kParallel, "zero"},
    {"vpp", kSchedule, "virtual_stages"},
    {"vp", kSchedule, "virtual_stages"},
    {"virtual_pipeline", kSchedule, "virtual_stages"},
    {"virtual_pipeline_size", kSchedule, "virtual_stages"},
    {"virtual_pipeline_model_parallel_size", kSchedule, "virtual_stages"},
    {"seq_len", kModel, "sequence"},
    {"seq_length", kModel, "sequence"},
    {"sequence_length", kModel, "sequence"},
}};

// Main keys of maps, by the ends of their paths: those that people mean where they write a word for all of it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMainKeys = {{{"workload.schedule", "kind"},
                                                                                     {"workload.batch", "global"},
                                                                                     {"workload.parallel", "data"},
                                                                                     {"network", "model"},
                                                                                     {"collectives", "library"}}};

// The key in place of the last step of a path whose other steps are `sections`: below `workload` or at the root.
const OtherName* other_name(std::string_view sections, std::string_view name) {
  const auto* found = std::ranges::find_if(kOtherNames, [&](const OtherName& other) {
    return other.name == name && (sections.empty() || sections == "workload" || sections == other.section);
  });
  return found == kOtherNames.end() ? nullptr : found;
}

// Moves the names of a section, whose path is `job` ("", "jobs.0.") and `sections`, to where they belong below `job`.
void spell_out_section(ConfigValue& root, const std::string& job, std::string_view sections, const ConfigFiles& files,
                       Diagnostics& diagnostics) {
  ConfigValue* section = value_at_path(root, job + std::string(sections));
  if (section == nullptr) return;
  const bool has_model = value_at_path(root, fmt::format("{}{}", job, kModel)) != nullptr;
  const auto is_other = [&](const ConfigEntry& entry) {
    const OtherName* other = other_name(sections, entry.key);
    return other != nullptr && (has_model || other->section != kModel);
  };
  std::vector<std::pair<ConfigEntry, const OtherName*>> moved;
  for (const ConfigEntry& entry : section->entries)
    if (is_other(entry)) moved.emplace_back(entry, other_name(sections, entry.key));
  std::erase_if(section->entries, is_other);
  for (auto& [entry, other] : moved) {
    const std::string path = fmt::format("{}{}.{}", job, other->section, other->key);
    if (const ConfigValue* known = value_at_path(root, path))
      diagnostics.error(entry.where,
                        fmt::format("'{}' is '{}', which is given at {}, too", printable(entry.key, 40), path,
                                    to_string(known->where)),
                        "leave one of them out");
    else
      set_value(root, path, std::move(entry.value), files, diagnostics);
  }
}

void spell_out_job(ConfigValue& root, const std::string& job, const ConfigFiles& files, Diagnostics& diagnostics) {
  spell_out_section(root, job, "workload", files, diagnostics);
  for (const std::string_view section : {kParallel, kBatch, kSchedule, kModel})
    spell_out_section(root, job, section, files, diagnostics);
}

}  // namespace

std::string hint_for_word(std::string_view path, std::string_view word) {
  const auto* found = std::ranges::find_if(kMainKeys, [&](const auto& one) { return path.ends_with(one.first); });
  return found == kMainKeys.end() ? std::string()
                                  : fmt::format("write {}.{}: {}", path, found->second, printable(word, 40));
}

std::string plain_path(std::string_view path) {
  const std::vector<std::string> steps = split_key_path(path);
  const bool is_of_job = steps.size() > 3 && steps[0] == "jobs" && steps[2] == "workload";
  const std::size_t first = is_of_job ? 2 : 0;
  const std::span sections = std::span(steps).subspan(first, steps.size() - first - 1);
  const OtherName* other = other_name(fmt::format("{}", fmt::join(sections, ".")), steps.back());
  if (other == nullptr) return std::string(path);
  return fmt::format("{}{}.{}", is_of_job ? fmt::format("jobs.{}.", steps[1]) : "", other->section, other->key);
}

void spell_out_names(ConfigValue& root, const ConfigFiles& files, Diagnostics& diagnostics) {
  if (root.kind != ConfigValue::Kind::kMap) return;
  const ConfigEntry* jobs = root.find("jobs");
  if (jobs == nullptr) {
    spell_out_section(root, {}, {}, files, diagnostics);
    return spell_out_job(root, {}, files, diagnostics);
  }
  for (std::size_t i = 0; i < jobs->value.items.size(); ++i)
    spell_out_job(root, fmt::format("jobs.{}.", i), files, diagnostics);
}

}  // namespace orrery
