// SPDX-License-Identifier: MIT
#include "study/calibrate/collectives/collectives.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/config/key_path.h"
#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "study/errors.h"

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
// Ends of an interval that leave a constant open: half of it and twice as much.
constexpr double kOpen = 4;

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
void warn_of_links(const CalibrationData& data, Diagnostics& diagnostics) {
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
      {worst->where.file},
      fmt::format(
          "{} of {} rows are faster than the links of the cluster are: {} take {:.1f} times as long as measured", count,
          data.rows.size(), rounded(worst->bytes), most),
      "their latencies, bandwidths and efficiencies are the cluster's own, which this does not fit: `orrery cluster "
      "show`");
}

// Median error of the rows of a band; nothing without any.
std::optional<double> median_error(const Calibration& calibration, double CalibratedRow::*predicted, SizeBand band) {
  std::vector<double> errors;
  for (const CalibratedRow& row : calibration.rows)
    if (band_of(row.measured.bytes) == band) errors.push_back(std::abs(row.*predicted / row.measured.seconds - 1));
  const auto summary = summary_of(std::move(errors));
  return summary ? std::optional(summary->median) : std::nullopt;
}

// The fit weighs all rows alike, so those that no constants meet may spoil others.
void warn_of_worse(const Calibration& calibration, Diagnostics& diagnostics) {
  for (const SizeBand band : kAllSizeBands) {
    const auto before = median_error(calibration, &CalibratedRow::before, band);
    const auto after = median_error(calibration, &CalibratedRow::after, band);
    if (!before || *after <= *before + kWorse) continue;
    diagnostics.warning(
        {calibration.data.logs.front()},
        fmt::format("rows of {} are predicted worse than before: {} off in the median, not {}", name_of(band),
                    percent(*after), percent(*before)),
        "some rows of the log agree with no constants: leave them out, or use the cluster as it was for "
        "such sizes");
  }
}

// A constant that is several times what it was tells of another launch, release or network rather than of itself.
void warn_of_odd(const Calibration& calibration, Diagnostics& diagnostics) {
  for (const FittedNcclConstant& fitted : calibration.fit.fitted) {
    if (fitted.before == 0 || fitted.after == 0) continue;
    const double ratio = fitted.after / fitted.before;
    if (ratio < kOdd && ratio > 1 / kOdd) continue;
    diagnostics.warning(
        {calibration.data.logs.front()},
        fmt::format("{} comes out as {}, {:.3g} times what it was",
                    collectives::nccl_constant_entries()[fitted.number].path,
                    collectives::nccl_constant_text(fitted.number, fitted.after), ratio),
        "check --launch, --version and --cluster, and the log for rows that are off; otherwise the time "
        "is spent on something that the model has not got");
  }
}

std::string_view path_of(std::size_t number) { return collectives::nccl_constant_entries()[number].path; }

ConstantUnit unit_of(std::size_t number) {
  switch (collectives::nccl_constant_entries()[number].kind) {
    case collectives::ConstantKind::kLatency:
      return ConstantUnit::kDuration;
    case collectives::ConstantKind::kRate:
      return ConstantUnit::kBandwidth;
    case collectives::ConstantKind::kSize:
      return ConstantUnit::kSize;
    case collectives::ConstantKind::kShare:
      return ConstantUnit::kShare;
    case collectives::ConstantKind::kFactor:
      return ConstantUnit::kFactor;
  }
  return ConstantUnit::kFactor;
}

std::string key_of(std::size_t number) { return fmt::format("nccl.{}", path_of(number)); }

// "17 rows of all_reduce.log", "31 rows of 2 logs".
std::string evidence_of(const std::vector<std::size_t>& rows, const CalibrationData& data) {
  std::set<std::string> files;
  for (const std::size_t row : rows) files.insert(data.rows[row].where.file);
  const std::string count = counted(rows.size(), "row");
  if (files.empty()) return "no row takes it";
  return files.size() == 1 ? fmt::format("{} of {}", count, *files.begin())
                           : fmt::format("{} of {} logs", count, files.size());
}

std::string list_of(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ", path_of(numbers[i]));
  return text;
}

std::string remark_of(const FittedNcclConstant& fitted, const NcclFit& fit) {
  if (fitted.gives_way)
    return fmt::format("or {}: NCCL takes no such way in the rows; what other calls cost that do is not known",
                       fitted.after > fitted.before ? "more" : "less");
  std::vector<std::size_t> others;
  for (const auto& [a, b] : fit.correlated)
    if (a == fitted.number || b == fitted.number) others.push_back(a == fitted.number ? b : a);
  std::string text = fitted.at_bound ? "at its bound" : "";
  if (fitted.low <= fitted.high && fitted.high > kOpen * fitted.low)
    text += fmt::format("{}hardly determined: the rows are met as well from end to end of its interval",
                        text.empty() ? "" : "; ");
  if (!others.empty()) text += (text.empty() ? "" : "; ") + ("hard to tell apart from " + list_of(others));
  return text;
}

