// SPDX-License-Identifier: MIT
#include "study/calibrate/collectives/bandwidths.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/collective_kind.h"

namespace orrery::study {
namespace {

constexpr std::uint32_t kMostTriedRanks = 4096;
constexpr std::size_t kTellingRows = 5;
constexpr double kPrintedDigit = 0.01;  // GB/s: nccl-tests print two digits behind the point

// Bus over algorithm bandwidth of a row, and what rounding may have made of it.
struct BandwidthRatio {
  double ratio = 0;
  double unsure = 0;

  bool may_be(double factor) const { return std::abs(factor - ratio) <= unsure; }
};

// Ratios of the fastest rows, the fastest first.
std::vector<BandwidthRatio> telling_ratios(const NcclTable& table) {
  std::vector<std::pair<double, double>> rows;  // bus and algorithm bandwidth
  for (const NcclRow& row : table.rows)
    for (const NcclRow::Side* side : {&row.out_of_place, &row.in_place})
      if (side->algbw && side->busbw && *side->algbw > 0) rows.emplace_back(*side->busbw, *side->algbw);
  std::ranges::sort(rows, std::greater());
  std::vector<BandwidthRatio> ratios;
  for (std::size_t i = 0; i < std::min(rows.size(), kTellingRows); ++i) {
    const auto& [bus, algorithm] = rows[i];
    const double ratio = bus / algorithm;
    ratios.push_back({ratio, kPrintedDigit * (1 + ratio) / algorithm});
  }
  return ratios;
}

// Calls `is_right` with the ranks that the table may be of, up to the first that is.
template <class IsRight>
bool any_ranks(const NcclTable& table, const IsRight& is_right) {
  if (table.ranks != 0) return is_right(table.ranks);
  for (std::uint32_t ranks = 2; ranks <= kMostTriedRanks; ++ranks)
    if (is_right(ranks)) return true;
  return false;
}

}  // namespace

std::uint32_t ranks_by_bandwidths(const NcclTable& table, const workload::CallOperation& operation) {
  std::uint32_t found = 0;
  for (const BandwidthRatio& row : telling_ratios(table))
    for (std::uint32_t ranks = 2; ranks <= kMostTriedRanks; ++ranks) {
      if (!row.may_be(workload::bus_factor(operation, ranks))) continue;
      if (found != 0 && found != ranks) return 0;
      found = ranks;
    }
  return found;
}

double bandwidth_ratio(const NcclTable& table) {
  const std::vector<BandwidthRatio> ratios = telling_ratios(table);
  return ratios.empty() ? 0 : ratios.front().ratio;
}

std::vector<workload::CallOperation> operations_by_bandwidths(const NcclTable& table) {
  const std::vector<BandwidthRatio> ratios = telling_ratios(table);
  std::vector<workload::CallOperation> operations;
  for (const workload::CallOperation& operation : workload::call_operations()) {
    const auto fits = [&](std::uint32_t ranks) {
      const double factor = workload::bus_factor(operation, ranks);
      return std::ranges::all_of(ratios, [&](const BandwidthRatio& row) { return row.may_be(factor); });
    };
    if (!ratios.empty() && operation.kind != CollectiveKind::kBarrier && any_ranks(table, fits))
      operations.push_back(operation);
  }
  return operations;
}

bool contradict_bandwidths(const NcclTable& table, const workload::CallOperation& operation) {
  const std::vector<BandwidthRatio> ratios = telling_ratios(table);
  return !ratios.empty() && std::ranges::none_of(ratios, [&](const BandwidthRatio& row) {
    return any_ranks(table, [&](std::uint32_t ranks) { return row.may_be(workload::bus_factor(operation, ranks)); });
  });
}

}  // namespace orrery::study
