#include "system/symmetry.h"

#include <algorithm>
#include <set>

#include "core/assert.h"
#include "core/hash.h"

namespace orrery {
namespace {

// What an edge or vertex is, in its label or own colour.
enum Sort : std::uint64_t { kRank, kLink, kCommunicator, kMessage, kPair, kLine, kSends, kReceives, kMember, kCrosses };

}  // namespace

Symmetry::Symmetry(const Job& job, const Matching& matching, const Fabric& fabric, std::span<const DeviceId> placement,
                   CollectivePlans& plans, Granularity granularity, std::span<const std::uint64_t> own)
    : job_(job),
      matching_(matching),
      fabric_(fabric),
      placement_(placement),
      plans_(plans),
      granularity_(granularity),
      link_vertices_(fabric.link_count()),
      communicators_(job.communicators.size()) {
  ORRERY_ASSERT(own.size() == job.ranks.size());
  std::set<std::pair<std::uint32_t, std::uint64_t>> programs;
  for (const ExecutionGraph& graph : job.graphs) transfer_slots_.emplace_back(graph);
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    refinement_.add_vertex(hash_of({kRank, job.ranks[rank].graph, own[rank]}));
    sends_.emplace_back(job.ranks[rank].peers.size());
    programs.insert({job.ranks[rank].graph, own[rank]});
  }
  stages_.programs = static_cast<std::uint32_t>(programs.size());
}

void Symmetry::use_everything() {
  for (std::uint32_t group = 0; group < communicators_.size(); ++group) use_communicator(GroupId(group));
  for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank)
    for (std::uint32_t slot = 0; slot < job_.ranks[rank].peers.size(); ++slot) use_sends(RankId(rank), slot);
}

void Symmetry::use_communicator(GroupId group) {
  UsedCommunicator& communicator = communicators_[index_of(group)];
  if (communicator.vertex || matching_.calls[index_of(group)].empty()) return;
  find_patterns(group, communicator);
  const CommunicatorLayout& layout = plans_.layout(group);
  std::uint64_t own = hash_of({kCommunicator, communicator.calls_hash, layout.cuboid});
  for (const std::uint32_t size : layout.sizes) own = hash_of({own, size});
  for (const std::uint32_t dimension : layout.dimensions) own = hash_of({own, dimension});
  communicator.vertex = refinement_.add_vertex(own);
  for (std::uint32_t member = 0; member < layout.size(); ++member)
    refinement_.add_edge(*communicator.vertex, index_of(rank_of(group, member)),
                         hash_of({kMember, slot_of(group, member), program_hash(group, member)}));
  for (Pattern& pattern : communicator.patterns)
    granularity_ == Granularity::kPhase ? add_lines(group, pattern) : add_messages(group, pattern);
}

// Calls of the same kind and root tie together the same ranks whatever their size, as long as it is the same for all:
// pieces are ceil(S/n). At granularity `phase` the sizes show in the weights of links.
std::uint64_t Symmetry::pattern_key(GroupId group, std::uint32_t index) const {
  const CollectiveCall& call = matching_.calls[index_of(group)][index];
  std::uint64_t key = hash_of({static_cast<std::uint64_t>(call.kind), call.root, call.bytes_of_member.size()});
  if (granularity_ == Granularity::kPhase || call.bytes == Bytes(0))
    key = hash_of({key, static_cast<std::uint64_t>(call.bytes.count())});
  for (const Bytes bytes : call.bytes_of_member) key = hash_of({key, static_cast<std::uint64_t>(bytes.count())});
  return key;
}

void Symmetry::find_patterns(GroupId group, UsedCommunicator& communicator) {
  const UsedCommunicator& model = communicators_[index_of(plans_.model_of(group))];
  if (model.vertex) {
    communicator.patterns = model.patterns;
    communicator.pattern_by_key = model.pattern_by_key;
    communicator.calls_hash = model.calls_hash;
    return;
  }
  communicator.calls_hash = calls_hash(group);
  const auto calls = static_cast<std::uint32_t>(matching_.calls[index_of(group)].size());
  for (std::uint32_t call = 0; call < calls; ++call) {
    const std::uint64_t key = pattern_key(group, call);
    const auto number = static_cast<std::uint32_t>(communicator.patterns.size());
    if (!communicator.pattern_by_key.try_emplace(key, number).second) continue;
    communicator.patterns.push_back({&plans_.plan(group, call), key, 0});
  }
}

