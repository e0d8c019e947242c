// SPDX-License-Identifier: MIT
// Communication of a profile's NCCL kernels that c10d did not note on them (before PyTorch 2.2): taken from the
// operators of the host that launched them, and from the execution trace of the same step.
#pragma once

#include <cstddef>
#include <string>

#include "workload/import/kineto/events.h"
#include "workload/import/kineto/execution_trace.h"

namespace orrery::workload {

// Gives the calls of c10d on the host that have no notes those of the operator within them ("nccl:all_reduce" with its
// shape), and "wait" to those that have none.
void note_host_calls(KinetoTrace& trace);

// Gives the calls of c10d on the host what the execution trace says of them, matched by the ids of their record
// functions, or else in order: the longest sequence of calls with equal operations and sizes. Adds its process groups,
// its world and its rank where the profile does not say them. note_host_calls() comes first. Returns how many calls
// were matched. Throws InputError at `file` where both communicate and fewer than half of the calls have a partner:
// these are of different steps.
std::size_t link_execution_trace(const std::string& file, const ExecutionTrace& execution, KinetoTrace& trace);

// Gives kernels of NCCL without notes those of the call, or operator, that launched them. Sends and receives that c10d
// runs together, as batch_isend_irecv does, are one kernel: it gets those that the host had called since the batch
// before. Calls that have a kernel of their own, by their external id, are not among them; where kernels of single
// messages have no such id, nothing can be told, and nothing is given.
void note_kernels(KinetoTrace& trace);

}  // namespace orrery::workload
