// SPDX-License-Identifier: MIT
#include "workload/training/pipeline/schedule.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "core/assert.h"

namespace orrery::workload {
namespace {

// The k-th pass of one direction. Megatron-Core takes a group of micro-batches through a chunk before it goes to the
// next one, `microbatch_group_size_per_virtual_pipeline_stage` of them; the last group may be shorter.
Pass nth_pass(const PipelineShape& shape, std::uint32_t group, PassKind kind, std::uint32_t k) {
  if (shape.virtual_stages == 1) return {kind, k, 0};
  const std::uint32_t first = k / (group * shape.virtual_stages) * group;  // micro-batch of the group
  const std::uint32_t length = std::min(group, shape.micro_batches - first);
  const std::uint32_t in_group = k - first * shape.virtual_stages;
  const std::uint32_t chunk = in_group / length;
  return {kind, first + in_group % length, kind == PassKind::kForward ? chunk : shape.virtual_stages - 1 - chunk};
}

// Number of forward passes before the first pair of one forward and one backward pass.
std::uint32_t warm_up(const PipelineShape& shape, std::uint32_t group, std::uint32_t stage) {
  const std::uint32_t passes = shape.micro_batches * shape.virtual_stages;
  const std::uint32_t more = shape.overlaps ? 1 : 0, behind = shape.stages - stage - 1 + more;
  switch (shape.kind) {
    case ScheduleKind::kGpipe:
      return passes;
    case ScheduleKind::kOneForwardOneBackward:
    case ScheduleKind::kPipedream:
      return std::min(passes, behind);
    case ScheduleKind::kInterleaved:
      return std::min(passes, 2 * (shape.stages - stage - 1) + (shape.virtual_stages - 1) * group + more);
    case ScheduleKind::kDualPipe:
    case ScheduleKind::kDualPipeV:
    case ScheduleKind::kZeroBubble:
    case ScheduleKind::kZeroBubbleH2:
    case ScheduleKind::kZeroBubbleV:
      break;
  }
  ORRERY_ASSERT(false);
}

// An order in phases, each a pattern that is repeated. Passes of a kind and a chunk count on from phase to phase; those
// beyond the last micro-batch are left out.
class PhasedOrder {
 public:
  struct Step {
    PassKind kind = PassKind::kForward;
    std::uint32_t chunk = 0;
  };

  explicit PhasedOrder(std::uint32_t micro_batches) : micro_batches_(micro_batches) {}

  void phase(std::uint32_t times, std::initializer_list<Step> pattern) {
    for (std::uint32_t i = 0; i < times; ++i)
      for (const Step& step : pattern) add(step);
  }
  std::vector<Pass> take() && { return std::move(order_); }

 private:
  void add(const Step& step) {
    const std::uint32_t micro_batch = done_[static_cast<std::size_t>(step.kind)][step.chunk]++;
    if (micro_batch < micro_batches_)
      order_.push_back({step.kind, micro_batch, step.chunk, step.kind == PassKind::kBackward});
  }

  const std::uint32_t micro_batches_;
  std::array<std::array<std::uint32_t, 2>, 3> done_{};  // by kind and chunk
  std::vector<Pass> order_;
};

using Step = PhasedOrder::Step;
constexpr Step kF0{PassKind::kForward, 0}, kB0{PassKind::kBackward, 0}, kW0{PassKind::kWeight, 0};
constexpr Step kF1{PassKind::kForward, 1}, kB1{PassKind::kBackward, 1}, kW1{PassKind::kWeight, 1};

// ZB-H1 and ZB-H2 (`depth` 1 and 2): a stage warms up with `depth` micro-batches for each stage behind it, and puts
// weight gradients off by as many for each stage before it, so that every stage holds depth * (stages - 1) + 1
// micro-batches from the forward pass to the weight gradient, what the first one holds of necessity. Under ZB-H1 that
// is 1F1B's memory; under ZB-H2 a micro-batch comes back when the warm-up ends, and a stage that has begun is never
// idle.
std::vector<Pass> h_order(const PipelineShape& shape, std::uint32_t stage, std::uint32_t depth) {
  PhasedOrder order(shape.micro_batches);
  order.phase(depth * (shape.stages - stage - 1), {kF0});
  order.phase(depth * stage, {kF0, kB0});
  order.phase(shape.micro_batches + depth * stage, {kF0, kB0, kW0});
  return std::move(order).take();
}

// ZB-V: a rank holds at most two chunks of as many micro-batches as there are ranks, as 1F1B's first one, and is never
// idle once it has begun, if there are at least 2 * stages - 1 micro-batches and all three passes take as long.
std::vector<Pass> v_order(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t behind = shape.stages - stage;
  PhasedOrder order(shape.micro_batches);
  order.phase(2 * behind - 1, {kF0});
  order.phase(stage, {kF1, kF0});
  order.phase(behind, {kF1, kB1, kW1});
  // Fewer micro-batches take the order of so many, less those that are not there.
  order.phase(std::max(shape.micro_batches, 2 * shape.stages - 1) - shape.stages, {kF0, kB0, kW0, kF1, kB1, kW1});
  order.phase(stage, {kB0, kB1});
  order.phase(behind, {kB0, kW0});
  order.phase(stage, {kW1});
  order.phase(stage, {kW0});
  return std::move(order).take();
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
  constexpr std::array<std::string_view, kScheduleKindCount> kNames = {
      "gpipe", "1f1b", "1f1b-interleaved", "zero-bubble", "pipedream", "dualpipe", "dualpipev", "zb-h2", "zb-v"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::int64_t shortest_group(std::int64_t micro_batches, std::int64_t stages) {
  for (std::int64_t group = stages; group <= micro_batches; ++group)
    if (is_group(group, micro_batches, stages)) return group;
  return 0;
}

std::vector<Pass> pipeline_order(const PipelineShape& shape, std::uint32_t stage) {
  ORRERY_ASSERT(stage < shape.stages && shape.virtual_stages > 0);
  const std::uint32_t group = shape.group > 0 ? shape.group : shape.stages;
  ORRERY_ASSERT(!is_v_shaped(shape.kind) || shape.virtual_stages == 2);
  if (runs_pairs(shape.kind)) {
    ORRERY_ASSERT(shape.micro_batches >= 2 * shape.stages);
    return DualOrder(shape, stage).take();
  }
  if (shape.kind == ScheduleKind::kZeroBubbleV) return v_order(shape, stage);
  ORRERY_ASSERT(shape.virtual_stages == 1 ||
                (shape.kind == ScheduleKind::kInterleaved && is_group(group, shape.micro_batches, shape.stages)));
  if (shape.kind == ScheduleKind::kZeroBubble) return h_order(shape, stage, 1);
  if (shape.kind == ScheduleKind::kZeroBubbleH2) return h_order(shape, stage, 2);
  const std::uint32_t passes = shape.micro_batches * shape.virtual_stages;
  const std::uint32_t lead = warm_up(shape, group, stage);

  std::vector<Pass> order;
  order.reserve(std::size_t{passes} * 2);
  for (std::uint32_t k = 0; k < lead; ++k) order.push_back(nth_pass(shape, group, PassKind::kForward, k));
  for (std::uint32_t k = 0; k < passes; ++k) {
    if (lead + k < passes) {
      order.push_back(nth_pass(shape, group, PassKind::kForward, lead + k));
      order.back().beside_next = shape.overlaps;
    }
    order.push_back(nth_pass(shape, group, PassKind::kBackward, k));
  }
  return order;
}

}  // namespace orrery::workload
