// SPDX-License-Identifier: MIT
// Orders in which the stages of a pipeline take the passes of micro-batches: pure functions of a shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace orrery::workload {

// Order in which a pipeline stage takes the passes of its micro-batches. kGpipe: all forward, then all backward (Huang
// et al. 2019). kOneForwardOneBackward: PipeDream-flush (Narayanan et al. 2021). kInterleaved: the same over
// `virtual_stages` chunks of the model per stage (Megatron-LM, SC'21). kZeroBubble, kZeroBubbleH2, kZeroBubbleV: ZB-H1,
// ZB-H2 and ZB-V, weight gradients put off into the bubble (Qi et al. 2023, and 2024 for ZB-V). kPipedream: 1F1B that
// is never flushed: every micro-batch updates the weights of a stage, which keeps those of its forward pass for its
// backward pass (weight stashing; Narayanan et al. 2019). kDualPipe, kDualPipeV: forward passes of some micro-batches
// run side by side with backward passes of others, so that communication of one hides behind the other (DeepSeek-AI
// 2024). Every rank has two chunks: DualPipe's pipelines run both ways, so that all parameters are there twice;
// DualPipeV's goes there and back, and so does ZB-V's.
enum class ScheduleKind : std::uint8_t {
  kGpipe,
  kOneForwardOneBackward,
  kInterleaved,
  kZeroBubble,
  kPipedream,
  kDualPipe,
  kDualPipeV,
  kZeroBubbleH2,
  kZeroBubbleV,
};

inline constexpr std::size_t kScheduleKindCount = 9;

// True if a rank has two chunks, which the pipeline passes on its way there and back.
constexpr bool is_v_shaped(ScheduleKind kind) {
  return kind == ScheduleKind::kDualPipe || kind == ScheduleKind::kDualPipeV || kind == ScheduleKind::kZeroBubbleV;
}

// True if passes of two micro-batches run side by side whatever else is asked for.
constexpr bool runs_pairs(ScheduleKind kind) {
  return kind == ScheduleKind::kDualPipe || kind == ScheduleKind::kDualPipeV;
}

// True if virtual stages make its bubbles smaller: 1f1b becomes 1f1b-interleaved with them, and others take none.
constexpr bool may_interleave(ScheduleKind kind) {
  return kind == ScheduleKind::kOneForwardOneBackward || kind == ScheduleKind::kInterleaved;
}

// True if every weight gradient is computed in a pass of its own.
constexpr bool splits_all(ScheduleKind kind) {
  return kind == ScheduleKind::kZeroBubble || kind == ScheduleKind::kZeroBubbleH2 || kind == ScheduleKind::kZeroBubbleV;
}

std::string_view name_of(ScheduleKind kind);  // "gpipe", "1f1b", "1f1b-interleaved", ...

// kBackward: of activations and weights, or of activations alone where the schedule has kWeight passes.
enum class PassKind : std::uint8_t { kForward, kBackward, kWeight };

struct Pass {
  PassKind kind = PassKind::kForward;
  std::uint32_t micro_batch = 0;
  std::uint32_t chunk = 0;   // of the stage's virtual stages
  bool splits = false;       // backward: weight gradients come in a pass of their own
  bool beside_next = false;  // this pass and the next run side by side

  bool operator==(const Pass&) const = default;
};

struct PipelineShape {
  ScheduleKind kind = ScheduleKind::kOneForwardOneBackward;
  std::uint32_t stages = 1;
  std::uint32_t virtual_stages = 1;  // more than two only interleaved
  std::uint32_t micro_batches = 1;
  // 1F1B, also interleaved: forward and backward passes run side by side, after one more of warm-up.
  bool overlaps = false;
  std::uint32_t group = 0;  // interleaved: micro-batches in a row of one chunk; 0: `stages`
};

// True if an interleaved schedule can take `micro_batches` through its chunks in groups of `group`, of which the last
// one is as long as the pipeline too: a first micro-batch is through a chunk when the group's last one enters it.
// Megatron-Core asks for the same.
constexpr bool is_group(std::int64_t group, std::int64_t micro_batches, std::int64_t stages) {
  const std::int64_t rest = micro_batches % group;
  return group >= stages && group <= micro_batches && (rest == 0 || rest >= stages);
}
// The shortest such group; 0 if there is none.
std::int64_t shortest_group(std::int64_t micro_batches, std::int64_t stages);

// Passes of `stage` in order, each once. In a V-shaped schedule, `stages` counts those from the first rank to the
// turning point, which the way back passes again: chunk 0 of rank i is stage i, chunk 1 is stage 2 * stages - 1 - i;
// `micro_batches` are those of a chunk, at least 2 * stages where passes run in pairs, and `virtual_stages` is 2.
std::vector<Pass> pipeline_order(const PipelineShape& shape, std::uint32_t stage);

}  // namespace orrery::workload
