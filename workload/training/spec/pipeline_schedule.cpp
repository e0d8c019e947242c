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
  const bool splits = kind == PassKind::kBackward && shape.kind == ScheduleKind::kZeroBubble;
  if (shape.virtual_stages == 1) return {kind, k, 0, splits};
  const std::uint32_t chunk = k % group / shape.stages;
  const std::uint32_t micro_batch = k / group * shape.stages + k % shape.stages;
  return {kind, micro_batch, kind == PassKind::kForward ? chunk : shape.virtual_stages - 1 - chunk};
}

// Number of forward passes before the first pair of one forward and one backward pass.
std::uint32_t warm_up(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t passes = shape.micro_batches * shape.virtual_stages;
  const std::uint32_t more = shape.overlaps ? 1 : 0, behind = shape.stages - stage - 1 + more;
  switch (shape.kind) {
    case ScheduleKind::kGpipe:
      return passes;
    case ScheduleKind::kOneForwardOneBackward:
    case ScheduleKind::kZeroBubble:
    case ScheduleKind::kPipedream:
      return std::min(passes, behind);
    case ScheduleKind::kInterleaved:
      return std::min(passes, 2 * (shape.stages - stage - 1) + (shape.virtual_stages - 1) * shape.stages + more);
    case ScheduleKind::kDualPipe:
    case ScheduleKind::kDualPipeV:
      break;
  }
  ORRERY_ASSERT(false);
}

// ZB-H1 puts weight gradients off by as many micro-batches as there are stages before this one: what a stage holds for
// them makes up for its shorter warm-up, so that every stage holds at most what the first one holds under 1F1B.
void add_weight_pass(std::vector<Pass>& order, std::uint32_t stage, std::uint32_t backward_passes) {
  if (backward_passes > stage) order.push_back({PassKind::kWeight, backward_passes - 1 - stage, 0});
}

// The steps of DualPipe and DualPipeV as deepseek-ai/DualPipe has them (dualpipe/dualpipe.py and dualpipev.py), which
// differ in the number of micro-batches of a chunk only.
class DualOrder {
 public:
  DualOrder(const PipelineShape& shape, std::uint32_t stage) : behind_(shape.stages - stage - 1), stage_(stage) {
    const std::uint32_t main = shape.micro_batches + stage + 1 - 2 * shape.stages;
    fill();
    for (std::uint32_t i = 0; i < main; ++i) {
      // The two ranks at the turning point have nothing to overlap in their first pair.
      pair(0, 1, i > 0 || behind_ > 0);
      pair(1, 0, true);
    }
    drain();
  }

  std::vector<Pass> take() && { return std::move(order_); }

 private:
  void fill() {
    for (std::uint32_t i = 0; i < 2 * behind_; ++i) forward(0);
    for (std::uint32_t i = 0; i <= stage_; ++i) forward(0), forward(1);
    for (std::uint32_t i = 0; i < behind_; ++i) backward(1, true), weight(), forward(1);
  }

  // From the middle on weight gradients are put off.
  void drain() {
    for (std::uint32_t i = 0; i < behind_; ++i) backward(1, false), pair(1, 0, true);
    bool splits = false;
    for (std::uint32_t i = 0; i <= stage_; ++i) {
      const bool is_middle = i == (stage_ + 1) / 2;
      splits = splits || (is_middle && stage_ % 2 == 1);
      backward(1, splits);
      splits = splits || (is_middle && stage_ % 2 == 0);
      backward(0, splits);
    }
    for (std::uint32_t i = 0; i < behind_; ++i) weight(), backward(0, true);
    for (std::uint32_t i = 0; i <= stage_; ++i) weight();
  }

  void forward(std::uint32_t chunk, bool beside_next = false) {
    order_.push_back({PassKind::kForward, forwards_[chunk]++, chunk, false, beside_next});
  }
  void backward(std::uint32_t chunk, bool splits) {
    order_.push_back({PassKind::kBackward, backwards_[chunk]++, chunk, splits});
    if (splits) put_off_.push_back(order_.back());
  }
  void pair(std::uint32_t forward_chunk, std::uint32_t backward_chunk, bool overlaps) {
    forward(forward_chunk, overlaps);
    backward(backward_chunk, false);
  }
  void weight() {
    const Pass& pass = put_off_[weights_++];
    order_.push_back({PassKind::kWeight, pass.micro_batch, pass.chunk});
  }

  const std::uint32_t behind_;
  const std::uint32_t stage_;
  std::array<std::uint32_t, 2> forwards_{};  // by chunk, so far
  std::array<std::uint32_t, 2> backwards_{};
  std::vector<Pass> put_off_;
  std::size_t weights_ = 0;
  std::vector<Pass> order_;
};

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"gpipe",     "1f1b",     "1f1b-interleaved", "zero-bubble",
                                                      "pipedream", "dualpipe", "dualpipev"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Pass> pipeline_order(const PipelineShape& shape, std::uint32_t stage) {
  ORRERY_ASSERT(stage < shape.stages && shape.virtual_stages > 0);
  if (is_v_shaped(shape.kind)) {
    ORRERY_ASSERT(shape.virtual_stages == 2 && shape.micro_batches >= 2 * shape.stages);
    return DualOrder(shape, stage).take();
  }
  ORRERY_ASSERT(shape.virtual_stages == 1 ||
                (shape.kind == ScheduleKind::kInterleaved && shape.micro_batches % shape.stages == 0));
  const std::uint32_t passes = shape.micro_batches * shape.virtual_stages;
  const std::uint32_t lead = warm_up(shape, stage);
  const bool splits_weights = shape.kind == ScheduleKind::kZeroBubble;

  std::vector<Pass> order;
  order.reserve(std::size_t{passes} * (splits_weights ? 3 : 2));
  for (std::uint32_t k = 0; k < lead; ++k) order.push_back(nth_pass(shape, PassKind::kForward, k));
  for (std::uint32_t k = 0; k < passes; ++k) {
    if (lead + k < passes) {
      order.push_back(nth_pass(shape, PassKind::kForward, lead + k));
      order.back().beside_next = shape.overlaps;
    }
    order.push_back(nth_pass(shape, PassKind::kBackward, k));
    if (splits_weights) add_weight_pass(order, stage, k + 1);
  }
  if (splits_weights)
    for (std::uint32_t k = passes - std::min(passes, stage); k < passes; ++k)
      order.push_back({PassKind::kWeight, k, 0});
  return order;
}

}  // namespace orrery::workload
