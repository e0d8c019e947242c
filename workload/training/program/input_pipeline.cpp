// SPDX-License-Identifier: MIT
#include "workload/training/program/input_pipeline.h"

#include <algorithm>

#include "workload/training/program/memory_need.h"

namespace orrery::workload {

// Ranks of a tensor or context group read a part each of what all of them take.
InputPipeline::InputPipeline(const StageRequest& request, ProgramWriter& writer)
    : training_(*request.training),
      writer_(writer),
      samples_(training_.global_batch / training_.parallel.data() / training_.parallel.halves()),
      parts_(training_.parallel.tensor() * training_.parallel.context()) {
  if (training_.input && request.stage == 0) input_ = &*training_.input;
}

// The request for a batch is written where the batch is taken: the rank's earlier work comes before it in its program.
void InputPipeline::begin_iteration() {
  if (input_ == nullptr) return;
  const std::int64_t asked = started_ - input_->prefetch;  // iteration that asked for this batch; none of the first
  if (input_->prefetch == 0)
    fetch(writer_.tail());
  else if (asked >= 0)
    fetch(starts_[static_cast<std::size_t>(asked)]);
  if (input_->prefetch > 0) {
    writer_.compute("batch taken", {});
    starts_.push_back(writer_.tail());
  }
  ++started_;
}

void InputPipeline::finish() {
  if (input_ == nullptr || input_->prefetch == 0) return;
  for (std::int64_t asked = std::max<std::int64_t>(0, started_ - input_->prefetch); asked < started_; ++asked)
    fetch(starts_[static_cast<std::size_t>(asked)]);
}

void InputPipeline::fetch(const ProgramWriter::Nodes& after) {
  const Bytes stored = ceil_div(input_->sample * samples_, parts_);
  const Bytes copied = ceil_div(input_->decoded.value_or(input_->sample) * samples_, parts_);
  const std::int64_t at_once = parts_ * input_->cores;
  const Duration decoding =
      saturating_multiply_add(Duration::zero(), input_->decode, (samples_ + at_once - 1) / at_once);
  NodeId node = writer_.load_beside("read batch", stored, after);
  node = writer_.host_beside("decode batch", decoding, {node});
  if (input_->copy) node = writer_.host_beside("copy batch", copied / *input_->copy, {node});
  writer_.join(node);
}

void write_initial_broadcast(const TrainingSpec& training, const GroupSizes& sizes, const ParameterCount& parameters,
                             ProgramWriter& writer) {
  const auto is_shared = [&](GroupFamily family) { return sizes[static_cast<std::size_t>(family)] > 1; };
  if (!training.initial_broadcast || (!is_shared(GroupFamily::kData) && !is_shared(GroupFamily::kExpertData))) return;
  const auto broadcast = [&](GroupFamily family, std::int64_t count) {
    if (count == 0 || !is_shared(family)) return;
    writer.collective("initial parameters", family, CollectiveKind::kBroadcast, training.parameter_size() * count);
  };
  broadcast(GroupFamily::kData, parameters.dense);
  broadcast(GroupFamily::kExpertData, parameters.expert);
  writer.collective("before the first iteration", GroupFamily::kWorld, CollectiveKind::kBarrier, Bytes(0));
}

void write_checkpoint(const TrainingSpec& training, const GroupSizes& sizes, const ParameterCount& parameters,
                      const ParameterCount& matrices, std::int64_t number, ProgramWriter& writer) {
  if (!training.checkpoint || (number + 1) % training.checkpoint->every != 0) return;
  const auto share = [&](GroupFamily family, std::int64_t count, std::int64_t of_matrices) {
    return ceil_div(checkpoint_bytes(training, count, of_matrices), sizes[static_cast<std::size_t>(family)]);
  };
  const Bytes bytes = share(GroupFamily::kData, parameters.dense, matrices.dense) +
                      share(GroupFamily::kExpertData, parameters.expert, matrices.expert);
  const NodeId node = writer.store_beside("checkpoint", bytes, writer.tail());
  if (!training.checkpoint->asynchronous) writer.set_tail({node});
}

}  // namespace orrery::workload
