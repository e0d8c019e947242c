#include "study/calibrate.h"

#include <array>

#include <fmt/format.h>

namespace orrery {
namespace {

// Halves with fewer rows say little about the other half.
constexpr std::size_t kLeastHeldOut = 4;

std::array<std::vector<CalibrationRow>, 2> every_other(const CalibrationData& data) {
  std::array<std::vector<CalibrationRow>, 2> halves;
  for (std::size_t i = 0; i < data.rows.size(); ++i) halves[i % 2].push_back(data.rows[i]);
  return halves;
}

}  // namespace

Calibration calibrate(const CalibrationQuestion& question, const ConfigFiles& files) {
  Diagnostics diagnostics;
  Calibration calibration;
  calibration.data = read_calibration(question, files, diagnostics);
  const CalibrationData& data = calibration.data;
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
