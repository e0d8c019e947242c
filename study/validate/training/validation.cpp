// SPDX-License-Identifier: MIT
#include "study/validate/training/validation.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "experiment/job.h"
#include "experiment/runs/run.h"
#include "report/parts.h"
#include "study/points/shared.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/spec/software.h"

namespace orrery::study {
namespace {

// The rows of scored tables, not read yet.
MeasuredRows scored_rows(std::span<const TrainingTable> tables) {
  MeasuredRows rows;
  for (const TrainingTable& table : tables)
    for (std::size_t number = 0; table.scored && number < table.rows.size(); ++number) {
      const TrainingRow& row = table.rows[number];
      rows.push_back({&table, number, table.family, row.label, row.where});
    }
  return rows;
}

// The software that rows ran with, by name and architecture.
std::vector<FittedSoftware> software_of(const MeasuredRows& rows, const ConfigFiles& files) {
  const auto name_of = [](const Measured& row) {
    return fmt::format("{} {}", row.facts["software"].get<std::string>(), row.facts["architecture"].get<std::string>());
  };
  std::vector<FittedSoftware> software;
  for (const MeasuredGroup& group : grouped(rows, name_of)) {
    Diagnostics diagnostics;
    const TrainingCase one = read_training_case(group.rows.front(), files, diagnostics);
    software.push_back({one.software(), one.architecture(), workload::fitted_on(one.software(), one.architecture()),
                        one.model_kind()});
  }
  std::ranges::sort(software, {},
                    [](const FittedSoftware& one) { return std::pair(one.software.name, one.architecture); });
  return software;
}

// Limits of an iteration's time: anything else is a wrong unit.
constexpr double kLeastSeconds = 1e-6, kMostSeconds = 1e6;

// Problem of a row: where it says so, or else at the row, whose label it names.
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

// Rank of a table whose memory was published.
const workload::MemoryNeed& need_of(const TrainingTable& table, const std::vector<workload::MemoryNeed>& needs) {
  if (table.allocated_on == TrainingRank::kLast) return needs.back();
  return *std::ranges::max_element(needs, {}, &workload::MemoryNeed::total);
}

// Adds what is predicted of the framework's allocator where that was published. Nothing is simulated for it.
void add_allocated(const TrainingTable& table, const ConfigFiles& files, TrainingValidation& validation) {
  for (std::size_t number = 0; number < table.rows.size(); ++number) {
    const TrainingRow& row = table.rows[number];
    if (!row.allocated.rest && !row.allocated.peak) continue;
    Diagnostics diagnostics;
    const TrainingCase one = read_training_case(table, row, files, diagnostics);
    const std::vector<workload::MemoryNeed> needs = workload::memory_needs(one.training());
    const workload::MemoryNeed& need = need_of(table, needs);
    const auto add = [&](MeasuredRows& rows, std::optional<Bytes> measured, Bytes predicted) {
      if (!measured) return;
      Measured found{&table, number, table.family, row.label, row.where};
      found.measured = static_cast<double>(measured->count());
      found.predicted = static_cast<double>(predicted.count());
      rows.push_back(std::move(found));
    };
    add(validation.at_rest, row.allocated.rest, need.rest());
    add(validation.at_peak, row.allocated.peak, need.total());
  }
}

// Prediction of the simulation for a job, whatever was measured of it.
struct SimulatedStep {
  double seconds = 0;  // of an iteration
  double mfu = 0;
  std::string bound_by;
  bool fits_memory = true;
  Bytes in_use;  // memory
};

SimulatedStep simulate(const experiment::Experiment& experiment, const experiment::RunProgress& progress) {
  Diagnostics memory;
  const bool fits = experiment::check_memory(experiment, true, memory);
  Diagnostics diagnostics;
  const experiment::RunFigures figures{.parts = true, .path = true, .passes = false};
  const report::Result result = experiment::run_experiment(experiment, true, diagnostics, progress, figures).result;
  return {seconds(report::iteration_time(result)), result.training->mfu,
          result.path.empty() ? std::string() : result.path.front().what, fits, result.training->memory.in_use()};
}

Prediction prediction_of(const TrainingCase& one, const SimulatedStep& step) {
  Prediction prediction{step.seconds,
                        one.measured,
                        {{"software", one.software().name},
                         {"architecture", std::string(name_of(one.architecture()))},
                         {"mfu", step.mfu},
                         {"bound_by", step.bound_by},
                         {"fits_memory", step.fits_memory}}};
  if (one.row->memory) {
    prediction.facts["measured_memory_bytes"] = one.row->memory->count();
    prediction.facts["predicted_memory_bytes"] = step.in_use.count();
  }
  return prediction;
}

}  // namespace

std::vector<MeasuredGroup> training_families(const MeasuredRows& rows) {
  std::vector<MeasuredGroup> families = grouped(rows, [](const Measured& row) { return row.family; });
  std::ranges::stable_sort(families, {}, [](const MeasuredGroup& family) { return table_of(family).collection; });
  return families;
}

const TrainingTable& table_of(const MeasuredGroup& family) { return table_of<TrainingTable>(family.rows.front()); }

std::vector<std::string> software_of(const MeasuredGroup& family) {
  std::vector<std::string> names;
  for (const Measured& row : family.rows)
    if (std::string name = row.facts["software"]; std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  return names;
}

TrainingValidation validate_training(std::span<const TrainingTable> tables, const ConfigFiles& files, Points* points) {
  TrainingValidation validation{scored_rows(tables), {}, {}, {}, {}};
  SharedValues<SimulatedStep> steps;  // of rows that measured the same job, as often as it was run
  predict_rows(
      validation.rows,
      [&](std::size_t i, const RowPoint& point) {
        Diagnostics diagnostics;
        const TrainingCase one = read_training_case(validation.rows[i], files, diagnostics);
        const auto key = [&] {
          return key_of(fmt::format("validate {} {}", one.measured, one.row->memory.value_or(Bytes(0)).count()),
                        one.experiment, {});
        };
        const auto simulated = [&] { return simulate(one.experiment, point.progress()); };
        point.answer(key, [&] {
          try {
            return prediction_of(one, steps.get(key_of("step", one.experiment, {}), simulated));
          } catch (const InputError& error) {
            throw of_row(error, *one.row);
          }
        });
      },
      points, "jobs");
  validation.software = software_of(validation.rows, files);
  for (const TrainingTable& table : tables)
    if (!table.scored) validation.not_scored.push_back(&table);
  for (const TrainingTable& table : tables) add_allocated(table, files, validation);
  return validation;
}

TrainingCase read_training_case(const Measured& row, const ConfigFiles& files, Diagnostics& diagnostics) {
  const auto& table = table_of<TrainingTable>(row);
  return read_training_case(table, table.rows[row.number], files, diagnostics);
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

void check_training_table(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                          Diagnostics& diagnostics) {
  const auto table = load_table<TrainingTable>(file, settings, files, diagnostics);
  if (!diagnostics.has_errors()) check_training_rows(table, files, diagnostics);
}

Prediction predict(const TrainingCase& one, const experiment::RunProgress& progress) {
  try {
    return prediction_of(one, simulate(one.experiment, progress));
  } catch (const InputError& error) {
    throw of_row(error, *one.row);
  }
}

}  // namespace orrery::study
