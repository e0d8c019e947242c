// SPDX-License-Identifier: MIT
// Compiler from the actions of ranks, as a file has them, to the programs that are simulated: sends, and the messages
// that each waits for.
#pragma once

#include <string>

#include "collectives/custom/actions.h"
#include "collectives/message_table.h"

namespace orrery::collectives {

// `written` has passed check_written() (check.h). `name`: of the algorithm, for people.
MessageTable compile(std::string name, const WrittenCollective& written);

}  // namespace orrery::collectives
