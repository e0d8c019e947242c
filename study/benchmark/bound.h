// SPDX-License-Identifier: MIT
// Lower bound that no algorithm can beat.
#pragma once

#include <optional>
#include <span>

#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "workload/calls/operation.h"

namespace orrery::study {

// The least time of an operation for a row of `size` on the ranks' devices, without sums in switches: the latency of
// the longest route from the first rank, or what has to go from rank to rank and from node to node, over all links that
// lead there, if that takes longer. Of an all-reduce, each of M ranks or nodes sends 2(M-1)/M of the buffer on average
// (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009). Nothing for operations with a root and sends.
std::optional<Duration> least_time(const workload::CallOperation& operation, Bytes size, const network::Fabric& fabric,
                                   std::span<const DeviceId> devices);

}  // namespace orrery::study
