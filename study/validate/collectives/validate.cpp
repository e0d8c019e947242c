// SPDX-License-Identifier: MIT
#include "study/validate/collectives/validate.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <fmt/format.h>

#include "collectives/nccl/constants_config.h"
#include "core/config/quantity_text.h"
#include "experiment/job.h"
#include "experiment/runs/run.h"
#include "study/nccl_tests/launch.h"
#include "study/validate/measured/call.h"

namespace orrery::study {
namespace {

// A table has no options, so what is wrong with its experiment is wrong with the table.
InputError of_table(const InputError& error, const ValidationTable& table) {
  std::vector<Problem> problems;
  for (const Problem& problem : error.problems())
    problems.push_back({problem.severity,
                        table.where,
                        fmt::format("table '{}' cannot be predicted: {}", printable(table.name), problem.message),
                        {}});
  return InputError(std::move(problems));
}

// A word, or a list of words in lower case.
ConfigValue setting_of(const ValidationTable& table, std::string word) {
  return {ConfigValue::Kind::kScalar, table.where, std::move(word), {}, {}};
}

ConfigValue setting_of(const ValidationTable& table, const std::vector<std::string>& words) {
  ConfigValue list{ConfigValue::Kind::kList, table.where, {}, {}, {}};
  for (std::string word : words) {
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    list.items.push_back(setting_of(table, std::move(word)));
  }
  return list;
}

// Algorithms or protocols that NCCL was restricted to.
std::vector<std::string> forced_words(const ValidationTable& table, bool algorithms) {
  std::vector<std::string> words;
  for (const std::string& word : table.forced)
    if (collectives::nccl_algorithm_named(word).has_value() == algorithms) words.push_back(word);
  if (!words.empty() && !table.operation.kind)
    throw InputError(table.where, fmt::format("{} has no {}: each rank sends one message", table.operation.name,
                                              algorithms ? "algorithm" : "protocol"));
  return words;
}

// Launch of a table, the usual one where its source does not say it. The kernels of a profile have no launch.
collectives::LaunchMode launch_of(const ValidationTable& table) {
  if (table.timed == TimedPart::kKernels) return table.launch.value_or(collectives::LaunchMode::kMpi);
  return table.launch.value_or(usual_nccl_launch(table.nodes));
}

MeasuredCall call_of(const ValidationTable& table, Bytes size) {
  MeasuredCall call{table.where, table.cluster, table.nodes, table.gpus_per_node, table.operation, size};
  const auto set = [&](const char* key, const auto& value) {
    call.settings.emplace_back(key, setting_of(table, value));
  };
  set("collectives.library", "nccl");
  set("collectives.launch", std::string(collectives::name_of(launch_of(table))));
  if (const auto words = forced_words(table, true); !words.empty()) set("collectives.algo", words);
  if (const auto words = forced_words(table, false); !words.empty()) set("collectives.proto", words);
  if (table.column == ValidationColumn::kInPlace) set("collectives.in_place", "true");
  if (!table.nccl.empty()) set("collectives.version", table.nccl);
  return call;
}

void predict(const Measured& row, const ConfigFiles& files, const RowPoint& point) {
  const auto& table = table_of<ValidationTable>(row);
  Diagnostics diagnostics;
  const experiment::Experiment experiment = read_table_experiment(table, size_of(row), files, diagnostics);
  const auto simulate = [&]() -> Prediction {
    try {
      const experiment::Run run =
          experiment::run_experiment(experiment, true, diagnostics, point.progress(), experiment::RunFigures::none());
      return {seconds(report::iteration_time(run.result)),
              {},
              {{"generation", std::string(name_of(measured_as(experiment.machine_kind().architecture)))}}};
    } catch (const InputError& error) {
      throw of_table(error, table);
    }
  };
  point.answer([&] { return key_of("validate", experiment, {}); }, simulate);
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

MeasuredRows rows_of(const ValidationTable& table) {
  MeasuredRows rows;
  for (std::size_t number = 0; number < table.rows.size(); ++number) {
    const ValidationRow& row = table.rows[number];
    rows.push_back({&table, number, table.name, rounded(row.bytes), table.where, seconds(row.time)});
    rows.back().facts["bytes"] = row.bytes.count();
  }
  return rows;
}

Bytes size_of(const Measured& row) { return Bytes(row.facts["bytes"].get<std::int64_t>()); }

MeasuredRows in_band(const MeasuredRows& rows, SizeBand band) {
  return rows_where(rows, [band](const Measured& row) { return band_of(size_of(row)) == band; });
}

std::vector<MeasuredGroup> by_table(const MeasuredRows& rows) {
  return grouped(rows, [](const Measured& row) { return row.table->name; });
}

OverallError overall_error(const MeasuredRows& rows) {
  OverallError overall{errors_of_medians(by_table(rows)), {}};
  for (const SizeBand band : kAllSizeBands)
    overall.bands[static_cast<std::size_t>(band)] = errors_of_medians(by_table(in_band(rows, band)));
  return overall;
}

OverallError overall_error_of_labelled(const MeasuredRows& rows) {
  return overall_error(
      rows_where(rows, [](const Measured& row) { return table_of<ValidationTable>(row).launch.has_value(); }));
}

bool is_predicted(const ValidationTable& table) {
  return table.scored || (table.timed == TimedPart::kKernels && !table.cluster.empty());
}

experiment::Experiment read_table_experiment(const ValidationTable& table, Bytes size, const ConfigFiles& files,
                                             Diagnostics& diagnostics) {
  try {
    return read_call_experiment(call_of(table, size), files, diagnostics);
  } catch (const InputError& error) {
    throw of_table(error, table);
  }
}

NcclBenchmark benchmark_of(const ValidationTable& table, const ConfigFiles& files) {
  Diagnostics diagnostics;
  const experiment::Experiment experiment = read_table_experiment(table, table.rows.front().bytes, files, diagnostics);
  return nccl_benchmark(experiment, table.operation, experiment::devices_of_call(experiment));
}

void check_prediction(const ValidationTable& table, const ConfigFiles& files) {
  if (!is_predicted(table)) return;
  const NcclBenchmark benchmark = benchmark_of(table, files);
  try {
    const collectives::NcclConstants constants = collectives::shipped_nccl_constants(files).constants;
    for (const ValidationRow& row : table.rows) predicted_seconds(benchmark, row.bytes, constants);
  } catch (const InputError& error) {
    throw of_table(error, table);
  }
}

void check_collective_table(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                            Diagnostics& diagnostics) {
  const auto table = load_table<ValidationTable>(file, settings, files, diagnostics);
  if (!diagnostics.has_errors()) check_prediction(table, files);
}

Validation validate(std::span<const ValidationTable> tables, const ConfigFiles& files, Points* points) {
  Validation validation;
  MeasuredRows rows;
  for (const ValidationTable& table : tables) {
    if (!is_predicted(table)) validation.left_out.push_back(&table);
    if (is_predicted(table)) std::ranges::move(rows_of(table), std::back_inserter(rows));
  }
  predict_rows(
      rows, [&](std::size_t row, const RowPoint& point) { predict(rows[row], files, point); }, points, "calls");
  validation.scored = rows_where(rows, [](const Measured& row) { return row.table->scored; });
  validation.kernels = rows_where(rows, [](const Measured& row) { return !row.table->scored; });
  validation.constants = fitted_constants(files);
  return validation;
}

}  // namespace orrery::study
