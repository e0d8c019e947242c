// SPDX-License-Identifier: MIT
#include "study/validate/training/validation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/in_parallel.h"
#include "experiment/job.h"
#include "experiment/run.h"
#include "report/parts.h"
#include "workload/training/spec/software.h"

namespace orrery::study {
namespace {

struct ScoredRow {
  const TrainingTable* table = nullptr;
  const TrainingRow* row = nullptr;
};

std::vector<ScoredRow> scored_rows(std::span<const TrainingTable> tables) {
  std::vector<ScoredRow> rows;
  for (const TrainingTable& table : tables)
    if (table.scored)
      for (const TrainingRow& row : table.rows) rows.push_back({&table, &row});
  return rows;
}

// The first collection before the second, each in the order in which their first tables come.
std::vector<ValidatedTrainingFamily> by_family(std::vector<ValidatedTrainingRow> rows) {
  std::vector<ValidatedTrainingFamily> families;
  for (ValidatedTrainingRow& row : rows) {
    auto family = std::ranges::find(families, row.table->family, &ValidatedTrainingFamily::name);
    if (family == families.end())
      family = families.insert(
          family, {row.table->family, row.table->title.empty() ? row.table->family : row.table->title, {}});
    family->rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(families, {}, &ValidatedTrainingFamily::collection);
  return families;
}

std::vector<FittedSoftware> each_once(std::vector<FittedSoftware> all) {
  std::map<std::pair<std::string, Architecture>, FittedSoftware> known;
  for (FittedSoftware& one : all) {
    const std::pair key(one.software.name, one.architecture);
    known.try_emplace(key, std::move(one));
  }
  std::vector<FittedSoftware> result;
  for (auto& [key, one] : known) result.push_back(std::move(one));
  return result;
}

// Of an iteration: anything else is a wrong unit.
constexpr double kLeastSeconds = 1e-6, kMostSeconds = 1e6;

// What is wrong with a row: where it says so, or else at the row, whose label it names.
Problem of_row(Problem problem, const TrainingRow& row) {
  if (problem.where.file.empty() || problem.where.line == 0) problem.where = row.where;
  if (problem.where.file != row.where.file || problem.where.line != row.where.line)
    problem.message = fmt::format("row '{}': {}", printable(row.label, 40), problem.message);
  return problem;
}

InputError of_row(const InputError& error, const TrainingRow& row) {
  std::vector<Problem> problems;
  for (const Problem& problem : error.problems()) problems.push_back(of_row(problem, row));
  return InputError(std::move(problems));
}

double measured_seconds(const TrainingTable& table, const TrainingRow& row, const workload::TrainingSpec& training) {
  if (table.figure == TrainingFigure::kHardwareTflops && training.transformer() == nullptr)
    throw InputError(row.figure_at, fmt::format("{} is of transformers, but '{}' is none", name_of(table.figure),
                                                printable(training.model.name)));
  if (table.figure == TrainingFigure::kTokensPerGpu && training.transformer() == nullptr)
    throw InputError(row.figure_at, fmt::format("'{}' has no tokens", printable(training.model.name)),
                     fmt::format("{} is of samples", name_of(TrainingFigure::kSamplesPerGpu)));
  const double measured = iteration_seconds(table.figure, row.figure, training);
  if (measured >= kLeastSeconds && measured <= kMostSeconds) return measured;
  throw InputError(row.figure_at, fmt::format("'{}' would be an iteration of {:.3g} s", row.figure, measured),
                   fmt::format("is it {}?", name_of(table.figure)));
}

TrainingCase read_case(const TrainingTable& table, const TrainingRow& row, const ConfigFiles& files,
                       Diagnostics& diagnostics) {
  experiment::Experiment experiment = experiment::read_experiment(row.where.file, row.experiment, files, diagnostics);
  if (experiment.jobs.size() > 1)
    throw InputError(row.where, "a measured job ran by itself, and the row has several", "a row for each job");
  const auto& training = experiment.jobs.front().workload.training;
  if (!training)
    throw InputError(row.where, "the workload of a training job is a model", "name one: workload: {model: ...}");
  const double measured = measured_seconds(table, row, *training);
  return {&table, &row, std::move(experiment), measured};
}

}  // namespace

TrainingErrors training_errors(std::span<const ValidatedTrainingRow> rows) {
  ORRERY_ASSERT(!rows.empty());
  TrainingErrors errors{*summary_of(rows, [](const auto&) { return true; })};
  for (const ValidatedTrainingRow& row : rows) {
    errors.mean += std::abs(row.error()) / static_cast<double>(rows.size());
    errors.signed_mean += row.error() / static_cast<double>(rows.size());
  }
  return errors;
}

std::vector<std::string> ValidatedTrainingFamily::software() const {
  std::vector<std::string> names;
  for (const ValidatedTrainingRow& row : rows)
    if (std::ranges::find(names, row.software) == names.end()) names.push_back(row.software);
  return names;
}

std::size_t TrainingValidation::row_count() const {
  std::size_t count = 0;
  for (const ValidatedTrainingFamily& family : families) count += family.rows.size();
  return count;
}

TrainingValidation validate_training(std::span<const TrainingTable> tables, const ConfigFiles& files,
                                     const WorkProgress& progress) {
  const std::vector<ScoredRow> scored = scored_rows(tables);
  std::vector<ValidatedTrainingRow> rows(scored.size());
  std::vector<FittedSoftware> software(scored.size());
  in_parallel(
      scored.size(), hardware_threads(),
      [&](std::size_t i) {
        Diagnostics diagnostics;
        const TrainingCase one = read_training_case(*scored[i].table, *scored[i].row, files, diagnostics);
        rows[i] = {one.table, one.row, one.software().name, one.measured, predict(one)};
        software[i] = {one.software(), one.architecture(), workload::fitted_on(one.software(), one.architecture()),
                       one.model_kind()};
      },
      progress);
  TrainingValidation validation{by_family(std::move(rows)), each_once(std::move(software)), {}};
  for (const TrainingTable& table : tables)
    if (!table.scored) validation.not_scored.push_back(&table);
  return validation;
}

TrainingCase read_training_case(const TrainingTable& table, const TrainingRow& row, const ConfigFiles& files,
                                Diagnostics& diagnostics) {
  try {
    return read_case(table, row, files, diagnostics);
  } catch (const InputError& error) {
    throw of_row(error, row);
  }
}

void check_training_rows(const TrainingTable& table, const ConfigFiles& files, Diagnostics& diagnostics) {
  std::set<std::tuple<std::string, int, int, std::string>> known;
  for (const TrainingRow& row : table.rows) {
    if (row.experiment.kind == ConfigValue::Kind::kNull) continue;
    Diagnostics found;
    std::vector<Problem> problems;
    try {
      read_case(table, row, files, found);
      problems.assign(found.problems().begin(), found.problems().end());
    } catch (const InputError& error) {
      problems.assign(error.problems().begin(), error.problems().end());
    }
    for (const Problem& problem : problems) {
      const Location& where = problem.where;
      if (!known.emplace(where.file, where.line, where.column, problem.message).second) continue;
      const Problem named = of_row(problem, row);
      if (named.severity == Severity::kError)
        diagnostics.error(named.where, named.message, named.hint);
      else
        diagnostics.warning(named.where, named.message, named.hint);
    }
  }
}

TrainingPrediction predict(const TrainingCase& one) {
  try {
    Diagnostics memory;
    const bool fits = experiment::check_memory(one.experiment, true, memory);
    Diagnostics diagnostics;
    const experiment::Run run = experiment::run_experiment(one.experiment, true, diagnostics);
    const std::vector<report::Part> parts = report::mean_parts(run.result);
    return {seconds(report::iteration_time(run.result)), run.result.training->mfu,
            parts.empty() ? std::string() : parts.front().name, fits, run.result.training->memory.in_use()};
  } catch (const InputError& error) {
    throw of_row(error, *one.row);
  }
}

}  // namespace orrery::study
