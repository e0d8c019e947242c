#include "study/calibrate/refit.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "study/calibrate/least_squares.h"
#include "study/validate/collectives/validate.h"

namespace orrery {
namespace {

// Two tables of like systems differ by so much (medians of 5 to 28 %): the error to expect of a measurement.
constexpr double kExpectedError = 0.05;
// Before any data, a constant is known to a factor of about e; one that is nominally nothing, to tens of microseconds.
constexpr double kPriorOfShipped = 1;
constexpr double kScaleOfNothing = 30e-6;
// Beyond as many expected errors a row counts by its size, not its square.
constexpr double kLossScale = 0.6;

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
    for (std::vector<Row>& band : bands)
      for (Row& row : band) {
        row.weight = 1 / (kExpectedError * std::sqrt(static_cast<double>(band.size())));
        rows.push_back(row);
      }
  }
  return rows;
}

double most_of(ConstantKind kind) {
  return kind == ConstantKind::kShare ? 1 : std::numeric_limits<double>::infinity();
}

NcclConstants with(NcclConstants constants, const NcclConstantList& list, std::span<const double> values) {
  for (std::size_t i = 0; i < list.size(); ++i) constants.set(list[i].first, values[i]);
  return constants;
}

}  // namespace

Refit refit(std::span<const RefitTable> tables, const NcclConstantsFile& library) {
  const std::vector<Row> rows = rows_of(tables);
  FitProblem problem;
  for (const auto& [number, nominal] : library.nominal) {
    const NcclConstantEntry& entry = nccl_constant_entries()[number];
    problem.constants.push_back({std::string(entry.path), nominal, 0, most_of(entry.kind), kPriorOfShipped,
                                 nominal == 0 ? kScaleOfNothing : 0});
  }
  problem.residual_count = rows.size();
  problem.loss_scale = kLossScale;
  problem.residuals = [&](std::span<const double> values, std::span<double> residuals) {
    const NcclConstants constants = with(library.constants, library.nominal, values);
    for (std::size_t i = 0; i < rows.size(); ++i)
      residuals[i] = rows[i].weight *
                     std::log(predicted_seconds(rows[i].table->benchmark, rows[i].bytes, constants) / rows[i].measured);
  };
  const FitResult fit = fit_constants(problem);
  return {with(library.constants, library.nominal, fit.values), fit.determined, fit.spread};
}

}  // namespace orrery
