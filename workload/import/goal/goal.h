// SPDX-License-Identifier: MIT
// Reads GOAL schedules, the text form that LogGOPSim and ATLAHS turn into their binary one: what ranks compute, send
// and receive, and what waits for what.
//
// `calc` is device compute in nanoseconds, `send` and `recv` are messages matched in order by (source, destination,
// tag). `requires` is a dependency. `a irequires b`, a starts when b starts, makes a wait for all that b waits for: a
// does not wait until b gets its processor. Computations of one `cpu` exclude one another; where a rank uses several,
// each is a stream of its own, in program order. `nic` says nothing here. What LogGOPSim's parameters charge for a
// message, o and g and L, is the machine's business.
//
// A receive from any rank, or with any tag, takes a send that no other receive asks for by name: of the ranks with such
// a send of its size, the one it took from the least so far.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "workload/graph/job.h"

namespace orrery::workload {

// Throws InputError with all that is wrong in `file`; what is doubtful goes to `diagnostics`. gzip is understood.
Job import_goal(const std::string& file, Diagnostics& diagnostics);

// The same of a text in memory; `file` is for messages.
Job import_goal_text(const std::string& file, std::string_view text, Diagnostics& diagnostics);

}  // namespace orrery::workload
