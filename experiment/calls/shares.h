// SPDX-License-Identifier: MIT
// Sizes of an all-to-all that differ from pair to pair of ranks: given, or drawn as the loads of experts are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "core/config/config.h"
#include "core/error.h"
#include "system/plans/plan.h"
#include "workload/calls/operation.h"

namespace orrery::experiment {

// Extremes of an uneven exchange, over the mean of all ranks: the rank that sends most to others, and the one that gets
// most from them.
struct ShareExtremes {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  double sent = 1;
  double received = 1;
};

struct UnevenShares {
  std::vector<std::uint64_t> weights;  // by sender and receiver, row by row, without a common divisor
  ShareExtremes extremes;
  Location where;  // of the key that asks for them
};

// Puts the contents of the file that `shares` names in its place, before any key of the workload is read. InputError for
// a CSV file that cannot be read or has more cells than there may be ranks.
void spell_out_shares(Section& workload);

// Reads `shares`, or `skew` and `seed`, of a workload that calls `operation` on so many ranks; 0: not known. Returns
// nothing without them, and after an error.
std::optional<UnevenShares> read_shares(Section& workload, const workload::CallOperation& operation,
                                        std::uint32_t ranks);

// Makes all-to-alls of so many ranks exchanges of these sizes; `named`: where their algorithms stand. Reports a library
// or algorithms that have only equal sizes.
void take_shares(const UnevenShares& shares, std::uint32_t ranks, const Location& named,
                 system::CollectiveOptions& options, Diagnostics& diagnostics);

}  // namespace orrery::experiment
