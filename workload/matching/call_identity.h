// Which calls of a communicator are the same one, where the traces say it by more than their order.
//
// The k-th call of each member meets the k-th of the others. A rank's canonical order is one of many that its
// dependencies allow, though: with another dependency on one rank it may begin a call earlier or later than the other
// members' orders do, and every call behind that would meet another. Where all members call with the same ids, under
// the same names and for the same operation, these say which calls belong together.
#pragma once

#include "workload/graph/job.h"

namespace orrery {

// Counts calls by node, in graphs of their own, where the members' canonical orders are not the same and their ids,
// names and operations are. NodeIds ascend with the ids of the trace.
void count_calls_by_id(Job& job);

}  // namespace orrery
