// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include <fmt/format.h>

#include "core/config/price.h"
#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "workload/training/spec/schedule_config.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {
namespace {

constexpr Range kDegree{1, 1 << 24};

const std::vector<std::string> kDimensionNames = {"tensor", "context", "data", "pipeline"};

// Notes where each key of a map stands, and those below it; before defaults are filled in.
void note_places(const ConfigValue& map, const std::string& prefix, TrainingSpec& training) {
  for (const ConfigEntry& entry : map.entries) {
    const std::string path = prefix + entry.key;
    training.locations.insert_or_assign(path, entry.value.where);
    note_places(entry.value, path + ".", training);
  }
}

void read_order(Section& section, Parallelism& parallel) {
  const ConfigValue* value =
      section.raw("order", "list of tensor, context, data, pipeline", "[tensor, context, data, pipeline]",
                  "order of the degrees over the ranks; the first varies fastest from rank to rank");
  if (value == nullptr) return;
  std::vector<ParallelDimension> order;
  for (const ConfigValue& item : value->items)
    if (const auto name = std::ranges::find(kDimensionNames, item.scalar); name != kDimensionNames.end())
      order.push_back(static_cast<ParallelDimension>(name - kDimensionNames.begin()));
  std::vector<ParallelDimension> sorted = order;
  std::ranges::sort(sorted);
  if (value->items.size() != kParallelDimensionCount || order.size() != kParallelDimensionCount ||
      std::ranges::adjacent_find(sorted) != sorted.end())
    return section.error("order", "not an order of the four degrees",
                         "each of tensor, context, data and pipeline once, fastest first");
  std::ranges::copy(order, parallel.order.begin());
}

void read_exchange(Section& section, Parallelism& parallel) {
  section.takes("exchange", parallel.exchange, {"collective", "parameter-server"},
                "gradient synchronisation; collective: by collectives among the replicas, parameter-server: through "
                "server ranks, which follow the workers");
  section.takes("servers", parallel.servers, kDegree,
                "with `exchange: parameter-server`: number of server ranks, which share the parameters");
  section.takes("asynchronous", parallel.asynchronous,
                "with `exchange: parameter-server`: whether a server answers each worker immediately instead of "
                "waiting for all workers");
}

// Sets the number of replicas to what the devices have room for, in whole groups of experts; returns the room.
std::int64_t fill_with_replicas(Parallelism& parallel, std::int64_t devices) {
  const std::int64_t servers = parallel.ranks() - parallel.workers();
  std::int64_t& data = parallel.degrees[static_cast<std::size_t>(ParallelDimension::kData)];
  data = std::max<std::int64_t>(1, (devices - servers) / (parallel.workers() / data));
  const std::int64_t most = data;
  while (data > 1 && data * parallel.context() * parallel.expert_columns() % parallel.expert != 0) --data;
  if (data * parallel.context() * parallel.expert_columns() % parallel.expert != 0) data = most;  // an error
  return most;
}

void read_context(Section& section, Parallelism& parallel) {
  section.takes("context_kind", parallel.context_kind, {"ring", "all-gather", "all-to-all", "all-to-all+ring"},
                "exchange between context-parallel ranks; ring: keys and values block by block, overlapped with "
                "attention, all-gather: all of them before attention, all-to-all: queries, keys and values for whole "
                "sequences of fewer heads (Ulysses), all-to-all+ring: all-to-all among `context_inner` ranks, a ring "
                "between such groups");
  section.takes("context_balance", parallel.context_balance, {"zigzag", "contiguous"},
                "tokens of a context-parallel rank under a causal mask; zigzag: two pieces, one from each end of the "
                "sequence, so that all ranks have as much to do, contiguous: one piece, so that the last rank has "
                "most, for which the others wait");
  section.takes("context_inner", parallel.context_inner, {0, 1 << 24},
                "with `context_kind: all-to-all+ring`: number of ranks that exchange heads, a divisor of `context`; 0: "
                "as many as a node has room for");
}

// Sharing that the software does by itself where the job says nothing; degrees, exchange and schedule are known.
void read_sharing(Section& section, TrainingSpec& training) {
  Parallelism& parallel = training.parallel;
  const SoftwareSpec& software = training.software;
  const TransformerSpec* model = training.transformer();
  parallel.sequence = software.sequence && parallel.tensor() > 1 && model != nullptr &&
                      model->sequence % (parallel.context() * parallel.tensor()) == 0;
  const bool can_share = parallel.exchange == ExchangeKind::kCollective && training.is_flushed();
  parallel.zero = can_share ? software.zero : 0;
  training.is_by_software.sequence = !section.has("sequence") && parallel.sequence;
  training.is_by_software.zero = !section.has("zero") && parallel.zero > 0;
  section.takes("sequence", parallel.sequence,
                "whether norms and dropout are split along the sequence over the tensor-parallel ranks (Megatron's "
                "sequence parallelism)",
                "of the software, with `tensor` above 1");
  parallel.zero =
      WholeNumber("zero",
                  "ZeRO stage: what the replicas shard; 1: optimizer states, 2: also gradients, 3: also parameters "
                  "(FSDP)",
                  Range{0, 3})
          .optional(section, parallel.zero, "of the software");
}

constexpr std::string_view kRestOfDevices = "rest; of one of several `jobs` 1";

void read_parallel(Section& section, const TrainingMachine& machine, TrainingSpec& training) {
  Parallelism& parallel = training.parallel;
  const std::array<std::string_view, kParallelDimensionCount> meanings = {
      "tensor parallelism: number of ranks that share every layer",
      "context parallelism: number of ranks that share every sequence",
      "data parallelism: number of replicas of the model; `rest`: as many as the cluster has devices for",
      "pipeline parallelism: number of stages of consecutive layers"};
  const ConfigValue* data = section.value("data");
  const bool has_rest = data == nullptr ? machine.is_alone : data->scalar == "rest";
  section.when(has_rest, [&] {
    Choice("data", "as many replicas as the cluster has devices for", {"rest"}).optional(section, 0, kRestOfDevices);
  });
  for (std::size_t i = 0; i < kParallelDimensionCount; ++i) {
    section.know(kDimensionNames[i]);
    const bool is_data = i == static_cast<std::size_t>(ParallelDimension::kData);
    section.when(!has_rest || !is_data, [&] {
      const std::int64_t degree = parallel.degrees[i];
      parallel.degrees[i] = WholeNumber(kDimensionNames[i], meanings[i], kDegree)
                                .optional(section, degree, is_data ? kRestOfDevices : std::string_view());
    });
  }
  training.fills_devices = has_rest;
  read_exchange(section, parallel);
  section.takes("expert", parallel.expert, kDegree,
                "expert parallelism: number of ranks that share the experts; it divides `data` * `context`, with "
                "`expert_tensor: 1` `data` * `context` * `tensor`");
  section.takes(
      "expert_tensor", parallel.expert_tensor, {0, 1 << 24},
      "number of tensor-parallel ranks that share an expert: 1, so that each has whole experts and `expert` "
      "goes over them too (Megatron-Core's expert-tensor-parallel-size), or as many as `tensor`; 0: `tensor`");
  section.takes(
      "expert_skew", parallel.expert_skew,
      "imbalance of the experts' load: exponent of Zipf's law, 0 to 4; 0: all experts get the same number of tokens");
  section.takes("expert_seed", parallel.expert_seed, {0, INT64_MAX},
                "with `expert_skew`: the places of popular experts on the ranks are drawn; another seed, other places");
  if (!(parallel.expert_skew >= 0 && parallel.expert_skew <= 4))
    section.error("expert_skew", fmt::format("invalid exponent {} of Zipf's law for experts", parallel.expert_skew),
                  "between 0 (all alike) and 4");
  read_sharing(section, training);
  section.takes("shard", parallel.shard, {0, 1 << 24},
                "with `zero`: number of ranks that share one copy (hybrid sharding); 0: all replicas");
  read_context(section, parallel);
  read_order(section, parallel);
  if (has_rest) training.room = fill_with_replicas(parallel, machine.devices);
}

void read_dispatching(Section& section, TrainingSpec& training) {
  training.experts.has_chosen_dispatch = section.has("dispatch");
  section.section_or(
      "dispatch", "all-to-all", "how tokens go to their experts and back; `orrery list dispatch` names the libraries",
      [&](Section& s) { training.experts.dispatch = read_dispatch(s); }, "dispatch");
  section.takes(
      "precision", training.experts.precision, precision_names(),
      "precision of tokens to experts, which come back as activations; with its scales: 4 B for 128 values of fp8 and "
      "int8, 1 B for 32 of mxfp8 and 16 of nvfp4; without it, that of activations. Example: `fp8`");
  section.takes("overlap_shared", training.experts.overlap_shared,
                "whether shared experts are computed while tokens are dispatched");
  section.takes("capacity_factor", training.experts.capacity,
                "tokens that an expert takes at most, relative to the mean of all experts; those beyond it are "
                "dropped; 0: none are. Example: `1.25`");
  constexpr double kMostCapacity = 1024;
  if (training.experts.capacity > kMostCapacity)
    section.error("capacity_factor", fmt::format("invalid capacity factor {}", training.experts.capacity),
                  "between 0 (experts take all that comes) and 1024");
  section.takes("pad_to_capacity", training.experts.pads,
                "with `capacity_factor`: whether every expert has as many rows as its capacity, sent and computed "
                "(MaxText, Megatron-Core's moe-pad-expert-input-to-capacity)");
  section.takes(
      "redundant", training.experts.redundant, {0, 1 << 20},
      "with `parallel.expert_skew`: number of copies of the most popular experts of a layer, which share their "
      "tokens; experts and copies are packed so that ranks get about as much (DeepSeek's EPLB)");
  section.takes("row_multiple", training.experts.row_multiple, {1, 1 << 16},
                "number that the rows of every expert are padded to a multiple of before its GEMMs, which drop no "
                "tokens. Example: `16`");
}

// Micro-batch that is not given is chosen later, when all else of the job is known. With `accumulation` two of the
// three sizes tell the third.
void read_batch(Section& section, TrainingSpec& training) {
  constexpr Range kGlobal{1, 1LL << 32}, kMicro{1, 1 << 24};
  constexpr std::string_view kMeaningOfMicro =
      "micro-batch size: sequences or samples per micro-batch and rank; auto: without a pipeline the largest that fits "
      "in memory and divides the batch of a replica, with one 1";
  const std::int64_t data = training.parallel.data();
  const auto steps =
      WholeNumber(
          "accumulation",
          "micro-batches of a replica per training step (gradient accumulation), in place of `global` or `micro`",
          kGlobal)
          .maybe(section);
  const bool has_global = section.has("global");
  const ConfigValue* micro = section.value("micro");
  const bool is_given = micro != nullptr && micro->scalar != "auto";
  section.when(has_global || !steps, [&] {
    section.needs("global", training.global_batch, kGlobal,
                  "global batch size: sequences or samples per training step");
  });
  section.when(!is_given, [&] { Choice("micro", kMeaningOfMicro, {"auto"}).optional(section, 0); });
  section.when(is_given, [&] {
    training.micro_batch =
        WholeNumber("micro", kMeaningOfMicro, kMicro).optional(section, training.micro_batch, "auto");
  });
  training.chooses_micro_batch = !is_given && !steps;
  if (!steps || !section.sound()) return;
  if (!has_global && data * training.micro_batch > kGlobal.most / *steps)
    section.error("accumulation", fmt::format("{} micro-batches of {} replicas are too many", *steps, data),
                  fmt::format("a global batch of at most {}", kGlobal.most));
  else if (!has_global)
    training.global_batch = *steps * data * training.micro_batch;
  else if (const std::int64_t at_once = *steps * data;  // of samples, one of each micro-batch
           !is_given && training.global_batch % at_once == 0)
    training.micro_batch = training.global_batch / at_once;
  else if (training.global_batch % at_once != 0 || training.global_batch / at_once != training.micro_batch)
    section.error("accumulation",
                  fmt::format("{} micro-batches{} of {} replicas are no global batch of {}", *steps,
                              is_given ? fmt::format(" of {}", training.micro_batch) : "", data, training.global_batch),
                  "give two of workload.batch.global, micro and accumulation");
}

// Overlap that only software says.
constexpr std::array<Section::OtherName, 6> kSoftwareOverlap = {{
    {"parameters", "workload.software.overlap.parameters"},
    {"layers", "workload.software.overlap.layers"},
    {"bucket_of_replica", "workload.software.overlap.bucket_of_replica"},
    {"bucket_first", "workload.software.overlap.bucket_first"},
    {"tensor", "workload.software.overlap.tensor"},
    {"pipeline", "workload.software.overlap.pipeline"},
}};

void override_software(Section& section, SoftwareSpec& software) {
  software.gradients = read_gradients(section, software.gradients, "of the software");
  section.defaulted_section("overlap", "communication that overlaps with computation", [&](Section& s) {
    s.translate(kSoftwareOverlap);
    s.takes("gradients", software.overlap_gradients,
            "whether gradient synchronisation overlaps with the backward pass of the last micro-batch",
            "of the software");
    s.takes("bucket", software.bucket, "size of a gradient bucket", "of the software");
  });
}

void read_input(Section& section, InputSpec& input) {
  section.needs("sample", input.sample, "size of a sample in storage, which is memory.remote. Example: `110 KB`");
  section.takes("decoded", input.decoded, "size of a sample as it is copied to the device; without it, as stored");
  section.takes("decode", input.decode, "time that one core of the host takes to decode a sample");
  section.takes("cores", input.cores, {1, 1 << 20}, "cores of the host that decode for a rank");
  section.takes("copy", input.copy,
                "bandwidth of the copy from the host to the device; without it, copies take no time. Example: "
                "`12 GB/s`");
  section.takes("prefetch", input.prefetch, {0, 1000},
                "iterations whose batches are kept ready; 0: a batch is asked for when it is needed");
}

void read_beside_training(Section& section, TrainingSpec& training) {
  section.takes("initial_broadcast", training.initial_broadcast,
                "whether replicas get the parameters by a broadcast before the first iteration; its time is reported "
                "apart");
  section.section("input",
                  "input pipeline: samples are read from memory.remote, decoded and copied to the devices of "
                  "the first pipeline stage",
                  [&](Section& s) { read_input(s, training.input.emplace()); });
  section.section("checkpoint",
                  "checkpoints: parameters and optimizer states are written to memory.remote, a share by "
                  "each replica",
                  [&](Section& s) {
                    CheckpointSpec& checkpoint = training.checkpoint.emplace();
                    s.takes("every", checkpoint.every, {1, 10'000}, "iterations from one checkpoint to the next");
                    s.takes("asynchronous", checkpoint.asynchronous,
                            "whether training goes on while a checkpoint is written");
                  });
}

// The names of a list in `names`, as flags.
template <std::size_t kCount>
std::array<bool, kCount> read_flags(Section& section, std::string_view key, std::span<const std::string_view> names,
                                    std::string_view meaning) {
  std::array<bool, kCount> flags{};
  std::vector<std::string> known(names.begin(), names.end());
  std::erase(known, "");
  for (const std::string& word : section.words(key, meaning)) {
    const auto found = word.empty() ? names.end() : std::ranges::find(names, word);
    if (found == names.end())
      section.error(key, fmt::format("'{}' is not known here", printable(word, 40)), suggestion(word, known));
    else
      flags[static_cast<std::size_t>(found - names.begin())] = true;
  }
  return flags;
}

void read_lora(Section& section, LoraSpec& lora) {
  constexpr std::array<std::string_view, 5> kTargets = {"", "qkv", "projection", "up", "down"};
  section.takes("rank", lora.rank, {1, 1 << 16}, "rank of the adapters");
  lora.targets = read_flags<5>(section, "targets", kTargets,
                               "GEMMs of a layer that have adapters: qkv, projection, up, down. Example: `[qkv]`");
  if (std::ranges::none_of(lora.targets, [](bool target) { return target; }))
    section.error("targets", "adapters are beside no GEMM", "for example [qkv, projection]");
}

void read_recomputation(Section& section, TrainingSpec& training) {
  section.takes("recompute", training.recompute, {"none", "selective", "full"},
                "activations that the backward pass recomputes; selective: those that `software.selective` names");
  training.keep = read_flags<kKeptNames.size()>(
      section, "keep", kKeptNames,
      "with `recompute: full`: results that are kept all the same, of qkv, attention, projection, up, down (GEMMs and "
      "attention), norm and activation");
  section.takes("recompute_layers", training.recompute_layers, {0, 1 << 20},
                "with `recompute`: number of layers of each virtual stage that are recomputed, the first ones; 0: all");
  if (training.recompute != Recompute::kFull && std::ranges::any_of(training.keep, [](bool kept) { return kept; }))
    section.error("keep", "only full recomputation has results to keep", "workload.recompute: full");
  section.section("lora", "fine-tuning of low-rank adapters; all other weights are frozen",
                  [&](Section& s) { read_lora(s, training.lora.emplace()); });
}

void read_modules(Section& section, RecomputeModules& chosen) {
  std::vector<std::string> known;
  for (const RecomputeWord& module : kRecomputeWords) known.emplace_back(module.word);
  for (const std::string& word : section.words(
           "recompute_modules",
           "parts of a layer that are computed again where `recompute` keeps their results, by plain names or "
           "Megatron-Core's: norm (layernorm), attention (core_attn), up-projection of latent attention "
           "(mla_up_proj), activation of MLPs and experts (expert-activation or moe_act: of experts alone; "
           "activation-fp8: with its inputs kept in fp8), mlp (of dense layers), experts (moe: with router, "
           "dispatch, combine and shared experts), shared-experts (shared_experts). Example: `[norm, moe_act]`")) {
    const auto* found = std::ranges::find(kRecomputeWords, word, &RecomputeWord::word);
    if (found == kRecomputeWords.end())
      section.error("recompute_modules", fmt::format("no module is called '{}'", printable(word, 40)),
                    suggestion(word, known));
    else
      chosen.*found->module = true;
  }
  if (chosen.fp8_inputs) chosen.activation = true;
}

void read_loss(Section& section, LossSpec& loss) {
  section.takes("chunks", loss.chunks, {1, 1 << 20},
                "number of pieces of a micro-batch's tokens whose logits are there one after the other");
  if (loss.chunks > 1) loss.held = LossHeld::kGradients;
  section.takes("held", loss.held, {"logits", "hidden", "gradients"},
                "what is held until the backward pass; logits: those of all tokens, hidden: the head's input, from "
                "which logits are computed again, gradients: those of the head's input and weights, computed with the "
                "forward pass (fused linear cross entropy)",
                "gradients with `chunks` above 1, else logits");
}

// Recipe that the job names, or that of its precision; the software's own is the default of fp8.
void read_named_recipe(Section& section, TrainingSpec& training) {
  const ConfigValue* precision = section.value("precision");
  const std::string_view by_default = default_recipe(precision == nullptr ? std::string_view() : precision->scalar);
  section.when(section.has("recipe") || !by_default.empty(), [&] {
    section.section_or(
        "recipe", by_default.empty() ? "tensorwise" : by_default,
        "recipe of low precision: which operands are cast, how, and what that costs; `orrery list recipes` names them; "
        "default: that of the precision. "
        "Example: `recipe: mxfp8`",
        [&](Section& s) { training.recipe = read_recipe(s); }, "recipes",
        "mxfp8 and nvfp4 with that `precision`; in fp8 and int8 `fp8` of the software", "name");
  });
}

void read_steps(Section& section, TrainingSpec& training) {
  section.section_or(
      "optimizer", "adam",
      "optimizer: what it keeps of each parameter, and what it does to whole matrices; `orrery list optimizers` names "
      "them. Example: `adam-8bit`",
      [&](Section& s) { training.optimizer = read_optimizer(s); }, "optimizers");
  section.section("offload", "parts of the job that the memory of hosts holds in place of the devices'",
                  [&](Section& s) { read_offload(s, training.offload); });
  read_recomputation(section, training);
  section.section("loss", "how the cross entropy is computed. Example: `loss: {chunks: 8}`",
                  [&](Section& s) { read_loss(s, training.loss); });
  read_modules(section, training.recompute_modules);
  section.takes("iterations", training.iterations, {1, 10'000}, "number of training steps to simulate");
  read_beside_training(section, training);
  section.takes("causal_flops", training.causal_flops,
                "whether model FLOPs (and so MFU) count half of the attention FLOPs, as a causal mask leaves them");
  section.takes(
      "tokens", training.tokens,
      "number of tokens (samples where the model has none) of the whole training run: how long it takes is said "
      "too. Example: `300e9`");
  training.price =
      read_price(section, "price", PriceOf::kHour,
                 "with `tokens`: price of a device for an hour, in any currency: what the run costs is said "
                 "too. Example: `$2.50`");
  if (training.price && !training.tokens)
    section.error("price", "'price' is of a whole training run", "say by 'tokens' how long that is, such as 300e9");
}

// Defaults of the software that the job has no use for.
void find_idle_defaults(Section& workload, const TrainingSpec& training) {
  for (const std::string_view key : {"gradients", "overlap.gradients", "overlap.bucket"})
    if (workload.given(key))
      workload.overruled(fmt::format("software.{}", key), fmt::format("{}.{}", workload.path(), key),
                         workload.where_below(key));
  for (const std::string_view key : {"zero", "sequence"})
    if (const std::string by = fmt::format("parallel.{}", key); workload.given(by))
      workload.overruled(fmt::format("software.{}", key), fmt::format("{}.{}", workload.path(), by),
                         workload.where_below(by));
  if (!workload.given("parallel.sequence") && training.parallel.tensor() == 1)
    workload.idle("software.sequence", "the job has no tensor parallelism", "leave it out", IdleWarning::kOwnFile);
}

// Tells whether somebody said which software it is; changes of a key of the default do not.
bool names_software(const Section& section) {
  const ConfigValue* software = section.value("software");
  if (software == nullptr || software->kind != ConfigValue::Kind::kMap) return software != nullptr;
  return !software->over_default && (software->find("name") != nullptr || software->find("like") != nullptr);
}

}  // namespace

std::string_view default_software(const ModelSpec& model, Architecture architecture) {
  if (std::holds_alternative<ConvolutionalSpec>(model.sizes)) return "pytorch-2021";
  if (std::holds_alternative<RecurrentSpec>(model.sizes) || std::holds_alternative<EvoformerSpec>(model.sizes))
    return "pytorch-2021";
  if (std::holds_alternative<DlrmSpec>(model.sizes)) return "dlrm-2021";
  switch (architecture) {
    case Architecture::kPascal:
    case Architecture::kVolta:
    case Architecture::kTuring:
      return "megatron-2021";
    case Architecture::kAmpere:
      return "megatron-2022";
    case Architecture::kBlackwell:
    case Architecture::kRubin:
      return "megatron-2025";
    case Architecture::kIronwood:
      return "maxtext-2024";  // XLA, as on the TPUs before
    case Architecture::kTrainium2:
    case Architecture::kTrainium3:
    case Architecture::kGaudi3:
    case Architecture::kAscend910:
      return "megatron-2024";  // their ports of Megatron-LM: NxD, Gaudi's fork, MindSpeed
    default:
      return "megatron-2024";
  }
}

std::string_view name_of(ParallelDimension dimension) { return kDimensionNames[static_cast<std::size_t>(dimension)]; }

TrainingSpec read_training(Section& section, const TrainingMachine& machine) {
  const Architecture architecture = machine.architecture;
  TrainingSpec training;
  training.parallel.node_devices = machine.node_devices;
  training.where = section.where();
  note_places(section.contents(), "", training);
  section.required_section(
      "model", "model to train. Example: `model: gpt3-175b`", [&](Section& s) { training.model = read_model(s); },
      "models");
  training.takes_default_software = !names_software(section);
  section.section_or(
      "software", default_software(training.model, architecture),
      "training framework and its generation; a map without `name` changes keys of the default. Example: `software: "
      "megatron-2024`, `software: {dropout: true}`",
      [&](Section& s) { training.software = read_software(s); }, "software",
      "by the device's architecture; dlrm-2021 for DLRM, pytorch-2021 for others that are no transformers", "name");
  section.defaulted_section("schedule", "pipeline schedule", [&](Section& s) { read_schedule(s, training); });
  section.defaulted_section(
      "parallel", "parallelism: how the work is spread over the ranks. Example: `{tensor: 8, pipeline: 4, data: 16}`",
      [&](Section& s) { read_parallel(s, machine, training); });
  find_idle_defaults(section, training);
  section.defaulted_section("experts", "mixture of experts: how tokens are dispatched",
                            [&](Section& s) { read_dispatching(s, training); });
  section.required_section("batch", "batch sizes. Example: `{global: 1536, micro: 1}`",
                           [&](Section& s) { read_batch(s, training); });
  if (training.schedule_group > 0 && training.schedule_group == training.parallel.pipeline())
    section.idle("schedule.group", "groups are as long as the pipeline without it, too");
  read_pipeline_layers(section, training);
  override_software(section, training.software);
  read_named_recipe(section, training);
  section.takes("deterministic", training.deterministic,
                "whether kernels give the same bits every time, for which their workspaces are larger or smaller "
                "(`software.footprint.deterministic`); what it costs in time is not modelled");
  training.software.footprint.settle(architecture, training.deterministic);
  if (training.software.footprint.workspaces.products == Bytes(0))
    section.idle("deterministic", "the software names no workspace that it changes on these devices");
  read_steps(section, training);
  return training;
}

}  // namespace orrery::workload
