#include "study/calibrate.h"

#include <array>

#include <fmt/format.h>

#include "core/quantity_text.h"

namespace orrery {
namespace {

// Halves with fewer rows say little about the other half.
constexpr std::size_t kLeastHeldOut = 4;
// A measurement may be off by so much before its link is called too slow.
constexpr double kTooSlow = 1.05;
constexpr double kNoCap = 1e15;

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
  calibration.warnings.assign(diagnostics.problems().begin(), diagnostics.problems().end());
  return calibration;
}

}  // namespace orrery
