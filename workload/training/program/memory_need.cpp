// SPDX-License-Identifier: MIT
#include "workload/training/program/memory_need.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/assert.h"
#include "workload/training/program/gradient_synchronisation.h"

namespace orrery::workload {

Bytes optimizer_state(Precision precision) {
  const Bytes size = size_of(precision);
  return size >= Bytes(4) ? size * 2 : Bytes(12);
}

std::string_view name_of(MemoryUse use) {
  constexpr std::array<std::string_view, 5> kNames = {"parameters", "gradients", "optimizer", "activations",
                                                      "communication"};
  return kNames[static_cast<std::size_t>(use)];
}

Bytes MemoryNeed::total() const {
  Bytes sum;
  for (const Bytes bytes : by) sum += bytes;
  return sum;
}

namespace {

Bytes reserve_of(const SoftwareSpec& software, Bytes need) {
  return software.memory_reserve + Bytes(std::llround(software.memory_fragments * static_cast<double>(need.count())));
}

}  // namespace

MemoryNeed memory_need(const StageRequest& request) {
  const TrainingSpec& training = *request.training;
  const std::int64_t zero = training.parallel.zero;
  const ExchangeGroups groups = exchange_groups(training.parallel, request.group_sizes);
  const ParameterCount parameters = parameters_of(request);
  const std::int64_t all = parameters.total();
  const std::int64_t shared = updated_parameters(parameters, groups);
  std::int64_t largest = 0;
  for (const auto& chunk : request.chunks)
    for (const StageLayer& layer : chunk)
      largest = std::max(largest, layer.layer->parameters.total() + layer.layer->frozen);
  const Bytes weight = training.parameter_size();
  const Bytes gradient = size_of(training.software.gradients);

  // A version for each micro-batch that is under way, so that it goes backward with the weights it went forward with.
  const PipelineShape shape = pipeline_shape(training);
  const std::int64_t versions =
      training.is_flushed() ? 1 : std::min<std::int64_t>(shape.stages - request.stage, shape.micro_batches);

  MemoryNeed need;
  const bool keeps = training.keeps_gathered();
  const std::int64_t shards = zero == 3 && !keeps ? groups.dense.shards : 1;
  const std::int64_t frozen = (frozen_of(request) + shards - 1) / shards;
  need[MemoryUse::kParameters] = weight * (((zero == 3 ? shared : 0) + (zero < 3 || keeps ? all : 0)) * versions) +
                                 request.tables + training.gathered_parameter_size() * frozen;
  need[MemoryUse::kGradients] = gradient * (zero >= 2 && !keeps ? shared : all);
  const bool elsewhere = training.parallel.exchange == ExchangeKind::kParameterServer;
  need[MemoryUse::kOptimizer] = elsewhere ? Bytes(0) : optimizer_state(training.precision) * (zero >= 1 ? shared : all);
  need[MemoryUse::kActivations] = peak_activations(request);
  // Under ZeRO 3 the layer that is computed and the next one are there in full, and the gradients of one. Under ZeRO 2
  // a bucket or a layer of gradients is under way.
  const bool shares = groups.dense.shards > 1 || groups.expert.shards > 1;
  if (zero == 3 && shares && !keeps) need[MemoryUse::kCommunication] = weight * (2 * largest) + gradient * largest;
  if (zero == 2 && shares)
    need[MemoryUse::kCommunication] = training.exchanges_layers()
                                          ? gradient * largest
                                          : std::min(gradient * all, std::max(training.software.bucket, gradient));
  need.reserve = reserve_of(training.software, need.total());
  return need;
}

MemoryNeed server_memory(const TrainingSpec& training, std::int64_t parameters) {
  const std::int64_t held = (parameters + training.parallel.servers - 1) / training.parallel.servers;
  MemoryNeed need;
  need[MemoryUse::kParameters] = training.parameter_size() * held;
  need[MemoryUse::kGradients] = size_of(training.software.gradients) * held;
  need[MemoryUse::kOptimizer] = optimizer_state(training.precision) * held;
  need.reserve = reserve_of(training.software, need.total());
  return need;
}

PassMemory pass_memory(std::span<const StageLayer> chunk, const Pass& pass) {
  const bool puts_off = pass.splits || pass.kind == PassKind::kWeight;
  Bytes saved, working, again;
  for (const StageLayer& layer : chunk) {
    const bool stays = puts_off && !layer.layer->recompute.empty();
    saved += layer.layer->saved;
    if (stays) again += layer.layer->working;
    if (!stays && pass.kind != PassKind::kWeight) working = std::max(working, layer.layer->working);
  }
  switch (pass.kind) {
    case PassKind::kForward:
      return {saved + working, working};
    case PassKind::kBackward:
      return {again + working, puts_off ? working : working + saved};
    case PassKind::kWeight:
      return {Bytes(0), again + saved};
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
