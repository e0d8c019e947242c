// SPDX-License-Identifier: MIT
// PyTorch's FSDP as Hugging Face launches it: configurations of accelerate (YAML), arguments of the Trainer and its
// fsdp_config (JSON). Names: accelerate/utils/dataclasses.py, transformers/training_args.py.
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "experiment/experiment.h"
#include "experiment/launchers/argument_files.h"

namespace orrery::experiment {
namespace {

using workload::Recompute;

constexpr BatchNames kTrainerBatch = {"train_batch_size", "per_device_train_batch_size", "gradient_accumulation_steps"};
constexpr std::string_view kCompiledFsdp = "fsdp-2024", kEagerFsdp = "fsdp-2023";

// torch/distributed/fsdp/api.py, in the order of its numbers, from 1.
struct ShardingStrategy {
  std::string_view name;
  std::int64_t zero = 0;
  bool is_hybrid = false;  // shards within a node
};
constexpr std::array<ShardingStrategy, 5> kStrategies = {{{"full_shard", 3},
                                                          {"shard_grad_op", 2},
                                                          {"no_shard", 0},
                                                          {"hybrid_shard", 3, true},
                                                          {"hybrid_shard_zero2", 2, true}}};

std::string lower(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

const ShardingStrategy* strategy_named(std::string_view word) {
  if (word.size() == 1 && word.front() >= '1' && word.front() <= '5')
    return &kStrategies[static_cast<std::size_t>(word.front() - '1')];
  const auto* found = std::ranges::find(kStrategies, lower(word), &ShardingStrategy::name);
  return found == kStrategies.end() ? nullptr : found;
}

bool has_word(const LaunchReading& r, std::string_view name, std::string_view word) {
  const std::vector<std::string> words = words_of_list(r, name);
  return std::ranges::find(words, word) != words.end();
}

// --- readers

void read_trainer_model(LaunchReading& r) {
  if (!set_model(r, "", r.number("max_seq_length")))
    r.missing("workload.model", "the file does not say the sizes of the model", "--model NAME or --model config.json");
}

void read_trainer_batch(LaunchReading& r) {
  constexpr std::array<ArgumentRange, 4> kDegrees = {{{"parallelism_config.tp_size", {1, 65536}},
                                                      {"parallelism_config.cp_size", {1, 65536}},
                                                      {"parallelism_config.dp_shard_size", {-1, 65536}},
                                                      {"parallelism_config.dp_replicate_size", {1, 65536}}}};
  check_ranges(r, kDegrees);
  const std::int64_t ranks =
      number_within(r, "parallelism_config.tp_size", 1) * number_within(r, "parallelism_config.cp_size", 1);
  set_batch(r, kTrainerBatch, ranks);
}

void read_strategy(LaunchReading& r) {
  std::string word = r.text_or(r.name());
  if (word.empty())
    for (const std::string& other : words_of_list(r, "fsdp"))
      if (strategy_named(other) != nullptr) word = other;
  const std::string reshards = lower(r.text_or("fsdp_config.reshard_after_forward"));
  if (word.empty()) word = reshards == "false" ? "shard_grad_op" : reshards == "true" ? "full_shard" : reshards;
  if (word.empty()) word = "full_shard";
  const ShardingStrategy* strategy = strategy_named(word);
  if (strategy == nullptr)
    return r.error(
        fmt::format("'{}' is no sharding strategy: FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD or "
                    "HYBRID_SHARD_ZERO2, or 1 to 5, is expected",
                    printable(word, 40)));
  r.set("workload.parallel.zero", strategy->zero);
  const std::int64_t replicas = number_within(r, "parallelism_config.dp_replicate_size", 1);
  const std::int64_t shard =
      number_within(r, "parallelism_config.dp_shard_size", 1) * number_within(r, "parallelism_config.cp_size", 1);
  if (replicas > 1 && shard > 1) return r.set("workload.parallel.shard", shard);
  if (!strategy->is_hybrid) return;
  const LaunchFiles& files = r.files();
  const std::int64_t node = files.node_devices > 0 ? files.node_devices : files.devices_per_node;
  if (node > 0)
    r.set("workload.parallel.shard", node);
  else
    r.missing("workload.parallel.shard", fmt::format("{} shards within a node, and none is given", strategy->name),
              "--cluster NAME, or --set workload.parallel.shard=8");
}

// Precision of accelerate, or of the Trainer; one that is left to other options is bf16.
void read_trainer_precision(LaunchReading& r) {
  std::string precision = lower(r.text_or(r.name()));
  if (precision.empty()) {
    if (r.is_on("bf16") && r.is_on("fp16")) return r.error_at("fp16", "'bf16' and 'fp16' are both true");
    precision = r.is_on("bf16") || r.was_unset("bf16") ? "bf16" : r.is_on("fp16") ? "fp16" : "no";
  }
  if (precision != "no" && precision != "bf16" && precision != "fp16" && precision != "fp8")
    return r.error(fmt::format("'{}' is no precision: no, bf16, fp16 or fp8 is expected", printable(precision, 40)));
  if (precision == "no") precision = "fp32";
  r.set("workload.precision", precision);
  if (precision == "fp16" || precision == "fp32") r.set("workload.gradients", precision);
}

void read_trainer_checkpointing(LaunchReading& r) {
  const bool is_on = r.is_on(r.name()) || r.is_on("gradient_checkpointing");
  r.set("workload.recompute", std::string(is_on ? "full" : "none"));
  if (r.is_on("fsdp_config.activation_cpu_offload")) r.set("workload.offload.activations", std::string("100 %"));
}

void read_trainer_offload(LaunchReading& r) {
  if (!r.is_on(r.name()) && !has_word(r, "fsdp", "offload")) return;
  r.set("workload.offload.states", std::string("100 %"));
  r.warning("parameters and gradients are simulated in the memory of devices; hosts hold the optimizer's states");
}

void read_trainer_compile(LaunchReading& r) {
  const auto is_backend = [&](std::string_view name) {
    const std::string word = lower(r.text_or(name, "no"));
    return word != "no" && word != "eager";
  };
  const bool compiles = r.is_on(r.name()) || is_backend("dynamo_backend") || is_backend("dynamo_config.dynamo_backend");
  r.choose_software(std::string(compiles ? kCompiledFsdp : kEagerFsdp));
}

void read_trainer_optimizer(LaunchReading& r) {
  const std::string name = r.text_or(r.name(), "adamw_torch_fused");
  const bool has_8bit = name.find("8bit") != std::string::npos;
  if (name.starts_with("adamw") || name.starts_with("paged_adamw"))
    return r.set("workload.optimizer", std::string(has_8bit ? "adam-8bit" : "adamw"));
  if ((name == "adafactor" || name == "sgd" || name == "lion" || name == "muon"))
    return r.set("workload.optimizer", name);
  r.leave_out("simulated as Adam");
}

void read_trainer_context(LaunchReading& r) {
  if (r.number_or(r.name(), 1) <= 1) return;
  r.set_number("workload.parallel.context");
  r.set("workload.parallel.context_kind", std::string("all-gather"));  // torch's, as accelerate has it by default
}

// --- writers

std::string_view strategy_of(const workload::Parallelism& parallel) {
  const bool is_hybrid = parallel.zero > 0 && parallel.shard > 0 && parallel.shard < parallel.replicas();
  for (const ShardingStrategy& strategy : kStrategies)
    if (strategy.zero == parallel.zero && strategy.is_hybrid == is_hybrid) return strategy.name;
  return "shard_grad_op";  // the nearest to ZeRO 1
}

void write_trainer_optimizer(LaunchWriting& w) {
  const std::string& name = w.job().optimizer.name;
  if (name == "adafactor" || name == "sgd" || name == "lion" || name == "muon") return w.add(name);
  w.add(std::string(name == "adam-8bit" ? "adamw_bnb_8bit" : "adamw_torch_fused"));
}

using S = ArgumentShape;
using Reading = LaunchReading;
using Writing = LaunchWriting;

constexpr std::array kFsdpRows = std::to_array<ArgumentRow>({
    {kModelOption, "", S::kText, read_trainer_model,
     [](Writing& w) { w.add(resolved_model(w)); }},
    {"max_seq_length", "cutoff_len sequence_len max_length model_max_length", S::kNumber},
    {"train_batch_size", "global_train_batch_size", S::kNumber, read_trainer_batch},
    {"per_device_train_batch_size", "micro_batch_size device_train_microbatch_size", S::kNumber, nullptr,
     [](Writing& w) { w.add(w.job().micro_batch); }},
    {"gradient_accumulation_steps", "", S::kNumber, nullptr, [](Writing& w) { w.add(w.job().micro_batches()); }},
    {"mixed_precision", "", S::kText, read_trainer_precision},
    {"bf16", "", S::kSwitch, nullptr,
     [](Writing& w) {
       if (w.job().parameter_size() == Bytes(2) && w.job().precision != Precision::kFp16) w.add(true);
     }},
    {"fp16", "", S::kSwitch, nullptr,
     [](Writing& w) {
       if (w.job().precision == Precision::kFp16) w.add(true);
     }},
    {"optim", "optimizer", S::kText, read_trainer_optimizer, write_trainer_optimizer},
    {"torch_compile", "", S::kSwitch, read_trainer_compile,
     [](Writing& w) { w.add(w.job().software.name == kCompiledFsdp); }},
    {"dynamo_backend", "", S::kText},
    {"dynamo_config.dynamo_backend", "", S::kText},
    {"fsdp", "", S::kList, nullptr,
     [](Writing& w) {
       std::vector<std::string> words = {std::string(strategy_of(w.job().parallel)), "auto_wrap"};
       if (w.job().offload.states > 0) words.emplace_back("offload");
       w.add_values(std::move(words));
     }},
    {"fsdp_config.sharding_strategy", "", S::kText, read_strategy},
    {"fsdp_config.reshard_after_forward", "", S::kText},
    {"fsdp_config.activation_checkpointing", "", S::kSwitch, read_trainer_checkpointing,
     [](Writing& w) {
       if (w.job().recompute == Recompute::kFull) w.add(true);
     }},
    {"gradient_checkpointing", "", S::kSwitch},
    {"fsdp_config.activation_cpu_offload", "", S::kSwitch},
    {"fsdp_config.offload_params", "fsdp_config.cpu_offload", S::kSwitch, read_trainer_offload},
    {"fsdp_config.backward_prefetch", "fsdp_config.backward_prefetch_policy", S::kText,
     [](Reading& r) {
       if (r.given(r.name()) && lower(r.text_or(r.name())) != "backward_pre")
         r.leave_out("the next layer is gathered beside the backward pass of the one before, as with BACKWARD_PRE");
     },
     [](Writing& w) { w.add(std::string("backward_pre")); }},
    {"parallelism_config.tp_size", "", S::kNumber,
     [](Reading& r) {
       if (r.number_or(r.name(), 1) > 1) r.set_number("workload.parallel.tensor");
     }},
    {"parallelism_config.cp_size", "", S::kNumber, read_trainer_context},
    {"parallelism_config.dp_replicate_size", "", S::kNumber},
    {"parallelism_config.dp_shard_size", "", S::kNumber},
});

std::vector<UnusedArguments> fsdp_unused() {
  using F = ArgumentFate;
  return {
      {F::kIgnored, "of the machines and of Python",
       "compute_environment debug distributed_type downcast_bf16 machine_rank main_training_function num_machines "
       "num_processes main_process_ip main_process_port rdzv_backend same_network tpu_env tpu_use_cluster tpu_use_sudo "
       "use_cpu enable_cpu_affinity gpu_ids ipex_config use_parallelism_config"},
      {F::kIgnored, "which modules are units: layers are",
       "fsdp_config.auto_wrap_policy fsdp_config.transformer_layer_cls_to_wrap fsdp_config.min_num_params "
       "fsdp_config.use_orig_params fsdp_config.version fsdp_config.auto_wrap"},
      {F::kIgnored, "when models are saved or loaded",
       "fsdp_config.state_dict_type fsdp_config.sync_module_states fsdp_config.cpu_ram_efficient_loading "
       "fsdp_config.load_monolith_rank0_only save_strategy save_steps save_total_limit save_only_model output_dir "
       "save_safetensors overwrite_output_dir"},
      {F::kIgnored, "layers are gathered one ahead",
       "fsdp_config.forward_prefetch fsdp_config.limit_all_gathers fsdp_config.backward_prefetch_limit "
       "fsdp_config.forward_prefetch_limit"},
      {F::kIgnored, "how layers are checkpointed, not which",
       "fsdp_config.activation_checkpointing_reentrant gradient_checkpointing_kwargs.* use_reentrant_gc"},
      {F::kIgnored, "of XLA, or of reports", "fsdp_config.xla fsdp_config.xla_* fsdp_config.verbose dynamo_config.*"},
      {F::kIgnored, "its numbers change no time",
       "learning_rate lr_scheduler_type lr_scheduler_kwargs.* warmup_ratio warmup_steps weight_decay max_grad_norm "
       "adam_beta1 adam_beta2 adam_epsilon optim_args num_train_epochs max_steps seed data_seed"},
      {F::kIgnored, "between steps",
       "logging_* report_to run_name eval_* do_train do_eval evaluation_strategy "
       "per_device_eval_batch_size push_to_hub hub_*"},
      {F::kIgnored, "--model says the sizes of the model", "model_name_or_path base_model tokenizer_name"},
      {F::kIgnored, "the input is taken to be ready ('workload.input' simulates it)",
       "dataset dataset_dir dataset_name template dataloader_* preprocessing_num_workers overwrite_cache max_samples "
       "remove_unused_columns group_by_length packing"},
      {F::kNotSimulated, "the software decides, as its file says",
       "fsdp_config.mixed_precision tf32 fsdp_config.mixed_precision_policy"},
      {F::kNotSimulated, "its kernels are not known",
       "use_liger_kernel torch_compile_backend torch_compile_mode fp8_config.*"},
  };
}

// Keys of an fsdp_config that stand in a file of their own.
constexpr std::array<std::string_view, 18> kOwnKeys = {
    "sharding_strategy",      "reshard_after_forward",    "activation_checkpointing",
    "activation_cpu_offload", "offload_params",           "cpu_offload",
    "backward_prefetch",      "backward_prefetch_policy", "forward_prefetch",
    "limit_all_gathers",      "auto_wrap_policy",         "transformer_layer_cls_to_wrap",
    "min_num_params",         "use_orig_params",          "version",
    "state_dict_type",        "sync_module_states",       "cpu_ram_efficient_loading"};

// "fsdp_config.offload_params" of "fsdp_config.fsdp_offload_params", "fsdp_offload_params" and "offload_params".
std::string fsdp_name(std::string_view name) {
  constexpr std::string_view kSection = "fsdp_config.", kPrefix = "fsdp_", kParallel = "parallelism_config.";
  if (name.starts_with(kParallel)) {
    std::string_view key = name.substr(kParallel.size());
    if (key.starts_with("parallelism_config_")) key.remove_prefix(kParallel.size());
    return fmt::format("{}{}", kParallel, key);
  }
  const bool is_in_section = name.starts_with(kSection);
  std::string_view key = is_in_section ? name.substr(kSection.size()) : name;
  const bool has_prefix = key.starts_with(kPrefix);
  if (has_prefix) key.remove_prefix(kPrefix.size());
  if (!is_in_section && !has_prefix && std::ranges::find(kOwnKeys, key) == kOwnKeys.end()) return std::string(name);
  return fmt::format("{}{}", kSection, key);
}

}  // namespace

LauncherTable fsdp_table() {
  LauncherTable table;
  table.launcher = Launcher::kFsdp;
  table.title = "FSDP";
  table.software = kEagerFsdp;
  table.rows.assign(kFsdpRows.begin(), kFsdpRows.end());
  table.unused = fsdp_unused();
  table.parse = accelerate_arguments;
  table.canonical = fsdp_name;
  table.unset_word = "auto";
  table.refuses_other_names = true;
  table.print = [](const WrittenLaunch& launch, const Experiment&) {
    return json_of_arguments(table_of_launcher(Launcher::kFsdp), launch);
  };
  return table;
}

}  // namespace orrery::experiment
