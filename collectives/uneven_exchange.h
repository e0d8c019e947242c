// SPDX-License-Identifier: MIT
// An all-to-all in which every pair of ranks has a size of its own: what MPI calls alltoallv.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "collectives/algorithms.h"
#include "collectives/message_table.h"

namespace orrery::collectives {

// The programs of `algorithm`, with what each message carries by `weights`: ranks * ranks of them, row by row, where
// that of row i and column j is what rank i has for rank j. Request::bytes of the table is the mean over ranks of a
// row: rank i sends ceil(ranks * bytes * weight / sum of all weights) to rank j. Equal weights give the schedule of the
// algorithm. `weights` are not all 0; `ranks` times their sum is less than 2^64.
//
// Throws InputError where a message of the algorithm holds what is for several ranks: those on the way would have to
// know the sizes of all others.
MessageTable uneven_exchange(const Algorithm& algorithm, std::string name, std::uint32_t ranks,
                             std::span<const std::uint64_t> weights);

}  // namespace orrery::collectives
