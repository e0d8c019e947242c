// SPDX-License-Identifier: MIT
// Arguments of DeepSpeed (www.deepspeed.ai, "DeepSpeed Configuration JSON"), and of Hugging Face accelerate for it.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/experiment.h"
#include "experiment/launchers/argument_files.h"
#include "workload/training/program/gradient_synchronisation.h"

namespace orrery::experiment {
namespace {

using workload::Recompute;

constexpr BatchNames kDeepSpeedBatch = {"train_batch_size", "train_micro_batch_size_per_gpu",
                                        "gradient_accumulation_steps"};
constexpr double kBucketElements = 5e8;  // runtime/zero/config.py: reduce_bucket_size

std::int64_t stage_of(const LaunchReading& r) { return r.number_or("zero_optimization.stage", 0); }

// --- readers

void read_deepspeed_model(LaunchReading& r) {
  if (!set_model(r, "", r.number("max_seq_length")))
    r.missing("workload.model", "the file does not say the model", "--model NAME or --model config.json");
}

void read_deepspeed_batch(LaunchReading& r) {
  constexpr std::array<ArgumentRange, 3> kDegrees = {{{"tensor_parallel.autotp_size", {1, 65536}},
                                                      {"pipeline.stages", {1, 65536}},
                                                      {"sequence_parallel_size", {1, 65536}}}};
  check_ranges(r, kDegrees);
  std::int64_t ranks = 1;
  for (const ArgumentRange& degree : kDegrees) ranks *= number_within(r, degree.name, 1);
  set_batch(r, kDeepSpeedBatch, ranks);
}

void read_stage(LaunchReading& r) {
  const std::int64_t stage = r.number_or(r.name(), 0);
  if (stage < 0 || stage > 3) return r.error(fmt::format("'{}' is {}; 0 to 3 is expected", r.name(), stage));
  r.set("workload.parallel.zero", stage);
}

// Overlap is for ZeRO: without it gradients are reduced behind the backward pass (runtime/engine.py).
void read_overlap(LaunchReading& r) {
  const std::int64_t stage = stage_of(r);
  const bool overlaps = stage > 0 && (r.given(r.name()) ? r.is_on(r.name()) : stage == 3);
  r.set("workload.overlap.gradients", overlaps);
}

// "auto" leaves bf16. Nothing where two are on.
std::string deepspeed_precision(const LaunchReading& r) {
  const bool is_open = r.was_unset("bf16.enabled") || r.was_unset("fp16.enabled");
  const std::string mixed = r.text_or("mixed_precision", "no");  // accelerate's
  if (mixed != "no") return mixed;
  const bool fp16 = r.is_on("fp16.enabled");
  return r.is_on("bf16.enabled") || (is_open && !fp16) ? "bf16" : fp16 ? "fp16" : "fp32";
}

bool says_gradients(const LaunchReading& r) {
  return r.given("data_types.grad_accum_dtype") || r.given("communication_data_type");
}

// Precision that gradients are exchanged in; the software's own, bf16, where nothing says another.
std::string deepspeed_gradients(const LaunchReading& r) {
  return r.text_or("data_types.grad_accum_dtype", r.text_or("communication_data_type", deepspeed_precision(r)));
}

// In elements, each of the size of a gradient.
void read_bucket(LaunchReading& r) {
  if (stage_of(r) == 3) return;
  if (r.was_unset(r.name()))
    return r.warning("what the trainer makes of 'auto' follows from the hidden size: the software's bucket is taken",
                     "--set workload.overlap.bucket='34 MB' for a hidden size of 4096: hidden size squared x 2 B");
  const double elements = r.real_or(r.name(), kBucketElements);
  if (!(elements >= 1) || elements > 1e15)
    return r.error(fmt::format("'{}' is {}; at least 1 is expected", r.name(), elements));
  r.set("workload.overlap.bucket", to_text(Bytes(std::llround(elements) * (deepspeed_gradients(r) == "fp32" ? 4 : 2))));
}

void read_offloaded_states(LaunchReading& r) {
  const std::string device = r.word_or(r.name(), "none", "none cpu nvme");
  if (device == "none") return;
  const double ratio = r.real_or("zero_optimization.offload_optimizer.ratio", 1);
  if (!(ratio >= 0 && ratio <= 1))
    return r.error_at("zero_optimization.offload_optimizer.ratio", "'ratio' is a share from 0 to 1");
  r.set("workload.offload.states", fmt::format("{} %", 100 * ratio));
  if (device == "nvme") r.warning("states on NVMe are simulated as in the host's memory, which is faster");
}

void read_offloaded_parameters(LaunchReading& r) {
  if (r.word_or(r.name(), "none", "none cpu nvme") != "none")
    r.leave_out("parameters are simulated in the memory of devices");
}

void read_deepspeed_precision(LaunchReading& r) {
  const bool bf16 = r.is_on("bf16.enabled"), fp16 = r.is_on("fp16.enabled");
  if (bf16 && fp16) return r.error("'bf16.enabled' and 'fp16.enabled' are both true", "leave one of them out");
  const std::string mixed = r.text_or("mixed_precision", "no");
  if (mixed != "no" && mixed != "bf16" && mixed != "fp16")
    return r.error_at("mixed_precision",
                      fmt::format("'{}' is no precision: no, bf16 or fp16 is expected", printable(mixed, 40)));
  r.set("workload.precision", deepspeed_precision(r));
  if (const std::string gradients = deepspeed_gradients(r); gradients != "bf16" || says_gradients(r))
    r.set("workload.gradients", gradients);
}

void read_deepspeed_optimizer(LaunchReading& r) {
  struct Optimizer {
    std::string_view name, file;
  };
  constexpr std::array<Optimizer, 7> kOptimizers = {{{"adam", "adam"},
                                                     {"adamw", "adamw"},
                                                     {"fusedadam", "adam"},
                                                     {"deepspeedcpuadam", "adam"},
                                                     {"lion", "lion"},
                                                     {"muon", "muon"},
                                                     {"sgd", "sgd"}}};
  if (!r.given(r.name())) return;
  std::string name = r.text_or(r.name());
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto* found = std::ranges::find(kOptimizers, name, &Optimizer::name);
  if (found == kOptimizers.end()) return r.leave_out("simulated as Adam");
  r.set("workload.optimizer", std::string(found->file));
}

// Layers of the model call deepspeed.checkpointing; the file has them do so in one way or another.
void read_deepspeed_checkpointing(LaunchReading& r) {
  const bool is_used = r.number_or("activation_checkpointing.number_checkpoints", 0) > 0 ||
                       r.number_or("pipeline.activation_checkpoint_interval", 0) > 0 ||
                       r.is_on("activation_checkpointing.partition_activations") ||
                       r.is_on("activation_checkpointing.cpu_checkpointing") ||
                       r.is_on("activation_checkpointing.contiguous_memory_optimization");
  r.set("workload.recompute", std::string(is_used ? "full" : "none"));
  if (r.is_on("activation_checkpointing.cpu_checkpointing"))
    r.set("workload.offload.activations", std::string("100 %"));
  if (!is_used)
    r.warning("whether activations are recomputed is not in the file: the model's code decides; nothing is recomputed",
              "--set workload.recompute=full");
}

void read_parts(LaunchReading& r, std::string_view reason) {
  if (r.is_on(r.name())) r.leave_out(std::string(reason));
}

// --- writers

bool has_pipeline(const LaunchWriting& w) { return w.job().parallel.pipeline() > 1; }

void write_deepspeed_optimizer(LaunchWriting& w) {
  const std::string& name = w.job().optimizer.name;
  w.add(std::string(name == "adam"   ? "Adam"
                    : name == "lion" ? "Lion"
                    : name == "muon" ? "Muon"
                    : name == "sgd"  ? "SGD"
                                     : "AdamW"));
}

using S = ArgumentShape;
using Reading = LaunchReading;
using Writing = LaunchWriting;

constexpr std::array kDeepSpeedRows = std::to_array<ArgumentRow>({
    {kModelOption, "", S::kText, read_deepspeed_model,
     [](Writing& w) { w.add(resolved_model(w)); }},
    {"max_seq_length", "", S::kNumber},
    {"train_batch_size", "", S::kNumber, read_deepspeed_batch, [](Writing& w) { w.add(w.job().global_batch); }},
    {"train_micro_batch_size_per_gpu", "", S::kNumber, nullptr, [](Writing& w) { w.add(w.job().micro_batch); }},
    {"gradient_accumulation_steps", "", S::kNumber, nullptr, [](Writing& w) { w.add(w.job().micro_batches()); }},
    {"bf16.enabled", "bfloat16.enabled", S::kSwitch, read_deepspeed_precision,
     [](Writing& w) { w.add(w.job().parameter_size() == Bytes(2) && w.job().precision != Precision::kFp16); }},
    {"mixed_precision", "", S::kText},
    {"fp16.enabled", "", S::kSwitch, nullptr,
     [](Writing& w) {
       if (w.job().precision == Precision::kFp16) w.add(true);
     }},
    {"communication_data_type", "", S::kText, nullptr,
     [](Writing& w) {
       const Precision gradients = w.job().software.gradients;
       w.add(std::string(name_of(gradients)));
     }},
    {"data_types.grad_accum_dtype", "", S::kText},
    {"optimizer.type", "", S::kText, read_deepspeed_optimizer, write_deepspeed_optimizer},
    {"zero_optimization.stage", "zero_stage", S::kNumber, read_stage, [](Writing& w) { w.add(w.job().parallel.zero); }},
    {"zero_optimization.overlap_comm", "", S::kSwitch, read_overlap,
     [](Writing& w) {
       if (w.job().parallel.zero > 0) w.add(w.job().software.overlap_gradients);
     }},
    {"zero_optimization.reduce_bucket_size", "", S::kReal, read_bucket,
     [](Writing& w) {
       if (w.job().parallel.zero < 3) w.add(workload::bucket_parameters(w.job()));
     }},
    {"zero_optimization.mics_shard_size", "", S::kNumber,
     [](Reading& r) {
       if (r.number_or(r.name(), -1) > 0 && stage_of(r) == 3) r.set_number("workload.parallel.shard");
     },
     [](Writing& w) {
       if (w.job().parallel.zero == 3 && w.job().parallel.shard > 0) w.add(w.job().parallel.shard);
     }},
    {"zero_optimization.offload_optimizer.device", "offload_optimizer_device", S::kText, read_offloaded_states,
     [](Writing& w) {
       if (w.job().offload.states > 0) w.add(std::string("cpu"));
     }},
    {"zero_optimization.offload_optimizer.ratio", "", S::kReal, nullptr,
     [](Writing& w) {
       if (w.job().offload.states > 0 && w.job().offload.states < 1) w.add(fmt::format("{}", w.job().offload.states));
     }},
    {"zero_optimization.offload_param.device", "offload_param_device", S::kText, read_offloaded_parameters},
    {"zero_optimization.zero_hpz_partition_size", "", S::kNumber,
     [](Reading& r) {
       if (r.number_or(r.name(), 1) > 1) r.leave_out("backward passes gather weights from all replicas, not in a node");
     }},
    {"zero_optimization.zero_quantized_weights", "", S::kSwitch,
     [](Reading& r) { read_parts(r, "weights are gathered unquantized"); }},
    {"zero_optimization.zero_quantized_gradients", "", S::kSwitch,
     [](Reading& r) { read_parts(r, "gradients are reduced unquantized"); }},
    {"tensor_parallel.autotp_size", "", S::kNumber,
     [](Reading& r) { r.set("workload.parallel.tensor", r.number_or(r.name(), 1)); },
     [](Writing& w) {
       if (w.job().parallel.tensor() > 1) w.add(w.job().parallel.tensor());
     }},
    {"sequence_parallel_size", "", S::kNumber,
     [](Reading& r) {
       if (r.number_or(r.name(), 1) <= 1) return;
       r.set_number("workload.parallel.context");
       r.set("workload.parallel.context_kind", std::string("all-to-all"));  // Ulysses
     },
     [](Writing& w) {
       if (w.job().parallel.context() > 1) w.add(w.job().parallel.context());
     }},
    {"pipeline.stages", "", S::kNumber,
     [](Reading& r) { r.set("workload.parallel.pipeline", r.number_or(r.name(), 1)); },
     [](Writing& w) {
       if (has_pipeline(w)) w.add(w.job().parallel.pipeline());
     }},
    {"pipeline.activation_checkpoint_interval", "", S::kNumber, nullptr,
     [](Writing& w) {
       if (has_pipeline(w) && w.job().recompute == Recompute::kFull) w.add(std::int64_t{1});
     }},
    {"activation_checkpointing.number_checkpoints", "", S::kNumber, read_deepspeed_checkpointing,
     [](Writing& w) {
       if (!has_pipeline(w) && w.job().recompute == Recompute::kFull) w.add(w.model().layers);
     }},
    {"activation_checkpointing.partition_activations", "", S::kSwitch,
     [](Reading& r) {
       if (r.number_or("tensor_parallel.autotp_size", 1) > 1)
         read_parts(r, "every tensor-parallel rank keeps whole inputs of layers");
     }},
    {"activation_checkpointing.cpu_checkpointing", "", S::kSwitch, nullptr,
     [](Writing& w) {
       if (w.job().offload.activations > 0) w.add(true);
     }},
    {"activation_checkpointing.contiguous_memory_optimization", "", S::kSwitch},
});

std::vector<UnusedArguments> deepspeed_unused() {
  using F = ArgumentFate;
  return {
      {F::kIgnored, "says what is written down, not what is computed",
       "steps_per_print wall_clock_breakdown dump_state flops_profiler.* tensorboard.* wandb.* csv_monitor.* comet.* "
       "comms_logger.* memory_breakdown monitor_config.* checkpoint.*"},
      {F::kIgnored, "its numbers change no time",
       "optimizer.params.* scheduler.* gradient_clipping prescale_gradients gradient_predivide_factor fp16.* bf16.* "
       "zero_allow_untested_optimizer zero_force_ds_cpu_optimizer seed"},
      {F::kIgnored, "its memory and its copies are part of the software's figures",
       "zero_optimization.contiguous_gradients zero_optimization.allgather_partitions "
       "zero_optimization.allgather_bucket_size zero_optimization.reduce_scatter zero_optimization.sub_group_size "
       "zero_optimization.round_robin_gradients zero_optimization.ignore_unused_parameters "
       "zero_optimization.stage3_prefetch_bucket_size zero_optimization.stage3_max_live_parameters "
       "zero_optimization.stage3_max_reuse_distance zero_optimization.stage3_param_persistence_threshold "
       "zero_optimization.stage3_model_persistence_threshold zero_optimization.stage3_module_granularity_threshold "
       "zero_optimization.use_multi_rank_bucket_allreduce zero_optimization.memory_efficient_linear "
       "zero_optimization.mics_hierarchical_params_gather zero_optimization.legacy_stage1 "
       "zero_optimization.elastic_checkpoint"},
      {F::kIgnored, "when models are saved or loaded",
       "zero_optimization.stage3_gather_16bit_weights_on_model_save "
       "zero_optimization.stage3_gather_fp16_weights_on_model_save "
       "zero_optimization.load_from_fp32_weights zero3_save_16bit_model zero3_init_flag"},
      {F::kIgnored, "copies run beside kernels, from pinned memory",
       "zero_optimization.offload_optimizer.* zero_optimization.offload_param.* offload_optimizer_nvme_path "
       "offload_param_nvme_path aio.*"},
      {F::kIgnored, "of the machines and of Python: --cluster and --nodes say what there is",
       "compute_environment debug distributed_type downcast_bf16 machine_rank main_training_function num_machines "
       "num_processes rdzv_backend same_network tpu_env tpu_use_cluster tpu_use_sudo use_cpu "
       "deepspeed_multinode_launcher "
       "deepspeed_hostfile dynamo_backend enable_cpu_affinity"},
      {F::kIgnored, "how layers are checkpointed, not which",
       "activation_checkpointing.synchronize_checkpoint_boundary activation_checkpointing.profile "
       "activation_checkpointing.* pipeline.partition pipeline.seed_layers pipeline.pipe_partitioned "
       "pipeline.grad_partitioned"},
      {F::kNotSimulated, "it changes what is computed",
       "sparse_attention.* sparse_gradients compression_training.* curriculum_learning.* data_efficiency.* "
       "progressive_layer_drop.* eigenvalue.* quantize_training.* amp.* zenflow.* zero_optimization.zenflow.*"},
      {F::kNotSimulated, "its kernels are not known",
       "compile.* fp8.* autotuning.* elasticity.* communication_data_type_seq "
       "seq_parallel_communication_data_type zero_optimization.zeropp_loco_param.*"},
  };
}

// Keys of accelerate stand below 'deepspeed_config'.
std::string deepspeed_name(std::string_view name) {
  constexpr std::string_view kSection = "deepspeed_config.";
  return std::string(name.starts_with(kSection) ? name.substr(kSection.size()) : name);
}

}  // namespace

LauncherTable deepspeed_table() {
  LauncherTable table;
  table.launcher = Launcher::kDeepSpeed;
  table.title = "DeepSpeed";
  table.software = "deepspeed-2023";
  table.rows.assign(kDeepSpeedRows.begin(), kDeepSpeedRows.end());
  table.unused = deepspeed_unused();
  table.parse = accelerate_arguments;
  table.canonical = deepspeed_name;
  table.unset_word = "auto";
  table.refuses_other_names = true;
  table.print = [](const WrittenLaunch& launch, const Experiment&) {
    return json_of_arguments(table_of_launcher(Launcher::kDeepSpeed), launch);
  };
  return table;
}

}  // namespace orrery::experiment
