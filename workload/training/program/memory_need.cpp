// SPDX-License-Identifier: MIT
#include "workload/training/program/memory_need.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/assert.h"
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

// What is there at the peak of activations beside what layers keep: the mask, and gradients of logits whose weight
// gradients are put off, with one weight gradient. No more are put off than the step has micro-batches.
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

Bytes peak_activations(const StageRequest& request) {
  Bytes now, peak;
  const auto book = [&](const PassMemory& memory) {
    peak = std::max(peak, now += memory.taken);
    now -= memory.given;
  };
  const std::vector<Pass> order = pipeline_order(pipeline_shape(*request.training), request.stage);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Pass& pass = order[i];
    const std::vector<StageLayer>& chunk = request.chunks[pass.chunk];
    if (!pass.beside_next) {
      book(pass_memory(chunk, pass));
      continue;
    }
    const Pass& other = order[++i];
    const std::vector<StageLayer>& others = request.chunks[other.chunk];
    for (std::size_t at = 0; at < std::max(chunk.size(), others.size()); ++at) {
      const PassMemory one = layer_memory(chunk, pass, at), two = layer_memory(others, other, at);
      book({one.taken + two.taken, one.given + two.given});
    }
  }
  return peak;
}

}  // namespace orrery::workload
