// SPDX-License-Identifier: MIT
// Every shipped study and model that trains a transformer with Megatron: its arguments, read again, are the same job
// but for keys that Megatron has no argument for, which stand here with why.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "experiment/experiment.h"
#include "experiment/launchers/launcher.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

// Beginnings of keys that no argument says.
const std::map<std::string, std::string> kNotSaid = {
    {"workload.experts.precision", "tokens are dispatched in the precision of activations"},
    {"workload.model.embedding_norm", "Megatron-DeepSpeed of BLOOM has it"},
    {"workload.model.indexer", "sparse attention of DeepSeek-V3.2 has no arguments"},
    {"workload.model.kinds", "mixers by letters are Mamba-2, attention and MLPs; linear attention is in code"},
    {"workload.model.pattern", "the same"},
    {"workload.model.position: \"alibi\"", "Megatron has learned, rotary and relative positions"},
    {"workload.parallel.expert_skew", "what tokens choose, not what is asked for"},
    {"workload.recompute_modules", "inputs in fp8, and MLPs beside experts, are others' own"},
    {"workload.schedule.kind", "1f1b and 1f1b-interleaved alone"},
    {"workload.software: ", "an import takes megatron-2025 unless --software names another"},
    {"workload.software.fp8", "casts that are none of Transformer Engine's recipes"},
    {"workload.software.overlap.pipeline", "with a schedule that Megatron has not"},
    {"workload.software.overlap.tensor", "with tensor parallelism weight gradients always hide something"},
};

void check(const Experiment& experiment, std::size_t& jobs, std::map<std::string, std::string>& seen) {
  const WrittenLaunch written = launcher_arguments(Launcher::kMegatron, experiment);
  ++jobs;
  for (const UnsaidKey& unsaid : written.unsaid) {
    const bool known = std::ranges::any_of(kNotSaid, [&](const auto& entry) {
      return (unsaid.key + ": \"" + unsaid.value + "\"").starts_with(entry.first);
    });
    if (!known) seen[unsaid.key + ": " + unsaid.value + " / " + unsaid.instead] = experiment.file;
  }
}

}  // namespace

TEST_CASE("shipped studies and models with Megatron go through its arguments") {
  std::size_t jobs = 0;
  std::map<std::string, std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ORRERY_SOURCE_DIR) + "/configs/studies")) {
    Diagnostics diagnostics;
    const std::string file = entry.path().string();
    if (!file.ends_with(".yaml")) continue;
    const ConfigValue root = kFiles.peek(file);
    if (root.find("sweep") != nullptr || root.find("workload") == nullptr || root.find("cluster") == nullptr) continue;
    try {
      const Experiment experiment = load_experiment(file, {}, kFiles, diagnostics);
      const auto& training = experiment.jobs.front().workload.training;
      if (experiment.jobs.size() > 1 || !training || training->transformer() == nullptr) continue;
      if (!training->software.name.starts_with("megatron")) continue;
      check(experiment, jobs, seen);
    } catch (const InputError&) {
      continue;  // no experiment by itself
    }
  }
  for (const std::string& model : kFiles.names("models")) {
    Diagnostics diagnostics;
    const std::string file = std::string(ORRERY_SOURCE_DIR) + "/" + model + ".yaml";
    ConfigValue root =
        parse_config(fmt::format("{{cluster: dgx-h100, nodes: 8, workload: {{software: megatron-2025, model: {}, "
                                 "parallel: {{data: rest, zero: 1}}, batch: {{global: 64, micro: 1}}}}}}",
                                 model),
                     file, diagnostics);
    const Experiment experiment = read_experiment(file, std::move(root), kFiles, diagnostics);
    const workload::TransformerSpec* sizes = experiment.jobs.front().workload.training->transformer();
    if (sizes != nullptr && !sizes->patches) check(experiment, jobs, seen);
  }
  CHECK(jobs > 60);
  for (const auto& [key, file] : seen) UNSCOPED_INFO(key << " (" << file << ")");
  CHECK(seen.empty());
}
