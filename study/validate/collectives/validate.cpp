// SPDX-License-Identifier: MIT
#include "study/validate/collectives/validate.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "collectives/nccl/constants_config.h"
#include "core/assert.h"
#include "study/benchmark/study.h"

namespace orrery::study {
namespace {

std::vector<Bytes> row_sizes(const ValidationTable& table) {
  std::vector<Bytes> sizes;
  for (const ValidationRow& row : table.rows) sizes.push_back(row.bytes);
  return sizes;
}

// What is wrong with the question that a table asks is wrong with the table: it has no options.
InputError of_table(const InputError& error, const ValidationTable& table) {
  std::vector<Problem> problems;
  for (const Problem& problem : error.problems())
    problems.push_back({problem.severity,
                        table.where,
                        fmt::format("table '{}' cannot be predicted: {}", printable(table.name), problem.message),
                        {}});
  return InputError(std::move(problems));
}

CollectiveTable predict(const ValidationTable& table, const ConfigFiles& files) {
  try {
    return study_collective(question_of(table), table.operation, row_sizes(table), files);
  } catch (const InputError& error) {
    throw of_table(error, table);
  }
}

ValidatedTable validate(const ValidationTable& table, const ConfigFiles& files) {
  const CollectiveTable predicted = predict(table, files);
  ORRERY_ASSERT(predicted.rows.size() == table.rows.size());
  ValidatedTable validated{&table, predicted.generation};
  for (std::size_t i = 0; i < table.rows.size(); ++i) validated.rows.push_back({table.rows[i], predicted.rows[i].time});
  return validated;
}

std::vector<FittedConstantText> fitted_constants(const ConfigFiles& files) {
  const collectives::NcclConstantsFile library = collectives::shipped_nccl_constants(files);
  std::vector<FittedConstantText> texts;
  for (const auto& [number, nominal] : library.nominal)
    texts.push_back({std::string(collectives::nccl_constant_entries()[number].path),
                     collectives::nccl_constant_text(number, library.constants.value(number)),
                     collectives::nccl_constant_text(number, nominal)});
  return texts;
}

}  // namespace

std::optional<ErrorSummary> ValidatedTable::summary(std::optional<SizeBand> band) const {
  return summary_of(rows, [band](const ValidatedRow& row) { return !band || band_of(row.measured.bytes) == *band; });
}

OverallError overall_error(std::span<const ValidatedTable> tables) {
  const auto of_medians = [tables](std::optional<SizeBand> band) {
    std::vector<double> medians;
    for (const ValidatedTable& table : tables)
      if (const auto summary = table.summary(band)) medians.push_back(summary->median);
    return summary_of(std::move(medians));
  };
  OverallError overall{of_medians({}), {}};
  for (const SizeBand band : kAllSizeBands) overall.bands[static_cast<std::size_t>(band)] = of_medians(band);
  return overall;
}

OverallError overall_error_of_labelled(std::span<const ValidatedTable> tables) {
  std::vector<ValidatedTable> labelled;
  std::ranges::copy_if(tables, std::back_inserter(labelled),
                       [](const ValidatedTable& table) { return table.table->launch.has_value(); });
  return overall_error(labelled);
}

bool is_predicted(const ValidationTable& table) {
  return table.scored || (table.timed == TimedPart::kKernels && !table.cluster.empty());
}

void check_prediction(const ValidationTable& table, const ConfigFiles& files) {
  if (!is_predicted(table)) return;
  try {
    check_collective(question_of(table), table.operation, row_sizes(table), files);
  } catch (const InputError& error) {
    throw of_table(error, table);
  }
}

CollectiveQuestion question_of(const ValidationTable& table) {
  CollectiveQuestion question;
  question.cluster = table.cluster;
  question.nodes = fmt::format("{}", table.nodes);
  question.devices_per_node = fmt::format("{}", table.gpus_per_node);
  question.library = "nccl";
  if (table.launch) question.launch = collectives::name_of(*table.launch);
  for (const std::string& word : table.forced) {
    std::string& option = collectives::nccl_algorithm_named(word) ? question.algorithm : question.protocol;
    option += (option.empty() ? "" : ",") + word;
  }
  if (table.column == ValidationColumn::kInPlace) question.settings.emplace_back("collectives.in_place=true");
  if (!table.nccl.empty()) question.settings.push_back("collectives.version=" + table.nccl);
  return question;
}

Validation validate(std::span<const ValidationTable> tables, const ConfigFiles& files, const WorkProgress& progress) {
  Validation validation;
  std::uint64_t done = 0;
  for (const ValidationTable& table : tables) {
    if (progress) progress(done++, tables.size());
    if (is_predicted(table))
      (table.scored ? validation.scored : validation.kernels).push_back(validate(table, files));
    else
      validation.left_out.push_back(&table);
  }
  validation.constants = fitted_constants(files);
  return validation;
}

}  // namespace orrery::study
