// SPDX-License-Identifier: MIT
// Dependencies on the device of a profile: operations that waited for one another, or for the host.
//
// A stream runs its operations in order. Across streams the trace decides, as far as it goes:
//
//   - With cuda_sync events, an operation waits for what its stream was told to wait for.
//   - Without, a collective waits for the computations of the other streams that were launched before it, as c10d makes
//     it; and what is launched after a cudaStreamWaitEvent outside of c10d waits for what was launched on other streams
//     before that call.
//   - Without calls of the host, a computation waits for a collective of another stream where its own stream was idle
//     until that one ended.
//   - After a call that synchronises the host, everything waits for all that was launched before.
//
// In each case only for operations that had ended when the waiting one began: a profile shows what did happen.
//
// Operations that began later than all this explains came late from the host: a stretch of host time goes in front of
// each. These stretches follow one another without overlapping, so that a replay with the measured durations starts
// every operation when the profile did, counted from the first one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workload/import/kineto/events.h"

namespace orrery::workload {

struct KinetoStep {
  std::uint32_t operation = 0;  // into KinetoTrace::operations
  KinetoTime begin = 0;         // operations of one stream do not overlap any more
  KinetoTime end = 0;
  std::vector<std::uint32_t> after;  // earlier steps that it waits for, ascending
  KinetoTime host = 0;               // how long the host takes in front of it; 0: it does not
  bool host_after = false;           // the host begins when `after` has ended; else when it is done with the last one
  bool waits_for_host = false;       // for the last stretch of the host up to here
};

// Largest number of waits among operations: some gigabytes.
inline constexpr std::size_t kMostKinetoWaits = 32'000'000;

struct KinetoTimeline {
  std::vector<KinetoStep> steps;  // in the order in which they began
  std::size_t waits = 0;          // beyond the limit the rest is not looked at
  std::size_t overlaps = 0;       // operations that began more than a microsecond before the one in front had ended
};

KinetoTimeline make_timeline(const KinetoTrace& trace);

}  // namespace orrery::workload
