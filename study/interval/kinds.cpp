// SPDX-License-Identifier: MIT
#include "study/interval/kinds.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "experiment/job.h"
#include "study/errors.h"
#include "study/interval/shipped_values.h"
#include "system/devices/device.h"

namespace orrery::study {
namespace {

std::string model_of(const workload::TrainingSpec& training) {
  if (training.lora) return "lora";
  struct Names {
    std::string operator()(const workload::TransformerSpec& model) const {
      return model.experts > 0 ? "experts" : "transformer";
    }
    std::string operator()(const workload::DlrmSpec&) const { return "dlrm"; }
    std::string operator()(const workload::ConvolutionalSpec&) const { return "convolutional"; }
    std::string operator()(const workload::RecurrentSpec&) const { return "recurrent"; }
    std::string operator()(const workload::EvoformerSpec&) const { return "evoformer"; }
  };
  return std::visit(Names{}, training.model.sizes);
}

// Parts of a configuration that predictions rest on. Of software the rates and times: what else it does is its own, and
// published runs differ in it.
constexpr std::array<std::string_view, 10> kPriced = {"cluster",
                                                      "collectives",
                                                      "network",
                                                      "perturb",
                                                      "workload.software.accumulation",
                                                      "workload.software.name",
                                                      "workload.software.optimizer",
                                                      "workload.software.rates",
                                                      "workload.software.rates_of",
                                                      "workload.software.host"};
// Keys beneath them that are counts, or for people.
constexpr std::array<std::string_view, 7> kCounts = {"devices", "count",   "nodes", "size",
                                                     "source",  "assumed", "fitted"};
// A name for people: what the file calls a part of the machine.
bool is_label(std::string_view key) { return key.starts_with("cluster.") && key.ends_with(".name"); }

// Keys that published runs differ in.
constexpr std::array<std::string_view, 5> kVaried = {"collectives.launch", "collectives.algo", "collectives.proto",
                                                     "collectives.in_place", "collectives.version"};

bool is_priced(std::string_view path) {
  return std::ranges::any_of(kPriced, [&](std::string_view part) {
    return path.starts_with(part) && (path.size() == part.size() || path[part.size()] == '.');
  });
}

// True if the reader takes the same without the entry: nobody wrote it, or it is the default and stands for no other.
bool is_as_read(const ConfigEntry& entry) {
  return !entry.defaulted.empty() || (entry.value.is_default && !entry.value.over_default);
}

// The first leaf beneath `value` that is written elsewhere than in shipped files; `is_foreign` tells by its path and
// place.
template <class Foreign>
std::string foreign_key(const ConfigValue& value, const std::string& path, const Foreign& is_foreign) {
  for (const ConfigEntry& entry : value.entries) {
    if (is_as_read(entry)) continue;
    const bool is_map = entry.value.kind == ConfigValue::Kind::kMap;
    if (!is_map && std::ranges::find(kCounts, entry.key) != kCounts.end()) continue;
    const std::string key = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
    if (is_map) {
      if (std::string found = foreign_key(entry.value, key, is_foreign); !found.empty()) return found;
    } else if (is_priced(key) && !is_label(key) && std::ranges::find(kVaried, key) == kVaried.end() &&
               is_foreign(key, entry.value.where)) {
      return key;
    }
  }
  return {};
}

// Keys of a workload that files of errors have columns for, or that are no part of what is simulated.
constexpr std::array<std::string_view, 11> kTold = {
    "model",     "parallel.tensor", "parallel.pipeline", "parallel.context",
    "precision", "parallel.data",   "parallel.expert",   "batch.global",
    "tokens",    "price",           "software.name"};

// Leaves beneath `value`, `path` below the workload, that are written elsewhere than in shipped files.
template <class Foreign>
void add_untold(const ConfigValue& value, const std::string& path, const Foreign& is_foreign,
                std::vector<std::string>& untold) {
  for (const ConfigEntry& entry : value.entries) {
    if (is_as_read(entry)) continue;
    const std::string key = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
    if (std::ranges::find(kTold, key) != kTold.end()) continue;
    if (entry.value.kind == ConfigValue::Kind::kMap)
      add_untold(entry.value, key, is_foreign, untold);
    else if (std::ranges::find(kCounts, entry.key) == kCounts.end() && is_foreign("workload." + key, entry.value.where))
      untold.push_back(key);
  }
}

// Tells what somebody chose: what is written elsewhere than in shipped files of hardware, models and software, studies
// among it, and neither repeats a shipped file nor was calibrated; of a result, what is set to other than it ships.
class OwnKeys {
 public:
  OwnKeys(const experiment::Experiment& experiment, const ConfigFiles& files)
      : experiment_(&experiment),
        files_(&files),
        shipped_((files.shipped() / "").lexically_normal().string()),
        studies_(shipped_ + "studies/") {}

  bool operator()(const std::string& key, const Location& where) const {
    return (is_setting(where) || is_elsewhere(where)) && !(may_be_shipped(key) && explained().contains(key));
  }

 private:
  bool is_elsewhere(const Location& where) const {
    if (experiment_->resolved.is_resolved) return false;
    const std::string file = std::filesystem::path(where.file).lexically_normal().string();
    return !file.starts_with(shipped_) || file.starts_with(studies_);
  }

  // Found where it is asked for, since most experiments name their files.
  const std::set<std::string>& explained() const {
    if (!explained_) {
      explained_ = keys_as_shipped(experiment_->resolved, *files_);
      explained_->merge(calibrated_keys(*experiment_, *files_));
    }
    return *explained_;
  }

