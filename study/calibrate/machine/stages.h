// SPDX-License-Identifier: MIT
// Calibration of a machine to all that somebody has measured on it, stage by stage: collectives, kernels, the host's
// launches, steps of jobs. Each stage fits what its own measurements determine and leaves the rest to the next.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/in_parallel.h"
#include "report/documents/documents.h"
#include "study/benchmark/question.h"
#include "study/calibrate/findings.h"
#include "study/calibrate/machine/evidence.h"

namespace orrery::study {

// Request as written on the command line; an empty text was not given.
struct MachineQuestion {
  std::vector<std::string> files{};
  CollectiveQuestion machine{};  // cluster: that of the job, or of the steps, where it is empty
  std::string operation{};       // of logs that do not say theirs
  std::string version{};         // of NCCL; without it, what each log says
  bool in_place = false;         // the other column of logs
  std::string job{};             // an experiment's file
  std::string measured{};        // its step
  std::string software{};        // a name or a file; without it, the job's
};

struct MachineCalibration {
  std::string cluster;   // title
  std::string software;  // likewise; empty: none
  CalibratedMachine machine;
  std::vector<EvidenceFile> files;
  std::vector<Finding> findings;         // of stages that had measurements, in their order
  std::vector<std::string> collectives;  // options that say what the collectives were measured with
  std::vector<Problem> warnings;

  // True if a constant of the file is determined.
  bool changes(CalibratedFile file) const;
};

// Throws InputError for files of no known kind, what the readers of the kinds refuse, and what contradicts the machine.
MachineCalibration calibrate_machine(const MachineQuestion& question, const ConfigFiles& files,
                                     const WorkProgress& progress = {});

// Tables of constants and of errors; with `details` each measurement.
std::string calibration_text(const MachineCalibration& calibration, bool details = false);
// The document "orrery.calibration/2".
nlohmann::ordered_json calibration_json(const MachineCalibration& calibration);
report::Document calibration_document();

// A cluster's or software's file with the constants, each with its evidence, which needs no other file. Other values
// keep the comments that their files have beside them. `from` says in
// its first comment what it was made from.
std::string calibrated_file(const MachineCalibration& calibration, CalibratedFile file, const std::string& from,
                            const ConfigFiles& files);

// "8.9 to 9.1 us", or "within 0.1 %"; empty where it is not known.
std::string interval_text(const CalibratedConstant& constant);

}  // namespace orrery::study
