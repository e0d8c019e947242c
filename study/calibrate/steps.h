// SPDX-License-Identifier: MIT
// Calibration to measured steps of training jobs: those constants of software and network that the steps determine,
// and of each step how its time is made up, predicted and, by a profile, measured.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/in_parallel.h"
#include "study/calibrate/findings.h"
#include "study/calibrate/profiles.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::study {

struct MeasuredStep {
  std::string source;      // the file that it is of
  std::string label;       // a row's; of a job its file
  Location where;          // of the measurement
  ConfigValue experiment;  // before it is read
  std::string published;   // "405 TFLOP/s": as it was written
  double seconds = 0;      // of an iteration
};

// Seconds of an iteration of which somebody says "19.5 s", "405 TFLOP/s" (per GPU, model FLOPs), "405 TFLOP/s hardware"
// (SC'21's formula), "41 % MFU", "3400 tokens/s/gpu", "1.7 M tokens/s", "12 samples/s", "12 samples/s/gpu".
// `peak` in FLOP/s is of a device in the job's precision. InputError at `where` for any other text.
double step_seconds(std::string_view text, const Location& where, const workload::TrainingSpec& training, double peak);

// A job, an experiment's file with settings as of --set, and its measured step.
MeasuredStep measured_step(const std::string& job, const std::vector<std::string>& settings, std::string_view measured,
                           const ConfigFiles& files);
// The rows of a table as `orrery validate --training-table` reads it.
std::vector<MeasuredStep> measured_steps(const std::string& table, const ConfigFiles& files);

struct StepOptions {
  const ProfiledTime* profile = nullptr;  // of a step of the first job
  // Keys that measurements of their own determined, which steps leave alone: "host.launch", "rates_of.hopper.gemm".
  std::vector<std::string> known{};
  bool held_out = true;  // also predicts each half of at least 8 steps by the other
};

// Fits, changes the machine, and simulates again. Where the machine has no software it becomes the first job's. All
// steps are of one cluster and one software. One step alone moves nothing: it is split, and each constant is told with
// the value by which it would explain the step alone. InputError where a job cannot be simulated, is of another
// software, or where no step is within a factor of ten of what is predicted.
Finding calibrate_steps(std::span<const MeasuredStep> steps, CalibratedMachine& machine, const ConfigFiles& files,
                        const StepOptions& options = {}, const WorkProgress& progress = {});

// Predicted seconds of the steps on a machine as it is.
std::vector<double> predicted_steps(std::span<const MeasuredStep> steps, CalibratedMachine machine,
                                    const ConfigFiles& files, const WorkProgress& progress = {});

// Table of the parts of a measured step, predicted beside measured; empty where there are none. 80 columns wide.
std::string parts_text(std::span<const TimePart> parts);

}  // namespace orrery::study
