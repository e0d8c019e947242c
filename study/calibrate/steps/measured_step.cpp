// SPDX-License-Identifier: MIT
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/experiment.h"
#include "study/calibrate/steps.h"
#include "study/table_files.h"
#include "study/validate/training/table.h"
#include "study/validate/training/validation.h"
#include "workload/training/layers/model_layers.h"

namespace orrery::study {
namespace {

constexpr std::string_view kStepHint =
    "as in '19.5 s', '405 TFLOP/s' (per GPU, model FLOPs), '405 TFLOP/s hardware' (Narayanan's formula), '41 % MFU', "
    "'3400 tokens/s/gpu', '1.7 M tokens/s', '12 samples/s', '12 samples/s/gpu'";

enum class StepUnit : std::uint8_t {
  kModelFlops,
  kHardwareFlops,
  kUtilisation,
  kTokens,
  kTokensOfGpu,
  kSamples,
  kSamplesOfGpu
};

struct NamedUnit {
  std::string_view name;  // in lower case, without blanks
  StepUnit unit{};
  double scale = 1;
};
constexpr std::array kUnits = std::to_array<NamedUnit>({
    {"tflop/s", StepUnit::kModelFlops, 1e12},
    {"tflop/s/gpu", StepUnit::kModelFlops, 1e12},
    {"tflops", StepUnit::kModelFlops, 1e12},
    {"tflops/gpu", StepUnit::kModelFlops, 1e12},
    {"tflop/smodel", StepUnit::kModelFlops, 1e12},
    {"pflop/s", StepUnit::kModelFlops, 1e15},
    {"tflop/shardware", StepUnit::kHardwareFlops, 1e12},
    {"tflop/s/gpuhardware", StepUnit::kHardwareFlops, 1e12},
    {"tflopshardware", StepUnit::kHardwareFlops, 1e12},
    {"%mfu", StepUnit::kUtilisation, 0.01},
    {"mfu", StepUnit::kUtilisation, 1},
    {"tokens/s/gpu", StepUnit::kTokensOfGpu},
    {"ktokens/s/gpu", StepUnit::kTokensOfGpu, 1e3},
    {"tokens/s", StepUnit::kTokens},
    {"ktokens/s", StepUnit::kTokens, 1e3},
    {"mtokens/s", StepUnit::kTokens, 1e6},
    {"samples/s/gpu", StepUnit::kSamplesOfGpu},
    {"samples/s", StepUnit::kSamples},
});

// "19.5 s" is a duration; all else is a number and one of the units above.
std::optional<std::pair<double, const NamedUnit*>> parse_rate(std::string_view text) {
  std::string word;
  for (const char c : text)
    if (c != ' ' && c != '\t' && c != ',') word += c;
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return std::nullopt;
  std::string unit = word.substr(static_cast<std::size_t>(end - word.data()));
  for (char& c : unit)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const NamedUnit& known : kUnits)
    if (known.name == unit) return std::pair{number * known.scale, &known};
  return std::nullopt;
}

double hardware_seconds(double rate, const Location& where, const workload::TrainingSpec& training) {
  if (training.transformer() == nullptr)
    throw InputError(where,
                     fmt::format("the formula of hardware FLOPs is of transformers, but '{}' is none",
                                 printable(training.model.name)),
                     "say it in seconds");
  return hardware_flops(*training.transformer(), training.global_batch) /
         (static_cast<double>(training.parallel.workers()) * rate);
}

double rate_seconds(double value, StepUnit unit, const Location& where, const workload::TrainingSpec& training,
                    double peak) {
  const auto gpus = static_cast<double>(training.parallel.workers());
  const auto tokens = static_cast<double>(workload::tokens_per_step(training));
  const auto samples = static_cast<double>(training.global_batch);
  switch (unit) {
    case StepUnit::kModelFlops:
      if (peak > 0 && value > peak)
        throw InputError(
            where,
            fmt::format("{:.4g} TFLOP/s are above the peak of the device in the job's precision, {:.4g} TFLOP/s",
                        value / 1e12, peak / 1e12),
            "is it of one GPU, and on this device? of the formula of hardware FLOPs: 'TFLOP/s hardware'");
      return workload::model_flops(training) / (gpus * value);
    case StepUnit::kHardwareFlops:
      return hardware_seconds(value, where, training);
    case StepUnit::kUtilisation:
      if (value > 1 || peak <= 0)
        throw InputError(where,
                         peak > 0 ? fmt::format("an MFU of {:.4g} is above 1", value)
                                  : "the device has no peak in the job's precision, which an MFU is a share of",
                         std::string(kStepHint));
      return workload::model_flops(training) / (gpus * peak * value);
    case StepUnit::kTokens:
    case StepUnit::kTokensOfGpu:
      if (training.transformer() == nullptr)
        throw InputError(where, fmt::format("'{}' has no tokens", printable(training.model.name)), "samples/s");
      return tokens / (unit == StepUnit::kTokens ? value : value * gpus);
    case StepUnit::kSamples:
      return samples / value;
    case StepUnit::kSamplesOfGpu:
      break;
  }
  return samples / (gpus * value);
}

}  // namespace

double step_seconds(std::string_view text, const Location& where, const workload::TrainingSpec& training, double peak) {
  const auto as_duration = parse_quantity<Duration>(text);
  double found = 0;
  if (as_duration.value && as_duration.value->count() > 0) {
    found = seconds(*as_duration.value);
  } else if (const auto rate = parse_rate(text)) {
    found = rate_seconds(rate->first, rate->second->unit, where, training, peak);
  } else {
    throw InputError(where, fmt::format("invalid measurement of a step '{}'", printable(text, 40)),
                     std::string(kStepHint));
  }
  constexpr double kLeast = 1e-6, kMost = 1e6;
  if (found < kLeast || found > kMost)
    throw InputError(where, fmt::format("'{}' would be a step of {:.3g} s", printable(text, 40), found),
                     "is the unit right? " + std::string(kStepHint));
  return found;
}

MeasuredStep measured_step(const std::string& job, const std::vector<std::string>& settings, std::string_view measured,
                           const ConfigFiles& files) {
  Diagnostics diagnostics;
  const experiment::Experiment one = experiment::load_experiment(job, settings, files, diagnostics);
  if (one.jobs.size() != 1 || !one.jobs.front().workload.training)
    throw InputError({job}, "a measured step is of one training job of a model", "workload: {model: ...}");
  const workload::TrainingSpec& training = *one.jobs.front().workload.training;
  const auto peak = one.devices.front().peak(training.precision);
  MeasuredStep step{job, job, {"--measured"}, one.resolved, std::string(measured), 0};
  step.seconds = step_seconds(measured, step.where, training, peak ? static_cast<double>(peak->count()) : 0);
  return step;
}

std::vector<MeasuredStep> measured_steps(const std::string& file, const ConfigFiles& files) {
  Diagnostics diagnostics;
  const auto table = load_table<TrainingTable>(file, {}, files, diagnostics);
  diagnostics.throw_if_errors();
  check_training_rows(table, files, diagnostics);
  diagnostics.throw_if_errors();
  std::vector<MeasuredStep> steps;
  for (const TrainingRow& row : table.rows) {
    if (row.experiment.kind == ConfigValue::Kind::kNull)
      throw InputError(row.where, "a table of measured steps needs the experiment of its rows", "experiment: {...}");
    const TrainingCase one = read_training_case(table, row, files, diagnostics);
    steps.push_back({file, row.label, row.where, one.experiment.resolved,
                     fmt::format("{} {}", row.figure, name_of(table.figure)), one.measured});
  }
  return steps;
}

}  // namespace orrery::study
