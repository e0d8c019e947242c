// SPDX-License-Identifier: MIT
// Files of torchtitan, DeepSpeed and Hugging Face as experiments: keys against what their rules give by hand.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiment/experiment.h"
#include "experiment/launchers/launcher.h"
#include "experiment/runs/run.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

class FileFolder {
 public:
  FileFolder() : path_(std::filesystem::temp_directory_path() / fmt::format("orrery-launch-{}", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~FileFolder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

LaunchOptions on(const std::string& cluster, std::int64_t nodes, const std::string& model = {}) {
  LaunchOptions options;
  options.cluster = cluster;
  options.nodes = nodes;
  options.model = model;
  return options;
}

ImportedLaunch import_text(const std::string& name, const std::string& text, const LaunchOptions& options) {
  const FileFolder folder;
  return import_launch({folder.write(name, text)}, options, kFiles);
}

std::string value_of(const ConfigValue& value) {
  return value.kind == ConfigValue::Kind::kScalar ? value.scalar : to_json(value).dump();
}

// The value at a path of the imported experiment; "" if it has none.
std::string at(const ImportedLaunch& launch, const std::string& path) {
  const ConfigValue* place = &launch.experiment;
  for (const std::string& part : split_key_path(path)) {
    const ConfigEntry* entry = place->find(part);
    if (entry == nullptr) return {};
    place = &entry->value;
  }
  return value_of(*place);
}

using Values = std::map<std::string, std::string>;

void check_values(const ImportedLaunch& launch, const Values& values) {
  for (const auto& [key, value] : values) {
    INFO(key);
    CHECK(at(launch, "workload." + key) == value);
  }
}

// Names of arguments with a fate, in the order of the file.
std::string named(const ImportedLaunch& launch, ArgumentFate fate) {
  std::string names;
  for (const ReadArgument& read : launch.arguments)
    if (read.fate == fate) names += (names.empty() ? "" : " ") + read.argument.name;
  return names;
}

// The first error; "" if there is none.
std::string error_of(const std::string& name, const std::string& text, const LaunchOptions& options) {
  try {
    import_text(name, text, options);
    return {};
  } catch (const InputError& error) {
    return error.problems().front().message;
  }
}

constexpr const char* kTitan8b = R"(# A preset for 64 GPUs.
[job]
dump_folder = "./outputs"
description = "Llama 3 8B training"

[profiling]
enable_profiling = true
profile_freq = 100

[model]
name = "llama3"
flavor = "8B"
hf_assets_path = "./assets/hf/Llama-3.1-8B"
converters = ["float8"]

[optimizer]
name = "AdamW"
lr = 3e-4

[lr_scheduler]
warmup_steps = 200

[training]
local_batch_size = 2
seq_len = 8192
max_norm = 1.0
steps = 1000
dataset = "c4"

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 1

[compile]
enable = true
components = ["model", "loss"]

[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"

[float8]
enable_fsdp_float8_all_gather = true
filter_fqns = ["output", "attention.wk"]
)";

constexpr const char* kTitan70b = R"([model]
name = "llama3"
flavor = "70B"

[training]
local_batch_size = 8
global_batch_size = 256
seq_len = 8192

[parallelism]
tensor_parallel_degree = 8
enable_async_tensor_parallel = true
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"

[compile]
enable = true

[activation_checkpoint]
mode = "full"
)";

constexpr const char* kTitanOld = R"([model]
name = "llama3"
flavor = "debugmodel"
norm_type = "rmsnorm"

[training]
batch_size = 8
seq_len = 2048
data_parallel_degree = -1
tensor_parallel_degree = 2
compile = false

[experimental]
pipeline_parallel_degree = 1
enable_async_tensor_parallel = false

[activation_checkpoint]
mode = "selective"
selective_ac_option = "2"
)";

constexpr const char* kZero3 = R"({
  "fp16": {"enabled": false, "loss_scale": 0},
  "bf16": {"enabled": "auto"},
  "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": [0.9, 0.95]}},
  "zero_optimization": {
    "stage": 3,
    "offload_optimizer": {"device": "cpu", "pin_memory": true, "ratio": 0.5},
    "offload_param": {"device": "cpu"},
    "overlap_comm": true,
    "reduce_bucket_size": "auto",
    "stage3_max_live_parameters": 1e9
  },
  "activation_checkpointing": {"partition_activations": true, "cpu_checkpointing": false},
  "gradient_accumulation_steps": 4,
  "gradient_clipping": 1.0,
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": 2
}
)";

constexpr const char* kAccelerate = R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_activation_checkpointing: true
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_offload_params: false
  fsdp_sharding_strategy: 2
