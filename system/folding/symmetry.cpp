// SPDX-License-Identifier: MIT
#include "system/folding/symmetry.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/hash.h"
#include "network/fabric/fabric.h"

namespace orrery::system {
namespace {

// What an edge or vertex is, in its label or own colour.
enum Sort : std::uint64_t { kRank, kLink, kCommunicator, kMessage, kPair, kLine, kSends, kReceives, kMember, kCrosses };

}  // namespace

Symmetry::Symmetry(const workload::Job& job, const workload::Matching& matching, const network::Fabric& fabric,
                   std::span<const DeviceId> placement, CollectivePlans& plans, Granularity granularity,
                   std::span<const std::uint64_t> own)
    : job_(job),
      matching_(matching),
      fabric_(fabric),
      placement_(placement),
      plans_(plans),
      granularity_(granularity),
      patterns_(matching, plans, granularity),
      private_rings_(job, fabric, placement, plans, patterns_, granularity),
      link_vertices_(fabric.link_count()),
      communicators_(job.communicators.size()) {
  ORRERY_ASSERT(own.size() == job.ranks.size());
  for (const workload::ExecutionGraph& graph : job.graphs) {
    transfer_slots_.emplace_back(graph);
    if (!graph.stretches().empty()) user_of_link_.resize(fabric.link_count());
  }
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    refinement_.add_vertex(hash_of({kRank, job.ranks[rank].graph, own[rank]}));
    sends_.emplace_back(job.ranks[rank].peers.size());
    received_.emplace_back(job.ranks[rank].peers.size());
  }
  refinement_.refine();
  stages_.programs = rank_classes();
}

bool Symmetry::use_communicator(GroupId group) {
  UsedCommunicator& communicator = communicators_[index_of(group)];
  if (communicator.vertex || matching_.calls(group).empty()) return false;
  communicator.vertex = refinement_.add_vertex(own_colour(group));
  used_.communicators.push_back(group);
  for (std::uint32_t member = 0; member < plans_.layout(group).size(); ++member)
    refinement_.add_edge(*communicator.vertex, index_of(rank_of(group, member)),
                         hash_of({kMember, slot_of(group, member), program_hash(group, member)}));
  for (const Pattern& pattern : patterns_.of(group)) {
    communicator.first_message.push_back(refinement_.vertex_count());
    granularity_ == Granularity::kPhase ? add_lines(group, pattern) : add_messages(group, pattern);
  }
  return true;
}

std::uint64_t Symmetry::own_colour(GroupId group) const {
  const CommunicatorLayout& layout = plans_.layout(group);
  std::uint64_t own = hash_of({kCommunicator, patterns_.calls_hash(group), layout.cuboid});
  for (const std::uint32_t size : layout.sizes) own = hash_of({own, size});
  for (const std::uint32_t dimension : layout.dimensions) own = hash_of({own, dimension});
  for (const bool open : layout.open) own = hash_of({own, open});
  for (std::uint32_t i = 0; i < patterns_.of(group).size(); ++i) own = hash_of({own, is_private_ring(group, i)});
  return own;
}

// What the member does in all patterns: in which phases it takes part, and what waits for what there.
std::uint64_t Symmetry::program_hash(GroupId group, std::uint32_t member) const {
  std::uint64_t hash = 0;
  for (const Pattern& pattern : patterns_.of(group)) {
    const CommunicatorLayout& layout = *pattern.plan->layout;
    const std::uint32_t position = layout.position_of[member];
    for (std::uint32_t phase = 0; phase < pattern.plan->phases.size(); ++phase) {
      const PlannedPhase& planned = pattern.plan->phases[phase];
      const bool takes_part = pattern.plan->participates(phase, position);
      hash = hash_of({hash, pattern.key, takes_part});
      if (takes_part && granularity_ == Granularity::kStep)
        hash = hash_of({hash, kinds(planned.schedule())[layout.coordinate(position, planned.phase.axis)]->hash()});
    }
  }
  return hash;
}

// Mostly one for all ranks.
const Symmetry::KindsOfRanks& Symmetry::kinds(const collectives::Schedule& schedule) const {
  KindsOfRanks& kinds = kinds_[&schedule];
  for (auto rank = static_cast<std::uint32_t>(kinds.size()); rank < schedule.ranks(); ++rank) {
    ProgramKinds own(schedule, rank);
    const bool is_like_last = !kinds.empty() && *kinds.back() == own;
    kinds.push_back(is_like_last ? kinds.back() : std::make_shared<const ProgramKinds>(std::move(own)));
  }
  return kinds;
}

