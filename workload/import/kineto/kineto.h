// SPDX-License-Identifier: MIT
// Reads profiles that torch.profiler exported (Kineto, Chrome's trace format), one file for each rank, and beside them,
// where there are any, the PyTorch execution traces of the same step (workload/import/kineto/link.h).
//
// Kernels, copies and memsets become device computations with their measured times on their streams; kernels of NCCL
// become collectives, sends and receives of the sizes and process groups that c10d notes on them, or that the host or
// the execution trace says. What waits for what, and where the host was late, is worked out as
// workload/import/kineto/timeline.h says. A rank's work begins with its first operation on the device; where the clocks
// of all ranks agree, ranks that began later than the first wait as long. How long a collective took in the profile is
// kept as its measured duration; it includes the waiting for other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/units.h"
#include "workload/graph/job.h"

namespace orrery::workload {

struct KinetoOptions {
  // The profiles of some ranks stand for those of all (workload/import/kineto/symmetric.h).
  bool symmetric = false;
  // Called with the number of ranks before any is made; throws what speaks against so many.
  std::function<void(std::uint32_t)> check_world{};
};

// Measurements in the profiles, for comparison with a replay.
struct KinetoFacts {
  std::string device;             // as the driver calls it; may be empty
  std::uint32_t profiles = 0;     // of how many ranks
  bool has_common_clock = false;  // of several ranks: they began and ended their collectives together
  Duration measured{};   // from the first operation of the device to the end of the last, of all ranks with a common
                         // clock, else of the rank for which that is shortest: the others waited for it
  Duration longest{};    // of the rank for which that is longest, by its own clock
  Duration computing{};  // sums over all operations of the rank of `longest`
  Duration communicating{};
  Duration exchanging{};   // with a common clock: all collectives of all ranks, each from when its last rank had come
  std::size_t linked = 0;  // calls of c10d that execution traces say something of
};

// True if `text`, the beginning of a file, is JSON like that of profiles and execution traces.
bool is_profile(std::string_view text);

// The files may come in any order: each profile says its rank, under distributedInfo, and an execution trace belongs to
// the profile of the same process, or rank. gzip is understood. Throws InputError with all that is wrong; what is
// doubtful goes to `diagnostics`.
Job import_kineto(std::span<const std::string> files, Diagnostics& diagnostics, const KinetoOptions& options = {},
                  KinetoFacts* facts = nullptr);

// The same of one profile in memory; `file` is for messages.
Job import_kineto_text(const std::string& file, std::string_view text, Diagnostics& diagnostics,
                       const KinetoOptions& options = {});

}  // namespace orrery::workload