mixed_precision: bf16
num_machines: 2
num_processes: 16
)";

constexpr const char* kTrainer = R"({
  "output_dir": "out",
  "per_device_train_batch_size": 2,
  "gradient_accumulation_steps": 8,
  "bf16": true,
  "optim": "adamw_bnb_8bit",
  "torch_compile": true,
  "fsdp": "hybrid_shard auto_wrap",
  "fsdp_config": {"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"], "xla": false}
}
)";

}  // namespace

TEST_CASE("torchtitan's file of a size becomes the job of its devices") {
  const ImportedLaunch launch = import_text("llama3_8b.toml", kTitan8b, on("dgx-h100", 8));
  CHECK(launch.launcher == Launcher::kTorchtitan);
  // 8 nodes of 8 devices: the shard degree of -1 is 64, and a step has 64 x 2 sequences.
  check_values(launch, {{"software.like", "torchtitan-2025"},
                        {"software.fp8.parameters", "true"},
                        {"precision", "fp8"},
                        {"model.like", "llama3-8b"},
                        {"model.sequence", "8192"},
                        {"parallel.tensor", "1"},
                        {"parallel.data", "64"},
                        {"parallel.zero", "3"},
                        {"batch.global", "128"},
                        {"batch.micro", "2"},
                        {"recompute", "selective"},
                        {"gradients", "fp32"}});
  CHECK(at(launch, "nodes") == "8");
  CHECK(named(launch, ArgumentFate::kUnknown).empty());
  CHECK(named(launch, ArgumentFate::kNotSimulated) == "float8.filter_fqns");
  CHECK(launch.count(ArgumentFate::kUsed) == 14);
  // Where values stand: the model's flavor is on the 12th line.
  const ConfigEntry* model = launch.experiment.find("workload")->value.find("model");
  CHECK(model->value.find("like")->value.where.line == 12);
}

TEST_CASE("torchtitan's pipelines have a layer less at their ends") {
  const ImportedLaunch launch = import_text("llama3_70b.toml", kTitan70b, on("dgx-h100", 16));
  // 128 devices / (8 x 4) = 4 replicas, 4 x 8 sequences a pass, 256 / 32 = 8 passes. Two stages a rank are 8; 80 layers
  // and an embedding and a head are 82: two stages of 11, six of 10, less the one at each end.
  check_values(launch, {{"parallel.tensor", "8"},
                        {"parallel.sequence", "true"},
                        {"parallel.pipeline", "4"},
                        {"parallel.data", "4"},
                        {"parallel.zero", "3"},
                        {"schedule.kind", "1f1b-interleaved"},
                        {"schedule.virtual_stages", "2"},
                        {"pipeline_layers", "[10,11,10,10,10,10,10,9]"},
                        {"batch.global", "256"},
                        {"batch.micro", "1"},
                        {"software.overlap.tensor", "pieces"},
                        {"recompute", "full"}});
  REQUIRE(launch.warnings.size() == 1);
  CHECK(
      launch.warnings.front().message ==
      "gradients are accumulated over 8 runs of the pipeline, which is filled and drained in each; it is simulated as "
      "one");
}

TEST_CASE("torchtitan's names of 2024 are the same arguments") {
  const ImportedLaunch launch = import_text("debug_model.toml", kTitanOld, on("dgx-h100", 1));
  // 8 devices / 2 = 4 replicas; every second of 6 layers is recomputed.
  check_values(launch, {{"software.like", "torchtitan-eager-2025"},
                        {"model.like", "llama3-debug"},
                        {"parallel.tensor", "2"},
                        {"parallel.data", "4"},
                        {"batch.global", "32"},
                        {"batch.micro", "8"},
                        {"recompute", "full"},
                        {"recompute_layers", "3"}});
  CHECK(named(launch, ArgumentFate::kUnknown).empty());
  CHECK(std::ranges::count(launch.defaults, "workload.batch.global", &std::pair<std::string, std::string>::first) == 1);
}

TEST_CASE("sections of low precision by the names they have had") {
  const std::string text =
      "[model]\nflavor = \"405B\"\nconverters = \"float8\"\n[training]\ndtype = \"bfloat16\"\n[compile]\nenable = "
      "true\n"
      "components = [\"loss\"]\n[quantize.dense.float8]\nenable_fsdp_float8_all_gather = true\n"
      "filter_fqns = [\"output\", \"router.gate\"]\n[parallelism]\ntensor_parallel_degree = 8\n";
  const ImportedLaunch launch = import_text("llama3_405b.toml", text, on("dgx-h100", 16));
  // Models are not compiled, their loss is; parameters and states in bf16 have no masters.
  check_values(launch, {{"precision", "fp8"},
                        {"software.like", "torchtitan-eager-2025"},
                        {"software.footprint.loss", "4 B"},
                        {"software.fp8.parameters", "true"},
                        {"optimizer.masters", "false"},
                        {"optimizer.moment", "2 B"},
                        {"parallel.data", "16"},
                        {"batch.micro", "8"}});
  CHECK(launch.count(ArgumentFate::kUsed) == launch.arguments.size());
}