std::uint32_t Symmetry::pattern_of(GroupId group, std::uint32_t call) const {
  return communicators_[index_of(group)].pattern_by_key.at(pattern_key(group, call));
}

std::uint64_t Symmetry::calls_hash(GroupId group) const {
  std::uint64_t hash = 0;
  for (const CollectiveCall& call : matching_.calls[index_of(group)]) {
    hash = hash_of(
        {hash, static_cast<std::uint64_t>(call.kind), static_cast<std::uint64_t>(call.bytes.count()), call.root});
    for (const Bytes bytes : call.bytes_of_member) hash = hash_of({hash, static_cast<std::uint64_t>(bytes.count())});
  }
  return hash;
}

// What the member does in all patterns: in which phases it takes part, and what waits for what there.
std::uint64_t Symmetry::program_hash(GroupId group, std::uint32_t member) const {
  std::uint64_t hash = 0;
  for (const Pattern& pattern : communicators_[index_of(group)].patterns) {
    const CommunicatorLayout& layout = *pattern.plan->layout;
    const std::uint32_t position = layout.position_of[member];
    for (std::uint32_t phase = 0; phase < pattern.plan->phases.size(); ++phase) {
      const PlannedPhase& planned = pattern.plan->phases[phase];
      const bool takes_part = pattern.plan->participates(phase, position);
      hash = hash_of({hash, pattern.key, takes_part});
      if (takes_part && granularity_ == Granularity::kStep)
        hash = hash_of({hash, kinds(planned.schedule)[layout.coordinate(position, planned.phase.dimension)].hash});
    }
  }
  return hash;
}

const std::vector<ProgramKinds>& Symmetry::kinds(const Schedule& schedule) const {
  std::vector<ProgramKinds>& kinds = kinds_[&schedule];
  for (auto rank = static_cast<std::uint32_t>(kinds.size()); rank < schedule.ranks(); ++rank)
    kinds.push_back(program_kinds(schedule, rank));
  return kinds;
}

void Symmetry::for_each_message(const Pattern& pattern, const std::function<void(const PatternMessage&)>& visit) {
  const CommunicatorLayout& layout = *pattern.plan->layout;
  PatternMessage message;
  message.vertex = pattern.first_message;
  for (message.phase = 0; message.phase < pattern.plan->phases.size(); ++message.phase) {
    const PlannedPhase& planned = pattern.plan->phases[message.phase];
    message.is_relay = planned.schedule.is_relay();
    for (std::uint32_t position = 0; position < layout.size(); ++position) {
      if (!pattern.plan->participates(message.phase, position)) continue;
      const std::uint32_t in_line = layout.coordinate(position, planned.phase.dimension);
      const std::uint32_t sends = std::min(planned.schedule.sends(in_line), message.is_relay ? 1U : UINT32_MAX);
      message.from = layout.member_at[position];
      for (message.send = 0; message.send < sends; ++message.send) {
        const Step step = planned.schedule.step(in_line, message.send);
        message.to = layout.member_at[layout.moved_to(position, planned.phase.dimension, step.to)];
        message.slot = message.is_relay ? 0 : step.slot;
        visit(message);
        ++message.vertex;
      }
    }
  }
}

void Symmetry::for_each_line(const Pattern& pattern, const std::function<void(const PatternLine&)>& visit) {
  const CommunicatorLayout& layout = *pattern.plan->layout;
  PatternLine line;
  line.vertex = pattern.first_message;
  std::vector<std::uint32_t> members;
  for (line.phase = 0; line.phase < pattern.plan->phases.size(); ++line.phase) {
    const std::uint32_t dimension = pattern.plan->phases[line.phase].phase.dimension;
    for (std::uint32_t position = 0; position < layout.size(); ++position) {
      if (layout.coordinate(position, dimension) != 0 || !pattern.plan->participates(line.phase, position)) continue;
      members.clear();
      for (std::uint32_t coordinate = 0; coordinate < layout.sizes[dimension]; ++coordinate)
        members.push_back(layout.member_at[layout.moved_to(position, dimension, coordinate)]);
      line.members = members;
      visit(line);
      ++line.vertex;
    }
  }
}

