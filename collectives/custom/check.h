// SPDX-License-Identifier: MIT
// Check of a collective from a file: it has to do what it claims to.
#pragma once

#include "collectives/custom/actions.h"

namespace orrery::collectives {

// The most messages and local actions that the check of the meaning takes: its memory grows with their square.
inline constexpr std::size_t kMostChecked = 32768;

// Throws InputError, which names the action or the chunk at fault: sends and receives meet, in sizes that agree; nobody
// waits for itself by way of others; every rank can know of all ranks whose data its result is made from. Where the
// file says what is in the buffers, the oracle (oracle/oracle.h) plays it: every chunk ends where the collective
// promises it, with every contribution once, whatever comes first.
void check_written(const WrittenCollective& written);

}  // namespace orrery::collectives
