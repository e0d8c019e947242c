// SPDX-License-Identifier: MIT
#include "study/benchmark/interval.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "study/errors.h"

namespace orrery::study {
namespace {

std::string_view size_name(SizeBand band) {
  constexpr std::array<std::string_view, kAllSizeBands.size()> kNames = {"less than 1 MiB", "1 to 256 MiB",
                                                                         "256 MiB and more"};
  return kNames[static_cast<std::size_t>(band)];
}

}  // namespace

const RunSchema& collective_runs() {
  static const RunSchema kSchema = {
      .runs = "collectives",
      .any = "any collective",
      .file = "validation/collective-errors.csv",
      .about =
          "# Measured / predicted - 1 of published collectives (configs/validation/nccl), each by constants fitted "
          "without its\n# system: written by `orrery validate nccl --cross --errors FILE`.\n",
      .words = {{"operation", ""}, {"size", " of "}, {"span", " "}, {"architecture", " on "}}};
  return kSchema;
}

RunKind collective_kind(const workload::CallOperation& operation, Bytes size, std::int64_t nodes, std::int64_t ranks,
                        std::string_view architecture) {
  return {{std::string(operation.name), std::string(size_name(band_of(size))),
           nodes == 1 ? "within a node" : "between nodes", std::string(architecture)},
          "",
          ranks};
}

void add_intervals(CollectiveTable& table, const ConfigFiles& files) {
  if (table.library.empty() || table.shares) return;
  const RunSchema& schema = collective_runs();
  const std::vector<MeasuredError> errors = shipped_errors(schema, files);
  if (errors.empty()) return;
  const workload::CallOperation operation = workload::call_operation_named(table.operation, "--op");
  for (CollectiveRow& row : table.rows)
    if (row.bytes > Bytes(0))
      row.interval =
          time_interval(interval_of(collective_kind(operation, row.bytes, table.nodes, table.ranks, name_of(table.generation)),
                                    errors, schema),
                        row.time);
}

}  // namespace orrery::study
