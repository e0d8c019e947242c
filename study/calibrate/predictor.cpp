// SPDX-License-Identifier: MIT
#include "study/calibrate/predictor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "collectives/nccl/model.h"
#include "core/assert.h"
#include "study/calibrate/prediction.h"

namespace orrery::study {
namespace {

constexpr std::array<double, 2> kProbes = {-0.5, 1};
// Small, so that the fastest algorithm stays the fastest; large enough that whole bytes on the wire do not show.
constexpr double kStep = 1e-3;

// The constants, one of them changed by `step`, in parts of it.
collectives::NcclConstants moved(collectives::NcclConstants constants, std::size_t number, double step) {
  const double value = constants.value(number);
  constants.set(number, value + step * (value == 0 ? kLatencyScale : value));
  return constants;
}

}  // namespace

NcclPredictor::NcclPredictor(const CalibrationData& data, std::span<const CalibrationRow> rows)
    : tables_(data.benchmarks.size()), seconds_(rows.size()) {
  for (std::size_t i = 0; i < tables_.size(); ++i) tables_[i].benchmark = &data.benchmarks[i];
  for (const CalibrationRow& row : rows) tables_[row.table].sizes.push_back(row.bytes);
  for (Table& table : tables_) {
    std::ranges::sort(table.sizes);
    table.sizes.erase(std::unique(table.sizes.begin(), table.sizes.end()), table.sizes.end());
    table.best.resize(table.sizes.size());
    if (table.sizes.empty() || !table.benchmark->operation.kind) continue;
    for (const collectives::NcclCandidate& offer :
         collectives::nccl_candidates(call_of(*table.benchmark, table.sizes.front()), table.benchmark->options))
      table.ways.push_back({offer, {}, {}, 0});
  }
  for (const CalibrationRow& row : rows) {
    const std::vector<Bytes>& sizes = tables_[row.table].sizes;
    const auto place = std::ranges::lower_bound(sizes, row.bytes) - sizes.begin();
    places_.push_back({static_cast<std::uint32_t>(row.table), static_cast<std::uint32_t>(place)});
  }
}

std::span<const double> NcclPredictor::seconds(const collectives::NcclConstants& constants) {
  for (Table& table : tables_) predict(table, constants);
  for (std::size_t row = 0; row < places_.size(); ++row)
    seconds_[row] = tables_[places_[row].table].best[places_[row].size];
  return seconds_;
}

void NcclPredictor::predict(Table& table, const collectives::NcclConstants& constants) const {
  if (table.ways.empty()) {
    for (std::size_t i = 0; i < table.sizes.size(); ++i)
      table.best[i] = predicted_seconds(*table.benchmark, table.sizes[i], constants);
    return;
  }
  for (Way& way : table.ways) {
    const std::vector<double>& seconds = seconds_of(way, table, constants);
    const bool is_first = &way == &table.ways.front();
    for (std::size_t i = 0; i < seconds.size(); ++i)
      table.best[i] = is_first ? seconds[i] : std::min(table.best[i], seconds[i]);
  }
  // What cannot be counted is refused there.
  for (std::size_t i = 0; i < table.sizes.size(); ++i)
    if (!collectives::is_countable(table.best[i])) predicted_seconds(*table.benchmark, table.sizes[i], constants);
}

const std::vector<double>& NcclPredictor::seconds_of(Way& way, const Table& table,
                                                     const collectives::NcclConstants& constants) {
  const Basis basis = basis_of(table, way.offer, constants);
  for (std::size_t i = 0; i < way.basis.size(); ++i) {
    if (way.seconds[i].empty() || way.basis[i] != basis) continue;
    way.latest = i;
    return way.seconds[i];
  }
  way.latest = 1 - way.latest;
  way.basis[way.latest] = basis;
  std::vector<double>& seconds = way.seconds[way.latest];
  seconds.resize(table.sizes.size());
  for (std::size_t i = 0; i < table.sizes.size(); ++i) {
    const collectives::NcclCall call = call_of(*table.benchmark, table.sizes[i]);
    const collectives::NcclCost outline = collectives::nccl_cost(way.offer, call, table.benchmark->options, constants);
    seconds[i] = collectives::lone_seconds(outline, call, table.benchmark->options, constants);
  }
  return seconds;
}

NcclPredictor::Basis NcclPredictor::basis_of(const Table& table, const collectives::NcclCandidate& offer,
                                             const collectives::NcclConstants& constants) {
  Basis basis;
  const NcclBenchmark& benchmark = *table.benchmark;
  std::size_t at = 0;
  bool has_stages = false;
  for (const Bytes size : {table.sizes.front(), table.sizes.back()}) {
    const collectives::NcclCost outline =
        collectives::nccl_cost(offer, call_of(benchmark, size), benchmark.options, constants);
    for (const double value : {outline.latency, outline.within_efficiency, outline.between_efficiency, outline.cap})
      basis.outlines[at++] = value;
    has_stages = has_stages || outline.stages > 0;
  }
  basis.general = {constants.launch(benchmark.options.launch, benchmark.shape.fullest), constants.host_efficiency(),
                   constants.network_efficiency(), has_stages ? constants.chunk_cost() : 0,
                   has_stages ? constants.largest_chunk() : 0};
  return basis;
}

std::vector<double> effect_on_algorithms(const CalibrationData& data, std::span<const CalibrationRow> rows,
                                         const collectives::NcclConstants& constants, std::size_t number) {
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
                                   const collectives::NcclConstants& constants, std::size_t number) {
  // Nothing takes less than no time.
  const collectives::NcclConstants less = moved(constants, number, constants.value(number) == 0 ? 0 : -kStep);
  const collectives::NcclConstants more = moved(constants, number, kStep);
  std::vector<double> column;
  for (const CalibrationRow& row : rows)
    column.push_back(std::log(predicted_seconds(data, row, more) / predicted_seconds(data, row, less)));
  return column;
}

}  // namespace orrery::study
