// SPDX-License-Identifier: MIT
// Ranks that do the same share a trace. `<prefix>.roles.json` beside the traces says whose each rank has, and what its
// groups and peers are called in place of those in the file:
//
//   {"schema": "orrery.roles/1", "ranks": [
//     {"trace": 0, "groups": ["tensor0", "data0"], "peers": [8]},
//     {"trace": 0, "groups": ["tensor0", "data1"], "peers": [9]}]}
//
// One entry for each rank, from rank 0 on. Groups and peers are in the order in which the nodes of the trace, ascending
// by id, first name them; "" is the world. A trace is that of the first rank that has it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/graph/job.h"

namespace orrery::workload {

inline constexpr std::string_view kRolesSchema = "orrery.roles/1";

// Role of one rank: its names for what its trace names.
struct RankRole {
  std::uint32_t trace = 0;            // the rank whose trace it has
  std::vector<std::string> groups{};  // by communicator slot of the trace
  std::vector<std::int64_t> peers{};  // by peer slot of the trace

  bool operator==(const RankRole&) const = default;
};

// The traces that a prefix stands for, each once, and which of them a rank has.
struct JobTraces {
  std::vector<std::string> files;
  std::vector<std::uint32_t> file_of_rank;  // by rank, into files
  std::string roles_file{};                 // empty: a trace for each rank
  std::vector<RankRole> roles{};            // by rank; empty with a trace for each rank
};

// "w/rank.roles.json" of "w/rank".
std::string roles_file_of(std::string_view prefix);

// Throws InputError: what find_trace_files() throws; where there is a file of roles, when that is not one, when a trace
// that it names is not there, and when there is one that it does not name.
JobTraces find_job_traces(const std::string& prefix);

// The role of every rank of a job, whose communicators are called `keys` in the traces, by GroupId. Ranks share a trace
// that have the same graph, labels, tags and roots, and name two groups or peers alike where the others do.
std::vector<RankRole> roles_of(const Job& job, std::span<const std::string> keys);

// Line of the roles file for one rank.
std::string to_text(const RankRole& role);

}  // namespace orrery::workload