// First all vertices, so that they are numbered without gaps; edges bring in vertices for links.
void Symmetry::add_messages(GroupId group, const Pattern& pattern) {
  const Vertex first = refinement_.vertex_count();
  const CommunicatorLayout& layout = *pattern.plan->layout;
  const auto devices = plans_.devices(group);
  for_each_message(pattern, [&](const PatternMessage& message) {
    const PlannedPhase& planned = pattern.plan->phases[message.phase];
    const std::uint32_t from = layout.coordinate(layout.position_of[message.from], planned.phase.axis);
    const std::uint32_t to = layout.coordinate(layout.position_of[message.to], planned.phase.axis);
    const KindsOfRanks& kinds = this->kinds(planned.schedule());
    const auto latency = static_cast<std::uint64_t>(latency_of(devices[message.from], devices[message.to]).count());
    const auto bytes = static_cast<std::uint64_t>(planned.schedule().step(from, message.send).bytes.count());
    const Vertex vertex =
        refinement_.add_vertex(hash_of({kMessage, pattern.key, message.phase, kinds[from]->of_send(message.send),
                                        kinds[to]->of_receive(message.slot), latency, bytes}));
    ORRERY_ASSERT(vertex == first + message.number);
  });
  for_each_message(pattern, [&](const PatternMessage& message) {
    refinement_.add_edge(first + message.number, index_of(rank_of(group, message.from)),
                         hash_of({kSends, slot_of(group, message.from)}));
    refinement_.add_edge(first + message.number, index_of(rank_of(group, message.to)),
                         hash_of({kReceives, slot_of(group, message.to)}));
  });
}

void Symmetry::add_lines(GroupId group, const Pattern& pattern) {
  const Vertex first = refinement_.vertex_count();
  for_each_line(pattern, [&](const PatternLine& line) {
    std::vector<DeviceId> devices;
    for (const std::uint32_t member : line.members) devices.push_back(plans_.devices(group)[member]);
    LineTraffic traffic = traffic_of(*pattern.plan, line.phase, devices, fabric_);
    const Vertex vertex = refinement_.add_vertex(
        hash_of({kLine, pattern.key, line.phase, static_cast<std::uint64_t>(traffic.latency.count()),
                 static_cast<std::uint64_t>(traffic.least.count())}));
    ORRERY_ASSERT(vertex == first + line.number);
    line_traffic_.emplace(vertex, std::move(traffic));
  });
  for_each_line(pattern, [&](const PatternLine& line) {
    for (const std::uint32_t member : line.members)
      refinement_.add_edge(first + line.number, index_of(rank_of(group, member)),
                           hash_of({kMember, slot_of(group, member)}));
  });
}

bool Symmetry::use_sends(RankId from, std::uint32_t peer_slot) {
  if (sends_[index_of(from)][peer_slot].vertex != kNotInUse) return false;
  const RankId to = job_.ranks[index_of(from)].peers[peer_slot];
  const TransferSlots &here = transfer_slots(from), &there = transfer_slots(to);
  if (here.sends(peer_slot).empty()) return false;
  const Pairing& pairing = this->pairing(from, peer_slot, to);
  const std::uint32_t slot_there = pairing.receive_slot;
  // To several slots of one rank: of these nobody else has the like.
  const std::uint64_t own = pairing.is_spread ? hash_of({pairing.hash, index_of(from), index_of(to)}) : pairing.hash;
  const DeviceId from_device = placement_[index_of(from)], to_device = placement_[index_of(to)];
  const bool is_same_node = network::node_of(fabric_, from_device) == network::node_of(fabric_, to_device);
  const Vertex vertex = refinement_.add_vertex(
      hash_of({kPair, own, static_cast<std::uint64_t>(latency_of(from_device, to_device).count()),
               plans_.library() != nullptr && is_same_node}));  // only a library makes a difference there
  sends_[index_of(from)][peer_slot] = {vertex, slot_there};
  received_[index_of(to)][slot_there].push_back(vertex);
  used_.sends.push_back({from, peer_slot});
  // A message may be like another of the same rank; but ranks are alike only peer by peer, so that each operation of
  // one is the same operation of the other.
  refinement_.add_edge(vertex, index_of(from), hash_of({kSends, kPair, here.send_kind(peer_slot)}),
                       hash_of({kSends, kPair, peer_slot}));
  refinement_.add_edge(vertex, index_of(to), hash_of({kReceives, kPair, there.receive_kind(slot_there)}),
                       hash_of({kReceives, kPair, slot_there}));
  return true;
}

// With other tags, others would meet.
const Symmetry::Pairing& Symmetry::pairing(RankId from, std::uint32_t peer_slot, RankId to) {
  const PairKey key = {job_.ranks[index_of(from)].graph, peer_slot, matching_.end_list(from, peer_slot),
                       job_.ranks[index_of(to)].graph};
  const auto [known, is_new] = pairings_.try_emplace(key);
  Pairing& pairing = known->second;
  if (!is_new) return pairing;
  const workload::ExecutionGraph &here = job_.graph(from), &there = job_.graph(to);
  const std::span<const NodeId> sends = transfer_slots(from).sends(peer_slot);
  const auto end_of = [&](NodeId send) { return matching_.end(from, here.transfer_index(send)).node; };
  pairing.receive_slot = there.peer_slot(end_of(sends.front()));
  for (const NodeId send : sends) {
    pairing.hash = hash_of({pairing.hash, transfer_slots(to).ordinal(there, end_of(send))});
    pairing.is_spread = pairing.is_spread || there.peer_slot(end_of(send)) != pairing.receive_slot;
  }
  return pairing;
}