// First all vertices, so that they are numbered without gaps; edges bring in vertices for links.
void Symmetry::add_messages(GroupId group, Pattern& pattern) {
  pattern.first_message = refinement_.vertex_count();
  const CommunicatorLayout& layout = *pattern.plan->layout;
  const auto devices = plans_.devices(group);
  for_each_message(pattern, [&](const PatternMessage& message) {
    const PlannedPhase& planned = pattern.plan->phases[message.phase];
    const std::uint32_t from = layout.coordinate(layout.position_of[message.from], planned.phase.dimension);
    const std::uint32_t to = layout.coordinate(layout.position_of[message.to], planned.phase.dimension);
    const std::vector<ProgramKinds>& kinds = this->kinds(planned.schedule);
    const auto latency = static_cast<std::uint64_t>(latency_of(devices[message.from], devices[message.to]).count());
    const auto bytes = static_cast<std::uint64_t>(planned.schedule.step(from, message.send).bytes.count());
    const Vertex vertex =
        refinement_.add_vertex(hash_of({kMessage, pattern.key, message.phase, kinds[from].sends[message.send],
                                        kinds[to].receives[message.slot], latency, bytes}));
    ORRERY_ASSERT(vertex == message.vertex);
  });
  for_each_message(pattern, [&](const PatternMessage& message) {
    refinement_.add_edge(message.vertex, index_of(rank_of(group, message.from)),
                         hash_of({kSends, slot_of(group, message.from)}));
    refinement_.add_edge(message.vertex, index_of(rank_of(group, message.to)),
                         hash_of({kReceives, slot_of(group, message.to)}));
  });
}

void Symmetry::add_lines(GroupId group, Pattern& pattern) {
  pattern.first_message = refinement_.vertex_count();
  for_each_line(pattern, [&](const PatternLine& line) {
    const LineTraffic traffic = this->traffic(group, pattern, line);
    const Vertex vertex = refinement_.add_vertex(
        hash_of({kLine, pattern.key, line.phase, static_cast<std::uint64_t>(traffic.busiest.count()),
                 static_cast<std::uint64_t>(traffic.latency.count())}));
    ORRERY_ASSERT(vertex == line.vertex);
  });
  for_each_line(pattern, [&](const PatternLine& line) {
    for (const std::uint32_t member : line.members)
      refinement_.add_edge(line.vertex, index_of(rank_of(group, member)), hash_of({kMember, slot_of(group, member)}));
  });
}

void Symmetry::use_sends(RankId from, std::uint32_t peer_slot) {
  if (sends_[index_of(from)][peer_slot].vertex != kNotInUse) return;
  const RankId to = job_.ranks[index_of(from)].peers[peer_slot];
  const TransferSlots &here = transfer_slots(from), &there = transfer_slots(to);
  if (here.sends(peer_slot).empty()) return;
  // Which send meets which receive: with other tags, others would.
  const auto end_of = [&](NodeId send) {
    return matching_.transfers[index_of(from)][job_.graph(from).transfer_index(send)].node;
  };
  const std::uint32_t slot_there = job_.graph(to).peer_slot(end_of(here.sends(peer_slot).front()));
  std::uint64_t pairing = 0;
  for (const NodeId send : here.sends(peer_slot)) {
    const NodeId receive = end_of(send);
    pairing = hash_of({pairing, there.ordinal(job_.graph(to), receive)});
    // To several slots of one rank: of these nobody else has the like.
    if (job_.graph(to).peer_slot(receive) != slot_there) pairing = hash_of({pairing, index_of(from), index_of(to)});
  }
  const DeviceId from_device = placement_[index_of(from)], to_device = placement_[index_of(to)];
  const Vertex vertex = refinement_.add_vertex(
      hash_of({kPair, pairing, static_cast<std::uint64_t>(latency_of(from_device, to_device).count())}));
  sends_[index_of(from)][peer_slot] = {vertex, slot_there, false};
  // A message may be like another of the same rank; but ranks are alike only peer by peer, so that each operation of
  // one is the same operation of the other.
  refinement_.add_edge(vertex, index_of(from), hash_of({kSends, kPair, here.send_kind(peer_slot)}),
                       hash_of({kSends, kPair, peer_slot}));
  refinement_.add_edge(vertex, index_of(to), hash_of({kReceives, kPair, there.receive_kind(slot_there)}),
                       hash_of({kReceives, kPair, slot_there}));
}

