// SPDX-License-Identifier: MIT
// Pairing of sends and receives: the k-th send of a channel between two ranks meets the k-th receive.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/custom/actions.h"

namespace orrery::collectives {

struct Pairing {
  // Ends by rank and action: the action of the peer, and a receive's place among the rank's receives, which are
  // numbered in the order of the actions. Entries of other actions mean nothing.
  std::vector<std::vector<std::uint32_t>> ends;
  std::vector<std::vector<std::uint32_t>> slots;
};

// Throws InputError, which names the action, where one has no other end, or the two differ in size.
Pairing pair_messages(const WrittenCollective& written);

}  // namespace orrery::collectives
