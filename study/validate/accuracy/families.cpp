// SPDX-License-Identifier: MIT
#include <map>

#include <fmt/format.h>

#include "study/validate/accuracy/accuracy.h"

namespace orrery::study {

AccuracySection accuracy_of(const TrainingValidation& validation) {
  AccuracySection section{"training", "Training: time of an iteration", "runs", {}};
  for (const ValidatedTrainingFamily& family : validation.families) {
    AccuracyFamily& compared = section.families.emplace_back(AccuracyFamily{family.name, {}});
    for (const ValidatedTrainingRow& row : family.rows) compared.times.push_back({row.measured, row.predicted.seconds});
  }
  return section;
}

AccuracySection accuracy_of(const Validation& validation) {
  AccuracySection section{"collectives", "Collectives: time of a call, by operation and machine", "sizes", {}};
  std::map<std::string, AccuracyFamily> families;
  for (const ValidatedTable& table : validation.scored) {
    AccuracyFamily& family = families[fmt::format("{}, {}", table.table->operation.name, table.table->cluster)];
    for (const ValidatedRow& row : table.rows)
      family.times.push_back({seconds(row.measured.time), seconds(row.predicted)});
  }
  for (auto& [name, family] : families) section.families.push_back({name, std::move(family.times)});
  return section;
}

AccuracySection accuracy_of(const ComputeValidation& validation) {
  AccuracySection section{"compute", "Kernels: time of one operator", "shapes", {}};
  const auto add = [&](const ValidatedComputeTable& table, const std::vector<OperatorErrors>& kinds) {
    for (const OperatorErrors& kind : kinds) {
      AccuracyFamily family{fmt::format("{}, {}", table.table->name, kind.name), {}};
      for (const ValidatedOperator& row : kind.rows)
        if (row.scored()) family.times.push_back({seconds(row.measured), seconds(row.predicted)});
      if (!family.times.empty()) section.families.push_back(std::move(family));
    }
  };
  for (const ValidatedComputeTable& table : validation.tables) {
    add(table, table.operators);
    add(table, table.kernels);
  }
  return section;
}

AccuracySection accuracy_of(const ExpertValidation& validation) {
  AccuracySection section{"experts", "Dispatch and combine: time of all tokens one way, by table", "exchanges", {}};
  for (const ValidatedExchange& exchange : validation.exchanges) {
    const std::string& table = exchange.table->name;
    if (section.families.empty() || section.families.back().name != table) section.families.push_back({table, {}});
    section.families.back().times.push_back({seconds(exchange.measured()), seconds(exchange.predicted)});
  }
  return section;
}

}  // namespace orrery::study
