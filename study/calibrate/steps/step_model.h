// SPDX-License-Identifier: MIT
// Measured steps of jobs on the machine that is calibrated, simulated with other constants.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/config/tree.h"
#include "core/in_parallel.h"
#include "experiment/runs/run.h"
#include "study/calibrate/steps.h"
#include "study/calibrate/steps/step_constants.h"

namespace orrery::study {

class StepModel {
 public:
  // Gives each job the cluster and the constants of the machine; a machine without software takes those of the first
  // job. InputError where a job is of another software, another device, or cannot be read.
  StepModel(std::span<const MeasuredStep> steps, CalibratedMachine& machine, const ConfigFiles& files,
            const std::vector<std::string>& known);

  std::size_t size() const { return steps_.size(); }
  const std::vector<StepConstant>& constants() const { return constants_; }
  const ConfigValue& resolved() const { return resolved_; }  // the first job
  // Number of the first step of the same job.
  const std::vector<std::size_t>& first_alike() const { return alike_; }

  // Times by step, with `factors` on the constants. A job is simulated whether it fits the memory or not: it did run.
  std::vector<double> seconds(std::span<const double> factors, const WorkProgress& progress = {}) const;
  double seconds(std::size_t step, std::span<const double> factors) const;
  experiment::Run run(std::size_t step, std::span<const double> factors, experiment::RunFigures figures = {}) const;
  // d log(time) / d log(factor), by constant and step; of `constants` alone, 0 of others.
  std::vector<std::vector<double>> slopes(std::span<const double> factors, std::span<const std::size_t> constants,
                                          const WorkProgress& progress = {}) const;

  // Change of log(time) by one standard deviation of a constant, up or down, whichever changes more: what waits for
  // nothing now may set the pace then. By constant and step; 0 of others than `constants`.
  std::vector<std::vector<double>> reaches(std::span<const double> factors,
                                           std::span<const std::size_t> constants) const;

  // Why a job does not fit the memory of its devices, as a warning; empty if all do.
  std::vector<Problem> memory_warnings() const;

 private:
  ConfigValue on_machine(const MeasuredStep& step, const CalibratedMachine& machine) const;

  std::span<const MeasuredStep> steps_;
  const ConfigFiles& files_;
  std::vector<ConfigValue> jobs_;  // by step
  std::vector<std::size_t> alike_;
  ConfigValue resolved_;
  std::vector<StepConstant> constants_;
};

}  // namespace orrery::study
