// SPDX-License-Identifier: MIT
// The constants of the `nccl` library that a log of nccl-tests determines for the cluster it was measured on, and how
// much better they fit than those before.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/in_parallel.h"
#include "study/calibrate/data.h"
#include "study/calibrate/fit.h"
#include "study/errors.h"

namespace orrery::study {

// A row of the log and what is predicted of it.
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

// Throws InputError: what read_calibration() throws, and when the log determines nothing. `progress` is told of the
// fits.
Calibration calibrate(const CalibrationQuestion& question, const ConfigFiles& files, const WorkProgress& progress = {});

// The constants, what is not determined, and the errors before and after.
std::string calibration_text(const CalibrationQuestion& question, const Calibration& calibration);
// The same as the document "orrery.calibration/1", with the time of every row.
nlohmann::ordered_json calibration_json(const CalibrationQuestion& question, const Calibration& calibration);

// A configuration of the cluster with the fitted constants in it, which needs no other file. `from` says in its first
// comment what it was made from.
std::string calibrated_cluster(const Calibration& calibration, const std::string& from);

}  // namespace orrery::study
