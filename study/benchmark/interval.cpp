// SPDX-License-Identifier: MIT
#include "study/benchmark/interval.h"

#include <vector>

#include "study/interval/interval.h"
#include "study/interval/kinds.h"
#include "workload/calls/operation.h"

namespace orrery::study {

void add_intervals(CollectiveTable& table, const ConfigFiles& files) {
  if (table.library.empty() || table.shares || !table.by_hand.empty()) return;
  const RunSchema& schema = collective_runs();
  const std::vector<MeasuredError> errors = shipped_errors(schema, files);
  if (errors.empty()) return;
  const workload::CallOperation operation = workload::call_operation_named(table.operation, "--op");
  for (CollectiveRow& row : table.rows)
    if (row.bytes > Bytes(0))
      row.interval = time_interval(interval_of(collective_kind(operation, row.bytes, table.nodes, table.ranks,
                                                               name_of(table.network), name_of(table.generation)),
                                               errors, schema),
                                   row.time);
}

}  // namespace orrery::study
