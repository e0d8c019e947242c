// SPDX-License-Identifier: MIT
// Whether two jobs mean the same, however they number their communicator slots, peer slots and streams.
#pragma once

#include <string>

#include "workload/graph/job.h"

namespace orrery::testing {

// The first difference; "" when there is none.
std::string difference(const workload::Job& a, const workload::Job& b);

}  // namespace orrery::testing
