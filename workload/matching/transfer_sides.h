// What a rank sends to one peer and receives from it. Ranks of the same graph and tags that have a peer at the same
// slots share that side of the traffic, whoever the peer is.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "workload/graph/job.h"

namespace orrery {

// One end of a message, in the order in which the ends meet.
struct MessageEnd {
  std::int64_t tag = 0;
  std::uint32_t position = 0;  // in the canonical order of the graph
  NodeId node{};
  Bytes bytes;

  auto operator<=>(const MessageEnd&) const = default;
};

struct TransferSide {
  std::uint32_t graph = 0;
  std::vector<std::uint32_t> slots;  // of the peer, ascending: a rank may list it more than once
  std::vector<MessageEnd> sends;     // ascending
  std::vector<MessageEnd> receives;
};

class TransferSides {
 public:
  struct Peer {
    RankId rank{};
    std::uint32_t side = 0;  // of the traffic with it
  };

  // `job` outlives it.
  explicit TransferSides(const Job& job);

  // Whom the rank sends to or receives from, ascending.
  std::span<const Peer> peers(RankId rank) const;
  // The rank's side of the traffic with `peer`; an empty one where it has none.
  std::uint32_t side(RankId rank, RankId peer) const;
  const TransferSide& operator[](std::uint32_t side) const { return sides_[side]; }

 private:
  // A graph with one rank's tags.
  struct Program {
    std::uint32_t graph = 0;
    const std::vector<std::int64_t>* tags = nullptr;  // null: all zero
  };
  struct Transfer {
    std::uint32_t position = 0;
    NodeId node{};
  };
  using SlotTransfers = std::vector<std::vector<Transfer>>;  // by peer slot, in canonical order

  static SlotTransfers transfers_by_slot(const ExecutionGraph& graph);
  std::uint32_t program_of(const RankBinding& binding);
  void add_peers(const RankBinding& binding);
  std::uint32_t intern(std::uint32_t program, std::span<const std::uint32_t> slots);
  TransferSide make_side(const Program& program, std::span<const std::uint32_t> slots) const;

  const Job& job_;
  std::vector<SlotTransfers> transfers_;                          // by graph
  std::vector<Program> programs_;                                 // first those without tags, by graph
  std::unordered_multimap<std::uint64_t, std::uint32_t> tagged_;  // programs by their digest
  std::vector<TransferSide> sides_;                               // 0: no traffic
  std::map<std::vector<std::uint32_t>, std::uint32_t> side_of_;   // by program and slots
  std::vector<std::uint32_t> key_;                                // looked up in side_of_; kept for its memory
  std::vector<std::size_t> first_peer_;                           // into peers_, by RankId
  std::vector<Peer> peers_;
};

}  // namespace orrery
