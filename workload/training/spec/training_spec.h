// SPDX-License-Identifier: MIT
// A training job as the `workload` section of an experiment describes it: a model, how it is spread over the ranks, and
// in which order the work is done.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/config/dispatch.h"
#include "core/error.h"
#include "core/precision.h"
#include "workload/training/options/offload.h"
#include "workload/training/options/optimizer.h"
#include "workload/training/pipeline/layout.h"
#include "workload/training/pipeline/schedule.h"
#include "workload/training/spec/model.h"
#include "workload/training/spec/software.h"

namespace orrery::workload {

enum class ParallelDimension : std::uint8_t { kTensor, kContext, kData, kPipeline };

inline constexpr std::size_t kParallelDimensionCount = 4;

std::string_view name_of(ParallelDimension dimension);  // "tensor", ...

// kRing: keys and values pass from rank to rank beside the computation (Liu et al. 2023). kAllGather: every rank
// gathers them first (Llama 3). kAllToAll: ranks exchange queries, keys and values for whole sequences of fewer heads,
// and results back (Jacobs et al. 2023, DeepSpeed-Ulysses). kAllToAllRing: the same within groups of `context_inner`
// ranks, and a ring between groups (Fang and Zhao 2024, USP).
enum class ContextKind : std::uint8_t { kRing, kAllGather, kAllToAll, kAllToAllRing };

// Tokens of a context-parallel rank. kZigzag: two pieces of the sequence, one from each end, so that all ranks have as
// much to do under a causal mask (Megatron-LM, Llama 3). kContiguous: one piece, so that the last rank has most.
enum class ContextBalance : std::uint8_t { kZigzag, kContiguous };

// Agreement of replicas on parameters. kParameterServer: ranks beyond the workers hold them, workers send gradients
// there and take parameters back.
enum class ExchangeKind : std::uint8_t { kCollective, kParameterServer };

struct Parallelism {
  std::array<std::int64_t, kParallelDimensionCount> degrees{1, 1, 1, 1};  // by ParallelDimension
  std::array<ParallelDimension, kParallelDimensionCount> order{ParallelDimension::kTensor, ParallelDimension::kContext,
                                                               ParallelDimension::kData, ParallelDimension::kPipeline};
  std::int64_t expert = 1;         // divides data times context, times tensor where `expert_tensor` is 1
  std::int64_t expert_tensor = 0;  // ranks that share each expert: 1, or (0) as `tensor`
  double expert_skew = 0;          // Zipf exponent of the experts' popularity; 0: all alike
  std::uint64_t expert_seed = 1;   // of the places of popular experts on the ranks
  bool sequence = false;           // what tensor parallelism does not split is split along the sequence
  std::int64_t zero = 0;           // 0 .. 3: what data-parallel ranks share instead of holding it each
  std::int64_t shard = 0;          // ranks that share one copy under `zero`; 0: all of data times context
  ContextKind context_kind = ContextKind::kRing;
  ContextBalance context_balance = ContextBalance::kZigzag;
  std::int64_t context_inner = 0;  // kAllToAllRing: ranks of an all-to-all; 0: as many as a node has room for
  std::int64_t node_devices = 0;   // of the cluster; 0: it has no nodes
  ExchangeKind exchange = ExchangeKind::kCollective;
  std::int64_t servers = 1;   // kParameterServer
  bool asynchronous = false;  // kParameterServer: a server answers every worker at once, not all together
  bool both_ways = false;     // DualPipe: ranks i and pipeline - 1 - i of a pipeline hold the same parameters

