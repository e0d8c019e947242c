#include "study/calibrate/calibrate.h"

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery {
namespace {

// Halves with fewer rows say little about the other half.
constexpr std::size_t kLeastHeldOut = 4;
// A measurement may be off by so much before its link is called too slow.
constexpr double kTooSlow = 1.05;
constexpr double kNoCap = 1e15;
// What a median error may grow by, and what a constant may change by, without a word.
constexpr double kWorse = 0.02;
constexpr double kOdd = 5;

std::array<std::vector<CalibrationRow>, 2> every_other(const CalibrationData& data) {
  std::array<std::vector<CalibrationRow>, 2> halves;
  for (std::size_t i = 0; i < data.rows.size(); ++i) halves[i % 2].push_back(data.rows[i]);
  return halves;
}

// The least that the library could take: no latencies but those of the links, no caps, nothing lost.
NcclConstants limits_of(NcclConstants constants) {
  for (std::size_t i = 0; i < kNcclConstants; ++i) {
    const ConstantKind kind = nccl_constant_entries()[i].kind;
    if (kind == ConstantKind::kLatency) constants.set(i, 0);
    if (kind == ConstantKind::kRate) constants.set(i, kNoCap);
    if (kind == ConstantKind::kShare) constants.set(i, 1);
  }
  return constants;
}

// What the cluster says of its links may leave too little for any library.
void warn_of_links(const std::string& log, const CalibrationData& data, Diagnostics& diagnostics) {
  const NcclConstants limits = limits_of(data.constants);
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
      fmt::format("{} of {} rows are faster than the links of the cluster are: {} take {:.1f} times as long as measured",
                  count, data.rows.size(), rounded(worst->bytes), most),
      "their latencies, bandwidths and efficiencies are the cluster's own, which this does not fit: `orrery cluster show`");
}

std::optional<ErrorSummary> error_in(const Calibration& calibration, SizeBand band, double CalibratedRow::*predicted) {
  std::vector<double> errors;
  for (const CalibratedRow& row : calibration.rows)
    if (band_of(row.measured.bytes) == band) errors.push_back(std::abs(row.*predicted / row.measured.seconds - 1));
  return summary_of(std::move(errors));
}

// The fit weighs all rows alike, so those that no constants meet may spoil others.
void warn_of_worse(const std::string& log, const Calibration& calibration, Diagnostics& diagnostics) {
  for (const SizeBand band : kAllSizeBands) {
    const auto before = error_in(calibration, band, &CalibratedRow::before);
    const auto after = error_in(calibration, band, &CalibratedRow::after);
    if (!before || after->median <= before->median + kWorse) continue;
    diagnostics.warning({log},
                        fmt::format("rows of {} are predicted worse than before: {:.1f} % off in the median, not {:.1f} %",
                                    name_of(band), 100 * after->median, 100 * before->median),
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
    diagnostics.warning({log},
                        fmt::format("{} comes out as {}, {:.3g} times what it was", nccl_constant_entries()[fitted.number].path,
                                    nccl_constant_text(fitted.number, fitted.after), ratio),
                        "check --launch, --version and --cluster, and the log for rows that are off; otherwise the time "
                        "is spent on something that the model has not got");
  }
}

}  // namespace

Calibration calibrate(const CalibrationQuestion& question, const ConfigFiles& files) {
  Diagnostics diagnostics;
  Calibration calibration;
  calibration.data = read_calibration(question, files, diagnostics);
  const CalibrationData& data = calibration.data;
  warn_of_links(question.log, data, diagnostics);
  calibration.fit = fit_nccl_constants(data, data.rows);
  if (calibration.fit.fitted.empty())
    throw InputError({question.log}, fmt::format("its {} rows determine no constant", data.rows.size()),
                     "a sweep over sizes does: -b 8 -e 8G -f 2");
  for (const CalibrationRow& row : data.rows)
    calibration.rows.push_back({row, predicted_seconds(data, row, data.constants),
                                predicted_seconds(data, row, calibration.fit.constants), 0});
  const auto halves = every_other(data);
  calibration.held_out = halves[1].size() >= kLeastHeldOut;
  for (std::size_t half = 0; calibration.held_out && half < halves.size(); ++half) {
    const NcclFit fit = fit_nccl_constants(data, halves[1 - half]);
    for (std::size_t i = half; i < data.rows.size(); i += 2)
      calibration.rows[i].without_it = predicted_seconds(data, data.rows[i], fit.constants);
  }
  warn_of_worse(question.log, calibration, diagnostics);
  warn_of_odd(question.log, calibration.fit, diagnostics);
  calibration.warnings.assign(diagnostics.problems().begin(), diagnostics.problems().end());
  return calibration;
}

}  // namespace orrery