void Symmetry::refine() {
  refinement_.forget_changes();
  news_ = std::exchange(used_, {});
  refinement_.refine();
  if (has_split()) stages_.partners = rank_classes() - stages_.programs - stages_.links;
  cross_links_of_news();
  refinement_.refine();
  if (has_split()) stages_.links = rank_classes() - stages_.programs - stages_.partners;
}

std::uint32_t Symmetry::rank_classes() const {
  std::vector<bool> seen(refinement_.class_count());
  std::uint32_t classes = 0;
  for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
    if (seen[colour(RankId(rank))]) continue;
    seen[colour(RankId(rank))] = true;
    ++classes;
  }
  return classes;
}

void Symmetry::cross_links_of_news() {
  for (const GroupId group : news_.communicators)
    for (std::uint32_t i = 0; i < patterns_.of(group).size(); ++i) cross_links(group, i);
  for (const PeerSlot& used : news_.sends) {
    const RankId to = job_.ranks[index_of(used.rank)].peers[used.slot];
    cross_route(sends(used.rank, used.slot).vertex, placement_[index_of(used.rank)], placement_[index_of(to)],
                kManyUsers);
  }
}

void Symmetry::cross_links(GroupId group, std::uint32_t number) {
  const Pattern& pattern = patterns_.of(group)[number];
  const Vertex first = first_message(group, number);
  const std::span<const DeviceId> devices = plans_.devices(group);
  const std::uint32_t user = 1 + index_of(group);
  if (granularity_ == Granularity::kPhase)
    return for_each_line(pattern, [&](const PatternLine& line) {
      for (const network::LinkLoad& load : traffic(first + line.number).loads)
        cross_link(first + line.number, load.link,
                   hash_of({kCrosses, static_cast<std::uint64_t>(load.bytes.count()), load.connections}), user);
    });
  for_each_message(pattern, [&](const PatternMessage& message) {
    cross_route(first + message.number, devices[message.from], devices[message.to], user);
  });
}

void Symmetry::cross_route(Vertex message, DeviceId from, DeviceId to, std::uint32_t user) {
  for (const network::LinkShare& share : route_of(from, to))
    cross_link(message, share.link, hash_of({kCrosses, share.times}), user);
}

void Symmetry::cross_link(Vertex vertex, LinkId id, std::uint64_t how, std::uint32_t user) {
  if (!user_of_link_.empty()) {
    std::uint32_t& known = user_of_link_[index_of(id)];
    known = known == 0 || known == user ? user : kManyUsers;
  }
  std::optional<Vertex>& link = link_vertices_[index_of(id)];
  if (!link) {
    link = refinement_.add_vertex(hash_of({kLink, fabric_.kind_of(id)}));
    news_.links.push_back(id);
  }
  refinement_.add_edge(vertex, *link, how);
}

bool Symmetry::is_alone(GroupId group) const {
  bool is_alone = true;
  const std::span<const Pattern> patterns = patterns_.of(group);
  for (std::uint32_t i = 0; i < patterns.size(); ++i) {
    if (granularity_ == Granularity::kStep) {
      is_alone = is_alone && is_private_ring(group, i);
      continue;
    }
    for_each_line(patterns[i], [&](const PatternLine& line) {
      for (const network::LinkLoad& load : traffic(first_message(group, i) + line.number).loads)
        is_alone = is_alone && user_of_link_[index_of(load.link)] == 1 + index_of(group);
    });
  }
  return is_alone;
}

std::optional<Symmetry::Colour> Symmetry::colour(LinkId link) const {
  const std::optional<Vertex> vertex = link_vertices_[index_of(link)];
  if (!vertex) return std::nullopt;
  return refinement_.colour(*vertex);
}

std::vector<network::LinkShare> Symmetry::route_of(DeviceId from, DeviceId to) const {
  std::vector<LinkId> route;
  fabric_.route(from, to, route);
  std::ranges::sort(route);
  std::vector<network::LinkShare> shares;
  for (const LinkId link : route) {
    if (shares.empty() || shares.back().link != link)
      shares.push_back({link});
    else
      ++shares.back().times;
  }
  return shares;
}

RankId Symmetry::rank_of(GroupId group, std::uint32_t member) const {
  return job_.communicators[index_of(group)].members[member];
}

std::uint32_t Symmetry::slot_of(GroupId group, std::uint32_t member) const {
  return plans_.slot_of(rank_of(group, member), group);
}

}  // namespace orrery::system
