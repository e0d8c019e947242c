#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "workload/training/spec/training_spec.h"

namespace orrery {
namespace {

constexpr Range kDegree{1, 1 << 24};

const std::vector<std::string> kDimensionNames = {"tensor", "context", "data", "pipeline"};

// Before defaults are filled in: where a key is absent, its section's place stands.
void note_places(const Section& section, std::string_view prefix, std::initializer_list<std::string_view> keys,
                 TrainingSpec& training) {
  for (const std::string_view key : keys)
    training.locations.insert_or_assign(fmt::format("{}{}", prefix, key), section.where(key));
}

void read_order(Section& section, Parallelism& parallel) {
  const ConfigValue* value =
      section.raw("order", "list of tensor, context, data, pipeline", "[tensor, context, data, pipeline]",
                  "which neighbours ranks are in: the first varies fastest from rank to rank");
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
  const std::vector<std::string> kinds = {"collective", "parameter-server"};
  parallel.exchange = static_cast<ExchangeKind>(section.optional_choice(
      "exchange", kinds, 0,
      "how replicas agree on parameters; parameter-server: by ranks of their own after the workers"));
  parallel.servers = section.optional_integer("servers", 1, kDegree, "parameter servers, which share the parameters");
  parallel.asynchronous = section.optional<bool>(
      "asynchronous", false, "a server answers every worker at once, instead of all when all have come");
}

void read_parallel(Section& section, TrainingSpec& training) {
  note_places(section, "parallel.",
              {"tensor", "context", "data", "pipeline", "expert", "expert_skew", "sequence", "shard", "exchange",
               "servers", "asynchronous"},
              training);
  Parallelism& parallel = training.parallel;
  const std::array<std::string_view, kParallelDimensionCount> meanings = {
      "ranks that share every layer", "ranks that share every sequence", "replicas of the model",
      "stages of consecutive layers"};
  for (std::size_t i = 0; i < kParallelDimensionCount; ++i)
    parallel.degrees[i] = section.optional_integer(kDimensionNames[i], 1, kDegree, meanings[i]);
  parallel.expert =
      section.optional_integer("expert", 1, kDegree, "ranks that share the experts; divides data times context");
  parallel.expert_skew = section.optional<double>(
      "expert_skew", 0, "how unevenly tokens choose experts: the exponent of Zipf's law, 0 for all alike");
  if (!(parallel.expert_skew >= 0 && parallel.expert_skew <= 4))
    section.error("expert_skew", fmt::format("{} is no exponent of Zipf's law for experts", parallel.expert_skew),
                  "between 0 (all alike) and 4");
  parallel.sequence = section.optional<bool>(
      "sequence", false,
      "what tensor parallelism leaves whole is split along the sequence (Megatron's sequence parallelism)");
  parallel.zero = section.optional_integer(
      "zero", 0, {0, 3}, "what replicas share: 1 optimizer states, 2 gradients too, 3 parameters too (FSDP)");
  parallel.shard = section.optional_integer("shard", 0, {0, 1 << 24},
                                            "ranks that share one copy under zero (hybrid sharding); 0: all replicas");
  const std::vector<std::string> kinds = {"ring", "all-gather"};
  parallel.context_kind = static_cast<ContextKind>(section.optional_choice(
      "context_kind", kinds, 0,
      "how context-parallel ranks come by keys and values; ring: block by block, beside attention"));
  read_order(section, parallel);
  read_exchange(section, parallel);
}

void read_schedule(Section& section, TrainingSpec& training) {
  note_places(section, "schedule.", {"kind", "virtual_stages"}, training);
  const std::vector<std::string> kinds = {"gpipe", "1f1b", "1f1b-interleaved", "zero-bubble"};
  training.schedule = static_cast<ScheduleKind>(section.optional_choice(
      "kind", kinds, 1, "order of the micro-batches' passes on a pipeline stage; zero-bubble: ZB-H1"));
  training.virtual_stages = section.optional_integer("virtual_stages", 1, {1, 1 << 16},
                                                     "chunks of the model per stage; 1f1b-interleaved only");
}

void read_pipeline_layers(Section& section, TrainingSpec& training) {
  const ConfigValue* value = section.raw(
      "pipeline_layers", "even | list of layers per virtual stage", "even",
      "layers of every virtual stage, in pipeline order; a stage may hold none but the embedding or the head");
  if (value == nullptr || value->scalar == "even") return;
  bool right = value->kind == ConfigValue::Kind::kList && !value->items.empty();
  for (const ConfigValue& item : value->items) {
    const bool digits = !item.scalar.empty() && item.scalar.size() < 7 &&
                        std::ranges::all_of(item.scalar, [](char c) { return c >= '0' && c <= '9'; });
    right = right && digits;
    training.pipeline_layers.push_back(digits ? std::stoll(item.scalar) : 0);
  }
  if (right) return;
  training.pipeline_layers.clear();
  section.error("pipeline_layers", "not a list of numbers of layers", "for example [7, 8, 8, 7], or even");
}

void override_software(Section& section, SoftwareSpec& software) {
  software.gradients = read_gradients(section, software.gradients, "of the software");
  section.defaulted_section("overlap", "communication beside computation", [&](Section& s) {
    software.overlap_gradients =
        s.optional<bool>("gradients", software.overlap_gradients,
                         "gradients are exchanged while the last micro-batch still goes backward", "of the software");
    software.bucket = s.optional<Bytes>("bucket", software.bucket, "gradients exchanged together", "of the software");
  });
}

void read_steps(Section& section, TrainingSpec& training) {
  const std::vector<std::string> recomputes = {"none", "selective", "full"};
  training.recompute = static_cast<Recompute>(section.optional_choice(
      "recompute", recomputes, 0,
      "activations computed again in the backward pass; selective: what the software says (`software.selective`)"));
  training.iterations = section.optional_integer("iterations", 1, {1, 10'000}, "training steps simulated");
  training.causal_flops = section.optional<bool>(
      "causal_flops", false, "model FLOPs leave out the half of attention that causal masks do away with");
}

}  // namespace

std::string_view default_software(const ModelSpec& model, Architecture architecture) {
  if (std::holds_alternative<ConvolutionalSpec>(model.sizes)) return "pytorch-2021";
  if (std::holds_alternative<DlrmSpec>(model.sizes)) return "dlrm-2021";
  switch (architecture) {
    case Architecture::kPascal:
    case Architecture::kVolta:
    case Architecture::kTuring:
      return "megatron-2021";
    case Architecture::kAmpere:
      return "megatron-2022";
    default:
      return "megatron-2024";
  }
}

std::string_view name_of(ParallelDimension dimension) { return kDimensionNames[static_cast<std::size_t>(dimension)]; }

TrainingSpec read_training(Section& section, Architecture architecture) {
  TrainingSpec training;
  training.where = section.where();
  note_places(section, "", {"pipeline_layers", "recompute", "precision"}, training);
  section.required_section(
      "model", "what is trained, where no chakra is replayed: a file of configs/models, or its sizes",
      [&](Section& s) { training.model = read_model(s); }, "models");
  section.defaulted_section("parallel", "how the work is spread over the ranks",
                            [&](Section& s) { read_parallel(s, training); });
  section.required_section("batch", "how much a step takes in", [&](Section& s) {
    note_places(s, "batch.", {"global", "micro"}, training);
    training.global_batch = s.required_integer("global", {1, 1LL << 32}, "sequences or samples of a training step");
    training.micro_batch = s.optional_integer("micro", 1, {1, 1 << 24}, "sequences or samples a rank takes at once");
  });
  section.defaulted_section("schedule", "the pipeline's schedule", [&](Section& s) { read_schedule(s, training); });
  read_pipeline_layers(section, training);
  const std::string_view fallback = default_software(training.model, architecture);
  section.section_or(
      "software",
      section.describes() ? "by the device's architecture; pytorch-2021 for convolutional networks, dlrm-2021 for DLRM"
                          : fallback,
      "the generation of training software: a file of configs/software",
      [&](Section& s) { training.software = read_software(s); }, "software");
  override_software(section, training.software);
  read_steps(section, training);
  return training;
}

}  // namespace orrery