std::string reason_of(const UnfittedNcclConstant& unfitted) {
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

std::vector<CalibratedConstant> constants_of(const Calibration& calibration) {
  std::vector<CalibratedConstant> constants;
  for (const FittedNcclConstant& fitted : calibration.fit.fitted) {
    CalibratedConstant& constant = constants.emplace_back();
    constant.key = key_of(fitted.number);
    constant.unit = unit_of(fitted.number);
    constant.before = fitted.before;
    constant.after = fitted.after;
    constant.low = fitted.low;
    constant.high = fitted.high;
    constant.evidence = evidence_of(fitted.shown_by, calibration.data);
    constant.remark = remark_of(fitted, calibration.fit);
  }
  for (const UnfittedNcclConstant& unfitted : calibration.fit.unfitted) {
    CalibratedConstant& constant = constants.emplace_back();
    constant.key = key_of(unfitted.number);
    constant.unit = unit_of(unfitted.number);
    constant.before = constant.after = calibration.fit.constants.value(unfitted.number);
    constant.stays = reason_of(unfitted);
  }
  return constants;
}

std::string shape_text(const NcclBenchmark& benchmark) {
  return fmt::format("{} x {}", benchmark.shape.nodes, benchmark.shape.ranks / benchmark.shape.nodes);
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
  warn_of_links(data, diagnostics);
  tell(0);
  calibration.fit = fit_nccl_constants(data, data.rows, FitIntervals::kWide);
  if (calibration.fit.fitted.empty())
    throw InputError({data.logs.front()}, fmt::format("its {} rows determine no constant", data.rows.size()),
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
  warn_of_worse(calibration, diagnostics);
  warn_of_odd(calibration, diagnostics);
  calibration.warnings.assign(diagnostics.problems().begin(), diagnostics.problems().end());
  return calibration;
}

std::string benchmark_text(const CalibrationData& data, const NcclBenchmark& benchmark) {
  const collectives::NcclOptions& options = benchmark.options;
  return fmt::format("{} on {} {}, NCCL {}, launch {}", benchmark.operation.name, shape_text(benchmark), data.device,
                     collectives::to_text(options.version), collectives::name_of(options.launch));
}

Finding finding_of(const Calibration& calibration) {
  const CalibrationData& data = calibration.data;
  Finding finding;
  finding.title = "collectives";
  finding.sizes = MeasuredSizes::kBytes;
  finding.constants = constants_of(calibration);
  std::vector<std::size_t> counts(data.benchmarks.size());
  for (const CalibratedRow& row : calibration.rows) {
    const NcclBenchmark& benchmark = data.benchmarks[row.measured.table];
    ++counts[row.measured.table];
    const Location& where = row.measured.where;
    finding.rows.push_back({where.line > 0 ? fmt::format("{}:{}", where.file, where.line) : where.file,
                            fmt::format("{}, {}", benchmark.operation.name, shape_text(benchmark)),
                            rounded(row.measured.bytes), static_cast<double>(row.measured.bytes.count()),
                            row.measured.seconds, row.before, row.after, row.without_it});
  }
  for (std::size_t i = 0; i < data.benchmarks.size(); ++i)
    finding.notes.push_back(fmt::format("{}: {}", benchmark_text(data, data.benchmarks[i]), counted(counts[i], "row")));
  finding.warnings = calibration.warnings;
  return finding;
}

void write_constants(const Calibration& calibration, ConfigValue& cluster) {
  std::map<std::size_t, double> constants(calibration.data.measured.begin(), calibration.data.measured.end());
  for (const FittedNcclConstant& fitted : calibration.fit.fitted) constants[fitted.number] = fitted.after;
  // Constants that stay keep their places, and the comments there.
  std::map<std::size_t, Location> places;
  for (const auto& [number, value] : calibration.data.measured)
    if (const ConfigValue* before = value_at_path(cluster, key_of(number))) places[number] = before->where;
  for (const FittedNcclConstant& fitted : calibration.fit.fitted) places.erase(fitted.number);
  std::erase_if(cluster.entries, [](const ConfigEntry& entry) { return entry.key == "nccl"; });
  const ConfigFiles none{{}};  // the constants are in none
  Diagnostics sound;
  for (const auto& [number, value] : constants)
    set_value(cluster, key_of(number),
              {ConfigValue::Kind::kScalar, places[number], collectives::nccl_constant_text(number, value), {}, {}},
              none, sound);
}

}  // namespace orrery::study