  std::int64_t degree(ParallelDimension dimension) const { return degrees[static_cast<std::size_t>(dimension)]; }
  std::int64_t tensor() const { return degree(ParallelDimension::kTensor); }
  std::int64_t context() const { return degree(ParallelDimension::kContext); }
  // Context-parallel ranks that exchange heads, and those that pass keys and values round; 1: none.
  std::int64_t context_by_heads() const;
  std::int64_t context_ring() const;
  std::int64_t data() const { return degree(ParallelDimension::kData); }
  std::int64_t pipeline() const { return degree(ParallelDimension::kPipeline); }
  std::int64_t halves() const { return both_ways ? 2 : 1; }
  // Number of ranks of a pipeline that hold parameters of their own, and the one of them that a rank is or is like.
  std::int64_t depth() const { return (pipeline() + halves() - 1) / halves(); }
  std::int64_t depth_of(std::int64_t stage) const { return stage < depth() ? stage : pipeline() - 1 - stage; }
  // Tensor-parallel ranks that are as many replicas to experts, which they have whole.
  std::int64_t expert_columns() const { return expert_tensor == 1 ? tensor() : 1; }
  // Ranks that hold the same parameters, or share them.
  std::int64_t replicas() const { return data() * context() * halves(); }
  // True if a rank holds its share of the parameters only; and true if it holds all of them, and updates its share.
  bool shares_parameters() const { return zero == 3; }
  bool updates_shares() const { return zero == 1 || zero == 2; }
  std::int64_t shard_ranks() const { return zero == 0 ? 1 : (shard == 0 ? replicas() : shard); }
  // The same of experts: the ranks of a copy that hold the same ones.
  std::int64_t expert_shard_ranks() const {
    return std::max<std::int64_t>(1, shard_ranks() * expert_columns() / expert);
  }
  std::int64_t workers() const { return tensor() * context() * data() * pipeline(); }
  std::int64_t ranks() const { return workers() + (exchange == ExchangeKind::kParameterServer ? servers : 0); }

  bool operator==(const Parallelism&) const = default;
};

// Input of samples to the devices of the first pipeline stage. They are read from remote memory (`memory.remote`) and
// decoded and copied by the host, batch after batch. The batches of `prefetch` iterations are kept ready: one is taken
// when an iteration starts, and another is asked for.
struct InputSpec {
  Bytes sample{1};                // as stored
  std::optional<Bytes> decoded;   // as copied; as stored by default
  Duration decode{};              // of a sample on one core
  std::int64_t cores = 1;         // of a rank
  std::optional<Bandwidth> copy;  // from the host to the device; free without
  std::int64_t prefetch = 1;      // iterations; 0: a batch is asked for when it is needed

  bool operator==(const InputSpec&) const = default;
};

// Parameters and optimizer states that replicas write to remote memory, a share each.
struct CheckpointSpec {
  std::int64_t every = 1;  // iterations
  bool asynchronous = false;

  bool operator==(const CheckpointSpec&) const = default;
};

enum class Recompute : std::uint8_t { kNone, kSelective, kFull };

// Results of a layer that recomputation can do without: by name in `workload.keep`.
enum class Kept : std::uint8_t { kQkv, kAttention, kProjection, kUp, kDown, kNorm, kActivation };
inline constexpr std::array<std::string_view, 7> kKeptNames = {"qkv",  "attention", "projection", "up",
                                                               "down", "norm",      "activation"};
using KeptResults = std::array<bool, kKeptNames.size()>;

// Fine-tuning of low-rank adapters beside frozen weights (LoRA, Hu et al. 2021).
struct LoraSpec {
  std::int64_t rank = 16;
  std::array<bool, 5> targets{};  // by Product

  bool operator==(const LoraSpec&) const = default;
};

// Parts of a layer whose results are not kept but computed again, whatever `recompute` keeps, as Megatron-Core's
// recompute-modules and DeepSeek-V3 have them. Part that computes a collective repeats it.
struct RecomputeModules {
  bool norm = false;
  bool core = false;               // attention between its projections
  bool up_projection = false;      // queries, keys and values of latent attention, from their compressed form
  bool activation = false;         // of perceptrons, experts and shared experts
  bool fp8_inputs = false;         // whose inputs are kept in fp8
  bool expert_activation = false;  // of experts alone
  bool perceptron = false;         // of dense layers, but for the norm before it
  bool experts = false;            // with the router, dispatch, combine and the shared ones
  bool shared_experts = false;

