// SPDX-License-Identifier: MIT
// The quotient of a job by its symmetry: who is simulated for whom. One rank of every class acts for the others; one
// communicator of every class is home to the calls of the others (system/folding/actors.h); a message stands for all of
// its class (system/folding/messages.h). In a home communicator the members that do the same share a seat, which one of
// them holds.
//
// When more comes into use, classes may come apart. Whoever acts keeps acting, for those that are still like it; the
// other parts get an agent, home or link of their own that begins with the state of the one they were part of.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "network/network.h"
#include "system/folding/actors.h"
#include "system/folding/messages.h"
#include "system/folding/pattern_tables.h"
#include "system/folding/peer_messages.h"
#include "system/folding/symmetry.h"
#include "workload/graph/job.h"

namespace orrery::system {

// Result of a split: the parts, and the homes and agents whose messages under way are to be looked up again.
struct ClassSplit {
  struct Home {
    GroupId home{};
    GroupId parent{};                        // itself if it was home before
    std::vector<std::uint32_t> parent_seat;  // by seat; those that were there before keep their number
  };

  std::map<std::uint32_t, std::vector<std::uint32_t>> parts_of_agent;  // the new ones, of those that have any
  std::vector<network::LinkSplit> links;                               // newly acting
  std::vector<Home> homes;                                             // new, or with new tables
  PeerMessages::PeerSlots sends_before;                                // those that are described anew
  std::map<std::pair<GroupId, std::uint32_t>, std::vector<MessageClass>> tables_before;  // by home and pattern

  std::span<const std::uint32_t> parts_of(std::uint32_t agent) const;
  bool empty() const { return parts_of_agent.empty() && links.empty() && homes.empty() && sends_before.empty(); }
};

class Folding {
 public:
  // All outlive it. Ranks are folded by what is in use.
  Folding(const workload::Job& job, std::span<const DeviceId> placement, CollectivePlans& plans,
          const Symmetry& symmetry, network::Network& network);

  // Takes over the refined symmetry.
  ClassSplit update();

  const Actors& actors() const { return actors_; }
  bool is_in_use(GroupId group) const { return symmetry_.is_in_use(group); }
  const Home& home(GroupId home) const { return homes_.at(home); }
  // The seat of a rank in the home of its communicator.
  std::uint32_t seat_of(RankId rank, GroupId group) const {
    return seat_of_[actors_.agent_of(rank)][slot_of(rank, group)];
  }

  // The messages of a home's call; stays where it is.
  const PatternTables& tables(GroupId home, std::uint32_t call) const {
    return patterns_.at({home, symmetry_.patterns().of_call(home, call)});
  }
  PrivateCalls::Kind private_kind(GroupId home, std::uint32_t call) const {
    return symmetry_.private_kind(home, symmetry_.patterns().of_call(home, call));
  }
  // The sends of an acting rank to a peer; of count 0 if not in use. Those to all peers of its `sends` start with those
  // to the first.
  const MessageClass& sends(RankId acting, std::uint32_t peer_slot) const {
    return peers_.sends(actors_.agent_of(acting), peer_slot);
  }

 private:
  std::uint32_t slot_of(RankId rank, GroupId group) const { return plans_.slot_of(rank, group); }
  // Classes to look at again: changed ones, and those related to their members.
  struct Changes {
    std::vector<Symmetry::Colour> ranks;
    std::vector<Symmetry::Colour> links;
    std::vector<Symmetry::Colour> communicators;
    std::vector<GroupId> groups;
    std::vector<RankId> senders;
  };
  Changes find_changes() const;
  void add_user(const Symmetry::Origin& origin, Changes& changes) const;
  void fold_communicators(const Changes& changes, ClassSplit& split);
  bool has_changed(GroupId home) const;
  std::vector<std::uint32_t> take_seats(GroupId group);
  void fold_pattern(GroupId home, GroupId parent, std::uint32_t pattern, std::span<const std::uint32_t> parent_seat,
                    ClassSplit& split);

  const workload::Job& job_;
  CollectivePlans& plans_;
  const Symmetry& symmetry_;
  Actors actors_;
  FoldedRoutes routes_;
  PeerMessages peers_;
  std::unordered_map<GroupId, Home> homes_;          // by communicator
  std::vector<std::vector<std::uint32_t>> seat_of_;  // by agent and communicator slot
  std::map<std::pair<GroupId, std::uint32_t>, PatternTables> patterns_;
};

}  // namespace orrery::system
