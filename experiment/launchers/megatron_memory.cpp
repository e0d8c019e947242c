// SPDX-License-Identifier: MIT
// Megatron-LM's arguments of recomputation, of sharding, of optimizers and of what goes to the host.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/launchers/megatron_rows.h"

namespace orrery::experiment {
namespace {

using R = LaunchReading;
using W = LaunchWriting;
using S = ArgumentShape;
using workload::Recompute;
using workload::RecomputeModules;

// --- recomputation

bool is_full(const R& r) {
  return r.text_or("--recompute-granularity") == "full" || r.is_on("--checkpoint-activations");
}

void read_full(R& r) {
  const std::string method = r.word_or("--recompute-method", "uniform", "uniform block");
  const std::int64_t layers = r.number_or("--recompute-num-layers", 1);
  r.set("workload.recompute", std::string("full"));
  if (method == "block") return r.set("workload.recompute_layers", layers);
  if (layers > 1) r.leave_out(fmt::format("the inputs of every layer are kept here, not of every {} together", layers));
}

// Scores of plain attention are a kind of their own; modules are named one by one.
void read_recompute(R& r) {
  r.owned_by({"--recompute-activations", "--checkpoint-activations", "--moe-layer-recompute"});
  r.word_or("--recompute-granularity", "selective", "selective full");
  if (is_full(r)) return read_full(r);
  if (!r.given("--recompute-granularity") && !r.is_on("--recompute-activations") && !r.is_on("--moe-layer-recompute"))
    return r.set("workload.recompute", std::string("none"));
  std::vector<std::string> modules = r.list("--recompute-modules");
  if (modules.empty() && !r.is_on("--moe-layer-recompute")) modules.emplace_back("core_attn");
  if (r.is_on("--moe-layer-recompute")) modules.emplace_back("moe");
  const auto core = std::ranges::find(modules, "core_attn");
  if (core != modules.end() && has_plain_attention(r)) {
    r.set("workload.recompute", std::string("selective"));
    modules.erase(core);
  }
  if (!modules.empty()) r.set("workload.recompute_modules", fmt::format("[{}]", fmt::join(modules, ", ")));
}

std::vector<std::string> module_words(const W& w) {
  const RecomputeModules& modules = w.job().recompute_modules;
  std::vector<std::string> words;
  const auto add = [&](bool is_in, const char* word) {
    if (is_in) words.emplace_back(word);
  };
  add(modules.core || w.job().recompute == Recompute::kSelective, "core_attn");
  add(modules.norm, "layernorm");
  add(modules.up_projection, "mla_up_proj");
  add(modules.activation || modules.expert_activation, "moe_act");
  add(modules.perceptron, "mlp");
  add(modules.experts, "moe");
  add(modules.shared_experts, "shared_experts");
  return words;
}

std::vector<ArgumentRow> recompute_rows() {
  return {
      {"--recompute-granularity", "", S::kText, read_recompute,
       [](W& w) {
         if (w.job().recompute == Recompute::kFull) return w.add(std::string("full"));
         if (!module_words(w).empty()) w.add(std::string("selective"));
       }},
      {"--recompute-method", "", S::kText, nullptr,
       [](W& w) {
         if (w.job().recompute == Recompute::kFull)
           w.add(std::string(w.job().recompute_layers > 0 ? "block" : "uniform"));
       }},
      {"--recompute-num-layers", "", S::kNumber, nullptr,
       [](W& w) {
         if (w.job().recompute == Recompute::kFull) w.add(std::max<std::int64_t>(1, w.job().recompute_layers));
       }},
      {"--recompute-modules", "", S::kList, nullptr,
       [](W& w) {
         if (w.job().recompute != Recompute::kFull && !module_words(w).empty()) w.add_values(module_words(w));
       }},
      {"--recompute-activations", "", S::kSwitch, nullptr, nullptr},
      {"--checkpoint-activations", "", S::kSwitch, nullptr, nullptr},
      {"--moe-layer-recompute", "", S::kSwitch, nullptr, nullptr},
  };
}

// --- sharding

void read_sharding(R& r) {
  r.owned_by({"--use-megatron-fsdp", "--use-torch-fsdp2", "--data-parallel-sharding-strategy"});
  std::int64_t stage = r.is_on("--use-distributed-optimizer") ? 1 : 0;
  if (r.is_on("--use-megatron-fsdp")) {
    const std::string strategy =
        r.word_or("--data-parallel-sharding-strategy", "no_shard", "no_shard optim optim_grads optim_grads_params");
    stage = strategy == "optim" ? 1 : strategy == "optim_grads" ? 2 : strategy == "optim_grads_params" ? 3 : 0;
  } else if (r.is_on("--use-torch-fsdp2")) {
    stage = r.is_on("--torch-fsdp2-no-reshard-after-forward") ? 2 : 3;
  }
  r.set("workload.parallel.zero", stage);
}

// Replicas of the optimizer: each shards over as many ranks fewer, which the cluster says.
void read_instances(R& r) {
  const std::int64_t instances = r.number_or("--num-distributed-optimizer-instances", 1);
  if (instances <= 1) return;
  const std::int64_t shared =
      r.number_or("--tensor-model-parallel-size", 1) * r.number_or("--pipeline-model-parallel-size", 1);
  const std::int64_t ranks = r.files().ranks > 0
                                 ? r.files().ranks
                                 : std::max(r.files().devices, r.files().nodes * r.files().devices_per_node);
  if (ranks == 0 || shared <= 0 || ranks % (shared * instances) != 0)
    return r.missing("workload.parallel.shard",
                     "how many ranks there are is not known, so that what shares a copy is not",
                     "--set workload.parallel.shard=N: data * context / --num-distributed-optimizer-instances");
  r.set("workload.parallel.shard", ranks / shared / instances);
}

bool is_fsdp(const W& w) { return w.job().parallel.zero >= 2; }

std::vector<ArgumentRow> sharding_rows() {
  return {
      {"--use-distributed-optimizer", "", S::kSwitch, read_sharding,
       [](W& w) {
         if (w.job().parallel.zero >= 1) w.add();
       }},
      {"--use-megatron-fsdp", "--use-custom-fsdp", S::kSwitch, nullptr,
       [](W& w) {
         if (is_fsdp(w)) w.add();
       }},
      {"--data-parallel-sharding-strategy", "", S::kText, nullptr,
       [](W& w) {
         if (is_fsdp(w)) w.add(std::string(w.job().parallel.zero == 3 ? "optim_grads_params" : "optim_grads"));
       }},
      {"--use-torch-fsdp2", "", S::kSwitch, nullptr, nullptr},
      {"--torch-fsdp2-no-reshard-after-forward", "", S::kSwitch, nullptr, nullptr},
      {"--num-distributed-optimizer-instances", "", S::kNumber, read_instances,
       [](W& w) {
         const workload::Parallelism& parallel = w.job().parallel;
         if (parallel.zero > 0 && parallel.shard > 0 && parallel.shard < parallel.replicas())
           w.add(parallel.replicas() / parallel.shard);
       }},
  };
}

// --- optimizers, host memory

// Bytes of a state by its name; 0 if it is none.
std::int64_t bytes_of_state(std::string_view type) {
  return type == "fp32" ? 4 : type == "fp16" || type == "bf16" ? 2 : type == "fp8" ? 1 : 0;
}

std::string muon_of(R& r, const std::string& name) {
  const std::string mode = r.word_or("--muon-tp-mode", "blockwise", "blockwise duplicated distributed");
  return fmt::format("{{like: muon, matrices: {{mode: {}, iterations: {}}}}}",
                     name == "dist_muon" ? "layer-wise" : mode, r.number_or("--muon-num-ns-steps", 5));
}

void read_optimizer(R& r) {
  r.owned_by({"--use-precision-aware-optimizer"});
  const std::string name = r.word_or("--optimizer", "adam", "adam sgd muon dist_muon");
  if (name == "sgd")
    return r.set("workload.optimizer", std::string(r.real_or("--sgd-momentum", 0.9) > 0 ? "sgd-momentum" : "sgd"));
  if (name != "adam") return r.set("workload.optimizer", muon_of(r, name));
  if (!r.is_on("--use-precision-aware-optimizer")) return;
  const std::int64_t first = bytes_of_state(r.text_or("--exp-avg-dtype", "fp32"));
  const std::int64_t second = bytes_of_state(r.text_or("--exp-avg-sq-dtype", "fp32"));
  if (first == 0 || second == 0)
    return r.error("a state of the optimizer is of a type that is not known",
                   "--exp-avg-dtype fp32, fp16, bf16 or fp8");
  if (first != second) r.leave_out("both states of a parameter are of one size here, that of the larger");
  r.set("workload.optimizer", fmt::format("{{like: adam, moment: {} B}}", std::max(first, second)));
}

// "muon", "sgd"; empty for Adam and for what Megatron has not.
std::string optimizer_word(const W& w) {
  const workload::OptimizerSpec& optimizer = w.job().optimizer;
  if (optimizer.matrices) return optimizer.matrices->mode == workload::MatrixMode::kLayerWise ? "dist_muon" : "muon";
  return optimizer.moments.count < 2 ? "sgd" : "";
}

bool has_small_states(const W& w) {
  const workload::Moments& moments = w.job().optimizer.moments;
  return optimizer_word(w).empty() && moments.size && *moments.size < Bytes(4);
}

std::string state_type(const W& w) { return *w.job().optimizer.moments.size == Bytes(2) ? "bf16" : "fp8"; }

std::vector<ArgumentRow> optimizer_rows() {
  return {
      {"--optimizer", "", S::kText, read_optimizer,
       [](W& w) {
         if (!optimizer_word(w).empty()) w.add(optimizer_word(w));
       }},
      {"--sgd-momentum", "", S::kReal, nullptr,
       [](W& w) {
         if (optimizer_word(w) == "sgd") w.add(std::string(w.job().optimizer.moments.count == 0 ? "0" : "0.9"));
       }},
      {"--muon-tp-mode", "", S::kText, nullptr,
       [](W& w) {
         constexpr std::array<std::string_view, 4> kModes = {"duplicated", "distributed", "", "blockwise"};
         if (optimizer_word(w) == "muon")
           w.add(std::string(kModes[static_cast<std::size_t>(w.job().optimizer.matrices->mode)]));
       }},
      {"--muon-num-ns-steps", "", S::kNumber, nullptr,
       [](W& w) {
         if (w.job().optimizer.matrices) w.add(w.job().optimizer.matrices->iterations);
       }},
      {"--use-precision-aware-optimizer", "", S::kSwitch, nullptr,
       [](W& w) {
         if (has_small_states(w)) w.add();
       }},
      {"--main-grads-dtype", "", S::kText,
       [](R& r) {
         if (r.text_or("--main-grads-dtype", "fp32") != "fp32")
           r.leave_out("gradients are kept in fp32 for the optimizer");
       },
       nullptr},
      {"--main-params-dtype", "", S::kText,
       [](R& r) {
         if (r.text_or("--main-params-dtype", "fp32") != "fp32") r.leave_out("masters are kept in fp32");
       },
       nullptr},
      {"--exp-avg-dtype", "", S::kText, nullptr,
       [](W& w) {
         if (has_small_states(w)) w.add(state_type(w));
       }},
      {"--exp-avg-sq-dtype", "", S::kText, nullptr,
       [](W& w) {
         if (has_small_states(w)) w.add(state_type(w));
       }},
      {"--optimizer-cpu-offload", "", S::kSwitch,
       [](R& r) {
         if (!r.is_on("--optimizer-cpu-offload")) return;
         r.set("workload.offload.states", fmt::format("{}", r.real_or("--optimizer-offload-fraction", 1)));
         r.set("workload.offload.update", std::string("host"));
       },
       [](W& w) {
         if (w.job().offload.states > 0 && w.job().offload.on_host) w.add();
       }},
      {"--optimizer-offload-fraction", "", S::kReal, nullptr,
       [](W& w) {
         if (w.job().offload.states > 0 && w.job().offload.on_host) w.add(fmt::format("{}", w.job().offload.states));
       }},
  };
}

}  // namespace

std::vector<ArgumentRow> megatron_memory_rows() {
  std::vector<ArgumentRow> rows = recompute_rows();
  for (const auto& part : {sharding_rows(), optimizer_rows()}) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace orrery::experiment
