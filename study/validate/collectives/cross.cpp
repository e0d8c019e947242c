// SPDX-License-Identifier: MIT
#include "study/validate/collectives/cross.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "collectives/nccl/constants_config.h"
#include "core/in_parallel.h"
#include "report/table.h"
#include "study/benchmark/interval.h"
#include "study/calibrate/fit.h"
#include "study/fit/least_squares.h"
#include "study/errors.h"
#include "study/validate/collectives/validate.h"

namespace orrery::study {
namespace {

std::vector<RefitTable> refit_tables(std::span<const ValidationTable> tables, const ConfigFiles& files) {
  std::vector<RefitTable> measured;
  for (const ValidationTable& table : tables) {
    if (!is_predicted(table)) continue;
    const CollectiveQuestion question = question_of(table);
    Diagnostics diagnostics;
    const experiment::Experiment experiment = read_question(question, table.operation, files, diagnostics);
    measured.push_back(
        {&table, nccl_benchmark(experiment, table.operation, benchmark_devices(question, experiment.fabric))});
  }
  return measured;
}

ValidatedTable predict(const RefitTable& table, const collectives::NcclConstants& constants) {
  ValidatedTable validated{table.table, table.benchmark.machine.architecture};
  for (const ValidationRow& row : table.table->rows)
    validated.rows.push_back(
        {row, Duration(std::llround(1e12 * predicted_seconds(table.benchmark, row.bytes, constants)))});
  return validated;
}

// To three digits, which is more than the tables determine.
std::vector<FittedConstantFit> fitted_constants(const Refit& all, const collectives::NcclConstantsFile& library) {
  std::vector<FittedConstantFit> fits;
  for (std::size_t i = 0; i < library.nominal.size(); ++i) {
    const auto& [number, nominal] = library.nominal[i];
    const auto text = [&, n = number](double value) {
      return collectives::nccl_constant_text(n, rounded_to_digits(value, 3));
    };
    fits.push_back({{std::string(collectives::nccl_constant_entries()[number].path),
                     text(library.constants.value(number)), text(nominal)},
                    text(all.constants.value(number)),
                    all.determined[i] ? std::optional(all.spread[i]) : std::nullopt});
  }
  return fits;
}

std::string tables_text(std::span<const ValidatedTable> tables) {
  report::Table text;
  text.column("system", report::Table::Align::kLeft);
  text.column("table", report::Table::Align::kLeft);
  for (const char* heading : {"median", "p90", "worst"}) text.column(heading);
  for (const SizeBand band : kAllSizeBands) text.column(std::string(name_of(band)));
  for (const ValidatedTable& table : tables) {
    const auto summary = table.summary();
    std::vector<std::string> cells = {table.table->system, table.table->name};
    for (double ErrorSummary::*which : {&ErrorSummary::median, &ErrorSummary::ninetieth, &ErrorSummary::worst})
      cells.push_back(percent_text(summary, which));
    for (const SizeBand band : kAllSizeBands) cells.push_back(percent_text(table.summary(band), &ErrorSummary::median));
    text.row(std::move(cells));
  }
  return text.text();
}

// Two tables of like systems differ by so much (medians of 5 to 28 %): the error to expect of a measurement.
constexpr double kExpectedError = 0.05;
// Before any data, a constant is known to a factor of about e; one that is nominally nothing, to tens of microseconds.
constexpr double kPriorOfShipped = 1;
constexpr double kScaleOfNothing = 30e-6;
// Beyond as many expected errors a row counts by its size, not its square.
constexpr double kLossScale = 0.6;

// Neighbouring sizes say much the same: of more rows every second or third takes part.
constexpr std::size_t kMostRowsOfBand = 6;
std::size_t every_of(std::size_t rows) {
  return std::max<std::size_t>(1, (rows + kMostRowsOfBand - 1) / kMostRowsOfBand);
}

// A fit ends where a step gains less than this part of its cost.
constexpr double kSmallGain = 1e-5;

struct Row {
  const RefitTable* table;
  Bytes bytes;
  double measured;  // seconds
  double weight;
};

std::vector<Row> rows_of(std::span<const RefitTable> tables) {
  std::vector<Row> rows;
  for (const RefitTable& table : tables) {
    std::array<std::vector<Row>, kAllSizeBands.size()> bands;
    for (const ValidationRow& row : table.table->rows) {
      const SizeBand band = band_of(row.bytes);
      if (band == SizeBand::kSmall && !table.table->launch) continue;
      bands[static_cast<std::size_t>(band)].push_back({&table, row.bytes, seconds(row.time), 1});
    }
    for (std::vector<Row>& band : bands) {
      const std::size_t every = every_of(band.size());
      const std::size_t taken = (band.size() + every - 1) / every;
      for (std::size_t i = 0; i < band.size(); i += every) {
        band[i].weight = 1 / (kExpectedError * std::sqrt(static_cast<double>(taken)));
        rows.push_back(band[i]);
      }
    }
  }
  return rows;
}

double most_of(collectives::ConstantKind kind) {
  return kind == collectives::ConstantKind::kShare ? 1 : std::numeric_limits<double>::infinity();
}

collectives::NcclConstants with(collectives::NcclConstants constants, const collectives::NcclConstantList& list,
                                std::span<const double> values) {
  for (std::size_t i = 0; i < list.size(); ++i) constants.set(list[i].first, values[i]);
  return constants;
}

collectives::NcclConstants nominal_constants(const collectives::NcclConstantsFile& library) {
  collectives::NcclConstants constants = library.constants;
  for (const auto& [number, nominal] : library.nominal) constants.set(number, nominal);
  return constants;
}

// Every table by constants fitted to those of another key; in the order of the keys.
std::vector<ValidatedTable> predict_left_out(std::span<const RefitTable> measured,
                                             const collectives::NcclConstantsFile& library,
                                             const std::function<std::string(const RefitTable&)>& key,
                                             const std::function<void(std::uint64_t)>& progress) {
  std::set<std::string> keys;
  for (const RefitTable& table : measured) keys.insert(key(table));
  const std::vector<std::string> names(keys.begin(), keys.end());
  std::vector<collectives::NcclConstants> without(names.size());
  in_parallel(
      names.size(), hardware_threads(),
      [&](std::size_t i) {
        std::vector<RefitTable> others;
        for (const RefitTable& table : measured)
          if (key(table) != names[i]) others.push_back(table);
        without[i] = others.empty() ? nominal_constants(library) : refit(others, library).constants;
      },
      [&](std::uint64_t done, std::uint64_t) {
        if (progress) progress(done);
      });
  std::vector<ValidatedTable> predicted;
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const RefitTable& table : measured)
      if (key(table) == names[i]) predicted.push_back(predict(table, without[i]));
  return predicted;
}

}  // namespace

