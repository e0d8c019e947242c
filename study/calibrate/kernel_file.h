// SPDX-License-Identifier: MIT
// Files of timed kernels: a table (CSV), whose columns tell what was timed, or a measurement of scripts/measure (JSON,
// "orrery.measurement/1"). docs/calibrate-kernels.md has the names of columns and members.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/precision.h"
#include "core/units.h"
#include "study/calibrate/kernel_timing.h"

namespace orrery::study {

// A collective of scripts/measure under torchrun. `bytes` as nccl-tests count them: of the larger of a rank's buffers.
struct TimedCollective {
  std::string operation;  // "all_reduce", as nccl-tests name it
  Bytes bytes{0};
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  double seconds = 0;
  double count = 1;  // that it is the median of
  Location where;
};

struct KernelFile {
  std::string path;
  std::string device;                                         // as its driver calls it; empty: the file does not say
  Bytes memory{0};                                            // of the device; 0: the file does not say
  std::vector<std::pair<std::string, std::string>> software;  // "torch" "2.6.0"
  std::vector<KernelTiming> timings;
  std::vector<TimedCollective> collectives;
  std::vector<std::string> skipped;  // "fp8 product: not supported"
};

// The dense peak of the device that was measured, for tables that have shares of it in place of times.
using PeakOf = std::function<std::optional<FlopRate>(Precision precision)>;

// True if the beginning of a file's text is that of such a file.
bool is_kernel_file(std::string_view beginning);

// Throws InputError with all that is wrong: file, line, column or member, what was found and what is expected. What was
// assumed or left out is a warning. Gzip is allowed.
KernelFile read_kernel_file(const std::string& path, const PeakOf& peak, Diagnostics& diagnostics);
// Reads a text.
KernelFile read_kernel_text(std::string_view text, const std::string& path, const PeakOf& peak,
                            Diagnostics& diagnostics);

}  // namespace orrery::study
