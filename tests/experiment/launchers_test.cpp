// SPDX-License-Identifier: MIT
// Launch scripts and configurations of Megatron-LM and Megatron-Bridge as experiments. The scripts in
// docs/examples/launch_scripts are written in the style of public ones; what they come to is worked out by hand beside
// each check.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>

#include "experiment/experiment.h"
#include "experiment/launchers/launcher.h"
#include "experiment/launchers/megatron_rows.h"
#include "experiment/launchers/shell_words.h"
#include "tests/shipped_files.h"
#include "workload/training/program/gradient_synchronisation.h"

using namespace orrery;
using namespace orrery::experiment;
using workload::TrainingSpec;

namespace {

std::string script(const std::string& name) {
  return std::string(ORRERY_SOURCE_DIR) + "/docs/examples/launch_scripts/" + name;
}

struct Imported {
  ImportedLaunch launch;
  Experiment experiment;

  const TrainingSpec& job() const { return *experiment.jobs.front().workload.training; }
  const workload::TransformerSpec& model() const { return *job().transformer(); }
};

Imported import(const std::string& name, LaunchOptions options = {}) {
  if (options.cluster.empty()) options.cluster = "dgx-h100";
  Diagnostics diagnostics;
  ImportedLaunch launch = import_launch({script(name)}, options, kFiles);
  Experiment experiment = read_experiment(name, launch.experiment, kFiles, diagnostics);
  return {std::move(launch), std::move(experiment)};
}

// The message of the first error, and its hint.
std::string refusal(const std::string& name, LaunchOptions options = {}) {
  options.cluster = "dgx-h100";
  try {
    import_launch({script(name)}, options, kFiles);
  } catch (const InputError& error) {
    return fmt::format("{}: {} ({})", error.problems().front().where.line, error.problems().front().message,
                       error.problems().front().hint);
  }
  return "no error";
}

const ReadArgument& argument(const ImportedLaunch& launch, std::string_view name) {
  for (const ReadArgument& read : launch.arguments)
    if (read.argument.name == name) return read;
  FAIL("no argument " << name);
  return launch.arguments.front();
}

std::vector<std::string> fields_of(const std::string& text) {
  std::optional<int> open_quote;
  ShellVariables variables;
  std::vector<std::string> fields;
  for (const ShellCommand& command : shell_commands(text, 1, open_quote)) {
    std::string name;
    for (const RawWord& word : command.words)
      if (!variables.assign(word, name))
        for (const ShellField& field : variables.expand(word)) fields.push_back(plain_text(field.text));
  }
  return fields;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("words of a shell script are what a shell makes of them") {
  CHECK(fields_of("A='x y'; echo $A \"$A\" ${A}z") == Words{"echo", "x", "y", "x y", "x", "yz"});
  CHECK(fields_of("B=(a \"b c\" d)\necho ${B[@]} \"${B[@]}\" ${#B[@]} $B") ==
        Words{"echo", "a", "b", "c", "d", "a", "b c", "d", "3", "a"});
  CHECK(fields_of("N=4; M=${N:-7}; K=${L:-7}\necho $M $K ${N:+set} ${L:+set} $((N * (2 + K) % 5))") ==
        Words{"echo", "4", "7", "set", "1"});  // 4 * 9 = 36, 36 % 5 = 1
  CHECK(fields_of("X+=a; X+=b; Y=(1); Y+=(2 3)\necho $X ${Y[*]}") == Words{"echo", "ab", "1", "2", "3"});
  CHECK(fields_of("echo a \\\n  b # c\necho 'd # e' f#g") == Words{"echo", "a", "b", "echo", "d # e", "f#g"});
  CHECK(fields_of("echo $GONE \"$(date +%s)\" `hostname` \\$HOME > log.txt 2>&1") ==
        Words{"echo", "$GONE", "$(date +%s)", "`hostname`", "$HOME"});
  CHECK(fields_of("cat <<EOF > x\nrun --this\nEOF\necho after") == Words{"cat", "echo", "after"});
}

TEST_CASE("lists that arguments write in Python") {
  using List = std::vector<std::int64_t>;
  CHECK(python_list("3") == List{3});
  CHECK(python_list("([0]*2+[1]*3)") == List{0, 0, 1, 1, 1});
  CHECK(python_list("[1, 1, 0] * 2") == List{1, 1, 0, 1, 1, 0});
  CHECK(python_list("([1]*2+[0]*1)*2") == List{1, 1, 0, 1, 1, 0});
  CHECK(python_list("[1") == List{});
  CHECK(python_list("__import__") == List{});
  CHECK(python_list("[1]*999999999") == List{});  // more layers than any model has
}

TEST_CASE("a script of GPT-3 175B: what is silent is as Megatron has it") {
  const Imported gpt = import("gpt3_175b.sh");
  CHECK(gpt.experiment.fabric.device_count() == 1024);
  CHECK(gpt.job().parallel.tensor() == 8);
  CHECK(gpt.job().parallel.pipeline() == 16);
  CHECK(gpt.job().parallel.data() == 8);  // 1024 / 8 / 16
  CHECK(gpt.job().parallel.sequence);
  CHECK(gpt.job().virtual_stages == 2);  // 96 layers / 16 stages / chunks of 3
  CHECK(gpt.job().precision == Precision::kFp16);
  CHECK(gpt.job().software.gradients == Precision::kFp16);  // no --accumulate-allreduce-grads-in-fp32
  CHECK(gpt.job().software.dropout);                        // 0.1 by default
  CHECK_FALSE(gpt.job().software.overlap_gradients);
  CHECK(gpt.job().parallel.zero == 0);
  CHECK(gpt.job().recompute_modules.core);
  CHECK(gpt.model().ffn_hidden == 4 * 12288);
  CHECK(gpt.model().vocab == 51200);  // 50,257 up to a multiple of 128 * 8 = 1024
  CHECK(gpt.model().biases);
  CHECK(gpt.model().tied_embeddings);
  CHECK(gpt.model().position == workload::PositionKind::kLearned);
  // 96 layers of 12 h^2 + 13 h, 51,200 + 2,048 rows of h, and a norm of 2 h.
  const std::int64_t h = 12288;
  CHECK(workload::parameter_count(gpt.job().model) == 96 * (12 * h * h + 13 * h) + (51200 + 2048) * h + 2 * h);
  CHECK(argument(gpt.launch, "--rampup-batch-size").fate == ArgumentFate::kNotSimulated);
  CHECK(argument(gpt.launch, "--data-path").fate == ArgumentFate::kIgnored);
  CHECK(gpt.launch.count(ArgumentFate::kUnknown) == 0);
  CHECK(argument(gpt.launch, "--hidden-size").argument.where.line == 19);
}

TEST_CASE("a script of Llama 3 8B in fp8: a condition, arrays that grow, arithmetic") {
  const Imported llama = import("llama3_8b_fp8.sh");
  CHECK(llama.job().precision == Precision::kFp8);
  CHECK(llama.job().recipe_of_casts().name == "delayed");
  CHECK(llama.job().recipe_of_casts().parameters);
  CHECK(llama.job().software.gradients == Precision::kBf16);
  CHECK_FALSE(llama.job().software.dropout);
  CHECK(llama.job().parallel.zero == 1);
  CHECK(llama.job().software.overlap_gradients);
  CHECK(llama.job().software.overlap_parameters);
  CHECK_FALSE(llama.job().parallel.sequence);  // without tensor parallelism there is none
  CHECK(llama.model().ffn_hidden == 14336);    // 4096 * 7 / 2
  CHECK(llama.model().kv_heads == 8);
  CHECK(llama.model().gated_mlp);
  CHECK(llama.model().vocab == 128256);  // one more than said, for the end; a multiple of 128 already
  CHECK(argument(llama.launch, "--fp8-amax-history-len").fate == ArgumentFate::kIgnored);
  LaunchOptions two;
  two.definitions = {{"TP", "2"}};
  CHECK(import("llama3_8b_fp8.sh", two).job().parallel.tensor() == 2);
  CHECK(import("llama3_8b_fp8.sh", two).job().parallel.sequence);
}

TEST_CASE("a script of Mixtral: strings, a case, a command in a string") {
  const Imported mixtral = import("mixtral_8x7b.sh");
  CHECK(mixtral.experiment.fabric.device_count() == 64);  // #SBATCH --nodes=8
  CHECK(mixtral.model().layers == 32);
  CHECK(mixtral.model().experts == 8);
  CHECK(mixtral.model().experts_per_token == 2);
  CHECK(mixtral.model().expert_hidden == 14336);  // no --moe-ffn-hidden-size
  CHECK(mixtral.model().position == workload::PositionKind::kRotary);
  CHECK(mixtral.model().vocab == 32000);  // of Llama 2, a multiple of 128
  CHECK(mixtral.job().experts.dispatch.name == "all-to-all");
  CHECK(mixtral.job().parallel.expert == 8);
  CHECK(mixtral.job().global_batch == 256);
  CHECK(mixtral.job().virtual_stages == 1);  // 32 layers / 4 stages / 8
  CHECK(argument(mixtral.launch, "--no-masked-softmax-fusion").fate == ArgumentFate::kNotSimulated);
  LaunchOptions larger;
  larger.definitions = {{"MODEL", "8x22b"}, {"PP", "1"}};
  CHECK(import("mixtral_8x7b.sh", larger).model().layers == 56);
  larger.definitions = {{"MODEL", "8x22b"}, {"PP", "7"}};
  CHECK(refusal("mixtral_8x7b.sh", larger) != "no error");  // 64 devices are no multiple of 7 stages
}

TEST_CASE("a script of DeepSeek-V3: latent attention, layers with experts, a layout, DeepEP") {
  const Imported deepseek = import("deepseek_v3.sh");
  REQUIRE(deepseek.model().latent);
  CHECK(deepseek.model().latent->query_rank == 1536);
  CHECK(deepseek.model().latent->value_head == 128);
  CHECK(deepseek.model().dense_layers == 3);
  CHECK(deepseek.model().shared_experts == 1);  // 2048 / 2048
  CHECK(deepseek.model().expert_groups == 8);
  CHECK(deepseek.model().groups_per_token == 4);
  CHECK(deepseek.model().mtp_layers == 1);
  CHECK(deepseek.model().vocab == 129280);
  CHECK(deepseek.job().experts.dispatch.name == "deepep");
  CHECK(deepseek.job().parallel.expert_tensor == 1);
  CHECK(deepseek.job().recipe_of_casts().name == "block");
  CHECK(deepseek.job().optimizer.moments.size == Bytes(2));
  CHECK(deepseek.job().recompute_modules.norm);
  CHECK(deepseek.job().recompute_modules.expert_activation);
  CHECK(deepseek.job().virtual_stages == 2);  // 32 stages of the layout on 16 ranks
  CHECK(deepseek.job().layers_of_stages().front() == 3);
  CHECK(deepseek.job().layers_of_stages().back() == 0);
  // config.json of the model: 671 billion parameters and 11.5 of the module of multi-token prediction, without its
  // embedding and head, which are the model's.
  CHECK(static_cast<double>(workload::parameter_count(deepseek.job().model)) == Approx(682.5e9).epsilon(0.005));
}

TEST_CASE("hybrid models, BERT, and models that are not simulated") {
  const Imported hybrid = import("nemotron_h.sh");
  CHECK(hybrid.model().kinds.size() == 3);
  CHECK(hybrid.model().layers == 9);
  CHECK(hybrid.model().kind_of(7).name == "*");
  CHECK(hybrid.job().optimizer.matrices->mode == workload::MatrixMode::kBlockwise);
  const Imported bert = import("bert_large.sh");
  CHECK_FALSE(bert.model().causal);
  CHECK(bert.model().vocab == 30592);  // 30,522 up to a multiple of 128
  CHECK(refusal("t5.sh").find("'pretrain_t5.py' trains an encoder and a decoder (T5)") != std::string::npos);
}

TEST_CASE("configurations in YAML: of Megatron's tests and of Megatron-Bridge") {
  LaunchOptions options;
  options.nodes = 1;
  const Imported test = import("model_config.yaml", options);
  CHECK(test.job().deterministic);
  CHECK(test.model().attention == workload::AttentionKind::kPlain);
  CHECK(test.model().ffn_hidden == 1344);  // 4 * 512 * 2 / 3 = 1365, down to a multiple of 64
  CHECK(test.job().virtual_stages == 3);
  CHECK(argument(test.launch, "CUDA_DEVICE_MAX_CONNECTIONS").fate == ArgumentFate::kIgnored);
  CHECK(argument(test.launch, "NCCL_ALGO").settings == KeySettings{{"collectives.algo", "[ring]"}});
  options.nodes = 8;
  const Imported bridge = import("bridge.yaml", options);
  CHECK(bridge.launch.launcher == Launcher::kMegatronBridge);
  CHECK(bridge.job().precision == Precision::kFp8);
  CHECK(bridge.job().recipe_of_casts().name == "tensorwise");
  CHECK(bridge.job().software.gradients == Precision::kBf16);
  CHECK_FALSE(bridge.model().tied_embeddings);
  CHECK_FALSE(bridge.model().biases);
  CHECK(bridge.model().kv_heads == 8);
  CHECK(bridge.model().vocab == 128256);
  CHECK(bridge.job().virtual_stages == 5);
  CHECK(bridge.job().software.overlap_tensor == workload::TensorOverlap::kPieces);
  CHECK(argument(bridge.launch, "checkpoint.save").fate == ArgumentFate::kIgnored);
}

namespace {

// The job of a small script with more arguments, behind assignments of the environment.
Imported small(const std::string& arguments, const std::string& environment = "", std::int64_t nodes = 1) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("orrery-small-{}.sh", getpid());
  std::ofstream(file)
      << environment
      << "python pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 8 --seq-length 512 "
         "--micro-batch-size 1 --global-batch-size 64 --vocab-size 50257 --use-distributed-optimizer "
      << arguments << "\n";
  LaunchOptions options;
  options.cluster = "dgx-h100";
  options.nodes = nodes;
  Diagnostics diagnostics;
  ImportedLaunch launch = import_launch({file.string()}, options, kFiles);
  Experiment experiment = read_experiment("small", launch.experiment, kFiles, diagnostics);
  std::filesystem::remove(file);
  return {std::move(launch), std::move(experiment)};
}

std::int64_t bucket(const Imported& imported) { return workload::bucket_parameters(imported.job()); }

}  // namespace

TEST_CASE("buckets of Megatron count gradients of their own size") {
  // 40 million gradients, or a million for each replica: 8 nodes of 8 are 64.
  CHECK(bucket(small("--bf16 --overlap-grad-reduce")) == 40'000'000);  // in fp32
  CHECK(bucket(small("--bf16 --overlap-grad-reduce --grad-reduce-in-bf16")) == 40'000'000);
  CHECK(bucket(small("--fp16 --overlap-grad-reduce")) == 40'000'000);
  CHECK(bucket(small("--bf16 --overlap-grad-reduce", "", 8)) == 64'000'000);
  // A size that is given holds with any number of replicas.
  CHECK(bucket(small("--bf16 --overlap-grad-reduce --ddp-bucket-size 1000000", "", 8)) == 1'000'000);
  CHECK(bucket(small("--fp16 --overlap-grad-reduce --ddp-bucket-size 1000000")) == 1'000'000);
  const auto written = [](const Imported& job) {
    const WrittenLaunch launch = launcher_arguments(Launcher::kMegatron, job.experiment);
    CHECK(unsaid_text(launch).empty());
    const auto found = std::ranges::find(launch.arguments, "--ddp-bucket-size", &LauncherArgument::name);
    return found == launch.arguments.end() ? "" : found->values.front();
  };
  CHECK(written(small("--bf16 --overlap-grad-reduce --ddp-bucket-size 1000000", "", 8)) == "1000000");
  CHECK(written(small("--bf16 --overlap-grad-reduce", "", 8)).empty());
}

TEST_CASE("recipes that Megatron-Bridge names have layers in bf16 and parameters in fp8") {
  LaunchOptions options;
  options.nodes = 8;
  const Imported bridge = import("bridge.yaml", options);  // bf16_with_fp8_current_scaling_mixed
  CHECK(bridge.job().recipe_of_casts().parameters);
  CHECK(bridge.job().recipe_of_casts().first == 1);
  CHECK(bridge.job().recipe_of_casts().last == 1);
  CHECK_FALSE(bridge.job().software.dropout);
  CHECK_FALSE(bridge.job().software.footprint.attention_mask);
}

TEST_CASE("without NVLS its algorithms are left out") {
  const auto algorithms = [](const std::string& environment) {
    const Imported imported = small("--bf16", environment);
    for (const ReadArgument& read : imported.launch.arguments)
      for (const auto& [key, value] : read.settings)
        if (key == "collectives.algo") return value;
    return std::string();
  };
  CHECK(algorithms("export NCCL_NVLS_ENABLE=0\n") == "[ring, tree, collnet-direct, collnet-chain, pat]");
  CHECK(algorithms("export NCCL_NVLS_ENABLE=1\n").empty());
  CHECK(algorithms("export NCCL_NVLS_ENABLE=0\nexport NCCL_ALGO=Ring\n") == "[ring]");
  const Imported others =
      small("--bf16", "export NCCL_IB_DISABLE=1\nexport NCCL_P2P_DISABLE=0\nexport NCCL_MAX_NCHANNELS=4\n");
  CHECK(argument(others.launch, "NCCL_IB_DISABLE").fate == ArgumentFate::kNotSimulated);
  CHECK(argument(others.launch, "NCCL_P2P_DISABLE").fate == ArgumentFate::kUsed);
  CHECK(argument(others.launch, "NCCL_MAX_NCHANNELS").fate == ArgumentFate::kNotSimulated);
}

TEST_CASE("a plan of another software is told so") {
  const Imported job = small("--bf16");
  const WrittenLaunch own = launcher_arguments(Launcher::kMegatron, job.experiment);
  CHECK(unsaid_text(own).empty());
  const WrittenLaunch other = launcher_arguments(Launcher::kDeepSpeed, job.experiment);
  CHECK(unsaid_text(other).find("workload.software: megatron-2025 (there deepspeed-2023)") != std::string::npos);
}

TEST_CASE("changes of a recipe want its model") {
  CHECK(refusal("bridge_overrides.sh").find("'--num-layers' is not among the arguments") != std::string::npos);
  LaunchOptions options;
  options.model = "llama3-8b";
  const Imported llama = import("bridge_overrides.sh", options);
  CHECK(llama.model().layers == 32);
  CHECK(llama.model().gated_mlp);  // of the model, not of the launcher's defaults
  CHECK(llama.job().parallel.tensor() == 2);
  CHECK(llama.job().global_batch == 64);
}

TEST_CASE("the arguments of a job are read as the same job") {
  for (const char* name : {"gpt3_175b.sh", "llama3_8b_fp8.sh", "mixtral_8x7b.sh", "deepseek_v3.sh", "nemotron_h.sh"}) {
    INFO(name);
    const Imported job = import(name);
    const WrittenLaunch written = launcher_arguments(Launcher::kMegatron, job.experiment);
    INFO(unsaid_text(written));
    CHECK(written.unsaid.empty());
  }
}
