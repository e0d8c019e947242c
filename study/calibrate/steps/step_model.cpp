// SPDX-License-Identifier: MIT
#include "study/calibrate/steps/step_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/config/key_path.h"
#include "core/config/text.h"
#include "core/files/json.h"
#include "experiment/job.h"
#include "study/calibrate/kernel_device.h"
#include "system/devices/device.h"

namespace orrery::study {
namespace {

// Change of a constant by which its effect is probed, up and down.
constexpr double kProbe = 1.05;

// Keys that a calibration changes of a software; all else is the job's own.
constexpr std::array<std::string_view, 5> kOfSoftware = {"rates", "rates_of", "host.launch", "accumulation",
                                                         "optimizer"};

InputError of_step(const InputError& error, const MeasuredStep& step) {
  std::vector<Problem> problems;
  for (Problem problem : error.problems()) {
    if (problem.where.file.empty()) problem.where = step.where;
    problem.message = fmt::format("step of '{}': {}", printable(step.label, 60), problem.message);
    problems.push_back(std::move(problem));
  }
  return InputError(std::move(problems));
}

std::string text_at(const ConfigValue& root, std::string_view path) {
  const ConfigValue* value = value_at_path(root, path);
  return value == nullptr ? std::string() : value->scalar;
}

bool is_same(const ConfigValue& a, const ConfigValue& b) { return to_json(a) == to_json(b); }

// Puts into the cluster of one step what `calibrated` has otherwise than `first`, the cluster of the first step: all
// else is the step's own, as the number of its network cards.
void take_differences(ConfigValue& own, const ConfigValue& first, const ConfigValue& calibrated) {
  constexpr auto kMap = ConfigValue::Kind::kMap;
  for (const ConfigEntry& entry : calibrated.entries) {
    const ConfigEntry* before = first.find(entry.key);
    ConfigEntry* here = own.find(entry.key);
    if (before != nullptr && is_same(before->value, entry.value)) continue;
    if (here == nullptr)
      own.entries.push_back(entry);
    else if (before != nullptr && before->value.kind == kMap && here->value.kind == kMap && entry.value.kind == kMap)
      take_differences(here->value, before->value, entry.value);
    else
      here->value = entry.value;
  }
}

}  // namespace

StepModel::StepModel(std::span<const MeasuredStep> steps, CalibratedMachine& machine, const ConfigFiles& files,
                     const std::vector<std::string>& known)
    : steps_(steps), files_(files) {
  std::string rates;
  std::map<std::string, std::size_t> texts;
  for (const MeasuredStep& step : steps) {
    try {
      Diagnostics diagnostics;
      const bool is_first = jobs_.empty();
      if (is_first && machine.software.kind != ConfigValue::Kind::kMap) {
        const experiment::Experiment own =
            experiment::read_experiment(step.source, step.experiment, files, diagnostics);
        if (const ConfigValue* software = value_at_path(own.resolved, "workload.software"))
          machine.software = *software;
        if (machine.cluster.kind != ConfigValue::Kind::kMap) machine.cluster = *value_at_path(own.resolved, "cluster");
      }
      ConfigValue job = on_machine(step, machine);
      const experiment::Experiment read = experiment::read_experiment(step.source, job, files, diagnostics);
      if (read.jobs.size() != 1 || !read.jobs.front().workload.training)
        throw InputError(step.where, "a measured step is of one training job of a model", "workload: {model: ...}");
      if (is_first) {
        resolved_ = read.resolved;
        rates = path_of_rates(read.jobs.front().workload.training->software, system::oldest_architecture(read.devices));
      }
      alike_.push_back(texts.try_emplace(dump_json(to_json(read.resolved)), jobs_.size()).first->second);
      jobs_.push_back(read.resolved);
    } catch (const InputError& error) {
      throw of_step(error, step);
    }
  }
  constants_ = step_constants(resolved_, rates, known);
}

ConfigValue StepModel::on_machine(const MeasuredStep& step, const CalibratedMachine& machine) const {
  ConfigValue job = step.experiment;
  const std::string device = text_at(job, "cluster.node.device.name");
  const std::string calibrated = text_at(machine.cluster, "node.device.name");
  if (!device.empty() && !calibrated.empty() && device != calibrated)
    throw InputError(
        step.where,
        fmt::format("ran on {}, and the calibrated cluster is of {}", printable(device, 40), printable(calibrated, 40)),
        "calibrate one cluster at a time");
  Diagnostics diagnostics;
  const std::string software = text_at(job, "workload.software.name");
  const std::string other = text_at(machine.software, "name");
  if (!software.empty() && !other.empty() && software != other)
    throw InputError(
        step.where,
        fmt::format("ran with {}, and the calibrated software is {}", printable(software, 40), printable(other, 40)),
        "calibrate one software at a time");
  if (machine.cluster.kind == ConfigValue::Kind::kMap) {
    const ConfigValue* first = value_at_path(steps_.front().experiment, "cluster");
    const ConfigValue* own = value_at_path(job, "cluster");
    const bool differs = first != nullptr && own != nullptr && first->kind == ConfigValue::Kind::kMap &&
                         own->kind == ConfigValue::Kind::kMap && !is_same(*first, *own);
    ConfigValue cluster = differs ? *own : machine.cluster;
    if (differs) take_differences(cluster, *first, machine.cluster);
    set_value(job, "cluster", cluster, files_, diagnostics);
  }
  for (const std::string_view key : kOfSoftware)
    if (const ConfigValue* value = value_at_path(machine.software, key))
      set_value(job, fmt::format("workload.software.{}", key), *value, files_, diagnostics);
  diagnostics.throw_if_errors();
  return job;
}

experiment::Run StepModel::run(std::size_t step, std::span<const double> factors,
                               experiment::RunFigures figures) const {
  try {
    ConfigValue job = jobs_[step];
    for (std::size_t i = 0; i < factors.size(); ++i) multiply(job, constants_[i], factors[i], files_);
    Diagnostics diagnostics;
    const experiment::Experiment read =
        experiment::read_experiment(steps_[step].source, std::move(job), files_, diagnostics);
    return experiment::run_experiment(read, true, diagnostics, {}, figures);
  } catch (const InputError& error) {
    throw of_step(error, steps_[step]);
  }
}

double StepModel::seconds(std::size_t step, std::span<const double> factors) const {
  return orrery::seconds(report::iteration_time(run(step, factors, experiment::RunFigures::none()).result));
}

std::vector<double> StepModel::seconds(std::span<const double> factors, const WorkProgress& progress) const {
  std::vector<double> times(size());
  in_parallel(
      size(), hardware_threads(),
      [&](std::size_t step) {
        if (alike_[step] == step) times[step] = seconds(step, factors);
      },
      progress);
  for (std::size_t step = 0; step < size(); ++step) times[step] = times[alike_[step]];
  return times;
}

std::vector<std::vector<double>> StepModel::slopes(std::span<const double> factors,
                                                   std::span<const std::size_t> constants,
                                                   const WorkProgress& progress) const {
  std::vector<std::vector<double>> columns(constants_.size(), std::vector<double>(size()));
  in_parallel(
      constants.size() * size(), hardware_threads(),
      [&](std::size_t number) {
        const std::size_t constant = constants[number / size()], step = number % size();
        if (alike_[step] != step) return;
        std::vector<double> up(factors.begin(), factors.end()), down = up;
        up[constant] = std::min(up[constant] * kProbe, constants_[constant].most);
        down[constant] /= kProbe;
        columns[constant][step] =
            std::log(seconds(step, up) / seconds(step, down)) / std::log(up[constant] / down[constant]);
      },
      progress);
  for (std::vector<double>& column : columns)
    for (std::size_t step = 0; step < size(); ++step) column[step] = column[alike_[step]];
  return columns;
}

std::vector<std::vector<double>> StepModel::reaches(std::span<const double> factors,
                                                    std::span<const std::size_t> constants) const {
  const std::vector<double> here = seconds(factors);
  std::vector<std::vector<double>> columns(constants_.size(), std::vector<double>(size()));
  in_parallel(constants.size() * size(), hardware_threads(), [&](std::size_t number) {
    const std::size_t constant = constants[number / size()], step = number % size();
    if (alike_[step] != step) return;
    std::vector<double> up(factors.begin(), factors.end()), down = up;
    up[constant] = std::min(up[constant] * std::exp(constants_[constant].spread), constants_[constant].most);
    down[constant] *= std::exp(-constants_[constant].spread);
    const double above = std::log(seconds(step, up) / here[step]), below = std::log(here[step] / seconds(step, down));
    columns[constant][step] = std::abs(above) > std::abs(below) ? above : below;
  });
  for (std::vector<double>& column : columns)
    for (std::size_t step = 0; step < size(); ++step) column[step] = column[alike_[step]];
  return columns;
}

std::vector<Problem> StepModel::memory_warnings() const {
  std::vector<Problem> warnings;
  for (std::size_t step = 0; step < size(); ++step) {
    if (alike_[step] != step) continue;
    Diagnostics diagnostics, memory;
    const experiment::Experiment read =
        experiment::read_experiment(steps_[step].source, jobs_[step], files_, diagnostics);
    if (experiment::check_memory(read, true, memory)) continue;
    warnings.push_back({Severity::kWarning, steps_[step].where,
                        fmt::format("'{}' does not fit the memory of its devices as it is described, and did run",
                                    printable(steps_[step].label, 60)),
                        "is it the same recomputation, sharding and micro-batch?"});
  }
  return warnings;
}

}  // namespace orrery::study
