// SPDX-License-Identifier: MIT
// Says why a simulated job cannot go on: which collective calls and receives wait for whom, and the circle of ranks
// that wait for one another, if there is one. It rests on what can go on and what cannot, not on when: so it is the
// same however long things take.
#pragma once

#include "core/error.h"

namespace orrery::system {

class Simulation;

// Who waits for whom, with the first rank that waits and what it waits in.
StuckError stuck_error(const Simulation& simulation);

}  // namespace orrery::system
