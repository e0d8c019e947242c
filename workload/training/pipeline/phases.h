// SPDX-License-Identifier: MIT
// The order of a stage's passes in short: what repeats is there once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workload/training/pipeline/schedule.h"

namespace orrery::workload {

// A pass whatever its micro-batch. The passes of a kind and a chunk take the micro-batches in order, and those of
// weight gradients the ones whose backward passes put them off.
struct PassStep {
  PassKind kind = PassKind::kForward;
  std::uint32_t chunk = 0;
  bool splits = false;       // as in Pass
  bool beside_next = false;  // likewise

  bool operator==(const PassStep&) const = default;
};

// Some passes in a row, so many times; two side by side are never apart.
class PassRun {
 public:
  static constexpr std::size_t kMost = 6;

  explicit PassRun(std::uint32_t times) : times_(times) {}
  void add(const PassStep& step);
  std::uint32_t times() const { return times_; }
  std::span<const PassStep> steps() const { return {steps_.data(), length_}; }

 private:
  std::uint32_t times_;
  std::uint32_t length_ = 0;
  std::array<PassStep, kMost> steps_{};
};

// Some runs in a row, so many times.
struct PassPhase {
  std::uint32_t times = 1;
  std::vector<PassRun> runs{};
};

// Passes of `stage` in the order of pipeline_order(). More micro-batches are no more runs, except of schedules whose
// passes run in pairs (runs_pairs()), and of an interleaved one whose last group of micro-batches is shorter.
std::vector<PassPhase> pipeline_phases(const PipelineShape& shape, std::uint32_t stage);

}  // namespace orrery::workload
