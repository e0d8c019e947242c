// SPDX-License-Identifier: MIT
#include "workload/training/program/memory_need.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/assert.h"
#include "workload/training/pipeline/holding.h"
#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/host_offload.h"
#include "workload/training/program/optimizer_step.h"

namespace orrery::workload {

std::string_view name_of(MemoryUse use) {
  constexpr std::array<std::string_view, kMemoryUseCount> kNames = {"parameters",  "gradients",     "optimizer",
                                                                    "activations", "communication", "workspaces"};
  return kNames[static_cast<std::size_t>(use)];
}

Bytes MemoryNeed::total() const {
  Bytes sum;
  for (const Bytes bytes : by) sum += bytes;
  return sum;
}

namespace {

Bytes reserve_of(const SoftwareSpec& software, Bytes need) {
  const Footprint& footprint = software.footprint;
  return footprint.reserve + Bytes(std::llround(footprint.fragments * static_cast<double>(need.count())));
}

bool has_experts(const StageRequest& request) { return parameters_of(request).expert > 0; }

// Workspaces of the framework's own products are there for each of two threads.
Bytes workspaces_of(const StageRequest& request) {
  const Footprint& footprint = request.training->software.footprint;
  const std::int64_t modules =
      (request.in_pieces ? footprint.pieces : 1) + (has_experts(request) ? footprint.grouped : 0);
  return footprint.workspaces.products * 2 + footprint.workspaces.modules * modules + request.buffer;
}

std::int64_t weights_of(const StageLayer& layer) { return layer.layer->parameters.total() + layer.layer->frozen; }

// Weights of layers: of all together and of the largest.
struct LayerWeights {
  std::int64_t all = 0;
  std::int64_t largest = 0;

