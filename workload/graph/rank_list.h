// SPDX-License-Identifier: MIT
// Sets of ranks in words: "rank 3", "ranks 0-2 and 5".
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace orrery::workload {

// Text for ascending ranks without duplicates. Runs become ranges; beyond eight ranges the rest is counted.
std::string rank_list(std::span<const std::uint32_t> ranks);

}  // namespace orrery::workload
