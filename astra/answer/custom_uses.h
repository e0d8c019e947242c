// SPDX-License-Identifier: MIT
// Custom collectives that the traces of a job call, as an experiment of Orrery's own can name them: by operation, one
// for each size of group.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "astra/input/inputs.h"
#include "astra/input/program.h"
#include "core/collective_kind.h"

namespace orrery::astra {

// Calls of one operation that run custom schedules.
struct CustomUse {
  std::map<std::uint32_t, std::string> prefix_of_size{};  // of the files, by number of ranks
  std::set<std::uint64_t> bytes{};                        // sizes of the calls
  bool computes = false;                                  // schedules have computations that take time
};

// Finds the custom schedules that calls run, by operation. InputError where an experiment cannot say the same: where
// some calls of an operation run a custom schedule and others do not, where groups of one size run different ones, and
// where there are graphs of more ranks than call.
std::map<CommKind, CustomUse> custom_uses(const Inputs& inputs, const Job& job);

// The same operation in Orrery's own words.
CollectiveKind collective_kind(CommKind kind);

// Files of all of them, by operation, as an experiment names them: "rings/all-reduce".
std::vector<std::string> prefixes_of(const CustomUse& use);

// Size that all calls of all operations have, which the graphs' own bytes are then for; 0 if sizes differ.
std::uint64_t common_size(const std::map<CommKind, CustomUse>& uses);

}  // namespace orrery::astra
