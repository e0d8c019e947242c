#include "study/validate/training/case.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "experiment/job.h"
#include "experiment/run.h"
#include "report/parts.h"

namespace orrery {
namespace {

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

double measured_seconds(const TrainingTable& table, const TrainingRow& row, const TrainingSpec& training) {
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
  Experiment experiment = read_experiment(row.where.file, row.experiment, files, diagnostics);
  if (!experiment.workload.training)
    throw InputError(row.where, "the workload of a training job is a model", "name one: workload: {model: ...}");
  const double measured = measured_seconds(table, row, *experiment.workload.training);
  return {&table, &row, std::move(experiment), measured};
}

}  // namespace

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
    check_memory(one.experiment, true, memory);
    Diagnostics diagnostics;
    const Run run = run_experiment(one.experiment, true, diagnostics);
    const std::vector<Part> parts = mean_parts(run.result);
    return {seconds(iteration_time(run.result)), run.result.training->mfu,
            parts.empty() ? std::string() : parts.front().name, memory.problems().empty()};
  } catch (const InputError& error) {
    throw of_row(error, *one.row);
  }
}

}  // namespace orrery