void Symmetry::refine() {
  refinement_.refine();
  stages_.partners = rank_classes();
  cross_links_in_use();
  refinement_.refine();
  stages_.links = rank_classes();
}

std::uint32_t Symmetry::rank_classes() const {
  std::set<Colour> colours;
  for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) colours.insert(colour(RankId(rank)));
  return static_cast<std::uint32_t>(colours.size());
}

void Symmetry::cross_links_in_use() {
  for (std::uint32_t i = 0; i < communicators_.size(); ++i) {
    UsedCommunicator& communicator = communicators_[i];
    if (!communicator.vertex || communicator.has_links) continue;
    communicator.has_links = true;
    for (const Pattern& pattern : communicator.patterns) cross_links(GroupId(i), pattern);
  }
  for (std::uint32_t from = 0; from < sends_.size(); ++from)
    for (std::uint32_t slot = 0; slot < sends_[from].size(); ++slot) {
      Sends& sends = sends_[from][slot];
      if (sends.vertex == kNotInUse || sends.has_links) continue;
      sends.has_links = true;
      const RankId to = job_.ranks[from].peers[slot];
      cross_links(sends.vertex, route_of(placement_[from], placement_[index_of(to)]));
    }
}

void Symmetry::cross_links(GroupId group, const Pattern& pattern) {
  const auto devices = plans_.devices(group);
  if (granularity_ == Granularity::kPhase)
    return for_each_line(
        pattern, [&](const PatternLine& line) { cross_links(line.vertex, traffic(group, pattern, line).shares); });
  for_each_message(pattern, [&](const PatternMessage& message) {
    cross_links(message.vertex, route_of(devices[message.from], devices[message.to]));
  });
}

void Symmetry::cross_links(Vertex vertex, std::span<const LinkShare> shares) {
  for (const LinkShare& share : shares) {
    std::optional<Vertex>& link = link_vertices_[index_of(share.link)];
    if (!link) link = refinement_.add_vertex(hash_of({kLink, fabric_.kind_of(share.link)}));
    refinement_.add_edge(vertex, *link, hash_of({kCrosses, share.weight}));
  }
}

std::optional<Symmetry::Colour> Symmetry::colour(LinkId link) const {
  const std::optional<Vertex> vertex = link_vertices_[index_of(link)];
  if (!vertex) return std::nullopt;
  return refinement_.colour(*vertex);
}

std::vector<LinkShare> Symmetry::route_of(DeviceId from, DeviceId to) const {
  std::vector<LinkId> route;
  fabric_.route(from, to, route);
  std::ranges::sort(route);
  std::vector<LinkShare> shares;
  for (const LinkId link : route) {
    if (shares.empty() || shares.back().link != link)
      shares.push_back({link, kUnitWeight});
    else
      shares.back().weight += kUnitWeight;
  }
  return shares;
}

Duration Symmetry::latency_of(DeviceId from, DeviceId to) const {
  std::vector<LinkId> route;
  fabric_.route(from, to, route);
  Duration latency{};
  for (const LinkId link : route) latency = saturating_add(latency, fabric_.link(link).latency);
  return latency;
}

LineTraffic Symmetry::traffic(GroupId group, const Pattern& pattern, const PatternLine& line) const {
  std::vector<DeviceId> devices;
  for (const std::uint32_t member : line.members) devices.push_back(plans_.devices(group)[member]);
  return line_traffic(pattern.plan->phases[line.phase].schedule, devices, fabric_);
}

RankId Symmetry::rank_of(GroupId group, std::uint32_t member) const {
  return job_.communicators[index_of(group)].members[member];
}

std::uint32_t Symmetry::slot_of(GroupId group, std::uint32_t member) const {
  const std::vector<GroupId>& groups = job_.ranks[index_of(rank_of(group, member))].communicators;
  return static_cast<std::uint32_t>(std::ranges::find(groups, group) - groups.begin());
}

}  // namespace orrery
