// SPDX-License-Identifier: MIT
// A calibration goes in stages, one for each kind of evidence: collectives, kernels, profiles, steps. A stage fits
// those constants of the machine that its measurements determine, changes the machine, and leaves it to the next. What
// it found is a Finding, whatever the kind: texts, pages and documents are made of these alone.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/config/tree.h"
#include "core/error.h"

namespace orrery::study {

// Configurations that a calibration reads and writes, resolved: no file is named in them that was not filled in.
struct CalibratedMachine {
  ConfigValue cluster;   // of configs/clusters
  ConfigValue software;  // of configs/software; null where no job names one
};

enum class CalibratedFile : std::uint8_t { kCluster, kSoftware };

// Units of values: seconds, bytes per second, bytes; a share is below 1 and written in percent, a factor is a plain
// number.
enum class ConstantUnit : std::uint8_t { kShare, kFactor, kDuration, kBandwidth, kSize };

// A value as the configuration writes it, as "9 us".
std::string constant_text(ConstantUnit unit, double value);

// A constant that a stage looked at.
struct CalibratedConstant {
  CalibratedFile file = CalibratedFile::kCluster;
  std::string key;  // path in the file: "nccl.base.ring.ll", "node.device.compute.gemm", "host.launch"
  ConstantUnit unit = ConstantUnit::kFactor;
  double before = 0;
  double after = 0;  // as before where it is not determined
  // Bounds that hold the true value in 95 % of calibrations, as far as the measurements' own scatter tells; low > high
  // (the default) of one that is not determined, or whose scatter is not known.
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  std::string evidence;  // "31 rows of all_reduce.log"
  std::string remark;    // of a determined one: "hard to tell apart from ...", "or more"; may be empty
  std::string stays;     // why it is not determined: "no row depends on it", "acts as base.ring.ll"; else empty

  bool determined() const { return stays.empty(); }
};

// A measurement and what is predicted of it.
struct CalibratedMeasurement {
  std::string source;   // file, and the line or event in it
  std::string group;    // that errors are summed up by: "all_reduce", "bf16 product, forward", "step"
  std::string label;    // "8 MiB", "8192 x 4096 x 4096"
  double size = 0;      // that groups are drawn over: bytes of a collective, FLOPs of a product; 0: none
  double measured = 0;  // seconds, as all here
  double before = 0;
  double after = 0;
  double held_out = 0;  // by a fit that has not seen it; 0: none
};

// A part of a measured step: as long as it is predicted, and as a profile of the step has it; NaN where no profile
// says. The last part is what neither knows: of the measured step what is beyond the profile, or without one beyond
// what is predicted. The predicted ones sum to the predicted step, and with what is measured beyond them to the
// measured one.
struct TimePart {
  std::string name;  // "products", "exchange that is waited for", "host", "idle", "not explained"
  double predicted = std::numeric_limits<double>::quiet_NaN();
  double measured = std::numeric_limits<double>::quiet_NaN();
  std::string because;  // what the measured one is known from
};

// Sizes of the measurements of a finding.
enum class MeasuredSizes : std::uint8_t { kNone, kBytes, kFlops };

struct Finding {
  std::string title;  // "collectives", "kernels", "host", "steps"
  std::vector<CalibratedConstant> constants;
  std::vector<CalibratedMeasurement> rows;
  std::vector<TimePart> parts;     // of a measured step; may be empty
  std::vector<std::string> notes;  // sentences
  std::vector<Problem> warnings;
  MeasuredSizes sizes = MeasuredSizes::kNone;
};

}  // namespace orrery::study