CrossValidation cross_validate(std::span<const ValidationTable> tables, const ConfigFiles& files,
                               const WorkProgress& progress) {
  const collectives::NcclConstantsFile library = collectives::shipped_nccl_constants(files);
  const std::vector<RefitTable> measured = refit_tables(tables, files);
  std::set<std::string> systems;
  for (const RefitTable& table : measured) systems.insert(table.table->system);
  CrossValidation cross;
  cross.systems = systems.size();
  if (progress) progress(0, systems.size() + 1);
  const Refit all = refit(measured, library);
  cross.constants = fitted_constants(all, library);
  for (const RefitTable& table : measured)
    if (table.table->scored) cross.fitted.push_back(predict(table, all.constants));
  const auto system_of = [](const RefitTable& table) { return table.table->system; };
  const auto generation_of = [](const RefitTable& table) {
    return std::string(name_of(table.benchmark.machine.architecture));
  };
  const auto another = [&](std::uint64_t done) {
    if (progress) progress(std::min<std::uint64_t>(done + 1, systems.size()), systems.size() + 1);
  };
  for (ValidatedTable& table : predict_left_out(measured, library, system_of, another))
    (table.table->scored ? cross.left_out : cross.kernels).push_back(std::move(table));
  for (ValidatedTable& table : predict_left_out(measured, library, generation_of, {}))
    if (table.table->scored) cross.generation_left_out.push_back(std::move(table));
  return cross;
}

std::vector<MeasuredError> errors_of(const CrossValidation& cross) {
  std::vector<MeasuredError> errors;
  for (const ValidatedTable& validated : cross.left_out) {
    const ValidationTable& table = *validated.table;
    std::array<std::vector<const ValidatedRow*>, kAllSizeBands.size()> bands;
    for (const ValidatedRow& row : validated.rows)
      bands[static_cast<std::size_t>(band_of(row.measured.bytes))].push_back(&row);
    for (const std::vector<const ValidatedRow*>& band : bands)
      for (std::size_t i = 0; i < band.size(); i += every_of(band.size())) {
        const ValidatedRow& row = *band[i];
        errors.push_back(
            {table.system,
             collective_kind(table.operation, row.measured.bytes, table.nodes,
                             static_cast<std::int64_t>(table.nodes) * table.gpus_per_node, validated.generation),
             seconds(row.measured.time) / seconds(row.predicted) - 1});
      }
  }
  return errors;
}

