// SPDX-License-Identifier: MIT
#include "workload/training/spec/training_spec.h"

#include <algorithm>
#include <array>

#include "core/assert.h"

namespace orrery::workload {
namespace {

// The k-th pass of one direction. Megatron takes `stages` micro-batches through a chunk before it goes to the next.
Pass nth_pass(const PipelineShape& shape, PassKind kind, std::uint32_t k) {
  const std::uint32_t group = shape.stages * shape.virtual_stages;
  if (shape.virtual_stages == 1) return {kind, k, 0};
  const std::uint32_t chunk = k % group / shape.stages;
  const std::uint32_t micro_batch = k / group * shape.stages + k % shape.stages;
  return {kind, micro_batch, kind == PassKind::kForward ? chunk : shape.virtual_stages - 1 - chunk};
}

// How many forward passes come before the first pair of one forward and one backward pass.
std::uint32_t warm_up(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t passes = shape.micro_batches * shape.virtual_stages;
  const std::uint32_t behind = shape.stages - stage - 1;
  switch (shape.kind) {
    case ScheduleKind::kGpipe:
      return passes;
    case ScheduleKind::kOneForwardOneBackward:
    case ScheduleKind::kZeroBubble:
    case ScheduleKind::kPipedream:
      return std::min(passes, behind);
    case ScheduleKind::kInterleaved:
      return std::min(passes, 2 * behind + (shape.virtual_stages - 1) * shape.stages);
  }
  ORRERY_ASSERT(false);
}

// ZB-H1 puts weight gradients off by as many micro-batches as there are stages before this one: what a stage holds for
// them makes up for its shorter warm-up, so that every stage holds at most what the first one holds under 1F1B.
void add_weight_pass(std::vector<Pass>& order, std::uint32_t stage, std::uint32_t backward_passes) {
  if (backward_passes > stage) order.push_back({PassKind::kWeight, backward_passes - 1 - stage, 0});
}

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"gpipe", "1f1b", "1f1b-interleaved", "zero-bubble", "pipedream"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Pass> pipeline_order(const PipelineShape& shape, std::uint32_t stage) {
  ORRERY_ASSERT(stage < shape.stages && shape.virtual_stages > 0);
  ORRERY_ASSERT(shape.virtual_stages == 1 ||
                (shape.kind == ScheduleKind::kInterleaved && shape.micro_batches % shape.stages == 0));
  const std::uint32_t passes = shape.micro_batches * shape.virtual_stages;
  const std::uint32_t lead = warm_up(shape, stage);
  const bool splits_weights = shape.kind == ScheduleKind::kZeroBubble;

  std::vector<Pass> order;
  order.reserve(std::size_t{passes} * (splits_weights ? 3 : 2));
  for (std::uint32_t k = 0; k < lead; ++k) order.push_back(nth_pass(shape, PassKind::kForward, k));
  for (std::uint32_t k = 0; k < passes; ++k) {
    if (lead + k < passes) order.push_back(nth_pass(shape, PassKind::kForward, lead + k));
    order.push_back(nth_pass(shape, PassKind::kBackward, k));
    if (splits_weights) add_weight_pass(order, stage, k + 1);
  }
  if (splits_weights)
    for (std::uint32_t k = passes - std::min(passes, stage); k < passes; ++k)
      order.push_back({PassKind::kWeight, k, 0});
  return order;
}

}  // namespace orrery::workload
