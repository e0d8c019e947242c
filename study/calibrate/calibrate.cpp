// SPDX-License-Identifier: MIT
#include "study/calibrate/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/config/text.h"
#include "report/table.h"

namespace orrery::study {
namespace {

// Halves with fewer rows say little about the other half.
constexpr std::size_t kLeastHeldOut = 4;
// A measurement may be off by so much before its link is called too slow.
constexpr double kTooSlow = 1.05;
constexpr double kNoCap = 1e15;
// Limits to the growth of a median error and to the change of a constant that need no comment.
constexpr double kWorse = 0.02;
constexpr double kOdd = 5;

std::array<std::vector<CalibrationRow>, 2> every_other(const CalibrationData& data) {
  std::array<std::vector<CalibrationRow>, 2> halves;
  for (std::size_t i = 0; i < data.rows.size(); ++i) halves[i % 2].push_back(data.rows[i]);
  return halves;
}

// The least that the library could take: no latencies but those of the links, no caps, nothing lost.
collectives::NcclConstants limits_of(collectives::NcclConstants constants) {
  for (std::size_t i = 0; i < collectives::kNcclConstants; ++i) {
    const collectives::ConstantKind kind = collectives::nccl_constant_entries()[i].kind;
    if (kind == collectives::ConstantKind::kLatency) constants.set(i, 0);
    if (kind == collectives::ConstantKind::kRate) constants.set(i, kNoCap);
    if (kind == collectives::ConstantKind::kShare) constants.set(i, 1);
  }
  return constants;
}

// Warns if the cluster's links, as configured, leave too little for any library.
void warn_of_links(const std::string& log, const CalibrationData& data, Diagnostics& diagnostics) {
  const collectives::NcclConstants limits = limits_of(data.constants);
  const CalibrationRow* worst = nullptr;
  double most = kTooSlow;
  std::size_t count = 0;
  for (const CalibrationRow& row : data.rows) {
    const double ratio = predicted_seconds(data, row, limits) / row.seconds;
    if (ratio > kTooSlow) ++count;
    if (ratio <= most) continue;
    most = ratio;
    worst = &row;
  }
  if (worst == nullptr) return;
  diagnostics.warning(
      {log},
      fmt::format(
          "{} of {} rows are faster than the links of the cluster are: {} take {:.1f} times as long as measured", count,
          data.rows.size(), rounded(worst->bytes), most),
      "their latencies, bandwidths and efficiencies are the cluster's own, which this does not fit: `orrery cluster "
      "show`");
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

// The fit weighs all rows alike, so those that no constants meet may spoil others.
void warn_of_worse(const std::string& log, const Calibration& calibration, Diagnostics& diagnostics) {
  for (const SizeBand band : kAllSizeBands) {
    const auto before = error_of(calibration, &CalibratedRow::before, band);
    const auto after = error_of(calibration, &CalibratedRow::after, band);
    if (!before || after->median <= before->median + kWorse) continue;
    diagnostics.warning(
        {log},
        fmt::format("rows of {} are predicted worse than before: {} off in the median, not {}", name_of(band),
                    percent(after->median), percent(before->median)),
        "some rows of the log agree with no constants: leave them out, or use the cluster as it was for "
        "such sizes");
  }
}

// A constant that is several times what it was tells of another launch, release or network rather than of itself.
void warn_of_odd(const std::string& log, const NcclFit& fit, Diagnostics& diagnostics) {
  for (const FittedNcclConstant& fitted : fit.fitted) {
    if (fitted.before == 0 || fitted.after == 0) continue;
    const double ratio = fitted.after / fitted.before;
    if (ratio < kOdd && ratio > 1 / kOdd) continue;
    diagnostics.warning(
        {log},
        fmt::format("{} comes out as {}, {:.3g} times what it was",
                    collectives::nccl_constant_entries()[fitted.number].path,
                    collectives::nccl_constant_text(fitted.number, fitted.after), ratio),
        "check --launch, --version and --cluster, and the log for rows that are off; otherwise the time "
        "is spent on something that the model has not got");
  }
}

// A matrix stays where it is, however far away this file is written.
void make_paths_absolute(ConfigValue& value) {
  for (ConfigEntry& entry : value.entries) {
    make_paths_absolute(entry.value);
    if (entry.key != "topology_matrix" || entry.value.kind != ConfigValue::Kind::kScalar) continue;
    const std::filesystem::path path = path_from(entry.value.where.file, entry.value.scalar);
    entry.value.scalar = std::filesystem::absolute(path).lexically_normal().string();
  }
}

std::string_view path_of(std::size_t number) { return collectives::nccl_constant_entries()[number].path; }

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
  const collectives::NcclOptions& options = data.benchmarks.front().options;
  return fmt::format("{} on {}: {} ranks ({} x {} {}), NCCL {}, launch {}, {} rows\n\n", operations,
                     printable(cluster_title(question.machine.cluster)), data.ranks, data.nodes,
                     data.ranks / data.nodes, data.device, collectives::to_text(options.version),
                     collectives::name_of(options.launch), data.rows.size());
}

std::string remark(const FittedNcclConstant& fitted) {
  if (fitted.gives_way) return fitted.after > fitted.before ? "or more: no row shows it" : "or less: no row shows it";
  return fitted.at_bound ? "at its bound" : "";
}

std::string spread_text(const FittedNcclConstant& fitted) {
  if (fitted.gives_way || !std::isfinite(fitted.spread)) return "-";
  return fitted.spread < 0.001 ? "< 0.1 %" : percent(fitted.spread);
}

std::string fitted_text(const NcclFit& fit) {
  report::Table table({"determined"}, {"before", "after", "std. error"}, {""});
  for (const FittedNcclConstant& fitted : fit.fitted)
    table.row({std::string(path_of(fitted.number)), collectives::nccl_constant_text(fitted.number, fitted.before),
               collectives::nccl_constant_text(fitted.number, fitted.after), spread_text(fitted), remark(fitted)});
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
  report::Table table({"not determined"}, {"stays at"}, {""});
  for (const UnfittedNcclConstant& unfitted : fit.unfitted)
    table.row({std::string(path_of(unfitted.number)),
               collectives::nccl_constant_text(unfitted.number, fit.constants.value(unfitted.number)),
               reason(unfitted)});
  return "\n" + table.text();
}

void add_errors(const Calibration& calibration, const std::string& name, std::optional<SizeBand> band,
                report::Table& table) {
  const auto before = error_of(calibration, &CalibratedRow::before, band);
  if (!before) return;
  std::vector<std::string> cells = {name, fmt::format("{}", before->rows)};
  const auto add = [&](Predicted predicted) {
    const auto error = error_of(calibration, predicted, band);
    cells.push_back(percent(error->median));
    cells.push_back(percent(error->ninetieth));
  };
  add(&CalibratedRow::before);
  add(&CalibratedRow::after);
  if (calibration.held_out) add(&CalibratedRow::without_it);
  table.row(std::move(cells));
}

std::string errors_text(const Calibration& calibration) {
  report::Table table({"error"}, {"rows", "before", "p90", "after", "p90"});
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

Calibration calibrate(const CalibrationQuestion& question, const ConfigFiles& files, const WorkProgress& progress) {
  constexpr std::uint64_t kFits = 3;  // to all rows and to each half
  const auto tell = [&](std::uint64_t done) {
    if (progress) progress(done, kFits);
  };
  Diagnostics diagnostics;
  Calibration calibration;
  calibration.data = read_calibration(question, files, diagnostics);
  const CalibrationData& data = calibration.data;
  warn_of_links(question.log, data, diagnostics);
  tell(0);
  calibration.fit = fit_nccl_constants(data, data.rows);
  if (calibration.fit.fitted.empty())
    throw InputError({question.log}, fmt::format("its {} rows determine no constant", data.rows.size()),
                     "a sweep over sizes does: -b 8 -e 8G -f 2");
  for (const CalibrationRow& row : data.rows)
    calibration.rows.push_back({row, predicted_seconds(data, row, data.constants),
                                predicted_seconds(data, row, calibration.fit.constants), 0});
  const auto halves = every_other(data);
  tell(1);
  calibration.held_out = halves[1].size() >= kLeastHeldOut;
  for (std::size_t half = 0; calibration.held_out && half < halves.size(); ++half) {
    const NcclFit fit = fit_nccl_constants(data, halves[1 - half]);
    for (std::size_t i = half; i < data.rows.size(); i += 2)
      calibration.rows[i].without_it = predicted_seconds(data, data.rows[i], fit.constants);
    tell(2 + half);
  }
  warn_of_worse(question.log, calibration, diagnostics);
  warn_of_odd(question.log, calibration.fit, diagnostics);
  calibration.warnings.assign(diagnostics.problems().begin(), diagnostics.problems().end());
  return calibration;
}

std::string calibrated_cluster(const Calibration& calibration, const std::string& from) {
  ConfigValue cluster = calibration.data.cluster;
  make_paths_absolute(cluster);
  std::map<std::size_t, double> constants(calibration.data.measured.begin(), calibration.data.measured.end());
  for (const FittedNcclConstant& fitted : calibration.fit.fitted) constants[fitted.number] = fitted.after;
  std::erase_if(cluster.entries, [](const ConfigEntry& entry) { return entry.key == "nccl"; });
  const ConfigFiles none{{}};  // the constants are in none
  Diagnostics sound;
  for (const auto& [number, value] : constants)
    set_value(cluster, fmt::format("nccl.{}", collectives::nccl_constant_entries()[number].path),
              {ConfigValue::Kind::kScalar, {}, collectives::nccl_constant_text(number, value), {}, {}}, none, sound);
  return fmt::format("# {}\n", printable(from, 2000)) + yaml_text(cluster);
}

std::string calibration_text(const CalibrationQuestion& question, const Calibration& calibration) {
  return heading(question, calibration) + fitted_text(calibration.fit) + unfitted_text(calibration.fit) +
         errors_text(calibration);
}

nlohmann::ordered_json calibration_json(const CalibrationQuestion& question, const Calibration& calibration) {
  using Json = nlohmann::ordered_json;
  const CalibrationData& data = calibration.data;
  const collectives::NcclOptions& options = data.benchmarks.front().options;
  Json fitted = Json::array(), unfitted = Json::array(), rows = Json::array();
  for (const FittedNcclConstant& constant : calibration.fit.fitted) {
    Json& item = fitted.emplace_back();
    item = {{"constant", path_of(constant.number)},
            {"before", collectives::nccl_constant_text(constant.number, constant.before)},
            {"after", collectives::nccl_constant_text(constant.number, constant.after)}};
    if (!constant.gives_way && std::isfinite(constant.spread)) item["standard_error"] = constant.spread;
    if (const std::string said = remark(constant); !said.empty()) item["remark"] = said;
  }
  for (const UnfittedNcclConstant& constant : calibration.fit.unfitted)
    unfitted.push_back(
        {{"constant", path_of(constant.number)},
         {"value", collectives::nccl_constant_text(constant.number, calibration.fit.constants.value(constant.number))},
         {"reason", reason(constant)}});
  for (const CalibratedRow& row : calibration.rows) {
    const NcclBenchmark& benchmark = data.benchmarks[row.measured.table];
    Json& item = rows.emplace_back();
    item = {{"op", benchmark.operation.name},
            {"bytes", row.measured.bytes.count()},
            {"measured_s", row.measured.seconds},
            {"before_s", row.before},
            {"after_s", row.after}};
    if (calibration.held_out) item["held_out_s"] = row.without_it;
  }
  return {{"schema", "orrery.calibration/1"},
          {"cluster", cluster_title(question.machine.cluster)},
          {"ranks", data.ranks},
          {"nodes", data.nodes},
          {"device", data.device},
          {"nccl", collectives::to_text(options.version)},
          {"launch", collectives::name_of(options.launch)},
          {"fitted", std::move(fitted)},
          {"unfitted", std::move(unfitted)},
          {"rows", std::move(rows)}};
}

}  // namespace orrery::study
