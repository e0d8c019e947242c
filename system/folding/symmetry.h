// SPDX-License-Identifier: MIT
// Which ranks, links and communicators behave alike: colour refinement over ranks, the messages they exchange, the
// communicators they share and the links the messages cross. Ranks of one class do the same at the same instants, and
// links of one class carry the same, however many there are; nothing is assumed about the fabric, all routes are looked
// up.
//
// A message stands for one step of every chunk and call in which it is sent (in a uniform ring for all steps), since
// these tie together the same ranks and links. At granularity `phase` the messages of a line are one.
//
// The partition is of the communicators and pairs of ranks in use; it gets finer when more come into use.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "system/folding/colour_refinement.h"
#include "system/folding/patterns.h"
#include "system/plans/line_traffic.h"
#include "system/plans/plans.h"
#include "system/plans/transfer_slots.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {

class Symmetry {
 public:
  // `own` tells ranks apart from the start (their graphs do in any case). All but `own` outlive it.
  Symmetry(const workload::Job& job, const workload::Matching& matching, const network::Fabric& fabric,
           std::span<const DeviceId> placement, CollectivePlans& plans, Granularity granularity,
           std::span<const std::uint64_t> own);

  // Brings the calls of a communicator into use. False if it has none or they are in use already.
  bool use_communicator(GroupId group);
  // Likewise all sends of a rank to one of its peers.
  bool use_sends(RankId from, std::uint32_t peer_slot);
  // The classes of all that is in use.
  void refine();
  // How many classes of ranks there are by what they run, and how many more because of whom they talk to and because of
  // the links that takes.
  struct Stages {
    std::uint32_t programs = 0;
    std::uint32_t partners = 0;
    std::uint32_t links = 0;
  };
  const Stages& stages() const { return stages_; }
  bool is_equitable() const { return refinement_.is_equitable(); }

  using Vertex = ColourRefinement::Vertex;
  using Colour = ColourRefinement::Colour;
  Colour colour(RankId rank) const { return refinement_.colour(index_of(rank)); }
  Colour colour(GroupId group) const { return refinement_.colour(*communicators_[index_of(group)].vertex); }
  Colour colour_of(Vertex message) const { return refinement_.colour(message); }
  // Nothing for a link that no message in use crosses.
  std::optional<Colour> colour(LinkId link) const;
  std::uint32_t class_count() const { return refinement_.class_count(); }
  std::uint32_t class_size(Colour colour) const { return refinement_.class_size(colour); }
  // What the last refine() did: whether classes of before came apart, and what came into use with it.
  bool has_split() const { return refinement_.has_split(); }
  struct PeerSlot {
    RankId rank{};
    std::uint32_t slot = 0;
  };
  struct News {
    std::vector<GroupId> communicators;
    std::vector<PeerSlot> sends;
    std::vector<LinkId> links;
  };
  const News& news() const { return news_; }
  // Whether a class came to be or lost members.
  bool has_changed(Colour colour) const { return refinement_.has_changed(colour); }
  // The class that it was part of before that; nothing if its members were not in use.
  std::optional<Colour> before(Colour colour) const { return refinement_.before(colour); }

  const TransferSlots& transfer_slots(RankId rank) const { return transfer_slots_[job_.ranks[index_of(rank)].graph]; }
  // All sends of a rank to a peer, and where they meet receives from it.
  struct Sends {
    Vertex vertex = kNotInUse;
    std::uint32_t receive_slot = 0;  // of the receiver, which has the rank for a peer there
  };
  static constexpr Vertex kNotInUse = UINT32_MAX;
  const Sends& sends(RankId from, std::uint32_t peer_slot) const { return sends_[index_of(from)][peer_slot]; }
  // The messages in use that a rank receives from a peer: one, unless the peer has several slots for it.
  std::span<const Vertex> received(RankId to, std::uint32_t peer_slot) const {
    return received_[index_of(to)][peer_slot];
  }
  bool is_in_use(GroupId group) const { return communicators_[index_of(group)].vertex.has_value(); }

  const Patterns& patterns() const { return patterns_; }
  // The first message or line of a pattern of a communicator in use; the others follow.
  Vertex first_message(GroupId group, std::uint32_t pattern) const {
    return communicators_[index_of(group)].first_message[pattern];
  }
  // Whether its messages have all their links to themselves but for other patterns of the communicator.
  // Whether nothing but the communicator's own calls has crossed the links that they cross, so far. Of a communicator
  // in use, and at granularity `phase`; private rings are by themselves in any case.
  bool is_alone(GroupId group) const;
  bool is_private_ring(GroupId group, std::uint32_t pattern) const { return private_rings_.contains(group, pattern); }

  // The links of a route, each once.
  std::vector<network::LinkShare> route_of(DeviceId from, DeviceId to) const;
  Duration latency_of(DeviceId from, DeviceId to) const { return network::route_latency(fabric_, from, to); }
  const LineTraffic& traffic(Vertex line) const { return line_traffic_.at(line); }

 private:
  struct UsedCommunicator {
    std::optional<Vertex> vertex;
    std::vector<Vertex> first_message;  // by pattern
  };
  // Which sends meet which receives between two ranks, for all that have the same.
  using PairKey = std::array<std::uint32_t, 4>;  // graph and slot here, end list, graph there
  struct Pairing {
    std::uint64_t hash = 0;
    std::uint32_t receive_slot = 0;  // of the first
    bool is_spread = false;          // over several slots
  };

  std::uint64_t own_colour(GroupId group) const;
  const Pairing& pairing(RankId from, std::uint32_t peer_slot, RankId to);
  std::uint64_t program_hash(GroupId group, std::uint32_t member) const;
  void add_messages(GroupId group, const Pattern& pattern);
  void add_lines(GroupId group, const Pattern& pattern);
  void cross_links_of_news();
  void cross_links(GroupId group, std::uint32_t pattern);
  // `user`: of the link: 1 + a communicator, or kManyUsers.
  void cross_route(Vertex message, DeviceId from, DeviceId to, std::uint32_t user);
  void cross_link(Vertex vertex, LinkId link, std::uint64_t how, std::uint32_t user);
  std::uint32_t rank_classes() const;
  std::uint32_t slot_of(GroupId group, std::uint32_t member) const;
  RankId rank_of(GroupId group, std::uint32_t member) const;
  using KindsOfRanks = std::vector<std::shared_ptr<const ProgramKinds>>;
  const KindsOfRanks& kinds(const collectives::Schedule& schedule) const;

  const workload::Job& job_;
  const workload::Matching& matching_;
  const network::Fabric& fabric_;
  std::span<const DeviceId> placement_;
  CollectivePlans& plans_;
  Granularity granularity_;
  Patterns patterns_;
  PrivateRings private_rings_;
  ColourRefinement refinement_;
  Stages stages_;
  static constexpr std::uint32_t kManyUsers = UINT32_MAX;

  std::vector<std::optional<Vertex>> link_vertices_;
  std::vector<std::uint32_t> user_of_link_;  // 0: nobody; empty if no program has repetitions
  std::vector<UsedCommunicator> communicators_;
  std::vector<TransferSlots> transfer_slots_;               // by graph
  std::vector<std::vector<Sends>> sends_;                   // by rank, by peer slot
  std::vector<std::vector<std::vector<Vertex>>> received_;  // likewise
  std::map<PairKey, Pairing> pairings_;
  News used_;  // since the last refine()
  News news_;
  std::unordered_map<Vertex, LineTraffic> line_traffic_;
  mutable std::map<const collectives::Schedule*, KindsOfRanks> kinds_;  // by position
};

}  // namespace orrery::system
