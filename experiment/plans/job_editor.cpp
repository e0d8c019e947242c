// SPDX-License-Identifier: MIT
#include "experiment/plans/job_editor.h"

#include <vector>

#include <fmt/format.h>

#include "experiment/sections.h"

namespace orrery::experiment {

JobEditor::JobEditor(const Experiment& experiment, std::size_t number) : experiment_(experiment), number_(number) {
  jobs_.kind = ConfigValue::Kind::kMap;
  for (const char* key : {"workload", "jobs"})
    if (const ConfigEntry* entry = experiment.resolved.find(key)) jobs_.entries.push_back(*entry);
  drop_defaults(jobs_);  // some follow from what is edited
  path_ = jobs_.find("jobs") == nullptr ? "workload" : fmt::format("jobs.{}.workload", number);
  Diagnostics ignored;
  ConfigContext context(*experiment.files, ignored);
  ConfigValue root = experiment.resolved;
  machine_ = job_machine(Section(root, "", context), experiment.fabric, experiment.devices);
}

std::optional<workload::TrainingSpec> JobEditor::with(std::span<const std::string> settings) const {
  Diagnostics problems;
  ConfigValue root = jobs_;
  for (const std::string& setting : settings)
    apply_setting(root, fmt::format("{}.{}", path_, setting), *experiment_.files, problems);
  if (problems.has_errors()) return std::nullopt;
  ConfigContext context(*experiment_.files, problems);
  std::vector<JobSource> jobs;
  read_config(root, context, [&](Section& section) { jobs = read_jobs(section, machine_); });
  if (problems.has_errors() || !jobs[number_].workload.training) return std::nullopt;
  workload::check_training(*jobs[number_].workload.training, machine_.devices, problems);
  if (problems.has_errors()) return std::nullopt;
  return std::move(jobs[number_].workload.training);
}

}  // namespace orrery::experiment
