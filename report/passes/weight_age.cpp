// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <span>

#include "report/result.h"

namespace orrery::report {
namespace {

using RecordsByNumber = std::map<std::uint32_t, system::OperationRecord>;

// Updates that ended after the weights were read, and before the update began.
std::int64_t age_of(const workload::WeightUpdate& update, const RecordsByNumber& records, std::span<const Time> ends) {
  const Time read = update.read ? records.at(*update.read).start : Time{};
  const auto after = std::ranges::upper_bound(ends, read);
  const auto before = std::ranges::upper_bound(ends, records.at(update.update).start);
  return std::max<std::int64_t>(0, before - after);
}

WeightAge age_of(RankId rank, std::span<const workload::WeightUpdate> updates, const RecordsByNumber& records) {
  std::vector<Time> ends;
  for (const workload::WeightUpdate& update : updates) ends.push_back(records.at(update.update).end);
  std::ranges::sort(ends);
  WeightAge age{rank};
  std::int64_t sum = 0;
  for (const workload::WeightUpdate& update : updates) {
    const std::int64_t own = age_of(update, records, ends);
    sum += own;
    age.most = std::max(age.most, own);
  }
  age.mean = static_cast<double>(sum) / static_cast<double>(updates.size());
  return age;
}

}  // namespace

std::vector<WeightAge> weight_ages(const workload::TrainingFacts& facts, const system::SimulationTotals& totals,
                                   const OperationLog& log) {
  std::vector<WeightAge> ages;
  for (std::size_t program = 0; program < facts.updates.size(); ++program) {
    if (facts.updates[program].empty()) continue;
    const RankId rank = facts.memory[program].first_rank;
    RecordsByNumber records;
    for (const system::OperationRecord& operation : log.of(totals.acting[index_of(rank)]))
      records.emplace(operation.number, operation);
    ages.push_back(age_of(rank, facts.updates[program], records));
  }
  return ages;
}

}  // namespace orrery::report
