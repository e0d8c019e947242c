#include "study/calibrate/effects.h"

#include <array>
#include <cmath>

#include "core/assert.h"

namespace orrery {
namespace {

constexpr std::array<double, 2> kProbes = {-0.5, 1};
// Small, so that the fastest algorithm stays the fastest; large enough that whole bytes on the wire do not show.
constexpr double kStep = 1e-3;

// The constants, one of them changed by `step`, in parts of it.
NcclConstants moved(NcclConstants constants, std::size_t number, double step) {
  const double value = constants.value(number);
  constants.set(number, value + step * (value == 0 ? kLatencyScale : value));
  return constants;
}

}  // namespace

std::vector<double> effect_on_algorithms(const CalibrationData& data, std::span<const CalibrationRow> rows,
                                         const NcclConstants& constants, std::size_t number) {
  std::vector<double> column;
  for (const CalibrationRow& row : rows) {
    const NcclBenchmark& benchmark = data.benchmarks[row.table];
    const std::vector<double> times = possible_seconds(benchmark, row.bytes, constants);
    for (const double probe : kProbes) {
      const std::vector<double> there = possible_seconds(benchmark, row.bytes, moved(constants, number, probe));
      ORRERY_ASSERT(there.size() == times.size());
      for (std::size_t i = 0; i < times.size(); ++i) column.push_back((there[i] - times[i]) / times[i]);
    }
  }
  return column;
}

std::vector<double> effect_on_rows(const CalibrationData& data, std::span<const CalibrationRow> rows,
                                   const NcclConstants& constants, std::size_t number) {
  // Nothing takes less than no time.
  const NcclConstants less = moved(constants, number, constants.value(number) == 0 ? 0 : -kStep);
  const NcclConstants more = moved(constants, number, kStep);
  std::vector<double> column;
  for (const CalibrationRow& row : rows)
    column.push_back(std::log(predicted_seconds(data, row, more) / predicted_seconds(data, row, less)));
  return column;
}

}  // namespace orrery