  void add(std::int64_t weights) {
    all += weights;
    largest = std::max(largest, weights);
  }
};

// Copies as they are cast, beside weights that the optimizer updates, stand beside those of all products but the head.
Bytes cast_copies(const TrainingSpec& training, std::int64_t weights) {
  const Recipe& casts = training.recipe_of_casts();
  if (!is_of_products_only(training.precision) || casts.parameters) return Bytes(0);
  return casts.with_scales(casts.copies * weights);
}

// Activations that a stage holds of its neighbours.
Bytes received_of(const StageRequest& request) {
  const TrainingSpec& training = *request.training;
  if (training.parallel.pipeline() == 1) return Bytes(0);
  const bool interleaves = training.schedule == ScheduleKind::kInterleaved;
  const bool is_end = request.stage == 0 || request.stage + 1 == training.parallel.pipeline();
  // Activations that come round to the ends while a group that is longer than the pipeline is still under way.
  const std::int64_t waiting = interleaves && is_end ? training.group() - training.parallel.pipeline() : 0;
  return request.boundary * (training.software.footprint.received * (interleaves ? 2 : 1) + waiting);
}

// Memory at the peak of activations beside what layers keep: the mask, and gradients of logits whose weight gradients
// are put off, with one weight gradient. No more are put off than the step has micro-batches.
Bytes beside_layers(const StageRequest& request) {
  const Footprint& footprint = request.training->software.footprint;
  Bytes bytes = footprint.attention_mask ? request.mask : Bytes(0);
  const std::int64_t heads = std::min(footprint.deferred_heads, request.training->chunk_micro_batches());
  if (heads > 0) bytes += request.logits * heads + request.head;
  return bytes;
}

}  // namespace

MemoryNeed memory_need(const StageRequest& request) {
  const TrainingSpec& training = *request.training;
  const std::int64_t zero = training.parallel.zero;
  const ExchangeGroups groups = exchange_groups(training.parallel, request.group_sizes);
  const ParameterCount parameters = parameters_of(request);
  const std::int64_t all = parameters.total();
  const std::int64_t shared = updated_parameters(parameters, groups);
  LayerWeights layers, copied;
  for (const auto& chunk : request.chunks)
    for (const StageLayer& layer : chunk) {
      layers.add(weights_of(layer));
      if (layer.number >= 0 && !training.is_left_in_bf16(layer.number)) copied.add(weights_of(layer));
    }
  const Bytes weight = training.parameter_size();
  const Bytes gradient = size_of(training.software.gradients);

  // A version for each micro-batch that is under way, so that it goes backward with the weights it went forward with.
  const PipelineShape shape = pipeline_shape(training);
  const std::int64_t versions =
      training.is_flushed() ? 1 : std::min<std::int64_t>(shape.stages - request.stage, shape.micro_batches);

  MemoryNeed need;
  const bool keeps = training.keeps_gathered();
  const bool shares = groups.dense.shards > 1 || groups.expert.shards > 1;
  const bool gathers = zero == 3 && shares && !keeps;  // layer by layer, in every pass
  const std::int64_t shards = zero == 3 && !keeps ? groups.dense.shards : 1;
  const std::int64_t frozen = (frozen_of(request) + shards - 1) / shards;
  need[MemoryUse::kParameters] = weight * (((zero == 3 ? shared : 0) + (zero < 3 || keeps ? all : 0)) * versions) +
                                 request.tables + training.gathered_parameters(frozen) +
                                 cast_copies(training, gathers ? 0 : copied.all);
  need[MemoryUse::kGradients] = gradient * (zero >= 2 && !keeps ? shared : all);
  const bool elsewhere = training.parallel.exchange == ExchangeKind::kParameterServer;
  need[MemoryUse::kOptimizer] = optimizer_bytes(request) - offloaded_states(request) + states_on_the_way(request);
  need.host = host_bytes(request);
  if (training.software.footprint.gradient_copy && !elsewhere && gradient < Bytes(4))
    need.step = Bytes(4) * (zero >= 1 ? shared : all);
  need[MemoryUse::kActivations] =
      std::max({peak_activations(request) + beside_layers(request), need.step, matrix_workspace(request)});
  need[MemoryUse::kWorkspaces] = workspaces_of(request);
  // Under ZeRO 3 the layer that is computed and the next one are there in full, and the gradients of one; weights are
  // cast to fp8 once they are gathered, and copies go with them. Under ZeRO 2 a bucket or a layer of gradients is under
  // way.
  if (gathers)
    need.passing =
        weight * (2 * layers.largest) + gradient * layers.largest + cast_copies(training, 2 * copied.largest);
  if (zero == 2 && shares)
    need.passing = training.exchanges_layers() ? gradient * layers.largest
                                               : std::min(gradient * all, std::max(training.software.bucket, gradient));
  need[MemoryUse::kCommunication] = need.passing + received_of(request);
  need.reserve = reserve_of(training.software, need.total());
  return need;
}

Bytes checkpoint_bytes(const TrainingSpec& training, std::int64_t parameters, std::int64_t matrices) {
  const OptimizerSpec& optimizer = training.optimizer;
  const Bytes states = optimizer.states(parameters - matrices, training.precision);
  return training.parameter_size() * parameters + states +
         (matrices > 0 ? optimizer.matrix_states(matrices, training.precision) : Bytes(0));
}

MemoryNeed server_memory(const TrainingSpec& training, std::int64_t parameters) {
  const std::int64_t held = (parameters + training.parallel.servers - 1) / training.parallel.servers;
  MemoryNeed need;
  need[MemoryUse::kParameters] = training.parameter_size() * held;
  need[MemoryUse::kGradients] = size_of(training.software.gradients) * held;
  need[MemoryUse::kOptimizer] = training.optimizer.states(held, training.precision);
  need.reserve = reserve_of(training.software, need.total());
  return need;
}

PassMemory pass_memory(std::span<const StageLayer> chunk, const Pass& pass) {
  const bool puts_off = pass.splits || pass.kind == PassKind::kWeight;
  Bytes saved, working, again, moving;
  for (const StageLayer& layer : chunk) {
    if (layer.is_offloaded) moving = std::max(moving, layer.layer->saved * 2);
    const bool stays = puts_off && !layer.layer->recompute.empty();
    if (!layer.is_offloaded) saved += layer.layer->saved;
    if (stays) again += layer.layer->working - layer.layer->summed;
    if (stays || pass.kind == PassKind::kWeight) working = std::max(working, layer.layer->summed);
    if (!stays && pass.kind != PassKind::kWeight) working = std::max(working, layer.layer->working);
  }
  working += moving;
  switch (pass.kind) {
    case PassKind::kForward:
      return {saved + working, working};
    case PassKind::kBackward:
      return {again + working, puts_off ? working : working + saved};
    case PassKind::kWeight:
      return {working, working + again + saved};
  }
  ORRERY_ASSERT(false);
}

PassMemory layer_memory(std::span<const StageLayer> chunk, const Pass& pass, std::size_t at) {
  ORRERY_ASSERT(!pass.splits && pass.kind != PassKind::kWeight);
  if (at >= chunk.size()) return {};
  const bool is_forward = pass.kind == PassKind::kForward;
  const LayerProgram& layer = *chunk[is_forward ? at : chunk.size() - 1 - at].layer;
  if (is_forward) return {layer.saved + layer.working, layer.working};
  return {layer.working, layer.working + layer.saved};
}

Bytes sum_of(std::span<const MemoryPart> parts, const StageRequest& request) {
  Bytes sum;
  for (const MemoryPart& part : parts) {
    const Pass pass{.kind = part.kind, .chunk = part.chunk, .splits = part.splits};
    const std::vector<StageLayer>& chunk = request.chunks[part.chunk];
    const PassMemory memory = part.layer ? layer_memory(chunk, pass, *part.layer) : pass_memory(chunk, pass);
    sum += part.is_given ? memory.given : memory.taken;
  }
  return sum;
}

void MemoryBook::add(std::uint32_t number, bool at_end, const Parts& parts) {
  const auto [known, is_new] = known_.try_emplace(parts, static_cast<std::uint32_t>(amounts_.size()));
  if (is_new) {
    amounts_.push_back(sum_of(parts, request_).count());
    parts_.push_back(parts);
  }
  if (amounts_[known->second] > 0) places_.push_back({number, at_end, known->second});
}

void MemoryBook::take(StageProgram& program) && {
  std::ranges::stable_sort(places_, {}, &MemoryCourse::Place::number);  // of passes side by side
  program.memory = MemoryCourse(std::move(places_), std::move(amounts_));
  program.memory_parts = std::move(parts_);
}

namespace {

// Memory of the passes of a stage, each kind worked out once.
class StageActivations {
 public:
  explicit StageActivations(const StageRequest& request)
      : request_(request), known_(request.chunks.size() * kKinds, {kUnknown, Bytes(0)}) {}

