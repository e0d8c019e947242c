// SPDX-License-Identifier: MIT
// A kernel that somebody timed, whoever did: a table, scripts/measure, a profile.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/precision.h"
#include "core/units.h"

namespace orrery::study {

enum class TimedKind : std::uint8_t {
  kProduct,    // m x n x k, `batch` of them
  kGrouped,    // `groups` products of m rows each
  kAttention,  // flash attention
  kMemory,     // moves `bytes`
  kLaunch,     // a launch of the host, as `graph` says
};

// Forward: TN. Gradient of the input: NN. Gradient of the weight: NT.
enum class TimedStage : std::uint8_t { kForward, kInputGradient, kWeightGradient, kBackward };

struct KernelTiming {
  TimedKind kind = TimedKind::kProduct;
  TimedStage stage = TimedStage::kForward;  // kBackward: of attention
  Precision precision = Precision::kBf16;
  bool accumulates = false;  // adds to its result
  // Memory traffic of a value of the result, read as well where the kernel accumulates: 8 B of an fp32 sum. 0: of fp32
  // where it accumulates, else written once as operands are.
  Bytes result{0};
  std::int64_t batch = 1, groups = 1;
  std::int64_t m = 0, n = 0, k = 0;  // of a group; k sums
  std::int64_t sequence = 0, heads = 0, kv_heads = 0, head_size = 0, value_size = 0;
  bool causal = true;
  double bytes = 0;  // kMemory: read and written
  bool graph = false;
  bool beside_copy = false;  // a copy ran beside it
  double seconds = 0;        // of one kernel; above 0
  double count = 1;          // that it is the median of
  Location where;
};

}  // namespace orrery::study