  const experiment::Experiment* experiment_;
  const ConfigFiles* files_;
  std::string shipped_, studies_;
  mutable std::optional<std::set<std::string>> explained_{};
};

constexpr std::array<std::string_view, kAllSizeBands.size()> kSizeNames = {"less than 1 MiB", "1 to 256 MiB",
                                                                           "256 MiB and more"};
constexpr std::string_view kWithin = "within a node", kBetween = "between nodes",
                           kBySockets = "between nodes by sockets";

}  // namespace

const RunSchema& training_runs() {
  static const RunSchema kSchema = {
      .runs = "training jobs",
      .any = "any training",
      .file = "validation/training-errors.csv",
      .about =
          "# Measured / predicted - 1 of published runs (configs/validation/training), each by constants fitted "
          "without its\n# family: written by `orrery validate training --cross --errors FILE`.\n",
      .words = {{"model", "", {"transformer", "experts", "lora", "dlrm", "convolutional", "recurrent", "evoformer"}},
                {"architecture", " on ", architecture_names()},
                {"software", " with "}},
      .has_precision = true,
      .has_shapes = true,
      .holds_own = true};
  return kSchema;
}

std::optional<RunKind> job_kind(const experiment::Experiment& experiment) {
  if (experiment.jobs.size() != 1 || !experiment.jobs.front().workload.training) return std::nullopt;
  const workload::TrainingSpec& training = *experiment.jobs.front().workload.training;
  return RunKind{
      {model_of(training), std::string(name_of(measured_as(system::oldest_architecture(experiment.devices)))),
       training.software.name},
      std::string(name_of(training.precision)),
      training.parallel.ranks()};
}

JobShape job_shape(const experiment::Experiment& experiment) {
  const workload::TrainingSpec& training = *experiment.jobs.front().workload.training;
  const workload::Parallelism& parallel = training.parallel;
  const auto* transformer = std::get_if<workload::TransformerSpec>(&training.model.sizes);
  return {experiment.devices_text(),
          workload::parameter_count(training.model),
          transformer == nullptr ? 0 : transformer->sequence,
          training.global_batch,
          {parallel.tensor(), parallel.pipeline(), parallel.context(), parallel.data(), parallel.expert}};
}

const RunSchema& collective_runs() {
  static const RunSchema kSchema = {
      .runs = "collectives",
      .any = "any collective",
      .file = "validation/collective-errors.csv",
      .about =
          "# Measured / predicted - 1 of published collectives (configs/validation/nccl), each by constants fitted "
          "without its\n# system: written by `orrery validate nccl --cross --errors FILE`.\n",
      .words = {{"operation", ""},
                {"size", " of ", {kSizeNames.begin(), kSizeNames.end()}},
                {"span", " ", {std::string(kWithin), std::string(kBetween), std::string(kBySockets)}},
                {"architecture", " on ", architecture_names()}}};
  return kSchema;
}

RunKind collective_kind(const workload::CallOperation& operation, Bytes size, std::int64_t nodes, std::int64_t ranks,
                        std::string_view network, std::string_view architecture) {
  const bool is_by_sockets = network == name_of(NetworkKind::kEthernet);
  const std::string_view span = nodes == 1 ? kWithin : is_by_sockets ? kBySockets : kBetween;
  const std::string_view band = kSizeNames[static_cast<std::size_t>(band_of(size))];
  return {{std::string(operation.name), std::string(band), std::string(span), std::string(architecture)}, "", ranks};
}

std::optional<RunKind> called_collective(const experiment::Experiment& experiment) {
  if (experiment.jobs.size() != 1 || !experiment.nccl) return std::nullopt;
  const std::optional<experiment::CallSource>& call = experiment.jobs.front().workload.call;
  if (!call || call->exchange || call->product || call->shares || call->size <= Bytes(0)) return std::nullopt;
  const std::uint32_t of_node = experiment.fabric.dimensions().front().size;
  std::set<std::uint32_t> nodes;
  for (const DeviceId device : experiment::devices_of_call(experiment)) nodes.insert(index_of(device) / of_node);
  const MachineKind machine = experiment.machine_kind();
  return collective_kind(call->operation, call->size, std::ssize(nodes), call->ranks, name_of(machine.network),
                         name_of(measured_as(machine.architecture)));
}

std::string key_by_hand(const experiment::Experiment& experiment, const ConfigFiles& files,
                        const std::optional<experiment::RecordedRun>& recorded) {
  std::string key = foreign_key(experiment.resolved, "", OwnKeys(experiment, files));
  return key.empty() && recorded ? recorded->by_hand : key;
}

std::vector<std::string> keys_untold(const experiment::Experiment& experiment, const ConfigFiles& files,
                                     const std::optional<experiment::RecordedRun>& recorded) {
  std::vector<std::string> untold, set;
  if (recorded) untold = recorded->not_compared;
  if (const ConfigEntry* workload = experiment.resolved.find("workload"))
    add_untold(workload->value, "", OwnKeys(experiment, files), set);
  std::ranges::copy_if(set, std::back_inserter(untold), [&](const std::string& key) {
    return !recorded || std::ranges::find(recorded->not_compared, key) == recorded->not_compared.end();
  });
  return untold;
}

std::string setting_by_hand(const experiment::Experiment& experiment, const ConfigFiles& files) {
  const OwnKeys is_own(experiment, files);
  return foreign_key(experiment.resolved, "", [&](const std::string& key, const Location& where) {
    return is_setting(where) && is_own(key, where);
  });
}

}  // namespace orrery::study
