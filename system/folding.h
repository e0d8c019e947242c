// The quotient of a job by its symmetry: who is simulated for whom. One rank of every class acts for the others; one
// communicator of every class is home to the calls of the others; a message stands for all of its class, and takes of
// one link of each class what all of them together take of every such link.
//
// In a home communicator the members that do the same share a seat, which one of them holds. A message class goes from
// one seat to one other (or to itself), with some of the sender's sends and some of the receiver's receives: those that
// its messages are at one sender and at one receiver.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "network/link_share.h"
#include "system/symmetry.h"

namespace orrery {

// All messages of one class. Of a collective: with sends of the sender's program, the seat of the receiver, and slots
// of its program. Of sends to a peer: with peer slots of the sender, the receiver's agent, and peer slots there.
struct MessageClass {
  std::vector<std::uint32_t> sends;  // ascending; the first starts the message for all
  std::uint32_t receiver = 0;
  std::vector<std::uint32_t> slots;
  bool is_relay = false;  // of every step: sends and slots are that of the step instead
  std::vector<LinkShare> shares;
  Duration latency{};
  std::uint64_t count = 1;  // messages
};

// All lines of one class, at granularity `phase`.
struct LineClass {
  std::vector<std::uint32_t> seats;
  LineTraffic traffic;  // with copies
  std::uint64_t count = 1;
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
  // One relay whose messages have all their links to themselves, whenever they are sent, but for other patterns of the
  // home. At granularity `step`.
  bool is_private_relay() const { return is_private_relay_; }
  // The line of a seat in a phase. At granularity `phase`.
  const LineClass& line(std::uint32_t phase, std::uint32_t seat) const { return lines_[line_of_seat_[phase][seat]]; }

 private:
  friend class Folding;

  bool is_private_relay_ = false;
  std::vector<MessageClass> classes_;
  // By phase and seat: where the seat's sends are in classes_; a relay has one.
  std::vector<std::vector<std::vector<std::uint32_t>>> class_of_send_;
  std::vector<LineClass> lines_;
  std::vector<std::vector<std::uint32_t>> line_of_seat_;  // by phase and seat
};

class Folding {
 public:
  // `symmetry` is refined, with everything in use. `job` outlives it; the others are needed only here.
  Folding(const Job& job, const Fabric& fabric, std::span<const DeviceId> placement, CollectivePlans& plans,
          const Symmetry& symmetry, Granularity granularity);

  // Agents are the classes of ranks, in the order of their first ranks, which act.
  std::uint32_t agent_count() const { return static_cast<std::uint32_t>(first_rank_.size()); }
  std::uint32_t agent_of(RankId rank) const { return agent_of_rank_[index_of(rank)]; }
  RankId first_rank(std::uint32_t agent) const { return first_rank_[agent]; }
  std::uint32_t ranks_of(std::uint32_t agent) const { return ranks_of_agent_[agent]; }

  // The link that is simulated for `link`: itself if no message crosses it.
  LinkId acting(LinkId link) const { return acting_link_[index_of(link)]; }
  std::uint32_t link_class_count() const { return link_classes_; }

  GroupId home_of(GroupId group) const { return home_of_[index_of(group)]; }
  const Home& home(GroupId home) const { return homes_[index_of(home)]; }
  // The seat of a rank in the home of its communicator.
  std::uint32_t seat_of(RankId rank, GroupId group) const { return seat_of_[agent_of(rank)][slot_of(rank, group)]; }

  // The messages of a pattern (Symmetry::pattern_of) of a home; stays where it is.
  const PatternTables& tables(GroupId home, std::uint32_t pattern) const { return patterns_.at({home, pattern}); }
  // The sends of an acting rank to a peer. Those to all peers of its `sends` start with those to the first.
  const MessageClass& sends(RankId acting, std::uint32_t peer_slot) const;

 private:
  std::uint32_t slot_of(RankId rank, GroupId group) const;
  void fold_ranks(const Symmetry& symmetry);
  void fold_links(const Fabric& fabric, const Symmetry& symmetry);
  void fold_communicators(const Symmetry& symmetry);
  void fold_messages(GroupId home, const Pattern& pattern, const Symmetry& symmetry, CollectivePlans& plans);
  void fold_lines(GroupId home, const Pattern& pattern, const Symmetry& symmetry);
  void fold_transfers(const Symmetry& symmetry, std::span<const DeviceId> placement);
  void find_private_relays();
  std::vector<LinkShare> folded(std::span<const LinkShare> shares, std::uint64_t count, const Symmetry& symmetry) const;

  const Job& job_;
  std::vector<std::uint32_t> agent_of_rank_;
  std::vector<RankId> first_rank_;
  std::vector<std::uint32_t> ranks_of_agent_;
  std::vector<LinkId> acting_link_;
  std::uint32_t link_classes_ = 0;
  std::vector<GroupId> home_of_;
  std::vector<Home> homes_;                          // by communicator; without seats where it is no home
  std::vector<std::vector<std::uint32_t>> seat_of_;  // by agent and communicator slot
  std::map<std::pair<GroupId, std::uint32_t>, PatternTables> patterns_;
  std::map<std::pair<RankId, std::uint32_t>, MessageClass> transfers_;
};

// Without a folding every rank acts for itself.
inline std::uint32_t agent_of(const Folding* folding, RankId rank) {
  return folding == nullptr ? index_of(rank) : folding->agent_of(rank);
}
inline RankId first_rank(const Folding* folding, std::uint32_t agent) {
  return folding == nullptr ? RankId(agent) : folding->first_rank(agent);
}
inline RankId acting_rank(const Folding* folding, RankId rank) {
  return folding == nullptr ? rank : folding->first_rank(folding->agent_of(rank));
}

}  // namespace orrery
