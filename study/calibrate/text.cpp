#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/table.h"
#include "study/calibrate/calibrate.h"

namespace orrery {
namespace {

std::string_view path_of(std::size_t number) { return nccl_constant_entries()[number].path; }

std::string list_of(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ", path_of(numbers[i]));
  return text;
}

std::string heading(const CalibrationQuestion& question, const Calibration& calibration) {
  const CalibrationData& data = calibration.data;
  std::string operations;
  for (const NcclBenchmark& benchmark : data.benchmarks) {
    const std::string name(benchmark.operation.name);
    if (operations.find(name) == std::string::npos) operations += (operations.empty() ? "" : ", ") + name;
  }
  const NcclOptions& options = data.benchmarks.front().options;
  return fmt::format("{} on {}: {} ranks ({} x {} {}), NCCL {}, launch {}, {} rows\n\n", operations,
                     printable(cluster_title(question.machine.cluster)), data.ranks, data.nodes,
                     data.ranks / data.nodes, data.device, to_text(options.version), name_of(options.launch),
                     data.rows.size());
}

std::string remark(const FittedNcclConstant& fitted) {
  if (fitted.gives_way) return fitted.after > fitted.before ? "or more: no row shows it" : "or less: no row shows it";
  return fitted.at_bound ? "at its bound" : "";
}

std::string spread_text(const FittedNcclConstant& fitted) {
  if (fitted.gives_way || !std::isfinite(fitted.spread)) return "-";
  return fitted.spread < 0.001 ? "< 0.1 %" : fmt::format("{:.1f} %", 100 * fitted.spread);
}

std::string fitted_text(const NcclFit& fit) {
  Table table;
  table.column("determined", Table::Align::kLeft);
  for (const char* column : {"before", "after", "std. error"}) table.column(column);
  table.column("", Table::Align::kLeft);
  for (const FittedNcclConstant& fitted : fit.fitted)
    table.row({std::string(path_of(fitted.number)), nccl_constant_text(fitted.number, fitted.before),
               nccl_constant_text(fitted.number, fitted.after), spread_text(fitted), remark(fitted)});
  std::string text = table.text();
  for (const auto& [a, b] : fit.correlated)
    text += fmt::format("  {} and {} are hard to tell apart: what they come to together is surer than each\n",
                        path_of(a), path_of(b));
  return text;
}

std::string reason(const UnfittedNcclConstant& unfitted) {
  switch (unfitted.reason) {
    case UnfittedReason::kNotShown:
      return "no row depends on it";
    case UnfittedReason::kTogether:
      return "acts as " + list_of(unfitted.with);
    case UnfittedReason::kUncertain:
      return "the rows leave it open by more than half of it";
  }
  return {};
}

std::string unfitted_text(const NcclFit& fit) {
  if (fit.unfitted.empty()) return {};
  Table table;
  table.column("not determined", Table::Align::kLeft);
  table.column("stays at");
  table.column("", Table::Align::kLeft);
  for (const UnfittedNcclConstant& unfitted : fit.unfitted)
    table.row({std::string(path_of(unfitted.number)),
               nccl_constant_text(unfitted.number, fit.constants.value(unfitted.number)), reason(unfitted)});
  return "\n" + table.text();
}

using Predicted = double CalibratedRow::*;

std::optional<ErrorSummary> error_of(const Calibration& calibration, Predicted predicted,
                                     std::optional<SizeBand> band) {
  std::vector<double> errors;
  for (const CalibratedRow& row : calibration.rows)
    if (!band || band_of(row.measured.bytes) == *band)
      errors.push_back(std::abs(row.*predicted / row.measured.seconds - 1));
  return summary_of(std::move(errors));
}

void add_errors(const Calibration& calibration, const std::string& name, std::optional<SizeBand> band, Table& table) {
  const auto before = error_of(calibration, &CalibratedRow::before, band);
  if (!before) return;
  std::vector<std::string> cells = {name, fmt::format("{}", before->rows)};
  const auto add = [&](Predicted predicted) {
    const auto error = error_of(calibration, predicted, band);
    cells.push_back(fmt::format("{:.1f} %", 100 * error->median));
    cells.push_back(fmt::format("{:.1f} %", 100 * error->ninetieth));
  };
  add(&CalibratedRow::before);
  add(&CalibratedRow::after);
  if (calibration.held_out) add(&CalibratedRow::without_it);
  table.row(std::move(cells));
}

std::string errors_text(const Calibration& calibration) {
  Table table;
  table.column("error", Table::Align::kLeft);
  for (const char* column : {"rows", "before", "p90", "after", "p90"}) table.column(column);
  if (calibration.held_out)
    for (const char* column : {"held out", "p90"}) table.column(column);
  add_errors(calibration, "all", std::nullopt, table);
  for (const SizeBand band : kAllSizeBands) add_errors(calibration, std::string(name_of(band)), band, table);
  std::string text = "\n";
  text += table.text();
  text += "  median and 90th percentile of |predicted / measured - 1|";
  text += calibration.held_out ? "; held out: each half of the rows, taken alternately, by a fit to the other half\n"
                               : "\n";
  return text;
}

}  // namespace

std::string calibration_text(const CalibrationQuestion& question, const Calibration& calibration) {
  return heading(question, calibration) + fitted_text(calibration.fit) + unfitted_text(calibration.fit) +
         errors_text(calibration);
}

}  // namespace orrery
