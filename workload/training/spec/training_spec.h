// SPDX-License-Identifier: MIT
// A training job as the `workload` section of an experiment describes it: a model, how it is spread over the ranks, and
// in which order the work is done.
#pragma once

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
#include "workload/training/spec/model.h"
#include "workload/training/spec/software.h"

namespace orrery::workload {

// Order in which a pipeline stage takes the passes of its micro-batches. kGpipe: all forward, then all backward (Huang
// et al. 2019). kOneForwardOneBackward: PipeDream-flush (Narayanan et al. 2021). kInterleaved: the same over
// `virtual_stages` chunks of the model per stage (Megatron-LM, SC'21). kZeroBubble: ZB-H1, weight gradients put off
// into the bubble (Qi et al. 2023). kPipedream: 1F1B that is never flushed: every micro-batch updates the weights of a
// stage, which keeps those of its forward pass for its backward pass (weight stashing; Narayanan et al. 2019).
// kDualPipe, kDualPipeV: forward passes of some micro-batches run side by side with backward passes of others, so that
// communication of one hides behind the other (DeepSeek-AI 2024). Every rank has two chunks: DualPipe's pipelines run
// both ways, so that all parameters are there twice; DualPipeV's goes there and back.
enum class ScheduleKind : std::uint8_t {
  kGpipe,
  kOneForwardOneBackward,
  kInterleaved,
  kZeroBubble,
  kPipedream,
  kDualPipe,
  kDualPipeV,
};

// True if a rank has two chunks, which the pipeline passes on its way there and back.
constexpr bool is_v_shaped(ScheduleKind kind) {
  return kind == ScheduleKind::kDualPipe || kind == ScheduleKind::kDualPipeV;
}

std::string_view name_of(ScheduleKind kind);  // "gpipe", "1f1b", "1f1b-interleaved", ...

// kBackward: of activations and weights, or of activations alone where the schedule has kWeight passes.
enum class PassKind : std::uint8_t { kForward, kBackward, kWeight };

struct Pass {
  PassKind kind = PassKind::kForward;
  std::uint32_t micro_batch = 0;
  std::uint32_t chunk = 0;   // of the stage's virtual stages
  bool splits = false;       // backward: weight gradients come in a pass of their own
  bool beside_next = false;  // this pass and the next run side by side

  bool operator==(const Pass&) const = default;
};

struct PipelineShape {
  ScheduleKind kind = ScheduleKind::kOneForwardOneBackward;
  std::uint32_t stages = 1;
  std::uint32_t virtual_stages = 1;  // more than one only interleaved, where `stages` divides `micro_batches`
  std::uint32_t micro_batches = 1;
  // 1F1B, also interleaved: forward and backward passes run side by side, after one more of warm-up.
  bool overlaps = false;
};

// Passes of `stage` in order, each once. In a V-shaped schedule, `stages` counts those from the first rank to the
// turning point, which the way back passes again: chunk 0 of rank i is stage i, chunk 1 is stage 2 * stages - 1 - i;
// `micro_batches`, at least 2 * stages, are those of a chunk, and `virtual_stages` is 2.
std::vector<Pass> pipeline_order(const PipelineShape& shape, std::uint32_t stage);

enum class ParallelDimension : std::uint8_t { kTensor, kContext, kData, kPipeline };

inline constexpr std::size_t kParallelDimensionCount = 4;

std::string_view name_of(ParallelDimension dimension);  // "tensor", ...

// kRing: keys and values pass from rank to rank beside the computation (Liu et al. 2023). kAllGather: every rank
// gathers them first (Llama 3).
enum class ContextKind : std::uint8_t { kRing, kAllGather };

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
  ExchangeKind exchange = ExchangeKind::kCollective;
  std::int64_t servers = 1;   // kParameterServer
  bool asynchronous = false;  // kParameterServer: a server answers every worker at once, not all together
  bool both_ways = false;     // DualPipe: ranks i and pipeline - 1 - i of a pipeline hold the same parameters

