// SPDX-License-Identifier: MIT
#include "workload/training/spec/training_spec.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace orrery::workload {

const Location& TrainingSpec::where_of(std::string_view path) const {
  const auto found = locations.find(path);
  if (found != locations.end()) return found->second;
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? where : where_of(path.substr(0, dot));
}

std::vector<std::int64_t> TrainingSpec::layers_of_stages() const {
  if (!pipeline_layers.empty()) return pipeline_layers;
  const TransformerSpec* sizes = transformer();
  if (sizes == nullptr) return {1};
  std::vector<std::int64_t> layers = layers_by_rule();
  if (layers.empty()) layers.assign(static_cast<std::size_t>(model_stages()), 0);  // of a job that is refused
  return layers;
}

std::vector<std::int64_t> TrainingSpec::layers_by_rule() const {
  const std::int64_t chunks = is_v_shaped(schedule) ? 1 : virtual_stages;
  return workload::layers_by_rule(layer_rule, transformer()->layers, model_stages() / chunks, chunks);
}

PipelineShape pipeline_shape(const TrainingSpec& training) {
  const std::int64_t micro_batches = training.chunk_micro_batches() * (training.is_flushed() ? 1 : training.iterations);
  return {training.schedule,
          static_cast<std::uint32_t>(training.parallel.depth()),
          static_cast<std::uint32_t>(is_v_shaped(training.schedule) ? 2 : training.virtual_stages),
          static_cast<std::uint32_t>(micro_batches),
          training.overlap_passes,
          static_cast<std::uint32_t>(training.schedule_group)};
}

std::int64_t Parallelism::context_by_heads() const {
  if (context_kind == ContextKind::kAllToAll) return context();
  if (context_kind != ContextKind::kAllToAllRing) return 1;
  if (context_inner > 0) return context_inner;
  std::int64_t stride = 1;  // from one context-parallel rank to the next
  for (const ParallelDimension dimension : order) {
    if (dimension == ParallelDimension::kContext) break;
    stride *= degree(dimension);
  }
  std::int64_t most = 1;
  for (std::int64_t ranks = 1; ranks <= context() && ranks * stride <= node_devices; ++ranks)
    if (context() % ranks == 0) most = ranks;
  return most;
}

std::int64_t Parallelism::context_ring() const {
  return context_kind == ContextKind::kAllGather ? 1 : context() / context_by_heads();
}

AttentionKind attention_of(const TrainingSpec& training) {
  return training.transformer()->attention.value_or(training.software.attention);
}

}  // namespace orrery::workload
