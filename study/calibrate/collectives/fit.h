// SPDX-License-Identifier: MIT
// Fits the constants of the `nccl` library to measurements: those that the measurements tell apart. Of several that
// always act together (on one group, a base latency and so many steps of a hop) one moves for all, and the others are
// named; so are those that the measurements say nothing about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "collectives/nccl/constants.h"
#include "study/calibrate/collectives/data.h"

namespace orrery::study {

struct FittedNcclConstant {
  std::size_t number = 0;  // of nccl_constant_entries()
  double before = 0;
  double after = 0;
  double spread = 0;  // standard error relative to the larger of both; not known of one that only gives way
  // Interval that holds the true value in 95 % of logs; low > high where it is not known.
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  std::vector<std::size_t> shown_by{};  // rows whose time changes by a hundredth of a change of it, or more
  bool at_bound = false;
  // Moved until no row depends on it: the measurements say that it is not less (or not more), and nothing else.
  bool gives_way = false;
};

enum class UnfittedReason : std::uint8_t {
  kNotShown,   // no measurement depends on it
  kTogether,   // acts as others do, which moved for it
  kUncertain,  // its standard error would be as large as half of it
};

struct UnfittedNcclConstant {
  std::size_t number = 0;
  UnfittedReason reason = UnfittedReason::kNotShown;
  std::vector<std::size_t> with;  // kTogether
};

struct NcclFit {
  collectives::NcclConstants constants;                         // all
  std::vector<FittedNcclConstant> fitted;                       // by number, as the lists below
  std::vector<UnfittedNcclConstant> unfitted;                   // that the machine uses
  std::vector<std::pair<std::size_t, std::size_t>> correlated;  // fitted ones whose errors hang together
};

// kBySlopes: from the slopes where the fit has come to. kWide: also tried farther off, with the others fitted again.
enum class FitIntervals : std::uint8_t { kBySlopes, kWide };

// Fits to `rows`, some or all of the data's. A fit to nothing that they determine has no fitted constants.
NcclFit fit_nccl_constants(const CalibrationData& data, std::span<const CalibrationRow> rows,
                           FitIntervals intervals = FitIntervals::kBySlopes);

}  // namespace orrery::study
