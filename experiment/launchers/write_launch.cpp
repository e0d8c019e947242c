// SPDX-License-Identifier: MIT
// Arguments of a job, and what they leave out: the arguments are read again, and keys that come out otherwise are told.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"
#include "core/config/text.h"
#include "core/files/json.h"
#include "experiment/experiment.h"
#include "experiment/launchers/argument_table.h"
#include "experiment/launchers/same_job.h"

namespace orrery::experiment {
namespace {

using Leaves = std::vector<std::pair<std::string, std::string>>;

// Keys that say nothing of the job.
bool is_for_people(std::string_view key) {
  return key == "name" || key == "source" || key == "assumed" || key == "parameters" || key == "tokens" ||
         key == "price";
}

std::string value_text(const ConfigValue& value) { return dump_json(to_json(value)); }

// Values by path; a list is one value.
void add_leaves(const ConfigValue& value, const std::string& path, Leaves& leaves) {
  if (value.kind != ConfigValue::Kind::kMap) {
    leaves.emplace_back(path, value.kind == ConfigValue::Kind::kScalar ? value.scalar : value_text(value));
    return;
  }
  for (const ConfigEntry& entry : value.entries)
    if (!is_for_people(entry.key)) add_leaves(entry.value, path.empty() ? entry.key : path + "." + entry.key, leaves);
}

bool is_idle(const Experiment& experiment, std::string_view key) {
  return std::ranges::any_of(experiment.idle_keys, [&](const IdleKey& idle) {
    return key == idle.path || (key.starts_with(idle.path) && key[idle.path.size()] == '.');
  });
}

// The job as the launcher's table reads its arguments, on the same cluster and with the same software where no argument
// says otherwise. `software_of_import`: the file that an import takes, whose overlaps and defaults may be others.
Experiment read_again(const LauncherTable& table, const WrittenLaunch& launch, const Experiment& job,
                      std::string& software_of_import, Diagnostics& diagnostics) {
  LaunchFiles files;
  files.arguments = launch.arguments;
  files.where = {"launcher"};
  files.configs = job.files;
  if (table.program != nullptr) files.program = table.program(*job.jobs.front().workload.training->transformer());
  files.ranks = job.jobs.front().workload.training->parallel.workers();
  files.node_devices = job.jobs.front().workload.training->parallel.node_devices;
  std::vector<ReadArgument> arguments;
  const LaunchKeys keys =
      read_arguments(table, files, system::oldest_architecture(job.devices), arguments, diagnostics);
  diagnostics.throw_if_errors();
  software_of_import = keys.software.empty() ? std::string(table.software) : keys.software;
  ConfigValue read = experiment_of(keys, {}, {}, files.where, diagnostics);
  ConfigValue root = job.resolved;
  root.is_resolved = false;
  ConfigValue workload = std::move(read.find("workload")->value);
  ConfigValue software = root.find("workload")->value.find("software")->value;
  if (ConfigEntry* changes = workload.find("software")) {
    merge_into(software, std::move(changes->value));
    changes->value = std::move(software);
  } else {
    workload.entries.push_back({"software", files.where, std::move(software)});
  }
  root.find("workload")->value = std::move(workload);
  return read_experiment(job.file, std::move(root), *job.files, diagnostics);
}

std::vector<UnsaidKey> differences(const Experiment& job, const Experiment& again) {
  Leaves wanted, found;
  add_leaves(job.resolved.find("workload")->value, "workload", wanted);
  add_leaves(again.resolved.find("workload")->value, "workload", found);
  std::vector<UnsaidKey> unsaid;
  const workload::TrainingSpec& one = *job.jobs.front().workload.training;
  const workload::TrainingSpec& other_job = *again.jobs.front().workload.training;
  const auto is_same = [&](const std::string& key) { return means_the_same(one, other_job, key); };
  const auto by_key = [](const auto& leaf) -> const std::string& { return leaf.first; };
  for (const auto& [key, value] : wanted) {
    const auto other = std::ranges::find(found, key, by_key);
    const std::string instead = other == found.end() ? std::string() : other->second;
    if (!stand_for_one_value(value, instead) && !is_idle(job, key) && !is_idle(again, key) && !is_same(key))
      unsaid.push_back({key, value, instead});
  }
  // A recipe in place of the software's own casts is told once, by its name.
  const bool has_recipe = one.recipe || !other_job.recipe || is_same("workload.recipe");
  if (!has_recipe) unsaid.push_back({"workload.software.fp8", "of its own", other_job.recipe->name});
  for (const auto& [key, value] : found)
    if ((has_recipe || !key.starts_with("workload.recipe.")) &&
        std::ranges::find(wanted, key, by_key) == wanted.end() && !is_idle(again, key) && !is_same(key))
      unsaid.push_back({key, {}, value});
  return unsaid;
}

}  // namespace

WrittenLaunch launcher_arguments(Launcher launcher, const Experiment& experiment) {
  const LauncherTable& table = table_of_launcher(launcher);
  const auto& training = experiment.jobs.front().workload.training;
  if (experiment.jobs.size() > 1 || !training || training->transformer() == nullptr)
    throw InputError({experiment.file},
                     fmt::format("{} trains one transformer, and the experiment has {}", table.title,
                                 experiment.jobs.size() > 1 ? "several jobs" : "none"),
                     "give an experiment that trains a transformer");
  if (training->transformer()->patches)
    throw InputError({experiment.file},
                     fmt::format("arguments of {} are of models of tokens, and this one is of images", table.title),
                     "give an experiment that trains a model of tokens");
  WrittenLaunch written;
  written.launcher = launcher;
  LaunchWriting writing(experiment, *training, written);
  for (const ArgumentRow& row : table.rows) {
    writing.set_row(row);
    if (row.write != nullptr) row.write(writing);
  }
  Diagnostics diagnostics;
  std::string software;
  try {
    const Experiment again = read_again(table, written, experiment, software, diagnostics);
    std::ranges::move(differences(experiment, again), std::back_inserter(written.unsaid));
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) written.unsaid.push_back({"", problem.message, problem.hint});
  }
  if (!software.empty() && training->software.name != software)
    written.unsaid.push_back({"workload.software", training->software.name, software});
  if (table.print != nullptr) written.text = table.print(written, experiment);
  return written;
}

std::string unsaid_text(const WrittenLaunch& launch) {
  if (launch.unsaid.empty()) return {};
  std::string text = fmt::format("# {} cannot be told:\n", table_of_launcher(launch.launcher).title);
  for (const UnsaidKey& unsaid : launch.unsaid) {
    const std::string value = unsaid.value.empty() ? "none" : unsaid.value;
    const std::string said = unsaid.key.empty() ? value : fmt::format("{}: {}", unsaid.key, value);
    const std::string other = unsaid.key.empty() ? unsaid.instead : "there " + unsaid.instead;
    const std::string instead = unsaid.instead.empty() ? "" : fmt::format(" ({})", printable(other));
    text += fmt::format("#   {}{}\n", printable(said), instead);
  }
  return text;
}

}  // namespace orrery::experiment