std::string cross_validation_text(const CrossValidation& cross, const Coverage& coverage) {
  report::Table constants;
  constants.column("constant", report::Table::Align::kLeft);
  for (const char* heading : {"nominal", "shipped", "fitted to all", "standard error"}) constants.column(heading);
  for (const FittedConstantFit& fit : cross.constants)
    constants.row({fit.shipped.name, fit.shipped.nominal, fit.shipped.shipped, fit.fitted,
                   fit.spread ? fmt::format("{:.1f} %", 100 * *fit.spread) : std::string("not determined")});
  return fmt::format("\nThe {} fitted constants, fitted to the tables of all {} systems:\n\n", cross.constants.size(),
                     cross.systems) +
         constants.text() + "\n" + overall_text("fitted to all", overall_error(cross.fitted)) +
         overall_text("of these, where the launch is stated", overall_error_of_labelled(cross.fitted)) +
         "\nEach system by constants fitted to the others, from nominal ones:\n\n" + tables_text(cross.left_out) +
         "\n" + overall_text("one system left out", overall_error(cross.left_out)) +
         overall_text("of these, where the launch is stated", overall_error_of_labelled(cross.left_out)) + "\n" +
         groups_text(cross.left_out) + "\n" + coverage_text(coverage) + "\nOne generation of GPUs left out:\n\n" +
         groups_text(cross.generation_left_out) + "\nKernels of profiles, likewise:\n\n" + tables_text(cross.kernels);
}

nlohmann::ordered_json to_json(const CrossValidation& cross, const Coverage& coverage) {
  nlohmann::ordered_json document = {{"systems", cross.systems}};
  document["constants"] = nlohmann::ordered_json::array();
  for (const FittedConstantFit& fit : cross.constants) {
    nlohmann::ordered_json spread = nullptr;
    if (fit.spread) spread = *fit.spread;
    document["constants"].push_back({{"name", fit.shipped.name},
                                     {"nominal", fit.shipped.nominal},
                                     {"shipped", fit.shipped.shipped},
                                     {"fitted", fit.fitted},
                                     {"spread", spread}});
  }
  document["fitted_to_all"] = to_json(overall_error(cross.fitted));
  document["left_out"] = to_json(overall_error(cross.left_out));
  document["left_out_by_group"] = groups_json(cross.left_out);
  document["generation_left_out_by_group"] = groups_json(cross.generation_left_out);
  document["intervals"] = to_json(coverage);
  document["left_out_with_launch"] = to_json(overall_error_of_labelled(cross.left_out));
  document["tables"] = nlohmann::ordered_json::array();
  for (const ValidatedTable& table : cross.left_out)
    document["tables"].push_back(
        {{"table", table.table->name}, {"system", table.table->system}, {"error", to_json(table.summary())}});
  return document;
}

Refit refit(std::span<const RefitTable> tables, const collectives::NcclConstantsFile& library) {
  const std::vector<Row> rows = rows_of(tables);
  FitProblem problem;
  for (const auto& [number, nominal] : library.nominal) {
    const collectives::NcclConstantEntry& entry = collectives::nccl_constant_entries()[number];
    problem.constants.push_back({std::string(entry.path), nominal, 0, most_of(entry.kind), kPriorOfShipped,
                                 nominal == 0 ? kScaleOfNothing : 0});
  }
  problem.residual_count = rows.size();
  problem.loss_scale = kLossScale;
  problem.small_gain = kSmallGain;
  problem.residuals = [&](std::span<const double> values, std::span<double> residuals) {
    const collectives::NcclConstants constants = with(library.constants, library.nominal, values);
    for (std::size_t i = 0; i < rows.size(); ++i)
      residuals[i] = rows[i].weight *
                     std::log(predicted_seconds(rows[i].table->benchmark, rows[i].bytes, constants) / rows[i].measured);
  };
  const FitResult fit = fit_constants(problem);
  return {with(library.constants, library.nominal, fit.values), fit.determined, fit.spread};
}

}  // namespace orrery::study