TEST_CASE("hybrid sharding, contexts and experts of torchtitan") {
  const std::string text =
      "[model]\nname = \"qwen3\"\nflavor = \"30B-A3B\"\n[parallelism]\ndata_parallel_replicate_degree = 2\n"
      "data_parallel_shard_degree = 4\ncontext_parallel_degree = 2\nexpert_parallel_degree = 8\n"
      "fsdp_reshard_after_forward = \"never\"\n[training]\nlocal_batch_size = 1\nseq_len = 4096\n";
  const ImportedLaunch launch = import_text("moe.toml", text, on("dgx-h100", 2));
  // 2 x 4 replicas of 2 ranks; a copy is shared by 4 x 2 ranks. Kept from forward to backward pass: ZeRO 2.
  check_values(launch, {{"parallel.data", "8"},
                        {"parallel.context", "2"},
                        {"parallel.context_kind", "all-gather"},
                        {"parallel.shard", "8"},
                        {"parallel.zero", "2"},
                        {"parallel.expert", "8"},
                        {"batch.global", "8"}});
}

TEST_CASE("DeepSpeed's batch follows from two of its three numbers") {
  const ImportedLaunch launch = import_text("ds_config.json", kZero3, on("dgx-a100", 2, "llama2-7b"));
  CHECK(launch.launcher == Launcher::kDeepSpeed);
  // 2 sequences x 4 steps x 16 replicas.
  check_values(launch, {{"software.like", "deepspeed-2023"},
                        {"model", "llama2-7b"},
                        {"parallel.data", "16"},
                        {"parallel.zero", "3"},
                        {"batch.global", "128"},
                        {"batch.micro", "2"},
                        {"precision", "bf16"},
                        {"overlap.gradients", "true"},
                        {"overlap.bucket", ""},
                        {"offload.states", "50 %"},
                        {"optimizer", "adamw"},
                        {"recompute", "full"}});
  CHECK(named(launch, ArgumentFate::kNotSimulated) == "zero_optimization.offload_param.device");
  CHECK(named(launch, ArgumentFate::kUnknown).empty());
}

TEST_CASE("torchtitan recomputes every second layer of a rank, whatever its virtual stages") {
  const auto recomputed = [](const std::string& schedule, const std::string& option) {
    const std::string text =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\n"
        "[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_schedule = \"" +
        schedule + "\"\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"" + option + "\"\n";
    const ImportedLaunch launch = import_text("job.toml", text, on("dgx-h100", 1));
    return at(launch, "workload.recompute") + " " + at(launch, "workload.recompute_layers");
  };
  // 32 layers on 4 ranks: 8 each, of which the 2nd, 4th, 6th and 8th are recomputed; in two stages, 2 in each.
  CHECK(recomputed("1F1B", "2") == "full 4");
  CHECK(recomputed("Interleaved1F1B", "2") == "full 2");
  CHECK(recomputed("1F1B", "3") == "full 2");  // the 3rd and the 6th
  CHECK(recomputed("1F1B", "9") == "none ");   // there is no 9th
}

TEST_CASE("DeepSpeed's buckets count gradients of their own size") {
  const auto bucket = [](const std::string& more) {
    const std::string text =
        R"({"train_batch_size": 64, "zero_optimization": {"stage": 1, "reduce_bucket_size": 2e8}, )" + more + "}";
    return at(import_text("ds.json", text, on("dgx-a100", 1, "llama2-7b")), "workload.overlap.bucket");
  };
  CHECK(bucket(R"("bf16": {"enabled": true})") == "400 MB");
  CHECK(bucket(R"("bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"})") == "800 MB");
  CHECK(bucket(R"("bf16": {"enabled": true}, "communication_data_type": "fp32")") == "800 MB");
  CHECK(bucket(R"("steps_per_print": 1)") == "800 MB");  // neither bf16 nor fp16: fp32
  const ImportedLaunch open = import_text(
      "ds.json", R"({"train_batch_size": 64, "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}})",
      on("dgx-a100", 1, "llama2-7b"));
  CHECK(at(open, "workload.overlap.bucket").empty());
  CHECK(std::ranges::any_of(open.warnings, [](const Problem& problem) {
    return problem.message.starts_with("what the trainer makes of 'auto'");
  }));
}

