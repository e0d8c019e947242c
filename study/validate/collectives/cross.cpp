// SPDX-License-Identifier: MIT
#include "study/validate/collectives/cross.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "collectives/nccl/constants_config.h"
#include "core/config/number_text.h"
#include "report/table.h"
#include "study/fit/confidence.h"
#include "study/fit/least_squares.h"
#include "study/interval/kinds.h"
#include "study/validate/collectives/validate.h"
#include "study/validate/measured/output.h"

namespace orrery::study {
namespace {

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

std::string worst_size_text(const MeasuredRows& rows) { return percent_text(errors_of(rows), &ErrorSummary::worst); }

std::string tables_text(const MeasuredRows& rows) {
  std::vector<ErrorColumn> columns = error_columns({"median", "p90"});
  columns.push_back({"worst", worst_size_text});
  std::ranges::move(band_columns(), std::back_inserter(columns));
  ErrorTable text({"system", "table"}, std::move(columns));
  for (const MeasuredGroup& table : by_table(rows))
    text.row({table.rows.front().table->system, table.name}, table.rows);
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

// The tables, and their rows by any constants.
class Refitting {
 public:
  Refitting(std::span<const ValidationTable> tables, const ConfigFiles& files)
      : library_(collectives::shipped_nccl_constants(files)), tables_(refit_tables(tables, files)) {
    for (const RefitTable& table : tables_) {
      MeasuredRows rows = rows_of(*table.table);
      for (Measured& row : rows) {
        row.facts["generation"] = std::string(name_of(measured_as(table.benchmark.machine.architecture)));
        row.facts["network"] = std::string(name_of(table.benchmark.machine.network));
        tables_of_rows_.push_back(&table);
        rows_.push_back(std::move(row));
      }
    }
  }

  const collectives::NcclConstantsFile& library() const { return library_; }
  const std::vector<RefitTable>& tables() const { return tables_; }

  MeasuredRows predicted(const collectives::NcclConstants& constants) const {
    MeasuredRows rows = rows_;
    predict_rows(rows, [&](std::size_t row) { return predict(row, constants); });
    return rows;
  }

  // Every row by constants fitted to the tables of other names; from the nominal ones.
  MeasuredRows left_out(const std::function<std::string(const Measured&)>& name_of,
                        const WorkProgress& progress) const {
    const auto fit = [&](const std::string& without) {
      std::vector<RefitTable> others;
      for (std::size_t row = 0; row < rows_.size(); ++row)
        if (rows_[row].number == 0 && name_of(rows_[row]) != without) others.push_back(*tables_of_rows_[row]);
      return others.empty() ? nominal_constants(library_) : refit(others, library_).constants;
    };
    return leave_one_out<collectives::NcclConstants>(
               rows_, name_of, fit,
               [&](std::size_t row, const collectives::NcclConstants& constants) { return predict(row, constants); },
               progress)
        .rows;
  }

 private:
  // In whole picoseconds.
  Prediction predict(std::size_t row, const collectives::NcclConstants& constants) const {
    const double time = predicted_seconds(tables_of_rows_[row]->benchmark, size_of(rows_[row]), constants);
    return {seconds(Duration(std::llround(1e12 * time))), {}};
  }

  collectives::NcclConstantsFile library_;
  std::vector<RefitTable> tables_;
  MeasuredRows rows_;
  std::vector<const RefitTable*> tables_of_rows_;
};

std::vector<MeasuredGroup> by_operation_and_machine(const MeasuredRows& rows) {
  std::vector<MeasuredGroup> families = grouped(rows, [](const Measured& row) {
    const auto& table = table_of<ValidationTable>(row);
    return fmt::format("{}, {}", table.operation.name, table.machine);
  });
  std::ranges::sort(families, {}, &MeasuredGroup::name);
  return families;
}

MeasuredRows scored_rows(const MeasuredRows& rows, bool scored) {
  return rows_where(rows, [scored](const Measured& row) { return row.table->scored == scored; });
}

}  // namespace

std::vector<RefitTable> refit_tables(std::span<const ValidationTable> tables, const ConfigFiles& files) {
  std::vector<RefitTable> measured;
  for (const ValidationTable& table : tables)
    if (is_predicted(table)) measured.push_back({&table, benchmark_of(table, files)});
  return measured;
}

CrossValidation cross_validate(std::span<const ValidationTable> tables, const ConfigFiles& files,
                               const WorkProgress& progress) {
  const Refitting refitting(tables, files);
  const auto system_of = [](const Measured& row) { return row.table->system; };
  const auto generation_of = [](const Measured& row) { return row.facts["generation"].get<std::string>(); };
  CrossValidation cross;
  const Refit all = refit(refitting.tables(), refitting.library());
  cross.constants = fitted_constants(all, refitting.library());
  cross.fitted = scored_rows(refitting.predicted(all.constants), true);
  MeasuredRows by_system = refitting.left_out(system_of, progress);
  std::ranges::stable_sort(by_system, {}, system_of);
  cross.systems = grouped(by_system, system_of).size();
  cross.left_out = scored_rows(by_system, true);
  cross.kernels = scored_rows(by_system, false);
  cross.generation_left_out = scored_rows(refitting.left_out(generation_of, {}), true);
  return cross;
}

std::vector<MeasuredError> errors_of(const CrossValidation& cross) {
  std::vector<MeasuredError> errors;
  for (const MeasuredGroup& group : by_table(cross.left_out)) {
    const auto& table = table_of<ValidationTable>(group.rows.front());
    const std::int64_t ranks = static_cast<std::int64_t>(table.nodes) * table.gpus_per_node;
    for (const SizeBand size : kAllSizeBands) {
      const MeasuredRows band = in_band(group.rows, size);
      for (std::size_t i = 0; i < band.size(); i += every_of(band.size()))
        errors.push_back({table.system,
                          collective_kind(table.operation, size_of(band[i]), table.nodes, ranks,
                                          band[i].facts["network"].get<std::string>(),
                                          band[i].facts["generation"].get<std::string>()),
                          band[i].measured / band[i].predicted - 1});
    }
  }
  return errors;
}

Validated validate_collectives(const ValidationRequest& request) {
  const std::vector<ValidationTable> tables = list_tables<ValidationTable>(request.files);
  const Validation validation = validate(tables, request.files, request.points);
  Validated answer{validation_text(validation), to_json(validation),
                   AccuracySection{"collectives", "Collectives: time of a call, by operation and machine", "sizes",
                                   by_operation_and_machine(validation.scored)}};
  if (request.draws_pictures)
    for (const MeasuredGroup& table : by_table(validation.scored))
      answer.pictures.emplace_back(plot_file_name(table_of<ValidationTable>(table.rows.front())),
                                   validation_plot(table));
  if (!request.cross) return answer;
  const CrossValidation cross = cross_validate(tables, request.files, request.progress_of("systems"));
  const std::vector<MeasuredError> errors = errors_of(cross);
  const Coverage covered = coverage(errors, collective_runs());
  answer.text += cross_validation_text(cross, covered);
  answer.document["cross"] = to_json(cross, covered);
  answer.errors_csv = errors_csv(errors, collective_runs());
  return answer;
}

std::string cross_validation_text(const CrossValidation& cross, const Coverage& coverage) {
  report::Table constants({"constant"}, {"nominal", "shipped", "fitted to all", "standard error"});
  for (const FittedConstantFit& fit : cross.constants)
    constants.row({fit.shipped.name, fit.shipped.nominal, fit.shipped.shipped, fit.fitted,
                   fit.spread ? percent(*fit.spread) : std::string("not determined")});
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
  for (const MeasuredGroup& table : by_table(cross.left_out))
    document["tables"].push_back({{"table", table.name},
                                  {"system", table.rows.front().table->system},
                                  {"error", to_json(errors_of(table.rows))}});
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
