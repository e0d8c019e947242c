// SPDX-License-Identifier: MIT
// Jobs as files of torchtitan, DeepSpeed and Hugging Face, and back.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiment/experiment.h"
#include "experiment/launchers/launcher.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

Experiment load(const std::string& file, const std::vector<std::string>& settings) {
  Diagnostics diagnostics;
  return load_experiment(file, settings, kFiles, diagnostics);
}

Experiment study(const std::string& name, const std::vector<std::string>& settings = {}) {
  return load(ORRERY_SOURCE_DIR "/configs/studies/" + name + ".yaml", settings);
}

// "workload.recompute: selective, ..." of what the launcher cannot be told.
std::string unsaid(const WrittenLaunch& launch) {
  std::string text;
  for (const UnsaidKey& key : launch.unsaid)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key.key, key.value);
  return text;
}

// The experiment that is imported from the file of the text on the cluster of the job.
Experiment import_again(const WrittenLaunch& launch, const std::string& ending, const Experiment& job,
                        const std::string& model) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("orrery-written-{}{}", getpid(), ending);
  std::ofstream(file) << launch.text;
  LaunchOptions options;
  options.launcher = launch.launcher;
  options.model = model;
  const ImportedLaunch read = import_launch({file.string()}, options, kFiles);
  std::filesystem::remove(file);
  Diagnostics diagnostics;
  ConfigValue root = read.experiment;
  for (const char* key : {"cluster", "nodes"})
    if (const ConfigEntry* entry = job.resolved.find(key)) root.entries.push_back({key, {}, entry->value});
  return read_experiment(file.string(), std::move(root), kFiles, diagnostics);
}

void check_same(const Experiment& job, const Experiment& again, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    INFO(key);
    const auto value = [&](const Experiment& experiment) {
      const ConfigEntry* entry = experiment.resolved.find("workload")->value.find(key);
      return entry == nullptr ? nlohmann::json() : nlohmann::json(to_json(entry->value));
    };
    CHECK(value(again) == value(job));
  }
}

const std::vector<std::string> kSections = {"model",     "parallel",        "batch",     "schedule", "recompute",
                                            "precision", "pipeline_layers", "gradients", "software"};

}  // namespace

TEST_CASE("torchtitan is told all of its studies") {
  for (const auto& [name, settings] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"llama3-8b-fsdp", {}},
           {"llama3-8b-fsdp", {"workload.recompute=selective", "workload.precision=fp8"}},
           {"llama3-8b-fsdp", {"workload.parallel.zero=2", "workload.software=torchtitan-eager-2025"}},
           {"llama3-8b-fsdp",
            {"workload.parallel={tensor: 2, pipeline: 4, data: 1, zero: 0, sequence: true}", "workload.batch.global=32",
             "workload.schedule={kind: 1f1b-interleaved, virtual_stages: 2}"}},
           {"llama3-70b-hsdp", {}}}) {
    INFO(name << " " << fmt::format("{}", settings.empty() ? "" : settings.front()));
    const Experiment job = study(name, settings);
    const WrittenLaunch launch = launcher_arguments(Launcher::kTorchtitan, job);
    CHECK(unsaid(launch).empty());
    check_same(job, import_again(launch, ".toml", job, ""), kSections);
  }
}

TEST_CASE("torchtitan's file has sections, words and numbers") {
  const WrittenLaunch launch = launcher_arguments(Launcher::kTorchtitan, study("llama3-70b-hsdp"));
  // A copy is on 16 ranks, two of which share a sequence: shards of 8, and 32 / 8 replicas.
  for (const char* line :
       {"[model]\nname = \"llama3\"\nflavor = \"70B\"\n", "seq_len = 8192\n", "local_batch_size = 1\n",
        "global_batch_size = 32\n", "data_parallel_replicate_degree = 4\n", "data_parallel_shard_degree = 8\n",
        "context_parallel_degree = 2\n", "context_parallel_rotate_method = \"allgather\"\n",
        "[activation_checkpoint]\nmode = \"full\"\n", "[compile]\nenable = true\n"})
    CHECK_THAT(launch.text, Catch::Matchers::Contains(line));
}

TEST_CASE("DeepSpeed is told stages, batches and hosts") {
  const std::string file = ORRERY_SOURCE_DIR "/configs/studies/llama3-8b-fsdp.yaml";
  const Experiment job =
      load(file, {"workload.software=deepspeed-2023", "workload.parallel.zero=2",
                  "workload.batch={global: 64, micro: 2}", "workload.offload.states=100 %", "workload.recompute=full"});
  const WrittenLaunch launch = launcher_arguments(Launcher::kDeepSpeed, job);
  CHECK(unsaid(launch).empty());
  const auto document = nlohmann::json::parse(launch.text);
  CHECK(document["train_batch_size"] == 64);
  CHECK(document["train_micro_batch_size_per_gpu"] == 2);
  CHECK(document["gradient_accumulation_steps"] == 4);  // 64 / (2 x 8)
  CHECK(document["zero_optimization"]["stage"] == 2);
  CHECK(document["zero_optimization"]["overlap_comm"] == true);
  CHECK(document["zero_optimization"]["offload_optimizer"]["device"] == "cpu");
  CHECK(document["bf16"]["enabled"] == true);
  CHECK(!document.contains("--model"));
  check_same(job, import_again(launch, ".json", job, "llama3-8b"),
             {"model", "batch", "recompute", "precision", "offload"});
}

TEST_CASE("what DeepSpeed cannot be told is listed") {
  const Experiment job =
      study("llama3-8b-fsdp", {"workload.software=deepspeed-2023", "workload.parallel={tensor: 2, pipeline: 4}",
                               "workload.batch={global: 16, micro: 1}", "workload.schedule.kind=zb-v"});
  const WrittenLaunch launch = launcher_arguments(Launcher::kDeepSpeed, job);
  CHECK_THAT(unsaid(launch), Catch::Matchers::Contains("workload.schedule.kind: zb-v"));
  CHECK_THAT(unsaid_text(launch), Catch::Matchers::StartsWith("# DeepSpeed cannot be told:\n"));
}

TEST_CASE("the Trainer is told FSDP's strategy") {
  const Experiment job = study("llama3-8b-fsdp", {"workload.software=fsdp-2023", "nodes=2", "workload.parallel.data=16",
                                                  "workload.parallel.shard=8", "workload.batch.global=64"});
  const WrittenLaunch launch = launcher_arguments(Launcher::kFsdp, job);
  CHECK(unsaid(launch).empty());
  const auto document = nlohmann::json::parse(launch.text);
  CHECK(document["per_device_train_batch_size"] == 2);
  CHECK(document["gradient_accumulation_steps"] == 2);  // 64 / (2 x 16)
  CHECK(document["fsdp"] == nlohmann::json{"hybrid_shard", "auto_wrap"});
  CHECK(document["fsdp_config"]["activation_checkpointing"] == true);
  CHECK(document["bf16"] == true);
}

TEST_CASE("a model that torchtitan has not is told apart") {
  const Experiment job = study("llama3-8b-fsdp", {"workload.model=gpt3-13b"});
  const WrittenLaunch launch = launcher_arguments(Launcher::kTorchtitan, job);
  CHECK(unsaid(launch) == "workload.model: gpt3-13b");
  CHECK_THAT(launch.text, Catch::Matchers::Contains("flavor = \"gpt3-13b\"\n"));
}
