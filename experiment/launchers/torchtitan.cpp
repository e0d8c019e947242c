// SPDX-License-Identifier: MIT
// Arguments of torchtitan (pytorch/torchtitan, torchtitan/config/job_config.py), with their names of 2024.
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "experiment/experiment.h"
#include "experiment/launchers/argument_files.h"
#include "experiment/launchers/torchtitan_plan.h"

namespace orrery::experiment {
namespace {

using workload::Recompute;

constexpr std::string_view kEagerSoftware = "torchtitan-eager-2025";

// --- readers

void read_titan_tensor(LaunchReading& r) {
  const std::int64_t degree = r.number_or(r.name(), 1);
  r.set("workload.parallel.tensor", degree);
  if (degree > 1) r.set("workload.parallel.sequence", true);
}

void read_titan_context(LaunchReading& r) {
  const std::int64_t degree = r.number_or(r.name(), 1);
  r.set("workload.parallel.context", degree);
  if (degree <= 1) return;
  const std::string way = r.word_or("parallelism.context_parallel_rotate_method", "allgather", "allgather alltoall");
  r.set("workload.parallel.context_kind", std::string(way == "allgather" ? "all-gather" : "ring"));
}

void read_titan_experts(LaunchReading& r) {
  const std::int64_t degree = r.number_or(r.name(), 1);
  if (degree <= 1) return;
  r.set("workload.parallel.expert", degree);
  if (r.number_or("parallelism.tensor_parallel_degree", 1) > 1 &&
      r.number_or("parallelism.expert_tensor_parallel_degree", 1) == 1)
    r.set("workload.parallel.expert_tensor", std::int64_t{1});
}

// Precision of products: of converters, else of parameters.
void read_converters(LaunchReading& r) {
  std::string precision = r.word_or("training.mixed_precision_param", "bfloat16", "bfloat16 float32");
  precision = precision == "float32" ? "fp32" : "bf16";
  if (r.is_on("quantize.linear.float8.enable_float8_linear")) precision = "fp8";
  for (const std::string& word : words_of_list(r, r.name())) {
    if (word == "float8" || word.ends_with(".float8") || word.ends_with(".fp8"))
      precision = "fp8";
    else if (word == "mx" || word.ends_with(".mx"))
      precision = "mxfp8";
    else
      r.leave_out(fmt::format("what '{}' makes of the model is not known", printable(word, 40)));
  }
  r.set("workload.precision", precision);
  if (precision == "fp8" && r.is_on("quantize.linear.float8.enable_fsdp_float8_all_gather"))
    r.set("workload.software.fp8.parameters", true);
}

void read_scaling(LaunchReading& r) {
  if (r.given(r.name()) && r.word_or(r.name(), "tensorwise", "tensorwise rowwise rowwise_with_gw_hp") != "tensorwise")
    r.leave_out("scales of rows are simulated as scales of tensors");
}

// Heads and routers stay in bf16 in any case.
void read_titan_filter(LaunchReading& r) {
  for (const std::string& module : words_of_list(r, r.name()))
    if (module != "output" && module != "lm_head" && !module.ends_with("router.gate"))
      return r.leave_out(fmt::format("'{}' is computed in low precision as well ('workload.recipe' has others)",
                                     printable(module, 40)));
}

void read_titan_compile(LaunchReading& r) {
  const std::vector<std::string> parts = words_of_list(r, "compile.components");
  const auto compiles = [&](std::string_view part) {
    return r.is_on(r.name()) && (parts.empty() || std::ranges::find(parts, part) != parts.end());
  };
  if (!compiles("model")) r.choose_software(std::string(kEagerSoftware));
  // Sets it as torchtitan-eager-2025.yaml and torchtitan-2025.yaml have it.
  if (compiles("model") != compiles("loss"))
    r.set("workload.software.footprint.loss", std::string(compiles("loss") ? "4 B" : "10 B"));
}

void read_asynchronous_tensor(LaunchReading& r) {
  if (!r.is_on(r.name()) || r.number_or("parallelism.tensor_parallel_degree", 1) <= 1) return;
  if (!r.is_on("compile.enable"))
    return r.warning(fmt::format("'{}' acts on compiled models only", r.name()), "compile.enable = true");
  r.set("workload.software.overlap.tensor", std::string("pieces"));
}

void read_titan_offload(LaunchReading& r) {
  if (!r.is_on(r.name())) return;
  r.set("workload.offload.states", std::string("100 %"));
  r.warning("parameters and gradients are simulated in the memory of devices; hosts hold the optimizer's states");
}

void read_titan_optimizer(LaunchReading& r) {
  const std::string name = r.word_or(r.name(), "AdamW", "AdamW Adam Muon");
  // Parameters, gradients and states are of the type that the model is made in.
  const bool is_bf16 = r.word_or("training.dtype", "float32", "float32 bfloat16") == "bfloat16";
  if (is_bf16 && name == "Muon") r.warning("Muon's states are simulated in fp32, and training.dtype is bfloat16");
  if (name == "Muon") return r.set("workload.optimizer", std::string("muon"));
  if (is_bf16) return r.set("workload.optimizer", std::string("{name: adam, moments: 2, moment: 2 B, masters: false}"));
  r.set("workload.optimizer", std::string(name == "Adam" ? "adam" : "adamw"));
}

void read_reduction(LaunchReading& r) {
  const std::string type = r.word_or(r.name(), "float32", "float32 bfloat16");
  r.set("workload.gradients", std::string(type == "float32" ? "fp32" : "bf16"));
}

void read_titan_dispatch(LaunchReading& r) {
  const std::string backend = r.word_or(r.name(), "standard", "standard deep_ep deepep");
  if (backend != "standard" && r.number_or("parallelism.expert_parallel_degree", 1) > 1)
    r.set("workload.experts.dispatch", std::string("deepep"));
}

template <bool kIsSimulated>
void read_loss_parallel(LaunchReading& r) {
  if (r.given(r.name()) && r.is_on(r.name()) != kIsSimulated &&
      r.number_or("parallelism.tensor_parallel_degree", 1) > 1)
    r.leave_out("logits are simulated in parts of the vocabulary");
}

// --- writers

// A model of its own stands beside the file, as one of a flavor that has yet to be registered.
void write_own_model(LaunchWriting& w) {
  if (flavor_of_model(w.job().model.name) == nullptr) w.add(resolved_model(w));
}

void write_name(LaunchWriting& w) {
  const TitanFlavor* flavor = flavor_of_model(w.job().model.name);
  w.add(std::string(flavor == nullptr ? "llama3" : flavor->name));
}

void write_flavor(LaunchWriting& w) {
  if (const TitanFlavor* flavor = flavor_of_model(w.job().model.name)) return w.add(std::string(flavor->flavor));
  const std::string name = w.job().model.name.empty() ? "own" : w.job().model.name;
  w.leave_unsaid("workload.model", name, "a flavor of that name has to be registered");
  w.add(name);
}

std::int64_t shards_of(const workload::TrainingSpec& job) {
  if (job.parallel.zero == 0) return 1;
  return std::max<std::int64_t>(1, job.parallel.shard_ranks() / job.parallel.context());
}

void write_local_batch(LaunchWriting& w) {
  w.add(w.job().parallel.pipeline() > 1 ? w.job().micro_batches() * w.job().micro_batch : w.job().micro_batch);
}

void write_reshard(LaunchWriting& w) {
  if (w.job().parallel.zero == 0) return;
  if (w.job().parallel.pipeline() == 1) return w.add(std::string(w.job().parallel.zero == 3 ? "always" : "never"));
  if (w.job().software.reshard_pipeline) w.add(std::string("always"));
}

// Names of modules of every stage, where the layers are not as torchtitan spreads them.
void write_stages(LaunchWriting& w) {
  const workload::TrainingSpec& job = w.job();
  const TitanSchedule* schedule = schedule_of_kind(job.schedule);
  if (job.parallel.pipeline() == 1 || schedule == nullptr) return;
  const std::vector<std::int64_t> layers = job.layers_of_stages();
  if (layers == titan_layers(w.model().layers, job.parallel.pipeline() * schedule->stages)) return;
  std::vector<std::string> stages;
  std::int64_t layer = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::string modules = i == 0 ? "\"tok_embeddings\"" : "";
    for (std::int64_t k = 0; k < layers[i]; ++k, ++layer)
      modules += fmt::format("{}\"layers.{}\"", modules.empty() ? "" : ", ", layer);
    if (i + 1 == layers.size()) modules += fmt::format("{}\"norm\", \"output\"", modules.empty() ? "" : ", ");
    stages.push_back("[" + modules + "]");
  }
  w.add_values(std::move(stages));
}

void write_converters(LaunchWriting& w) {
  if (w.job().precision == Precision::kFp8) w.add_values({"quantize.linear.float8"});
  if (w.job().precision == Precision::kMxfp8) w.add_values({"quantize.linear.mx"});
}

std::string type_name(Precision precision) { return precision == Precision::kFp32 ? "float32" : "bfloat16"; }

using S = ArgumentShape;
using Reading = LaunchReading;
using Writing = LaunchWriting;

constexpr std::array kTitanModel = std::to_array<ArgumentRow>({
    {kModelOption, "", S::kText, nullptr, write_own_model},
    {"model.name", "", S::kText, nullptr, write_name},
    {"model.flavor", "", S::kText, read_titan_model, write_flavor},
    {"model.converters", "", S::kList, read_converters, write_converters},
    {"training.seq_len", "", S::kNumber,
     [](Reading& r) { r.set("workload.model.sequence", r.number_or(r.name(), 2048)); },
     [](Writing& w) { w.add(w.model().sequence); }},
    {"training.local_batch_size", "training.batch_size", S::kNumber, nullptr, write_local_batch},
    {"training.global_batch_size", "", S::kNumber, read_titan_batch, [](Writing& w) { w.add(w.job().global_batch); }},
    {"training.mixed_precision_param", "", S::kText, nullptr, [](Writing& w) { w.add(type_name(w.job().precision)); }},
    {"training.mixed_precision_reduce", "", S::kText, read_reduction,
     [](Writing& w) { w.add(type_name(w.job().software.gradients)); }},
    {"training.enable_cpu_offload", "experimental.enable_cpu_offload", S::kSwitch, read_titan_offload,
     [](Writing& w) {
       if (w.job().offload.states > 0) w.add(true);
     }},
    {"training.dtype", "", S::kText, nullptr,
     [](Writing& w) {
       const workload::OptimizerSpec& optimizer = w.job().optimizer;
       if (!optimizer.masters && optimizer.moments.size == Bytes(2)) w.add(std::string("bfloat16"));
     }},
    {"optimizer.name", "", S::kText, read_titan_optimizer,
     [](Writing& w) {
       const std::string& name = w.job().optimizer.name;
       w.add(std::string(name == "adam" ? "Adam" : name == "muon" ? "Muon" : "AdamW"));
     }},
    {"debug.deterministic", "training.deterministic", S::kSwitch,
     [](Reading& r) {
       if (r.is_on(r.name())) r.set("workload.deterministic", true);
     },
     [](Writing& w) {
       if (w.job().deterministic) w.add(true);
     }},
});

constexpr std::array kTitanParallel = std::to_array<ArgumentRow>({
    {"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree", S::kNumber, nullptr,
     [](Writing& w) { w.add(w.job().parallel.data() / shards_of(w.job())); }},
    {"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree training.data_parallel_degree",
     S::kNumber, read_titan_data, [](Writing& w) { w.add(shards_of(w.job())); }},
    {"parallelism.fsdp_reshard_after_forward", "", S::kText, nullptr, write_reshard},
    {"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree", S::kNumber, read_titan_tensor,
     [](Writing& w) { w.add(w.job().parallel.tensor()); }},
    {"parallelism.enable_async_tensor_parallel", "experimental.enable_async_tensor_parallel", S::kSwitch,
     read_asynchronous_tensor,
     [](Writing& w) {
       if (w.job().parallel.tensor() > 1 && w.job().software.overlap_tensor != workload::TensorOverlap::kNone)
         w.add(true);
     }},
    {"parallelism.disable_loss_parallel", "training.disable_loss_parallel", S::kSwitch, read_loss_parallel<false>},
    {"training.enable_loss_parallel", "", S::kSwitch, read_loss_parallel<true>},
    {"parallelism.context_parallel_degree", "experimental.context_parallel_degree", S::kNumber, read_titan_context,
     [](Writing& w) { w.add(w.job().parallel.context()); }},
    {"parallelism.context_parallel_rotate_method", "experimental.context_parallel_rotate_method", S::kText, nullptr,
     [](Writing& w) {
       if (w.job().parallel.context() == 1) return;
       const bool gathers = w.job().parallel.context_kind == workload::ContextKind::kAllGather;
       w.add(std::string(gathers ? "allgather" : "alltoall"));
     }},
    {"parallelism.expert_parallel_degree", "", S::kNumber, read_titan_experts,
     [](Writing& w) {
       if (w.model().experts > 0) w.add(w.job().parallel.expert);
     }},
    {"parallelism.expert_tensor_parallel_degree", "", S::kNumber, nullptr,
     [](Writing& w) {
       const workload::Parallelism& parallel = w.job().parallel;
       if (w.model().experts > 0 && parallel.expert > 1) w.add(parallel.tensor() / parallel.expert_columns());
     }},
    {"parallelism.expert_parallel_comm_backend", "", S::kText, read_titan_dispatch,
     [](Writing& w) {
       if (w.job().experts.dispatch.name == "deepep") w.add(std::string("deep_ep"));
     }},
});

constexpr std::array kTitanPipeline = std::to_array<ArgumentRow>({
    {"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree", S::kNumber,
     [](Reading& r) { r.set("workload.parallel.pipeline", r.number_or(r.name(), 1)); },
     [](Writing& w) { w.add(w.job().parallel.pipeline()); }},
    {"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule", S::kText, read_titan_pipeline,
     [](Writing& w) {
       const TitanSchedule* schedule = schedule_of_kind(w.job().schedule);
       if (w.job().parallel.pipeline() > 1 && schedule != nullptr) w.add(std::string(schedule->name));
     }},
    {"parallelism.pipeline_parallel_microbatch_size", "", S::kNumber, nullptr,
     [](Writing& w) {
       if (w.job().parallel.pipeline() > 1) w.add(w.job().micro_batch);
     }},
    {"experimental.pipeline_parallel_microbatches", "", S::kNumber},
    {"parallelism.pipeline_parallel_split_points", "experimental.pipeline_parallel_split_points", S::kList},
    {"parallelism.pipeline_parallel_layers_per_stage", "experimental.pipeline_parallel_layers_per_stage", S::kNumber},
    {"parallelism.pipeline_parallel_first_stage_less_layers", "", S::kNumber},
    {"parallelism.pipeline_parallel_last_stage_less_layers", "", S::kNumber},
    {"parallelism.module_fqns_per_model_part", "experimental.module_fqns_per_model_part", S::kAny, nullptr,
     write_stages},
    {"activation_checkpoint.mode", "", S::kText, read_titan_checkpointing,
     [](Writing& w) {
       constexpr std::array<const char*, 3> kModes = {"none", "selective", "full"};
       w.add(std::string(kModes[static_cast<std::size_t>(w.job().recompute)]));
     }},
    {"activation_checkpoint.selective_ac_option", "", S::kText, nullptr,
     [](Writing& w) {
       if (w.job().recompute == Recompute::kSelective) w.add(std::string("op"));
     }},
    {"compile.enable", "training.compile", S::kSwitch, read_titan_compile,
     [](Writing& w) { w.add(w.job().software.name != kEagerSoftware); }},
    {"compile.components", "", S::kList},
    {"quantize.linear.float8.enable_fsdp_float8_all_gather", "", S::kSwitch, nullptr,
     [](Writing& w) {
       if (w.job().precision == Precision::kFp8 && w.job().recipe_of_casts().parameters) w.add(true);
     }},
    {"quantize.linear.float8.recipe_name", "", S::kText, read_scaling},
    {"quantize.linear.float8.enable_float8_linear", "", S::kSwitch},
    {"quantize.linear.float8.filter_fqns", "", S::kList, read_titan_filter},
    {"quantize.linear.mx.filter_fqns", "", S::kList, read_titan_filter},
});

std::vector<ArgumentRow> titan_rows() {
  std::vector<ArgumentRow> rows(kTitanModel.begin(), kTitanModel.end());
  rows.insert(rows.end(), kTitanParallel.begin(), kTitanParallel.end());
  rows.insert(rows.end(), kTitanPipeline.begin(), kTitanPipeline.end());
  return rows;
}

std::vector<UnusedArguments> titan_unused() {
  using F = ArgumentFate;
  return {
      {F::kIgnored, "says what is written down, not what is computed",
       "job.* profiling.* metrics.* model.print_after_conversion memory_estimation.*"},
      {F::kIgnored, "its numbers change no time",
       "lr_scheduler.* optimizer.lr optimizer.beta1 optimizer.beta2 "
       "optimizer.eps optimizer.weight_decay training.max_norm training.warmup_steps debug.seed training.seed"},
      {F::kIgnored, "between steps, or a step's number",
       "training.steps training.gc_freq training.gc_debug "
       "checkpoint.* validation.* comm.* debug.print_config debug.save_config_file"},
      {F::kIgnored, "the input is taken to be ready ('workload.input' simulates it)",
       "training.dataset training.dataset_path training.dataset_type training.data_parallel_type model.tokenizer_path "
       "model.hf_assets_path"},
      {F::kIgnored, "one kernel of norms is simulated", "model.norm_type"},
      {F::kIgnored, "the optimizer is taken to be fused", "optimizer.implementation optimizer.fused"},
      {F::kIgnored, "of small products, or of checks",
       "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns "
       "activation_checkpoint.early_stop activation_checkpoint.preserve_rng_state "
       "activation_checkpoint.determinism_check "
       "activation_checkpoint.debug compile.backend"},
      {F::kIgnored, "part of casts, which the recipe has",
       "quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp "
       "quantize.linear.float8.force_recompute_fp8_weight_in_bwd quantize.linear.mx.mxfp8_dim1_cast_kernel_choice "
       "quantize.linear.mx.recipe_name quantize.linear.float8.emulate"},
      {F::kNotSimulated, "experts in low precision follow 'model.converters'",
       "quantize.linear.float8.moe_fqns_prototype quantize.grouped_mm.* quantize.moe.*"},
      {F::kNotSimulated, "a schedule from a file", "parallelism.pipeline_parallel_schedule_csv"},
      {F::kNotSimulated, "what the compiler makes of it is not known",
       "parallelism.enable_compiled_autograd experimental.enable_compiled_autograd activation_checkpoint.memory_budget "
       "activation_checkpoint.visualize_memory_budget_pareto"},
      {F::kNotSimulated, "the update within the backward pass", "optimizer.early_step_in_backward"},
      {F::kNotSimulated, "replicas that come and go", "fault_tolerance.*"},
      {F::kNotSimulated, "code of one's own is not read",
       "experimental.custom_import experimental.custom_args_module "
       "experimental.custom_model_path"},
  };
}

// Sections of low precision have had several names.
std::string titan_name(std::string_view name) {
  struct Section {
    std::string_view old, now;
  };
  constexpr std::array<Section, 4> kOldSections = {{{"float8.", "quantize.linear.float8."},
                                                    {"quantize.dense.float8.", "quantize.linear.float8."},
                                                    {"quantize.linear.fp8.", "quantize.linear.float8."},
                                                    {"mx.", "quantize.linear.mx."}}};
  for (const auto& [old, now] : kOldSections)
    if (name.starts_with(old)) return fmt::format("{}{}", now, name.substr(old.size()));
  return std::string(name);
}

}  // namespace

LauncherTable torchtitan_table() {
  LauncherTable table;
  table.launcher = Launcher::kTorchtitan;
  table.title = "torchtitan";
  table.software = "torchtitan-2025";
  table.rows = titan_rows();
  table.unused = titan_unused();
  table.parse = tree_arguments;
  table.canonical = titan_name;
  table.refuses_other_names = true;
  table.check = check_titan_numbers;
  table.print = [](const WrittenLaunch& launch, const Experiment&) {
    return toml_of_arguments(table_of_launcher(Launcher::kTorchtitan), launch);
  };
  return table;
}

}  // namespace orrery::experiment
