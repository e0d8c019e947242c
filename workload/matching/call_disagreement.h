// What is said of a communicator whose members do not ask for the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "workload/graph/job.h"
#include "workload/matching/callers.h"

namespace orrery {

// Each of `kinds` once, in the order in which they come.
std::vector<std::uint32_t> distinct_kinds(std::span<const std::uint32_t> kinds);

// An entry of the report. `kinds`: of the members; `call`: the first about which they disagree.
std::string describe_disagreement(const Job& job, GroupId group, const Callers& callers,
                                  std::span<const std::uint32_t> kinds, std::size_t call);

}  // namespace orrery
