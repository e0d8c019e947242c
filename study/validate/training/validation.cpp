#include "study/validate/training/validation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/assert.h"
#include "study/in_parallel.h"
#include "workload/training/spec/software.h"

namespace orrery {
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

// In the order in which their first tables come.
std::vector<ValidatedTrainingFamily> by_family(std::vector<ValidatedTrainingRow> rows) {
  std::vector<ValidatedTrainingFamily> families;
  for (ValidatedTrainingRow& row : rows) {
    auto family = std::ranges::find(families, row.table->family, &ValidatedTrainingFamily::name);
    if (family == families.end())
      family = families.insert(
          family, {row.table->family, row.table->title.empty() ? row.table->family : row.table->title, {}});
    family->rows.push_back(std::move(row));
  }
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

}  // namespace

TrainingErrors training_errors(std::span<const ValidatedTrainingRow> rows) {
  ORRERY_ASSERT(!rows.empty());
  TrainingErrors errors;
  std::vector<double> absolute;
  for (const ValidatedTrainingRow& row : rows) {
    absolute.push_back(std::abs(row.error()));
    errors.mean += absolute.back() / static_cast<double>(rows.size());
    errors.signed_mean += row.error() / static_cast<double>(rows.size());
  }
  errors.absolute = *summary_of(std::move(absolute));
  return errors;
}

TrainingErrors ValidatedTrainingFamily::errors() const { return training_errors(rows); }

const ValidatedTrainingRow& ValidatedTrainingFamily::worst() const {
  return *std::ranges::max_element(rows, {}, [](const ValidatedTrainingRow& row) { return std::abs(row.error()); });
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
                                     const ValidationProgress& progress) {
  const std::vector<ScoredRow> scored = scored_rows(tables);
  std::vector<ValidatedTrainingRow> rows(scored.size());
  std::vector<FittedSoftware> software(scored.size());
  in_parallel(
      scored.size(), hardware_threads(),
      [&](std::size_t i) {
        Diagnostics diagnostics;
        const TrainingCase one = read_training_case(*scored[i].table, *scored[i].row, files, diagnostics);
        rows[i] = {one.table, one.row, one.software().name, one.measured, predict(one)};
        software[i] = {one.software(), one.architecture(), fitted_on(one.software(), one.architecture()),
                       one.model_kind()};
      },
      progress);
  TrainingValidation validation{by_family(std::move(rows)), each_once(std::move(software)), {}};
  for (const TrainingTable& table : tables)
    if (!table.scored) validation.not_scored.push_back(&table);
  return validation;
}

}  // namespace orrery
