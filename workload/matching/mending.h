// SPDX-License-Identifier: MIT
// The smallest changes that let a job finish whose ranks disagree or wait for one another. Each is tried: it is applied
// to the job, which is then matched and executed without times.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "workload/matching/edit.h"
#include "workload/matching/order.h"

namespace orrery::workload {

// Number of mendings that are told at most.
inline constexpr std::size_t kMendings = 6;
// Ranks that disagree about more things than these are not mended by a small change.
inline constexpr std::size_t kMostThings = 128;

struct Mending {
  std::vector<Edit> edits;
  bool is_tried = false;  // with them all ranks finish; for ranks that disagree, if no send waits for its receive
  // Other ranks that the changed ones are then like, less those that they were like before.
  std::int64_t alike = 0;
};

// Ways to settle one thing that ranks disagree about, the likeliest first.
using Alternatives = std::vector<std::vector<Edit>>;

// Returns edits with which all members of a communicator call the same: the fewest, those after most members, or after
// some. `left`: as alignment() takes it.
Alternatives mend_calls(const Job& job, GroupId group, std::size_t& left);

// Source and destination of messages.
using Route = std::pair<RankId, RankId>;

// One entry for each message that lacks its other end, and for each two that differ in one thing; an empty one for what
// takes too long to tell. `left`: likewise.
std::vector<Alternatives> mend_transfers(const Job& job, std::span<const Route> routes, std::size_t& left);

// Mendings with the fewest edits, the likeliest first: up to six. Empty where none is known. `groups` and `routes`:
// those about which the ranks disagree.
std::vector<Mending> mend_disagreement(const Job& job, std::span<const GroupId> groups, std::span<const Route> routes);

// Mends a job whose ranks agree, and wait for one another.
std::vector<Mending> mend_order(const Order& order, const SendWaits& send_waits);

// Mendings as data, for documents.
std::vector<Proposal> proposals(const Job& job, std::span<const Mending> mendings);

// One line for each mending, below a heading; no lines where there are none.
std::vector<std::string> to_lines(const Job& job, std::span<const Mending> mendings);

}  // namespace orrery::workload
