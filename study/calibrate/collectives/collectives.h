// SPDX-License-Identifier: MIT
// The constants of the `nccl` library that logs of nccl-tests determine for the cluster they were measured on, and how
// much better they fit than those before.
#pragma once

#include <vector>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/in_parallel.h"
#include "study/calibrate/collectives/data.h"
#include "study/calibrate/collectives/fit.h"
#include "study/calibrate/findings.h"

namespace orrery::study {

// A row of a log and what is predicted of it.
struct CalibratedRow {
  CalibrationRow measured;
  double before = 0;      // seconds
  double after = 0;       // by the fit to all rows
  double without_it = 0;  // by the fit to the half of the rows that it is not in; 0: too few rows
};

struct Calibration {
  CalibrationData data;
  NcclFit fit;
  std::vector<CalibratedRow> rows;
  bool held_out = false;  // whether the rows were also predicted by fits that had not seen them
  std::vector<Problem> warnings;
};

// Throws InputError: what read_calibration() throws, and when the logs determine nothing. `progress` is told of the
// fits.
Calibration calibrate(const CalibrationQuestion& question, const ConfigFiles& files, const WorkProgress& progress = {});

// Gives it as a finding.
Finding finding_of(const Calibration& calibration);

// Puts the fitted constants under `nccl` of a resolved cluster.
void write_constants(const Calibration& calibration, ConfigValue& cluster);

// "all_reduce on 2 x 8 a100-sxm-80gb, NCCL 2.30.0, launch mpi".
std::string benchmark_text(const CalibrationData& data, const NcclBenchmark& benchmark);

}  // namespace orrery::study