TEST_CASE("DeepSpeed's stages below 3 have buckets") {
  const std::string text =
      R"({"train_batch_size": 64, "zero_optimization": {"stage": 2, "reduce_bucket_size": 2e8},
          "fp16": {"enabled": true}})";
  const ImportedLaunch launch = import_text("ds.json", text, on("dgx-a100", 1, "llama2-7b"));
  // 64 sequences on 8 replicas in one step; 2e8 elements of 2 B.
  check_values(launch, {{"parallel.data", "8"},
                        {"batch.micro", "8"},
                        {"overlap.gradients", "false"},
                        {"overlap.bucket", "400 MB"},
                        {"precision", "fp16"},
                        {"gradients", "fp16"}});
}

TEST_CASE("accelerate's file says how many ranks there are") {
  LaunchOptions options = on("dgx-a100", 0, "llama2-13b");
  options.settings = {"workload.batch.global=64", "workload.batch.micro=2"};
  const ImportedLaunch launch = import_text("accelerate.yaml", kAccelerate, options);
  CHECK(launch.launcher == Launcher::kFsdp);
  check_values(launch, {{"software.like", "fsdp-2023"},
                        {"parallel.data", "16"},
                        {"parallel.zero", "2"},
                        {"batch.global", "64"},
                        {"recompute", "full"},
                        {"precision", "bf16"}});
  CHECK(at(launch, "nodes") == "2");
  CHECK(named(launch, ArgumentFate::kUnknown).empty());
}

TEST_CASE("the Trainer's arguments have FSDP's words") {
  const ImportedLaunch launch = import_text("trainer.json", kTrainer, on("dgx-h100", 4, "llama3-8b"));
  // 32 devices, shards of a node: 2 x 8 x 32.
  check_values(launch, {{"software.like", "fsdp-2024"},
                        {"parallel.data", "32"},
                        {"parallel.shard", "8"},
                        {"parallel.zero", "3"},
                        {"batch.global", "512"},
                        {"batch.micro", "2"},
                        {"optimizer", "adam-8bit"},
                        {"recompute", "none"}});
  CHECK(named(launch, ArgumentFate::kUnknown).empty());
}

TEST_CASE("what contradicts itself is told with its arithmetic") {
  const std::string titan = "[model]\nflavor = \"8B\"\n";
  CHECK(error_of("a.toml", "[model]\nflavor = \"9B\"\n", on("dgx-h100", 1)) ==
        "'9B' is no flavor of llama3 that is known here: debugmodel, 8B, 70B, 405B are");
  CHECK(error_of("a.toml", titan + "[training]\nglobal_batch_size = 60\nlocal_batch_size = 2\n", on("dgx-h100", 2)) ==
        "'training.global_batch_size' is 60, no multiple of local_batch_size 2 x 16 replicas = 32");
  CHECK(error_of("a.toml", titan + "[parallelism]\ndata_parallel_shard_degree = 4\n", on("dgx-h100", 1)) ==
        "replicate 1 x shard 4 x context 1 x tensor 1 x pipeline 1 is 4, and the cluster has 8 devices");
  CHECK_THAT(error_of("a.toml", titan + "[training]\nbatch_size = 1\nlocal_batch_size = 2\n", on("dgx-h100", 1)),
             Catch::Matchers::Contains("'training.local_batch_size' and 'training.batch_size'"));
  CHECK(error_of("ds.json",
                 R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})",
                 on("dgx-a100", 1, "llama2-7b")) ==
        "'train_batch_size' is 256, but train_micro_batch_size_per_gpu (4) x gradient_accumulation_steps (2) x 8 "
        "replicas "
        "= 64");
  CHECK(error_of("ds.json", R"({"train_micro_batch_size_per_gpu": 4})", on("dgx-a100", 1)) ==
        "the file does not say the model");
  CHECK_THAT(error_of("a.toml", "[model\nflavor = \"8B\"\n", on("dgx-h100", 1)),
             Catch::Matchers::StartsWith("not TOML: "));
}

TEST_CASE("an imported launch runs") {
  const ImportedLaunch launch = import_text("debug_model.toml", kTitanOld, on("dgx-h100", 1));
  Diagnostics diagnostics;
  const Experiment experiment = read_experiment("debug_model.toml", launch.experiment, kFiles, diagnostics);
  const Run run = run_experiment(experiment, false, diagnostics);
  CHECK(run.job.ranks.size() == 8);
}