  bool any() const { return *this != RecomputeModules{}; }
  bool operator==(const RecomputeModules&) const = default;
};

// A word of `workload.recompute_modules`: Megatron-Core's or a plain one.
struct RecomputeWord {
  std::string_view word;
  bool RecomputeModules::*module;
};
inline constexpr std::array<RecomputeWord, 15> kRecomputeWords = {{
    {"norm", &RecomputeModules::norm},
    {"layernorm", &RecomputeModules::norm},
    {"attention", &RecomputeModules::core},
    {"core_attn", &RecomputeModules::core},
    {"up-projection", &RecomputeModules::up_projection},
    {"mla_up_proj", &RecomputeModules::up_projection},
    {"activation", &RecomputeModules::activation},
    {"activation-fp8", &RecomputeModules::fp8_inputs},
    {"expert-activation", &RecomputeModules::expert_activation},
    {"moe_act", &RecomputeModules::expert_activation},
    {"mlp", &RecomputeModules::perceptron},
    {"experts", &RecomputeModules::experts},
    {"moe", &RecomputeModules::experts},
    {"shared-experts", &RecomputeModules::shared_experts},
    {"shared_experts", &RecomputeModules::shared_experts},
}};

// Exchange of tokens with the ranks of their experts, and rows that experts compute.
struct ExpertSpec {
  DispatchLibrary dispatch;
  bool has_chosen_dispatch = false;    // written down; else the plain all-to-all of the collectives' library
  std::optional<Precision> precision;  // of rows on their way to experts; of activations if not given
  bool overlap_shared = false;         // shared experts are computed beside the dispatch
  double capacity = 0;                 // tokens that an expert takes, over the mean; 0: all that come
  bool pads = false;                   // every expert has as many rows as its capacity
  std::int64_t redundant = 0;          // copies of popular experts, beside the experts themselves
  std::int64_t row_multiple = 1;       // rows of an expert are padded to multiples of it

  bool operator==(const ExpertSpec&) const = default;
};

// Results of the head that are held from its forward to its backward pass. kLogits: of all tokens. kHidden: the head's
// input alone, from which the backward pass computes logits again. kGradients: those of the input and of the weights,
// which are computed with the forward pass (Liger's fused linear cross entropy).
enum class LossHeld : std::uint8_t { kLogits, kHidden, kGradients };

// Cross entropy of pieces of a micro-batch's tokens, one after the other.
struct LossSpec {
  std::int64_t chunks = 1;
  LossHeld held = LossHeld::kLogits;

  bool is_plain() const { return chunks == 1 && held == LossHeld::kLogits; }

  bool operator==(const LossSpec&) const = default;
};

struct TrainingSpec {
  ModelSpec model;
  Parallelism parallel;
  ExpertSpec experts;
  std::int64_t global_batch = 1;  // sequences or samples, of all ranks together
  std::int64_t micro_batch = 1;
  bool chooses_micro_batch = false;  // nobody gave it: the largest that fits, without a pipeline
  bool fills_devices = false;        // replicas are as many as there is room for
  std::int64_t room = 0;             // with it: that many, before any are left out for whole groups of experts
  struct BySoftware {
    bool zero = false;
    bool sequence = false;

    bool operator==(const BySoftware&) const = default;
  } is_by_software;                     // where nobody gave it, and it is not off
  bool takes_default_software = false;  // nobody named one: that of the devices' architecture
  ScheduleKind schedule = ScheduleKind::kOneForwardOneBackward;
  std::int64_t virtual_stages = 1;
  std::int64_t schedule_group = 0;            // interleaved: micro-batches in a row of one chunk; 0: as many as stages
  bool overlap_passes = false;                // forward and backward passes of two micro-batches run side by side
  std::vector<std::int64_t> pipeline_layers;  // by virtual stage, in pipeline order; empty: by the rule
  LayerRule layer_rule;
  std::optional<std::int64_t> layout_predictions;  // as `pipeline_layers` says, of a layout
  SoftwareSpec software;                           // with what the experiment overrides
  OptimizerSpec optimizer;
  OffloadSpec offload;
  Recompute recompute = Recompute::kNone;
  KeptResults keep{};                 // under full recomputation, by Kept
  std::int64_t recompute_layers = 0;  // of each virtual stage, the first ones; 0: all
  std::optional<LoraSpec> lora;
  LossSpec loss;
  RecomputeModules recompute_modules;
  Precision precision = Precision::kBf16;
  std::optional<Recipe> recipe;  // that the job names
  bool deterministic = false;    // kernels give the same bits every time
  std::int64_t iterations = 1;
  bool initial_broadcast = false;  // of the parameters among replicas, before the first iteration
  std::optional<InputSpec> input;
  std::optional<CheckpointSpec> checkpoint;
  bool causal_flops = false;                               // model FLOPs count the half of attention that is computed
  std::optional<Count> tokens;                             // of the whole training run; samples without tokens
  std::optional<double> price;                             // of a device for an hour, in any currency
  Location where;                                          // of the section, for messages
  std::map<std::string, Location, std::less<>> locations;  // of its keys, by path: "parallel.tensor"

