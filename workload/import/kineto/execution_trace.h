// SPDX-License-Identifier: MIT
// PyTorch execution trace (ExecutionTraceObserver), as far as it concerns communication: the process groups, and every
// call of c10d with its operation, sizes and group. It has no times and no kernels; workload/import/kineto/link.h finds
// the kernels in the profile of the same step.
//
// Schemas 1.0.x have `inputs` as a list and fields beside it, 1.0.2-chakra and later `inputs.values` and a list `attrs`
// of {"name", "value"}. The inputs of a call are [tensors,] sequence number, group, rank, name, splits of the input,
// splits of the output[, first global rank, stride, size]; the group is a number, or a name with its description.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "workload/import/kineto/events.h"

namespace orrery::workload {

struct ExecutionTraceCall {
  std::uint64_t node = 0;            // its id, which counts up in time
  std::int64_t record_function = 0;  // as in profiles: "rf_id"
  std::int64_t rank = -1;            // within its process group; -1: not said
  KinetoMessage message;             // "wait" for a call that waits for an earlier one
};

struct ExecutionTrace {
  std::string schema;
  std::optional<std::int64_t> process;
  std::optional<std::int64_t> world;               // ranks of the default process group
  std::map<std::string, std::string> group_ranks;  // by name of the process group, as in KinetoTrace
  std::vector<ExecutionTraceCall> calls;           // in the order of their nodes

  // Rank of the process, if a call on the default group names it.
  std::optional<std::int64_t> rank() const;
};

// True if a JSON text begins like an execution trace: a schema, nodes and no traceEvents.
bool is_execution_trace(std::string_view text);

// InputError if the file looks like an execution trace, but not of a schema that can be read.
void refuse_unknown_schema(const std::string& file, std::string_view text);

// InputError where the text is no JSON or has no nodes.
ExecutionTrace read_execution_trace(const std::string& file, std::string_view text);

}  // namespace orrery::workload
