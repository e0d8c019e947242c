// SPDX-License-Identifier: MIT
#include "experiment/runs/check.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collectives/nccl/constants_config.h"
#include "core/config/config.h"
#include "core/config/dispatch.h"
#include "core/config/quantity_text.h"
#include "experiment/evidence/figures.h"
#include "experiment/experiment.h"
#include "experiment/files/file_kinds.h"
#include "experiment/job.h"
#include "experiment/recorded_run.h"
#include "experiment/several_jobs.h"
#include "network/config/cluster.h"
#include "network/fabric/caps.h"
#include "network/fabric/link_type.h"
#include "workload/training/spec/model.h"
#include "workload/training/spec/software.h"

namespace orrery::experiment {
namespace {

// A kind of file that is a part of an experiment, by its name in part_kind().
struct PartKind {
  std::string_view name;
  std::string_view place;          // the key of an experiment that it is read as; empty: by itself
  void (*read)(Section& section);  // the section is the file, or the experiment with nothing but that key
};

void read_as_cluster(Section& experiment) { network::read_cluster(experiment, unused_cluster_parts()); }

const std::array<PartKind, 11> kPartKinds = {{
    {"cluster", "cluster", read_as_cluster},
    {"node", "cluster.node", read_as_cluster},
    {"device", "", [](Section& s) { system::read_device(s); }},
    {"library", "", [](Section& s) { collectives::read_nccl_constants(s); }},
    {"model", "", [](Section& s) { workload::read_model(s); }},
    {"optimizer", "", [](Section& s) { workload::read_optimizer(s); }},
    {"recipe", "", [](Section& s) { workload::read_recipe(s); }},
    {"software", "", [](Section& s) { workload::read_software(s); }},
    {"dispatch library", "", [](Section& s) { read_dispatch(s); }},
    {"network", "", [](Section& s) { network::read_network(s); }},
    {"link", "", [](Section& s) { network::read_link_type(s); }},
}};

// Null for an experiment and for what is nothing known.
const PartKind* part_kind_of(const ConfigValue& root) {
  const auto found = std::ranges::find(kPartKinds, part_kind(root), &PartKind::name);
  return found == kPartKinds.end() ? nullptr : &*found;
}

ConfigValue in_map(std::string key, ConfigValue value) {
  const Location where = value.where;
  ConfigValue map{ConfigValue::Kind::kMap, where, {}, {}, {}};
  map.entries.push_back({std::move(key), where, std::move(value)});
  return map;
}

// Links that are never full, if no warning has told of them.
std::vector<std::string> notes_on(const network::Fabric& fabric, const Diagnostics& told) {
  std::vector<std::string> notes;
  for (const network::CappedClass& links : network::capped_links(fabric, [](const std::string&) { return true; })) {
    const std::string text = capped_text(links, fabric);
    if (std::ranges::find(told.problems(), text, &Problem::message) != told.problems().end()) continue;
    const std::string& by = fabric.link_keys()[links.cap.by];
    notes.push_back(by.empty() ? text : fmt::format("{} ('{}')", text, by));
  }
  return notes;
}

// The same of a cluster that is read once more, as two nodes if it has one, which nothing leaves.
std::vector<std::string> notes_on_cluster(ConfigValue root, const ConfigFiles& files, const Diagnostics& told) {
  for (const char* nodes : {"", "cluster.nodes=2"}) {
    Diagnostics ignored;
    ConfigValue again = root;
    if (*nodes != 0) apply_setting(again, nodes, files, ignored);
    ConfigContext context(files, ignored);
    std::optional<network::Fabric> fabric;
    read_config(again, context, [&](Section& s) { fabric = network::read_cluster(s, unused_cluster_parts()); });
    if (!fabric || !fabric->is_of_nodes()) return {};
    if (*nodes != 0 || fabric->device_count() > fabric->dimensions().front().size) return notes_on(*fabric, told);
  }
  return {};
}

CheckedConfig check_experiment(const std::string& file, const std::vector<std::string>& settings,
                               const ConfigFiles& files, Diagnostics& diagnostics) {
  const Experiment experiment = load_experiment(file, settings, files, diagnostics);
  check_memory(experiment, false, diagnostics);
  std::vector<ExperimentJob> parts = load_experiment_jobs(experiment, diagnostics);
  const std::vector<system::ComputeOptions> compute = simulation_options(experiment, parts).compute_by_graph;
  const ExperimentJob loaded = together(experiment, parts);
  const workload::Job& job = loaded.job;
  system::check_perturbed_ranks(experiment.simulation.perturbation, static_cast<std::uint32_t>(job.ranks.size()));
  check_order(job, workload::match(job), experiment.nccl ? send_buffer_of(experiment.nccl->constants()) : Bytes::max());
  std::string jobs;
  for (const JobSource& one : experiment.jobs) {
    const auto& training = one.workload.training;
    if (experiment.jobs.size() > 1)
      jobs += printable(one.name) + ": " + (training || one.workload.call ? "" : "traces, ");
    if (training) jobs += model_text(training->model) + ", ";
    if (one.workload.call) jobs += call_text(*one.workload.call) + ", ";
  }
  const std::string roofline = report::roofline_text(roofline_figures(experiment, loaded, compute));
  const bool is_generated =
      std::ranges::any_of(experiment.jobs, [](const JobSource& one) { return one.workload.training.has_value(); });
  return {is_result(file, files) ? "result" : "experiment",
          {},
          is_generated ? find_assumptions(experiment.resolved, experiment.idle_keys, file, files)
                       : std::vector<report::EvidenceFigure>{},
          fmt::format("{}{} on {}{}{}", jobs, counted(job.ranks.size(), "rank"),
                      counted(experiment.fabric.device_count(), "device"), roofline.empty() ? "" : "; ", roofline),
          notes_on(experiment.fabric, diagnostics)};
}

// The keys below `value` that no file has; `path` leads to it.
void add_defaults(const ConfigValue& value, const std::string& path, std::vector<DefaultedKey>& defaults) {
  const auto below = [&](std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  };
  for (const ConfigEntry& entry : value.entries) {
    if (entry.defaulted.empty() || entry.value.kind != ConfigValue::Kind::kScalar)
      add_defaults(entry.value, below(entry.key), defaults);
    else
      defaults.push_back({below(entry.key), entry.value.scalar, entry.defaulted, entry.where.file});
  }
  std::size_t index = 0;
  for (const ConfigValue& item : value.items) add_defaults(item, fmt::format("{}[{}]", path, index++), defaults);
}

}  // namespace

bool is_configuration(const std::string& file, const ConfigFiles& files) {
  if (is_result(file, files)) return true;
  if (!may_be_configuration(file)) return false;
  if (!may_be_trace(file)) return true;
  const ConfigValue root = files.peek(file);
  return is_experiment(root) || is_document(root) || part_kind_of(root) != nullptr;
}

CheckedConfig check_config(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                           Diagnostics& diagnostics) {
  if (is_result(file, files)) return check_experiment(file, settings, files, diagnostics);
  ConfigValue root = load_configuration(file, files, diagnostics);
  diagnostics.throw_if_errors();
  const PartKind* kind = part_kind_of(root);
  if (kind == nullptr) return check_experiment(file, settings, files, diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, files, diagnostics);
  std::vector<std::string> keys = kind->place.empty() ? std::vector<std::string>{} : split_key_path(kind->place);
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) root = in_map(*key, std::move(root));
  const ConfigValue as_written = root;
  ConfigContext context(files, diagnostics);
  context.set_own_file(file);
  read_config(root, context, kind->read);
  CheckedConfig checked{kind->name, {}};
  if (kind->read == read_as_cluster) checked.notes = notes_on_cluster(as_written, files, diagnostics);
  const ConfigValue* part = &root;
  for (const std::string& key : keys) part = &part->find(key)->value;
  add_defaults(*part, {}, checked.defaults);
  return checked;
}

}  // namespace orrery::experiment
