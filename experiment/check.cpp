#include "experiment/check.h"

#include <array>
#include <optional>

#include "collectives/nccl/constants_config.h"
#include "core/assert.h"
#include "core/config/config.h"
#include "experiment/cluster_parts.h"
#include "experiment/experiment.h"
#include "experiment/job.h"
#include "experiment/order_check.h"
#include "network/config/cluster.h"
#include "network/fabric/link_type.h"
#include "workload/training/spec/model.h"
#include "workload/training/spec/software.h"

namespace orrery {
namespace {

// The keys that tell; the first kind with one of them is it.
struct TellingKeys {
  ConfigKind kind;
  std::array<std::string_view, 3> keys;
};
constexpr std::array<TellingKeys, 9> kTellingKeys = {{
    {ConfigKind::kExperiment, {"workload", "cluster", "collectives"}},
    {ConfigKind::kCluster, {"dims", "node", "scale_out"}},
    {ConfigKind::kNode, {"devices", "nics", "fabric"}},
    {ConfigKind::kDevice, {"peak", "memory", "streaming_multiprocessors"}},
    {ConfigKind::kLibrary, {"ll_cap", "hop", "chunk"}},
    {ConfigKind::kModel, {"hidden", "tables", "convolutions"}},
    {ConfigKind::kSoftware, {"rates", "attention", "optimizer"}},
    {ConfigKind::kNetwork, {"kind", "stack", "stack"}},
    {ConfigKind::kLink, {"bandwidth", "efficiency", "efficiency"}},
}};

std::optional<ConfigKind> kind_of(const ConfigValue& root) {
  for (const TellingKeys& telling : kTellingKeys)
    for (const std::string_view key : telling.keys)
      if (root.find(key) != nullptr) return telling.kind;
  return std::nullopt;
}

ConfigValue in_map(std::string key, ConfigValue value) {
  const Location where = value.where;
  ConfigValue map{ConfigValue::Kind::kMap, where, {}, {}, {}};
  map.entries.push_back({std::move(key), where, std::move(value)});
  return map;
}

void check_experiment(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                      Diagnostics& diagnostics) {
  const Experiment experiment = load_experiment(file, settings, files, diagnostics);
  check_memory(experiment, false, diagnostics);
  const ExperimentJob loaded = load_experiment_job(experiment, diagnostics);
  const Job& job = loaded.job;
  check_perturbed_ranks(experiment.simulation.perturbation, static_cast<std::uint32_t>(job.ranks.size()));
  check_order(job, match(job));
}

}  // namespace

std::string_view name_of(ConfigKind kind) {
  switch (kind) {
    case ConfigKind::kExperiment:
      return "experiment";
    case ConfigKind::kCluster:
      return "cluster";
    case ConfigKind::kNode:
      return "node";
    case ConfigKind::kDevice:
      return "device";
    case ConfigKind::kLibrary:
      return "library";
    case ConfigKind::kModel:
      return "model";
    case ConfigKind::kSoftware:
      return "software";
    case ConfigKind::kNetwork:
      return "network";
    case ConfigKind::kLink:
      return "link";
  }
  ORRERY_ASSERT(false);
}

bool is_configuration(const std::string& file) {
  if (!file.ends_with(".json")) return file.ends_with(".yaml") || file.ends_with(".yml");
  Diagnostics ignored;
  const ConfigValue root = load_config(file, {}, ignored);
  return !ignored.has_errors() && kind_of(root).has_value();
}

ConfigKind check_config(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                        Diagnostics& diagnostics) {
  ConfigValue root = load_config(file, {}, diagnostics);
  const ConfigKind kind = kind_of(root).value_or(ConfigKind::kExperiment);
  diagnostics.throw_if_errors();
  if (kind == ConfigKind::kExperiment) {
    check_experiment(file, settings, files, diagnostics);
    return kind;
  }
  for (const std::string& setting : settings) apply_setting(root, setting, files, diagnostics);
  ConfigContext context(files, diagnostics);
  if (kind == ConfigKind::kDevice) {
    read_config(root, context, [](Section& section) { read_device(section); });
    return kind;
  }
  if (kind == ConfigKind::kLink) {
    read_config(root, context, [](Section& section) { read_link_type(section); });
    return kind;
  }
  if (kind == ConfigKind::kNetwork) {
    read_config(root, context, [](Section& section) { read_network(section); });
    return kind;
  }
  if (kind == ConfigKind::kLibrary) {
    read_config(root, context, [](Section& section) { read_nccl_constants(section); });
    return kind;
  }
  if (kind == ConfigKind::kModel) {
    read_config(root, context, [](Section& section) { read_model(section); });
    return kind;
  }
  if (kind == ConfigKind::kSoftware) {
    read_config(root, context, [](Section& section) { read_software(section); });
    return kind;
  }
  // Read as the part of an experiment that it is.
  if (kind == ConfigKind::kNode) root = in_map("node", std::move(root));
  root = in_map("cluster", std::move(root));
  read_config(root, context, [](Section& section) { read_cluster(section, unused_cluster_parts()); });
  return kind;
}

}  // namespace orrery