  Holding of(std::span<const PassStep> steps) {
    Holding holding;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].beside_next) {
        add_pair(steps[i], steps[i + 1], holding), ++i;
        continue;
      }
      const PassMemory& memory = of_pass(steps[i]);
      holding.book(memory.taken, memory.given);
    }
    return holding;
  }

 private:
  static constexpr std::size_t kKinds = 6;
  static constexpr Bytes kUnknown{-1};

  static Pass pass_of(const PassStep& step) { return {step.kind, 0, step.chunk, step.splits, step.beside_next}; }

  const PassMemory& of_pass(const PassStep& step) {
    const std::size_t kind = static_cast<std::size_t>(step.kind) * 2 + (step.splits ? 1 : 0);
    PassMemory& known = known_[step.chunk * kKinds + kind];
    if (known.taken == kUnknown) known = pass_memory(request_.chunks[step.chunk], pass_of(step));
    return known;
  }

  void add_pair(const PassStep& step, const PassStep& other_step, Holding& holding) const {
    const Pass pass = pass_of(step), other = pass_of(other_step);
    const std::vector<StageLayer>& chunk = request_.chunks[pass.chunk];
    const std::vector<StageLayer>& others = request_.chunks[other.chunk];
    for (std::size_t at = 0; at < std::max(chunk.size(), others.size()); ++at) {
      const PassMemory one = layer_memory(chunk, pass, at), two = layer_memory(others, other, at);
      holding.book(one.taken + two.taken, one.given + two.given);
    }
  }

  const StageRequest& request_;
  std::vector<PassMemory> known_;  // by chunk and kind
};

}  // namespace

Bytes peak_activations(const StageRequest& request) {
  StageActivations activations(request);
  const std::vector<PassPhase> phases = pipeline_phases(pipeline_shape(*request.training), request.stage);
  return holding_of(phases, [&](std::span<const PassStep> steps) { return activations.of(steps); }).most;
}

}  // namespace orrery::workload