  // False if iterations flow into one another, and every micro-batch updates the weights.
  bool is_flushed() const { return schedule != ScheduleKind::kPipedream; }
  std::int64_t micro_batches() const { return global_batch / (parallel.data() * micro_batch); }
  // Micro-batches that an interleaved schedule takes through a chunk before it goes to the next.
  std::int64_t group() const { return schedule_group > 0 ? schedule_group : parallel.pipeline(); }
  // Micro-batches that pass one chunk of a rank.
  std::int64_t chunk_micro_batches() const { return micro_batches() / parallel.halves(); }
  // True if passes of two micro-batches run side by side somewhere.
  bool overlaps() const { return overlap_passes || runs_pairs(schedule); }
  // Parts of the model, one behind the other.
  std::int64_t model_stages() const {
    return is_v_shaped(schedule) ? 2 * parallel.depth() : parallel.pipeline() * virtual_stages;
  }
  // Size of a parameter as ranks keep and exchange it. Only products take fp8 and int8, from copies.
  Bytes parameter_size() const { return is_of_products_only(precision) ? Bytes(2) : size_of(precision); }
  // Size of so many of them as replicas gather them.
  Bytes gathered_parameters(std::int64_t count) const {
    const Recipe& casts = recipe_of_casts();
    return is_of_products_only(precision) && casts.parameters ? casts.size_of_values(count) : parameter_size() * count;
  }
  const Recipe& recipe_of_casts() const { return recipe ? *recipe : software.fp8; }
  // True if a layer of a transformer computes in bf16 though the job's precision is below.
  bool is_left_in_bf16(std::int64_t layer) const {
    return is_of_products_only(precision) && transformer() != nullptr &&
           recipe_of_casts().leaves_out(layer, transformer()->layers);
  }
  // ZeRO 3 that gathers parameters once a step and reduces gradients once.
  bool keeps_gathered() const {
    return parallel.shares_parameters() && parallel.pipeline() > 1 && !software.reshard_pipeline;
  }
  // True if replicas exchange gradients and parameters layer by layer, not in buckets. Without sharding it is
  // DistributedDataParallel that exchanges, in buckets.
  bool exchanges_layers() const {
    return parallel.shares_parameters() ||
           (parallel.zero > 0 && software.overlap_layers && software.overlap_gradients &&
            parallel.exchange == ExchangeKind::kCollective);
  }
  // True if two stages have the embedding's table.
  bool model_ties_stages() const {
    const TransformerSpec* sizes = transformer();
    return sizes != nullptr && (sizes->tied_embeddings || sizes->mtp_layers > 0) && sizes->vocab > 0 &&
           parallel.pipeline() > 1 && !is_v_shaped(schedule);
  }
  const TransformerSpec* transformer() const { return std::get_if<TransformerSpec>(&model.sizes); }
  // Location of a key, or of its section's start if it is left to its default.
  const Location& where_of(std::string_view path) const;
  // Layers of each virtual stage, in pipeline order.
  std::vector<std::int64_t> layers_of_stages() const;
  // Layers by the rule; none if they do not divide by it.
  std::vector<std::int64_t> layers_by_rule() const;

  bool operator==(const TrainingSpec&) const = default;
};

// The pipeline of one iteration; of all of them where it is not flushed between them.
PipelineShape pipeline_shape(const TrainingSpec& training);

// The model's, or the software's where the model leaves it open. Of a transformer.
AttentionKind attention_of(const TrainingSpec& training);

// The cluster as far as what is not given of a job follows from it.
struct TrainingMachine {
  Architecture architecture = Architecture::kOther;  // of its devices, which the software follows from
  std::int64_t devices = 1;
  std::int64_t node_devices = 0;  // of a node; 0 without nodes
  bool is_alone = true;           // the job has all of them
};

// Reads the keys of a `workload` section that describe a model.
TrainingSpec read_training(Section& section, const TrainingMachine& machine);

// Software of an experiment that names none, a file of configs/software: that of the model's kind, and for transformers
// that of the device's generation.
std::string_view default_software(const ModelSpec& model, Architecture architecture);

// Reports every combination that cannot be, each with what would work. `devices`: of the cluster.
void check_training(const TrainingSpec& training, std::int64_t devices, Diagnostics& diagnostics);

}  // namespace orrery::workload