  std::int64_t degree(ParallelDimension dimension) const { return degrees[static_cast<std::size_t>(dimension)]; }
  std::int64_t tensor() const { return degree(ParallelDimension::kTensor); }
  std::int64_t context() const { return degree(ParallelDimension::kContext); }
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
  std::int64_t workers() const { return tensor() * context() * data() * pipeline(); }
  std::int64_t ranks() const { return workers() + (exchange == ExchangeKind::kParameterServer ? servers : 0); }
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
};

// Parameters and optimizer states that replicas write to remote memory, a share each.
struct CheckpointSpec {
  std::int64_t every = 1;  // iterations
  bool asynchronous = false;
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
};

// Results that are not kept but computed again, whatever else is: as Megatron-Core's recompute-modules layernorm,
// moe_act and mla_up_proj, and as DeepSeek-V3.
struct RecomputeModules {
  bool norm = false;
  bool activation = false;     // of perceptrons and experts
  bool fp8_inputs = false;     // whose inputs are kept in fp8
  bool up_projection = false;  // queries, keys and values of latent attention, from their compressed form

  bool any() const { return norm || activation || up_projection; }
};

// Exchange of tokens with the ranks of their experts.
struct ExpertSpec {
  DispatchLibrary dispatch;
  bool has_chosen_dispatch = false;    // written down; else the plain all-to-all of the collectives' library
  std::optional<Precision> precision;  // of rows on their way to experts; of activations if not given
  bool overlap_shared = false;         // shared experts are computed beside the dispatch
};

struct TrainingSpec {
  ModelSpec model;
  Parallelism parallel;
  ExpertSpec experts;
  std::int64_t global_batch = 1;  // sequences or samples, of all ranks together
  std::int64_t micro_batch = 1;
  ScheduleKind schedule = ScheduleKind::kOneForwardOneBackward;
  std::int64_t virtual_stages = 1;
  bool overlap_passes = false;                // forward and backward passes of two micro-batches run side by side
  std::vector<std::int64_t> pipeline_layers;  // by virtual stage, in pipeline order; empty: even
  SoftwareSpec software;                      // with what the experiment overrides
  Recompute recompute = Recompute::kNone;
  KeptResults keep{};                 // under full recomputation, by Kept
  std::int64_t recompute_layers = 0;  // of each virtual stage, the first ones; 0: all
  std::optional<LoraSpec> lora;
  RecomputeModules recompute_modules;
  Precision precision = Precision::kBf16;
  bool deterministic = false;  // kernels give the same bits every time
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
  // Micro-batches that pass one chunk of a rank.
  std::int64_t chunk_micro_batches() const { return micro_batches() / parallel.halves(); }
  // True if passes of two micro-batches run side by side somewhere.
  bool overlaps() const { return overlap_passes || is_v_shaped(schedule); }
  // Parts of the model, one behind the other.
  std::int64_t model_stages() const {
    return is_v_shaped(schedule) ? 2 * parallel.depth() : parallel.pipeline() * virtual_stages;
  }
  // Size of a parameter as ranks keep and exchange it. Only products take fp8 and int8, from copies.
  Bytes parameter_size() const { return is_of_products_only(precision) ? Bytes(2) : size_of(precision); }
  Bytes gathered_parameter_size() const {
    return is_of_products_only(precision) && software.fp8.parameters ? size_of(precision) : parameter_size();
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
};

// The pipeline of one iteration; of all of them where it is not flushed between them.
PipelineShape pipeline_shape(const TrainingSpec& training);

// The model's, or the software's where the model leaves it open. Of a transformer.
AttentionKind attention_of(const TrainingSpec& training);

// Reads the keys of a `workload` section that describe a model. `architecture`: of the cluster's devices, which the
// software follows from by default.
TrainingSpec read_training(Section& section, Architecture architecture, std::int64_t devices);

// Software of an experiment that names none, a file of configs/software: that of the model's kind, and for transformers
// that of the device's generation.
std::string_view default_software(const ModelSpec& model, Architecture architecture);

// Reports every combination that cannot be, each with what would work. `devices`: of the cluster.
void check_training(const TrainingSpec& training, std::int64_t devices, Diagnostics& diagnostics);

}  // namespace orrery::workload
