// SPDX-License-Identifier: MIT
// The quotient of a job by its symmetry: who is simulated for whom. One rank of every class acts for the others; one
// communicator of every class is home to the calls of the others; a message stands for all of its class, and takes of
// one link of each class what all of them together take of every such link.
//
// In a home communicator the members that do the same share a seat, which one of them holds. A message class goes from
// one seat to one other (or to itself), with some of the sender's sends and some of the receiver's receives: those that
// its messages are at one sender and at one receiver.
//
// When more comes into use, classes may come apart. Whoever acts keeps acting, for those that are still like it; the
// other parts get an agent, home or link of their own that begins with the state of the one they were part of.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "network/network.h"
#include "system/folding/symmetry.h"

namespace orrery::system {

// All messages of one class. Of a collective: with sends of the sender's program, the seat of the receiver, and slots
// of its program. Of sends to a peer: with peer slots of the sender, the receiver's agent, and peer slots there.
struct MessageClass {
  std::uint32_t sender = 0;          // of a collective: seat
  std::uint32_t round = 0;           // of a complete exchange
  std::vector<std::uint32_t> sends;  // ascending; the first starts the message for all
  std::uint32_t receiver = 0;
  std::vector<std::uint32_t> slots;
  bool is_uniform_ring = false;  // of every step: sends and slots are that of the step instead
  std::vector<network::LinkShare> shares;
  Duration latency{};
  network::PathId path{};
  std::uint64_t count = 0;                     // messages; 0: not in use
  Symmetry::Vertex one = Symmetry::kNotInUse;  // of them; of a complete exchange the line
  const MessageClass* before = nullptr;        // of a collective, while a split goes on: what it was part of
};

// All lines of one class, at granularity `phase`.
struct LineClass {
  std::vector<std::uint32_t> seats;
  std::vector<network::LinkLoad> loads;  // with copies
  network::PathId path{};                // of these
  std::uint64_t count = 1;
  Symmetry::Vertex one = Symmetry::kNotInUse;  // of them
};

// A home communicator.
struct Home {
  std::vector<std::uint32_t> seat_of_member;
  std::vector<std::uint32_t> member_of_seat;  // who holds it
};

// The messages of a home's calls of one pattern.
class PatternTables {
 public:
  // Send `send` of a seat in a phase; nullptr if an earlier send of the seat starts it too. At granularity `step`.
  const MessageClass* message(std::uint32_t phase, std::uint32_t seat, std::uint32_t send) const;
  // The line of a seat in a phase. At granularity `phase`.
  const LineClass& line(std::uint32_t phase, std::uint32_t seat) const { return lines_[line_of_seat_[phase][seat]]; }
  // What a seat starts in a phase.
  std::vector<const MessageClass*> messages(std::uint32_t phase, std::uint32_t seat) const;

 private:
  friend class Folding;

  std::vector<MessageClass> classes_;
  // By phase and seat: where the seat's sends are in classes_; a uniform ring has one.
  std::vector<std::vector<std::vector<std::uint32_t>>> class_of_send_;
  std::vector<LineClass> lines_;
  std::vector<std::vector<std::uint32_t>> line_of_seat_;  // by phase and seat
};

// What came apart, and what else is described anew: messages under way of these homes and agents are to be looked up
// again.
struct ClassSplit {
  struct Home {
    GroupId home{};
    GroupId parent{};                        // itself if it was home before
    std::vector<std::uint32_t> parent_seat;  // by seat; those that were there before keep their number
  };
  using Sends = std::pair<std::uint32_t, std::uint32_t>;  // agent, and the first of the peer slots

  std::map<std::uint32_t, std::vector<std::uint32_t>> parts_of_agent;  // the new ones, of those that have any
  std::vector<network::LinkSplit> links;                               // newly acting
  std::vector<Home> homes;                                             // new, or with new tables
  std::map<Sends, std::vector<std::uint32_t>> sends_before;            // the peer slots, where they are described anew
  std::map<std::pair<GroupId, std::uint32_t>, std::vector<MessageClass>> tables_before;  // by home and pattern

  std::span<const std::uint32_t> parts_of(std::uint32_t agent) const;
  bool empty() const { return parts_of_agent.empty() && links.empty() && homes.empty() && sends_before.empty(); }
};

class Folding {
 public:
  // All outlive it. Ranks are folded by what is in use.
  Folding(const workload::Job& job, std::span<const DeviceId> placement, CollectivePlans& plans,
          const Symmetry& symmetry, Granularity granularity, network::Network& network);

  // Takes over the refined symmetry.
  ClassSplit update();

  // Agents are the classes of ranks; the first rank of a class acts.
  std::uint32_t agent_count() const { return static_cast<std::uint32_t>(first_ranks_.size()); }
  std::uint32_t agent_of(RankId rank) const { return of_class_[symmetry_.colour(rank)]; }
  RankId first_rank(std::uint32_t agent) const { return first_ranks_[agent]; }
  // In no order; until more comes into use.
  auto ranks_of(std::uint32_t agent) const {
    return symmetry_.members(symmetry_.colour(first_rank(agent))) |
           std::views::transform([](Symmetry::Vertex rank) { return RankId(rank); });
  }

  // The link that is simulated for `link`: itself if no message crosses it.
  LinkId acting(LinkId link) const {
    const std::optional<Symmetry::Colour> colour = symmetry_.colour(link);
    return colour ? LinkId(of_class_[*colour]) : link;
  }
  std::uint32_t link_class_count() const { return link_classes_; }

