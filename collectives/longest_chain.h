// SPDX-License-Identifier: MIT
// Latency that a schedule cannot hide: the largest sum of latencies along any chain of messages each of which waits for
// the one before.
#pragma once

#include <cstdint>
#include <functional>

#include "collectives/schedule.h"
#include "core/units.h"

namespace orrery::collectives {

// Latency of a message from one rank of the schedule to another.
using LatencyOf = std::function<Duration(std::uint32_t from, std::uint32_t to)>;

// Time at which the last message arrives if none took time but its latency. At most Duration::max(). Takes time in the
// number of messages; a uniform ring (Schedule::is_uniform_ring) in the number of ranks.
Duration longest_chain(const Schedule& schedule, const LatencyOf& latency);

}  // namespace orrery::collectives
