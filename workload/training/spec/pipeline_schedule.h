// In which order a pipeline stage takes the passes of its micro-batches.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace orrery {

// kGpipe: all forward, then all backward (Huang et al. 2019). kOneForwardOneBackward: PipeDream-flush (Narayanan et al.
// 2021). kInterleaved: the same over `virtual_stages` chunks of the model per stage (Megatron-LM, SC'21). kZeroBubble:
// ZB-H1, weight gradients put off into the bubble (Qi et al. 2023).
enum class ScheduleKind : std::uint8_t { kGpipe, kOneForwardOneBackward, kInterleaved, kZeroBubble };

std::string_view name_of(ScheduleKind kind);  // "gpipe", "1f1b", "1f1b-interleaved", "zero-bubble"

// kBackward: of activations and weights, or of activations alone where the schedule has kWeight passes.
enum class PassKind : std::uint8_t { kForward, kBackward, kWeight };

struct Pass {
  PassKind kind = PassKind::kForward;
  std::uint32_t micro_batch = 0;
  std::uint32_t chunk = 0;  // of the stage's virtual stages

  bool operator==(const Pass&) const = default;
};

struct PipelineShape {
  ScheduleKind kind = ScheduleKind::kOneForwardOneBackward;
  std::uint32_t stages = 1;
  std::uint32_t virtual_stages = 1;  // more than one only interleaved, where `stages` divides `micro_batches`
  std::uint32_t micro_batches = 1;
};

// Every pass of `stage` once, in order.
std::vector<Pass> pipeline_order(const PipelineShape& shape, std::uint32_t stage);

}  // namespace orrery
