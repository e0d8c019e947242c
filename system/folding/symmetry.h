// SPDX-License-Identifier: MIT
// Symmetry of ranks, links and communicators: colour refinement over ranks, the messages they exchange, the
// communicators they share and the links the messages cross. Ranks of one class do the same at the same instants, and
// links of one class carry the same, however many there are; nothing is assumed about the fabric, all routes are looked
// up.
//
// A message stands for one step of every chunk and call in which it is sent (in a uniform ring for all steps), since
// these tie together the same ranks and links. At granularity `phase` the messages of a line are one; a line of all
// members is the communicator itself.
//
// In a complete exchange everybody sends the same to everybody (Pattern::is_complete). Where all routes are one's way
// out and the other's way in, what a rank or link has to do with it follows from who is on its line: the messages of
// the line are one vertex, and what is on a rank's ways is tied to the rank.
//
// The partition is of the communicators and pairs of ranks in use; it gets finer when more come into use. Of replicas
// (system/folding/replicas.h) the first stands for all: only it has vertices, which weigh as much as there are
// replicas.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/paged_array.h"
#include "network/fabric/fabric.h"
#include "system/folding/colour_refinement.h"
#include "system/folding/pairings.h"
#include "system/folding/patterns.h"
#include "system/folding/replicas.h"
#include "system/plans/line_traffic.h"
#include "system/plans/plans.h"
#include "system/plans/transfer_slots.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {

// True if the line is the whole communicator.
inline bool is_whole(const workload::Job& job, GroupId group, const PatternLine& line) {
  return line.members.size() == job.communicators[index_of(group)].members.size();
}

class Symmetry {
 public:
  // `own` tells ranks apart from the start, if it is not empty (their graphs do in any case). All but `own` outlive it.
  // The classes are the same whether they are found by replicas or not.
  Symmetry(const workload::Job& job, const workload::Matching& matching, const network::Fabric& fabric,
           std::span<const DeviceId> placement, CollectivePlans& plans, Granularity granularity,
           std::span<const std::uint64_t> own, bool by_replicas = true);

  Granularity granularity() const { return granularity_; }
  const Replicas& replicas() const { return replicas_; }
  // Brings the calls of a communicator and its replicas into use. Returns how many these are: 0 if they have no calls
  // or are in use already.
  std::uint32_t use_communicator(GroupId group);
  // Brings all sends of a rank to one of its peers into use. Returns how many such pairs there are, as above.
  std::uint32_t use_sends(RankId from, std::uint32_t peer_slot);
  // The classes of all that is in use.
  void refine();
  // Number of classes of ranks by their programs, and how many more exist because of their peers and because of the
  // links on the way.
  struct Stages {
    std::uint32_t programs = 0;
    std::uint32_t partners = 0;
    std::uint32_t links = 0;
  };
  const Stages& stages() const { return stages_; }
  bool is_equitable() const { return refinement_.is_equitable(); }

  using Vertex = ColourRefinement::Vertex;
  using Colour = ColourRefinement::Colour;
  Colour colour(RankId rank) const { return refinement_.colour(vertex_of(rank)); }
  Colour colour(GroupId group) const { return refinement_.colour(*used(group).vertex); }
  Colour colour_of(Vertex message) const { return refinement_.colour(message); }
  // Nothing for a link that no message in use crosses.
  std::optional<Colour> colour(LinkId link) const;
  std::uint32_t class_count() const { return refinement_.class_count(); }
  std::uint32_t class_size(Colour colour) const { return refinement_.class_size(colour); }
  // Classes that the last refine() created or that lost members in it.
  std::span<const Colour> changed() const { return refinement_.changed(); }
  bool has_changed(Colour colour) const { return refinement_.has_changed(colour); }
  // The class that it was part of before that; nothing if its members were not in use.
  std::optional<Colour> before(Colour colour) const { return refinement_.before(colour); }

  // Origin of a vertex: a rank, communicator or link; for messages, the communicator in whose calls they are sent, or
  // the rank that sends them to a peer.
  struct Origin {
    enum class Kind : std::uint8_t { kRank, kCommunicator, kMessage, kSends, kLink } kind{};
    std::uint32_t id = 0;
  };
  Origin origin(Vertex vertex) const;
  // Members of a class, unordered, one of each set of replicas.
  std::span<const Vertex> members(Colour colour) const { return refinement_.members(colour); }
  // Rank of a vertex that stands for one.
  RankId rank_of(Vertex vertex) const { return replicas_.first_rank(vertex); }
  // The messages and communicators that cross a link, once for each.
  std::vector<Origin> users(LinkId link) const;

  const TransferSlots& transfer_slots(RankId rank) const { return pairings_.slots(rank); }
  static constexpr Vertex kNotInUse = UINT32_MAX;
  // All sends of a rank to a peer.
  Vertex sends(RankId from, std::uint32_t peer_slot) const { return sends_[first_slot_[vertex_of(from)] + peer_slot]; }
  // The messages in use that a rank receives from a peer: one, unless the peer has several slots for it.
  std::span<const Vertex> received(RankId to, std::uint32_t peer_slot) const;
  bool is_in_use(GroupId group) const { return used(group).vertex.has_value(); }

