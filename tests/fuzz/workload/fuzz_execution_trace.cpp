// SPDX-License-Identifier: MIT
// Any text as a PyTorch execution trace, beside a profile that has a call of each kind: what it says, or an error.
#include <cstdint>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "tests/fuzz/fuzzer.h"
#include "workload/import/kineto/execution_trace.h"
#include "workload/import/kineto/link.h"

using namespace orrery;
using namespace orrery::workload;

ORRERY_FUZZER(fuzz_execution_trace, text) {
  is_execution_trace(text);
  try {
    const ExecutionTrace execution = read_execution_trace("fuzzed.json", text);
    for (std::size_t i = 1; i < execution.calls.size(); ++i)
      ORRERY_ASSERT(execution.calls[i - 1].node <= execution.calls[i].node);
    KinetoTrace profile;
    for (const char* name : {"allreduce", "wait", "all_to_allv", "_allgather_base"}) {
      KinetoHostOperator host;
      host.name = "record_param_comms";
      host.begin = host.end = static_cast<KinetoTime>(profile.host_operators.size());
      host.record_function = static_cast<std::int64_t>(profile.host_operators.size());
      host.message.collective = name;
      profile.host_operators.push_back(host);
    }
    const std::size_t linked = link_execution_trace("fuzzed.json", execution, profile);
    ORRERY_ASSERT(linked <= execution.calls.size());
    note_kernels(profile);
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
  }
}
