// SPDX-License-Identifier: MIT
// The arguments of Megatron-LM's own functional tests, which lie beside the sources, as its model_config.yaml has them:
// read, counted, and held against the memory that was logged and against the shipped tables of the same runs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "experiment/launchers/launcher.h"
#include "study/validate/training/validation.h"
#include "tests/shipped_files.h"
#include "workload/training/program/memory_need.h"

using namespace orrery;
using namespace orrery::study;
using experiment::ArgumentFate;

namespace {

using Json = nlohmann::json;

const std::filesystem::path kGolden = ORRERY_SOURCE_DIR "/../shared/data/training/megatron_golden.jsonl";
const std::map<std::string, std::string> kClusters = {
    {"dgx_a100", "dgx-a100"}, {"dgx_h100", "dgx-h100"}, {"dgx_gb200", "gb200-nvl72"}};

class Arguments {
 public:
  void add(const std::string& name, const std::string& value = "true") {
    text_ += fmt::format("  {}: {}\n", name, value);
  }
  void add(const std::string& name, const Json& value) {
    add(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  void add_if(const Json& run, const char* key, const std::string& name) {
    if (run.contains(key) && !run.at(key).is_null()) add(name, run.at(key));
  }
  void flag(const Json& flags, const char* key, const std::string& name) {
    if (flags.value(key, false)) add(name);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = "MODEL_ARGS:\n";
};

void add_model(const Json& run, Arguments& arguments) {
  arguments.add("--num-layers", run.at("layers"));
  arguments.add("--hidden-size", run.at("hidden"));
  arguments.add("--num-attention-heads", run.at("heads"));
  arguments.add("--seq-length", run.at("seq"));
  arguments.add("--max-position-embeddings", run.at("max_positions"));
  arguments.add("--ffn-hidden-size", run.at("ffn"));
  if (run.at("gated_mlp").get<bool>()) arguments.add("--swiglu");
  if (!run.at("tied").get<bool>()) arguments.add("--untie-embeddings-and-output-weights");
  if (!run.at("biases").get<bool>()) arguments.add("--disable-bias-linear");
  if (run.at("position") != "learned_absolute") arguments.add("--position-embedding-type", run.at("position"));
  if (run.at("norm") != "LayerNorm") arguments.add("--normalization", run.at("norm"));
  if (run.at("qk_layernorm").get<bool>()) arguments.add("--qk-layernorm");
  arguments.add_if(run, "mtp_layers", "--mtp-num-layers");
  if (run.contains("kv_heads") && run.at("kv_heads") != run.at("heads")) {
    arguments.add("--group-query-attention");
    arguments.add("--num-query-groups", run.at("kv_heads"));
  }
  if (run.contains("mla")) {
    const std::array names = {"--q-lora-rank", "--kv-lora-rank", "--qk-head-dim", "--qk-pos-emb-head-dim",
                              "--v-head-dim"};
    arguments.add("--multi-latent-attention");
    for (std::size_t i = 0; i < names.size(); ++i) arguments.add(names[i], run.at("mla").at(i));
  } else {
    arguments.add_if(run, "head_dim", "--kv-channels");
  }
  if (!run.contains("vocab")) return arguments.add("--tokenizer-type", std::string("BertWordPieceLowerCase"));
  // The tokenizer of GPT-2 has 50,257 tokens; others by their number, which a tokenizer of none has less one.
  const auto bare = run.at("vocab_unpadded").get<std::int64_t>(), padded = run.at("vocab").get<std::int64_t>();
  if (bare == 50257)
    arguments.add("--tokenizer-type", std::string("GPT2BPETokenizer"));
  else {
    arguments.add("--tokenizer-type", std::string("NullTokenizer"));
    arguments.add("--vocab-size", Json(bare - 1));
  }
  const std::int64_t multiple = 128 * run.at("tp").get<std::int64_t>();
  if ((bare + multiple - 1) / multiple * multiple != padded)
    arguments.add("--make-vocab-size-divisible-by", Json(3232));
}

void add_experts(const Json& run, Arguments& arguments) {
  if (!run.contains("moe")) return;
  const Json& moe = run.at("moe");
  arguments.add("--num-experts", moe.at("experts"));
  arguments.add("--moe-router-topk", moe.at("topk"));
  arguments.add("--moe-ffn-hidden-size", moe.at("expert_ffn"));
  arguments.add("--moe-token-dispatcher-type", moe.at("dispatcher"));
  if (moe.value("grouped_gemm", false)) arguments.add("--moe-grouped-gemm");
  arguments.add_if(moe, "shared_ffn", "--moe-shared-expert-intermediate-size");
  arguments.add_if(moe, "groups", "--moe-router-num-groups");
  arguments.add_if(moe, "topk_groups", "--moe-router-group-topk");
  arguments.add_if(moe, "load_balancing", "--moe-router-load-balancing-type");
  if (const auto dense = moe.value("first_dense", 0); dense > 0)
    arguments.add("--moe-layer-freq", fmt::format("\"([0]*{}+[1]*{})\"", dense, run.at("layers").get<int>() - dense));
  arguments.add_if(run, "ep", "--expert-model-parallel-size");
  arguments.add_if(run, "etp", "--expert-tensor-parallel-size");
}

void add_parallel(const Json& run, Arguments& arguments) {
  arguments.add("--tensor-model-parallel-size", run.at("tp"));
  arguments.add("--pipeline-model-parallel-size", run.at("pp"));
  arguments.add("--context-parallel-size", run.at("cp"));
  arguments.add("--micro-batch-size", run.at("micro_batch"));
  arguments.add("--global-batch-size", run.at("global_batch"));
  if (run.at("sp").get<bool>()) arguments.add("--sequence-parallel");
  if (run.at("precision") != "fp32") arguments.add(run.at("precision") == "fp16" ? "--fp16" : "--bf16");
  if (run.contains("pipeline_layout"))
    arguments.add("--pipeline-model-parallel-layout", run.at("pipeline_layout"));
  else if (run.at("vp").get<int>() > 1)
    arguments.add("--num-virtual-stages-per-pipeline-rank", run.at("vp"));
  if (run.at("zero") == 1) arguments.add("--use-distributed-optimizer");
  if (run.at("zero") == 3 && !run.at("flags").value("use_megatron_fsdp", false)) arguments.add("--use-torch-fsdp2");
  arguments.add_if(run, "optimizer_instances", "--num-distributed-optimizer-instances");
  if (run.contains("recompute_modules")) {
    arguments.add("--recompute-granularity", std::string("selective"));
    arguments.add("--recompute-modules", run.at("recompute_modules"));
  }
}

// Flags stand under the names of arguments, with underscores; those that are facts of the record have none.
void add_flags(const Json& run, Arguments& arguments) {
  const std::set<std::string> facts = {"nondeterministic_kernels_allowed", "attention_scores_in_memory",
                                       "grad_accumulation_fusion", "distributed_optimizer"};
  for (const auto& [key, value] : run.at("flags").items()) {
    if (facts.contains(key) || value == false) continue;
    std::string name = "--" + key;
    std::ranges::replace(name, '_', '-');
    arguments.add(name, value);
  }
}

std::string configuration(const Json& run) {
  Arguments arguments;
  add_model(run, arguments);
  add_experts(run, arguments);
  add_parallel(run, arguments);
  add_flags(run, arguments);
  if (run.contains("encoder_layers")) arguments.add("--encoder-num-layers", run.at("encoder_layers"));
  std::string text = arguments.text() + "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\n";
  const bool is_free = run.at("flags").at("nondeterministic_kernels_allowed").get<bool>();
  text += fmt::format("  NVTE_ALLOW_NONDETERMINISTIC_ALGO: {}\n", is_free ? 1 : 0);
  for (const auto& [key, value] : run.at("env").items())
    if (key != "CUDA_DEVICE_MAX_CONNECTIONS") text += fmt::format("  {}: \"{}\"\n", key, value.get<std::string>());
  return text;
}

std::vector<Json> golden_runs() {
  std::ifstream file(kGolden);
  std::vector<Json> runs;
  for (std::string line; std::getline(file, line);) runs.push_back(Json::parse(line));
  return runs;
}

std::string label_of(const Json& run) {
  const auto name = run.at("case").get<std::string>();
  const std::string label = name.substr(name.find('/') + 1);
  return label.starts_with("gpt3_") ? label.substr(5) : label;
}

// Bytes at rest of the last rank by the shipped tables, by platform and label.
std::map<std::string, std::int64_t> shipped_rest() {
  std::map<std::string, std::int64_t> rest;
  for (const TrainingTable& table : list_tables<TrainingTable>(kFiles)) {
    if (!table.name.starts_with("megatron-golden")) continue;
    const std::string platform = "dgx_" + table.name.substr(table.name.rfind('-') + 1);
    for (const TrainingRow& row : table.rows) {
      Diagnostics diagnostics;
      const TrainingCase one = read_training_case(table, row, kFiles, diagnostics);
      rest[platform + " " + row.label] = workload::memory_needs(one.training()).back().rest().count();
    }
  }
  return rest;
}

struct Errors {
  std::vector<double> all;
  std::string text() {
    std::ranges::sort(all);
    return fmt::format("{} rows: median {:.2f} %, p90 {:.2f} %, worst {:.2f} %", all.size(), 100 * all[all.size() / 2],
                       100 * all[all.size() * 9 / 10], 100 * all.back());
  }
};

}  // namespace

TEST_CASE("the arguments of Megatron-LM's functional tests are read, and give their memory") {
  if (!std::filesystem::exists(kGolden)) {
    WARN("SKIPPED: no arguments at " << kGolden);
    return;
  }
  const std::map<std::string, std::int64_t> shipped = shipped_rest();
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "orrery_launch_golden";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "model_config.yaml").string();
  std::map<std::string, Errors> errors, of_tables;
  std::map<ArgumentFate, std::size_t> fates;
  std::map<std::string, int> refused, unknown;
  std::size_t same = 0, others = 0;
  for (const Json& run : golden_runs()) {
    INFO(run.at("id").get<std::string>());
    std::ofstream(file) << configuration(run);
    experiment::LaunchOptions options;
    options.cluster = kClusters.at(run.at("platform"));
    options.ranks = run.at("gpus").get<std::int64_t>();
    // In containers of 2025 deterministic kernels came without a workspace of their own.
    if (run.at("golden_date").get<std::string>() < "2026" && !run.at("env").contains("CUBLAS_WORKSPACE_CONFIG"))
      options.settings.emplace_back("workload.deterministic=false");
    Diagnostics diagnostics;
    try {
      const experiment::ImportedLaunch launch = experiment::import_launch({file}, options, kFiles);
      for (const experiment::ReadArgument& read : launch.arguments) {
        ++fates[read.fate];
        if (read.fate == ArgumentFate::kUnknown) ++unknown[read.argument.name];
      }
      const experiment::Experiment one = experiment::read_experiment(file, launch.experiment, kFiles, diagnostics);
      const workload::TrainingSpec& training = *one.jobs.front().workload.training;
      CHECK(training.parallel.workers() == run.at("gpus").get<std::int64_t>());
      CHECK(training.parallel.data() == run.at("dp").get<std::int64_t>());
      if (run.contains("vocab")) CHECK(training.transformer()->vocab == run.at("vocab").get<std::int64_t>());
      const std::int64_t rest = workload::memory_needs(training).back().rest().count();
      const auto kind = run.at("kind").get<std::string>();
      if (run.at("measured").contains("mem_rest_bytes")) {
        const auto measured = run.at("measured").at("mem_rest_bytes").get<double>();
        errors[kind].all.push_back(std::abs(static_cast<double>(rest) / measured - 1));
        const auto table = shipped.find(run.at("platform").get<std::string>() + " " + label_of(run));
        if (table != shipped.end()) {
          of_tables[kind].all.push_back(std::abs(static_cast<double>(table->second) / measured - 1));
          ++(table->second == rest ? same : others);
          if (table->second != rest)
            UNSCOPED_INFO(
                fmt::format("{}: {} B, the table has {} B", run.at("id").get<std::string>(), rest, table->second));
        }
      }
    } catch (const InputError& error) {
      ++refused[fmt::format("{}: {}", run.at("kind").get<std::string>(), error.problems().front().message)];
    }
  }
  std::string text;
  for (auto& [kind, all] : errors) text += fmt::format("{}: at rest, {}\n", kind, all.text());
  for (auto& [kind, all] : of_tables) text += fmt::format("{}: by the shipped tables, {}\n", kind, all.text());
  for (const auto& [fate, count] : fates) text += fmt::format("{} {}, ", count, name_of(fate));
  text += fmt::format("\n{} rows as the tables have them, {} otherwise\n", same, others);
  for (const auto& [name, count] : unknown) text += fmt::format("unknown: {} ({})\n", name, count);
  for (const auto& [why, count] : refused) text += fmt::format("refused: {} ({})\n", why, count);
  WARN(text);
  CHECK(others == 0);
  CHECK(fates[ArgumentFate::kUnknown] == 0);
}