  const Patterns& patterns() const { return patterns_; }
  // The first message of a pattern of a communicator in use; the others follow.
  Vertex first_message(GroupId group, std::uint32_t pattern) const {
    return communicators_.at(group).first_message[pattern];
  }
  // Phases, true of those that are complete exchanges with one vertex for each line, phase by phase from first_line()
  // on.
  const std::vector<bool>& complete(GroupId group, std::uint32_t pattern) const {
    return communicators_.at(group).complete[pattern];
  }
  Vertex first_line(GroupId group, std::uint32_t pattern) const { return communicators_.at(group).first_line[pattern]; }
  Vertex vertex_of(GroupId group, std::uint32_t pattern, const PatternLine& line) const {
    return is_whole(job_, group, line) ? *communicators_.at(group).vertex : first_message(group, pattern) + line.number;
  }
  // Private kind of a pattern: whether its messages have all their links to themselves, but for other patterns of the
  // communicator.
  PrivateCalls::Kind private_kind(GroupId group, std::uint32_t pattern) const {
    return private_calls_.of(group, pattern);
  }
  // True if so far only the communicator's own calls have crossed their links. The communicator must be in use.
  bool is_alone(GroupId group) const;

  // The links of a route, each once, by LinkId.
  std::vector<network::LinkShare> route_of(DeviceId from, DeviceId to) const;
  Duration latency_of(DeviceId from, DeviceId to) const { return network::route_latency(fabric_, from, to); }
  // Loads of a line; if nodes are replicas, and alike to the communicator, those of the first node of each kind, with
  // as many copies as the communicator has such nodes.
  LineTraffic traffic(GroupId group, std::uint32_t pattern, const PatternLine& line) const;

 private:
  struct UsedCommunicator {
    std::optional<Vertex> vertex;
    std::vector<Vertex> first_message;  // by pattern
    std::vector<Vertex> first_line;     // likewise, of complete exchanges
    std::vector<std::vector<bool>> complete;
  };

  Vertex vertex_of(RankId rank) const { return replicas_.kind(rank); }
  const UsedCommunicator& used(GroupId group) const {
    static const UsedCommunicator none;
    const auto found = communicators_.find(replicas_.first(group));
    return found == communicators_.end() ? none : found->second;
  }
  Vertex link_vertex(LinkId link) const { return link_vertices_.at(index_of(replicas_.first(link))); }
  // Visits the members of a communicator with their positions and how many more of the same kind each stands for:
  // where they repeat, those of digit 0.
  template <class Visit>
  void for_each_member(GroupId group, const Visit& visit) const {
    const workload::Members& members = job_.communicators[index_of(group)].members;
    const workload::Period& period = replicas_.repeats().ranks;
    const std::uint32_t times = period.digit(index_of(members.back())) == 0 ? 1 : period.count;
    for (std::uint32_t member = 0; member < members.size(); ++member)
      if (const RankId rank = members[member]; period.digit(index_of(rank)) == 0) visit(member, rank, times);
  }
  bool is_by_kinds(GroupId group) const;
  LineTraffic traffic_of_kinds(GroupId group, const CollectivePlan& plan) const;
  void tie();
  std::uint64_t own_colour(GroupId group) const;
  std::uint64_t program_hash(GroupId group, std::uint32_t member);
  std::uint64_t add_whole_lines(GroupId group, Vertex communicator);
  void add_messages(GroupId group, std::uint32_t pattern);
  std::vector<bool> add_complete_exchanges(GroupId group, const Pattern& pattern);
  bool add_complete_exchange(GroupId group, const Pattern& pattern, std::uint32_t phase);
  void cross_ways(GroupId group, const PatternLine& line, std::uint64_t key, const Ways& ways);
  void add_lines(GroupId group, std::uint32_t pattern);
  Duration cross_route(Vertex message, DeviceId from, DeviceId to);
  void cross_links();
  void count_rank_classes();

  const workload::Job& job_;
  const network::Fabric& fabric_;
  std::span<const DeviceId> placement_;
  CollectivePlans& plans_;
  Granularity granularity_;
  Patterns patterns_;
  PrivateCalls private_calls_;
  KindsOfRanks kinds_;
  Pairings pairings_;
  Replicas replicas_;
  ColourRefinement refinement_;
  Stages stages_;
  std::uint32_t rank_classes_ = 0;
  Colour counted_classes_ = 0;                                   // those before are counted
  std::unordered_map<GroupId, UsedCommunicator> communicators_;  // of those in use the first replicas
  // Peer slots of all ranks that have vertices are numbered rank after rank.
  std::vector<std::uint32_t> first_slot_;  // by vertex, and their number
  std::vector<Vertex> sends_;              // by peer slot of all ranks
  std::vector<Vertex> received_;           // likewise: the first
  std::map<std::uint32_t, std::vector<Vertex>> received_several_;
  PagedArray<Vertex> link_vertices_;
  struct Crossing {
    Vertex vertex;
    LinkId link;
    std::uint64_t how;
    std::uint32_t times = 1;  // so many replicas of the link
  };
  std::vector<Crossing> crossings_;  // of what came into use since the last refine()
  struct Tie {
    Vertex from;
    Vertex to;
    std::uint64_t how;  // at both ends
    std::uint32_t times = 1;

    auto key() const { return std::tuple(from, to, how); }
  };
  std::vector<Tie> ties_;  // scratch: edges to come
  // Owners of the vertices, in ascending order of vertex.
  struct VerticesOfGroup {
    Vertex first;  // of the communicator, then its messages
    Vertex end;
    GroupId group;
  };
  struct VerticesOfLinks {
    Vertex first;
    std::uint32_t begin;  // in used_links_
  };
  std::vector<VerticesOfGroup> group_vertices_;
  std::vector<VerticesOfLinks> link_runs_;
  std::vector<LinkId> used_links_;  // in the order of their vertices
  std::vector<LinkId> route_;       // scratch
};

}  // namespace orrery::system
