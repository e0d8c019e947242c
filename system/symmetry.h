// Which ranks, links and communicators behave alike: colour refinement over ranks, the messages they exchange, the
// communicators they share and the links the messages cross. Ranks of one class do the same at the same instants, and
// links of one class carry the same, however many there are; nothing is assumed about the fabric, all routes are looked
// up.
//
// A message stands for one step of every chunk and call in which it is sent (in a relay for all steps), since these tie
// together the same ranks and links. At granularity `phase` the messages of a line are one.
//
// The partition is of the communicators and pairs of ranks in use; it gets finer when more come into use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "network/fabric.h"
#include "system/collective_plans.h"
#include "system/colour_refinement.h"
#include "system/line_traffic.h"
#include "system/program_kinds.h"
#include "system/transfer_slots.h"
#include "workload/job.h"
#include "workload/matching.h"

namespace orrery {

// What ties ranks together in the calls of a communicator that ask for the same kind of collective, of whatever size.
struct Pattern {
  const CollectivePlan* plan = nullptr;  // of one of the calls
  std::uint64_t key = 0;                 // equal for equal patterns of other communicators
  ColourRefinement::Vertex first_message = 0;
};

class Symmetry {
 public:
  // `own` tells ranks apart from the start (their graphs do in any case). All outlive it.
  Symmetry(const Job& job, const Matching& matching, const Fabric& fabric, std::span<const DeviceId> placement,
           CollectivePlans& plans, Granularity granularity, std::span<const std::uint64_t> own);

  // Brings the calls of a communicator into use; does nothing if it has none or they are in use.
  void use_communicator(GroupId group);
  // Likewise all sends of a rank to one of its peers.
  void use_sends(RankId from, std::uint32_t peer_slot);
  void use_everything();
  // The classes of all that is in use.
  void refine();
  // How many classes of ranks there are by what they run; by whom they talk to as well; and by the links as well.
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
  static constexpr Vertex kNotInUse = UINT32_MAX;
  const TransferSlots& transfer_slots(RankId rank) const { return transfer_slots_[job_.ranks[index_of(rank)].graph]; }
  // All sends of a rank to a peer.
  struct Sends {
    Vertex vertex = kNotInUse;
    std::uint32_t receive_slot = 0;  // of the receiver, which has the rank for a peer there
    bool has_links = false;
  };
  const Sends& sends(RankId from, std::uint32_t peer_slot) const { return sends_[index_of(from)][peer_slot]; }
  bool is_in_use(GroupId group) const { return communicators_[index_of(group)].vertex.has_value(); }
  // Nothing for a link that no message in use crosses.
  std::optional<Colour> colour(LinkId link) const;
  std::uint32_t class_size(Colour colour) const { return refinement_.class_size(colour); }

  std::span<const Pattern> patterns(GroupId group) const { return communicators_[index_of(group)].patterns; }
  // The pattern of a call, by its number among those.
  std::uint32_t pattern_of(GroupId group, std::uint32_t call) const;

  struct PatternMessage {
    Vertex vertex = 0;
    std::uint32_t phase = 0;
    std::uint32_t from = 0;  // members
    std::uint32_t to = 0;
    std::uint32_t send = 0;  // of the sender's program; 0 in a relay, for all
    std::uint32_t slot = 0;  // at the receiver; 0 in a relay
    bool is_relay = false;
  };
  // All messages of a pattern, in a fixed order. For granularity `step`.
  static void for_each_message(const Pattern& pattern, const std::function<void(const PatternMessage&)>& visit);
  struct PatternLine {
    Vertex vertex = 0;
    std::uint32_t phase = 0;
    std::span<const std::uint32_t> members;  // in the order of the line
  };
  // Likewise all lines, for granularity `phase`.
  static void for_each_line(const Pattern& pattern, const std::function<void(const PatternLine&)>& visit);

  // The links of a route, each once.
  std::vector<LinkShare> route_of(DeviceId from, DeviceId to) const;
  Duration latency_of(DeviceId from, DeviceId to) const;
  LineTraffic traffic(GroupId group, const Pattern& pattern, const PatternLine& line) const;

 private:
  struct UsedCommunicator {
    std::optional<Vertex> vertex;
    std::vector<Pattern> patterns;
    std::map<std::uint64_t, std::uint32_t> pattern_by_key;
    std::uint64_t calls_hash = 0;
    bool has_links = false;  // its messages cross theirs
  };

  std::uint64_t pattern_key(GroupId group, std::uint32_t call) const;
  void find_patterns(GroupId group, UsedCommunicator& communicator);
  std::uint64_t calls_hash(GroupId group) const;
  std::uint64_t program_hash(GroupId group, std::uint32_t member) const;
  void add_messages(GroupId group, Pattern& pattern);
  void add_lines(GroupId group, Pattern& pattern);
  void cross_links_in_use();
  void cross_links(GroupId group, const Pattern& pattern);
  std::uint32_t rank_classes() const;
  void cross_links(Vertex vertex, std::span<const LinkShare> shares);
  std::uint32_t slot_of(GroupId group, std::uint32_t member) const;
  RankId rank_of(GroupId group, std::uint32_t member) const;
  const std::vector<ProgramKinds>& kinds(const Schedule& schedule) const;

  const Job& job_;
  const Matching& matching_;
  const Fabric& fabric_;
  std::span<const DeviceId> placement_;
  CollectivePlans& plans_;
  Granularity granularity_;
  ColourRefinement refinement_;
  Stages stages_;
  std::vector<std::optional<Vertex>> link_vertices_;
  std::vector<UsedCommunicator> communicators_;
  std::vector<TransferSlots> transfer_slots_;                           // by graph
  std::vector<std::vector<Sends>> sends_;                               // by rank, by peer slot
  mutable std::map<const Schedule*, std::vector<ProgramKinds>> kinds_;  // by position
};

}  // namespace orrery