  bool is_in_use(GroupId group) const { return symmetry_.is_in_use(group); }
  GroupId home_of(GroupId group) const { return GroupId(of_class_[symmetry_.colour(group)]); }
  const Home& home(GroupId home) const { return homes_[index_of(home)]; }
  // The seat of a rank in the home of its communicator.
  std::uint32_t seat_of(RankId rank, GroupId group) const { return seat_of_[agent_of(rank)][slot_of(rank, group)]; }

  // The messages of a home's call; stays where it is.
  const PatternTables& tables(GroupId home, std::uint32_t call) const {
    return patterns_.at({home, symmetry_.patterns().of_call(home, call)});
  }
  bool is_private_ring(GroupId home, std::uint32_t call) const {
    return symmetry_.is_private_ring(home, symmetry_.patterns().of_call(home, call));
  }
  // The sends of an acting rank to a peer; of count 0 if not in use. Those to all peers of its `sends` start with those
  // to the first.
  const MessageClass& sends(RankId acting, std::uint32_t peer_slot) const {
    return transfers_[agent_of(acting)][peer_slot];
  }

 private:
  std::uint32_t slot_of(RankId rank, GroupId group) const { return plans_.slot_of(rank, group); }
  // A complete exchange on a line.
  struct Exchange {
    Symmetry::Vertex one;
    std::uint32_t phase;
    std::span<const std::uint32_t> members;  // of the line
    std::span<const std::uint32_t> seats;    // likewise
    const collectives::Schedule& schedule;
  };
  // By class of the line, seats of sender and receiver, and round.
  using SlotsOfExchanges = std::map<std::array<std::uint32_t, 4>, std::vector<std::uint32_t>>;
  // What there is to look at again: changed classes, and whoever their members have to do with.
  struct Changes {
    std::vector<Symmetry::Colour> ranks;
    std::vector<Symmetry::Colour> links;
    std::vector<Symmetry::Colour> communicators;
    std::vector<GroupId> groups;
    std::vector<RankId> senders;
  };
  Changes find_changes() const;
  void add_user(const Symmetry::Origin& origin, Changes& changes) const;
  // Who acts for a class from now on, and who did for the class that it was part of; kNone if it is new.
  struct Acting {
    std::uint32_t id;
    std::uint32_t before;
    Symmetry::Colour colour;
  };
  template <class ColourOf>
  std::vector<Acting> find_acting(std::span<const Symmetry::Colour> classes, const ColourOf& colour_of) const;
  void fold_ranks(std::span<const Symmetry::Colour> classes, ClassSplit& split);
  void fold_links(std::span<const Symmetry::Colour> classes, ClassSplit& split);
  void add_agent(RankId first, std::uint32_t parent, ClassSplit& split);
  void fold_communicators(const Changes& changes, ClassSplit& split);
  bool has_changed(GroupId home) const;
  bool has_changed(const MessageClass& message) const;
  template <class Share>
  bool has_changed_link(const std::vector<Share>& shares) const {
    return std::ranges::any_of(shares,
                               [&](const Share& s) { return symmetry_.has_changed(*symmetry_.colour(s.link)); });
  }
  std::vector<std::uint32_t> take_seats(GroupId group);
  void fold_pattern(GroupId home, GroupId parent, std::uint32_t pattern, std::span<const std::uint32_t> parent_seat,
                    ClassSplit& split);
  void fold_messages(GroupId home, std::uint32_t pattern);
  void fold_exchanges(GroupId home, std::uint32_t pattern);
  void find_slots(const Home& home, const Exchange& exchange, SlotsOfExchanges& slots) const;
  void fold_exchange(GroupId home, const Exchange& exchange, const SlotsOfExchanges& slots, PatternTables& tables);
  void fold_lines(GroupId home, std::uint32_t pattern);
  // The peer slots of a rank, by the class of what it sends to the peer or receives from it.
  using SlotsByClass = std::map<Symmetry::Colour, std::vector<std::uint32_t>>;
  SlotsByClass sends_by_class(RankId rank) const;
  SlotsByClass receives_by_class(RankId rank) const;
  void fold_transfers(const Changes& changes, ClassSplit& split);
  void fold_transfers_of(std::uint32_t agent, std::map<RankId, SlotsByClass>& received, ClassSplit& split);
  MessageClass transfer(RankId from, const std::vector<std::uint32_t>& sends,
                        std::map<RankId, SlotsByClass>& received) const;
  void take_route(MessageClass& message, DeviceId from, DeviceId to) const;
  template <class Share>
  std::vector<Share> folded(std::vector<Share> shares, std::uint64_t count) const;

  const workload::Job& job_;
  std::span<const DeviceId> placement_;
  CollectivePlans& plans_;
  const Symmetry& symmetry_;
  Granularity granularity_;
  network::Network& network_;
  std::vector<RankId> first_ranks_;      // by agent
  std::vector<std::uint32_t> of_class_;  // by class, who acts: the agent of ranks, else the link or communicator
  std::uint32_t link_classes_ = 0;
  std::vector<Home> homes_;                          // by communicator; without seats where it is no home
  std::vector<std::vector<std::uint32_t>> seat_of_;  // by agent and communicator slot
  std::map<std::pair<GroupId, std::uint32_t>, PatternTables> patterns_;
  std::vector<std::vector<MessageClass>> transfers_;  // by agent and peer slot
};

}  // namespace orrery::system
