// SPDX-License-Identifier: MIT
// Matching of calls and transfers, decided before anything is simulated.
//
// A communicator's k-th call on one member meets the k-th call on every other; the k-th send from a to b with tag t
// meets the k-th receive of b from a with tag t. "k-th" is by each graph's canonical order, so ranks that run at
// different speeds cannot pair the wrong calls, and a disagreement is found without simulating.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/collective_kind.h"
#include "core/ids.h"
#include "core/units.h"
#include "workload/graph/job.h"

namespace orrery::workload {

// Sizes by position among a communicator's members. Copies share them.
class MemberSizes {
 public:
  MemberSizes() = default;
  explicit MemberSizes(std::vector<Bytes> sizes)
      : sizes_(sizes.empty() ? nullptr : std::make_shared<const std::vector<Bytes>>(std::move(sizes))) {}

  bool empty() const { return sizes_ == nullptr; }
  std::size_t size() const { return empty() ? 0 : sizes_->size(); }
  std::span<const Bytes> span() const { return empty() ? std::span<const Bytes>() : std::span(*sizes_); }
  bool operator==(const MemberSizes& other) const {
    return sizes_ == other.sizes_ || std::ranges::equal(span(), other.span());
  }

 private:
  std::shared_ptr<const std::vector<Bytes>> sizes_;  // null: none
};

// One collective of one communicator, agreed on by all members.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;                  // of each member's input buffer; the largest where they differ
  std::uint32_t root = 0;       // position among the members
  MemberSizes bytes_of_member;  // only where they differ (all-to-all, gather, scatter)

  bool operator==(const CollectiveCall&) const = default;
};

// The other end of a send or receive.
struct TransferEnd {
  RankId rank{};
  NodeId node{};

  bool operator==(const TransferEnd&) const = default;
};

// Communicators that call the same share one list of calls.
struct CallLists {
  std::vector<std::vector<CollectiveCall>> lists;  // each content once; by call index (ExecutionGraph::call_index)
  std::vector<std::uint32_t> list_of;              // by GroupId, into lists
};

// Lists of nodes at the ends of transfers, shared by pairs of ranks with the same graphs.
struct EndLists {
  // A transfer among those of its peer slot.
  struct Place {
    std::uint32_t slot = 0;
    std::uint32_t ordinal = 0;
  };
  // Ends of the transfers of a peer slot.
  struct Slot {
    RankId peer{};
    std::uint32_t list = 0;
  };

  Period period{};                         // of the ranks: those of digit 0 stand for all
  std::vector<std::vector<Place>> places;  // by graph, by transfer index; of one of those with the same transfers
  std::vector<std::uint32_t> graph_of;     // by place of the rank
  std::vector<std::size_t> first_slot;     // likewise, into slots
  std::vector<Slot> slots;                 // rank after rank, by peer slot
  std::vector<std::vector<NodeId>> lists;  // of the peer's nodes, by ordinal
};

// Takes memory for the distinct graphs and what they do together, and a few numbers for each communicator, and each
// rank and peer that none of a period before is like; not for each node of each rank.
class Matching {
 public:
  Matching(CallLists calls, EndLists ends) : calls_(std::move(calls)), ends_(std::move(ends)) {}

  std::uint32_t communicators() const { return static_cast<std::uint32_t>(calls_.list_of.size()); }
  // Calls of a group by call index (ExecutionGraph::call_index).
  std::span<const CollectiveCall> calls(GroupId group) const { return calls_.lists[call_list(group)]; }
  // Equal for two communicators exactly where their calls are equal; below call_lists().
  std::uint32_t call_list(GroupId group) const { return calls_.list_of[index_of(group)]; }
  std::uint32_t call_lists() const { return static_cast<std::uint32_t>(calls_.lists.size()); }

  TransferEnd end(RankId rank, std::uint32_t transfer_index) const {
    const std::uint32_t first = ends_.period.first(index_of(rank)), at = ends_.period.place(index_of(rank));
    const EndLists::Place place = ends_.places[ends_.graph_of[at]][transfer_index];
    const EndLists::Slot slot = ends_.slots[ends_.first_slot[at] + place.slot];
    return {RankId(index_of(slot.peer) + index_of(rank) - first), ends_.lists[slot.list][place.ordinal]};
  }
  // Equal for two slots of ranks of one graph where their transfers end in the same nodes.
  std::uint32_t end_list(RankId rank, std::uint32_t peer_slot) const {
    return ends_.slots[ends_.first_slot[ends_.period.place(index_of(rank))] + peer_slot].list;
  }
  // Number of node lists that the ends of all ranks share.
  std::uint32_t end_lists() const { return static_cast<std::uint32_t>(ends_.lists.size()); }

 private:
  CallLists calls_;
  EndLists ends_;
};

// True if calls of two members can be one: the same operation, on the same bytes unless its members may differ in them
// (all-to-all, gather, scatter).
bool can_be_one(CollectiveKind kind, Bytes bytes, CollectiveKind other_kind, Bytes other_bytes);

// Nothing when members disagree or somebody is waited for in vain.
std::optional<Matching> try_match(const Job& job);

// Throws StuckError, naming the ranks, nodes and operations, when members disagree or somebody is waited for in vain,
// and the smallest edits that would mend it.
Matching match(const Job& job);

// Counts calls by node, in graphs of their own, where the members' canonical orders are not the same and their ids,
// names and operations are. NodeIds ascend with the ids of the trace.
void count_calls_by_id(Job& job);

}  // namespace orrery::workload
