// Sends and receives that c10d runs together, as batch_isend_irecv does, are one kernel, which has no notes of its own:
// they are on the calls of the host.
#pragma once

#include "workload/import/kineto/events.h"

namespace orrery {

// Gives every kernel of NCCL that exchanges messages and has no notes, or "coalesced" ones, the sends and receives that
// the host had called since the batch before. Calls that have a kernel of their own, by their external id, are not
// among them; where kernels of single messages have no such id, nothing can be told, and nothing is given.
void give_batches(KinetoTrace& trace);

}  // namespace orrery
