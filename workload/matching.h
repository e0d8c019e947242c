// Which calls belong together, decided before anything is simulated.
//
// A communicator's k-th call on one member meets the k-th call on every other; the k-th send from a to b with tag t
// meets the k-th receive of b from a with tag t. "k-th" is by each graph's canonical order, so ranks that run at
// different speeds cannot pair the wrong calls, and a disagreement is found without simulating.
#pragma once

#include <cstdint>
#include <vector>

#include "core/collective_kind.h"
#include "core/ids.h"
#include "core/units.h"
#include "workload/job.h"

namespace orrery {

// One collective of one communicator, agreed on by all members.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;                         // of each member's input buffer; the largest where they differ
  std::uint32_t root = 0;              // position among the members
  std::vector<Bytes> bytes_of_member;  // by position; only where they differ (all-to-all, gather, scatter)

  bool operator==(const CollectiveCall&) const = default;
};

// The other end of a send or receive.
struct TransferEnd {
  RankId rank{};
  NodeId node{};

  bool operator==(const TransferEnd&) const = default;
};

struct Matching {
  std::vector<std::vector<CollectiveCall>> calls;   // by GroupId, then by call index (ExecutionGraph::call_index)
  std::vector<std::vector<TransferEnd>> transfers;  // by RankId, then by transfer index
};

// Throws StuckError, naming the ranks, nodes and operations, when members disagree or somebody is waited for in vain.
Matching match(const Job& job);

}  // namespace orrery
