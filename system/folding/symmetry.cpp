// SPDX-License-Identifier: MIT
#include "system/folding/symmetry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/assert.h"
#include "core/hash.h"
#include "network/fabric/fabric.h"

namespace orrery::system {
namespace {

// Sort of an edge or vertex, used in its label or initial colour.
enum Sort : std::uint64_t {
  kRank,
  kLink,
  kCommunicator,
  kMessage,
  kPair,
  kLine,
  kSends,
  kReceives,
  kMember,
  kCrosses,
  kExchange
};

// The links of a route, each once.
std::vector<network::LinkShare> shares_of(std::vector<LinkId>& route) {
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

RankId member_of(const workload::Job& job, GroupId group, std::uint32_t member) {
  return job.communicators[index_of(group)].members[member];
}

// Equal loads of one link, which stands for links of several nodes. Sorted by link.
void merge_copies(std::vector<network::LinkLoad>& loads) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < loads.size(); ++i)
    if (kept > 0 && loads[kept - 1].link == loads[i].link) {
      ORRERY_ASSERT(loads[kept - 1].bytes == loads[i].bytes && loads[kept - 1].connections == loads[i].connections);
      loads[kept - 1].copies += loads[i].copies;
    } else {
      loads[kept++] = loads[i];
    }
  loads.resize(kept);
}

std::uint32_t slot_of(const workload::Job& job, CollectivePlans& plans, GroupId group, std::uint32_t member) {
  return plans.slot_of(member_of(job, group, member), group);
}

}  // namespace

Symmetry::Symmetry(const workload::Job& job, const workload::Matching& matching, const network::Fabric& fabric,
                   std::span<const DeviceId> placement, CollectivePlans& plans, Granularity granularity,
                   std::span<const std::uint64_t> own, bool by_replicas)
    : job_(job),
      fabric_(fabric),
      placement_(placement),
      plans_(plans),
      granularity_(granularity),
      patterns_(matching, plans, granularity),
      private_calls_(job, fabric, placement, plans, patterns_, granularity),
      pairings_(job, matching),
      replicas_({job, fabric, placement, own, plans, patterns_, pairings_, by_replicas}),
      first_slot_{0},
      link_vertices_(fabric.link_count(), kNotInUse) {
  ORRERY_ASSERT(own.empty() || own.size() == job.ranks.size());
  for (Vertex vertex = 0; vertex < replicas_.kinds(); ++vertex) {
    const std::uint32_t rank = index_of(rank_of(vertex));
    refinement_.add_vertex(hash_of({kRank, job.ranks.graph(rank), own.empty() ? 0 : own[rank]}),
                           replicas_.copies(vertex));
    first_slot_.push_back(first_slot_.back() + job.ranks.peer_count(rank));
  }
  sends_.assign(first_slot_.back(), kNotInUse);
  received_.assign(first_slot_.back(), kNotInUse);
  refinement_.refine();
  count_rank_classes();
  stages_.programs = rank_classes_;
}

std::uint32_t Symmetry::use_communicator(GroupId replica) {
  const GroupId group = replicas_.first(replica);
  if (patterns_.of(group).empty() || is_in_use(group)) return 0;
  UsedCommunicator& communicator = communicators_[group];
  const Vertex vertex = refinement_.vertex_count();
  const std::uint64_t lines = granularity_ == Granularity::kPhase ? add_whole_lines(group, vertex) : 0;
  refinement_.add_vertex(hash_of({own_colour(group), lines}), replicas_.copies(group));
  communicator.vertex = vertex;
  for_each_member(group, [&](std::uint32_t member, RankId rank, std::uint32_t times) {
    ties_.push_back(
        {vertex, vertex_of(rank), hash_of({kMember, plans_.slot_of(rank, group), program_hash(group, member)}), times});
  });
  tie();
  for (std::uint32_t i = 0; i < patterns_.of(group).size(); ++i) {
    communicator.first_line.push_back(refinement_.vertex_count());
    communicator.complete.push_back(add_complete_exchanges(group, patterns_.of(group)[i]));
    communicator.first_message.push_back(refinement_.vertex_count());
    granularity_ == Granularity::kPhase ? add_lines(group, i) : add_messages(group, i);
  }
  group_vertices_.push_back({vertex, refinement_.vertex_count(), group});
  return replicas_.copies(group);
}

// Parallel edges to identical replicas are merged into one.
void Symmetry::tie() {
  if (replicas_.any()) std::ranges::sort(ties_, {}, &Tie::key);
  for (auto first = ties_.begin(); first != ties_.end();) {
    std::uint64_t times = 0;
    auto end = first;
    do times += end++->times;
    while (replicas_.any() && end != ties_.end() && end->key() == first->key());
    const std::uint64_t all = times * refinement_.weight(first->from), there = refinement_.weight(first->to);
    ORRERY_ASSERT(all % there == 0);
    refinement_.add_edge(first->from, first->to, {first->how, static_cast<std::uint32_t>(times)},
                         {first->how, static_cast<std::uint32_t>(all / there)});
    first = end;
  }
  ties_.clear();
}

std::uint64_t Symmetry::own_colour(GroupId group) const {
  const CommunicatorLayout& layout = plans_.layout(group);
  std::uint64_t own = hash_of({kCommunicator, patterns_.calls_hash(group), layout.cuboid});
  for (const std::uint32_t size : layout.sizes) own = hash_of({own, size});
  for (const std::uint32_t dimension : layout.dimensions) own = hash_of({own, dimension});
  for (const bool open : layout.open) own = hash_of({own, open});
  for (std::uint32_t i = 0; i < patterns_.of(group).size(); ++i) {
    own = hash_of({own, static_cast<std::uint64_t>(private_kind(group, i))});
    const CollectivePlan& plan = *patterns_.of(group)[i].plan;
    if (plan.group == nullptr) continue;  // else what its calls take of devices follows from this, and their sizes
    const collectives::GroupShape& shape = plan.group->shape;
    const collectives::DeviceShare takes = plan.takes();
    own = hash_of(
        {own, shape.nodes, shape.fullest, shape.nics, takes.processors, static_cast<std::uint64_t>(takes.memory_rate)});
  }
  return own;
}

// Hash of a member's part in all patterns: its phases, and their dependencies.
std::uint64_t Symmetry::program_hash(GroupId group, std::uint32_t member) {
  std::uint64_t hash = 0;
  for (const Pattern& pattern : patterns_.of(group)) {
    const CommunicatorLayout& layout = *pattern.plan->layout;
    const std::uint32_t position = layout.position_of[member];
    for (std::uint32_t phase = 0; phase < pattern.plan->phases.size(); ++phase) {
      const PlannedPhase& planned = pattern.plan->phases[phase];
      const bool takes_part = pattern.plan->participates(phase, position);
      hash = hash_of({hash, pattern.key, takes_part});
      if (takes_part && granularity_ == Granularity::kStep)
        hash = hash_of(
            {hash,
             kinds_.of(planned.schedule(), pattern.is_complete[phase])[layout.coordinate(position, planned.phase.axis)]
                 ->hash()});
    }
  }
  return hash;
}

std::vector<bool> Symmetry::add_complete_exchanges(GroupId group, const Pattern& pattern) {
  std::vector<bool> complete;
  for (std::uint32_t phase = 0; phase < pattern.is_complete.size(); ++phase)
    complete.push_back(pattern.is_complete[phase] && add_complete_exchange(group, pattern, phase));
  return complete;
}

// False, and nothing is added, where the routes of a line are not made of ways out and ways in.
bool Symmetry::add_complete_exchange(GroupId group, const Pattern& pattern, std::uint32_t phase) {
  struct Line {
    std::vector<std::uint32_t> members;
    Ways ways;
  };
  std::vector<Line> lines;
  bool has_ways = true;
  for_each_line(pattern, [&](const PatternLine& line) {
    if (line.phase != phase || !has_ways) return;
    std::vector<DeviceId> devices;
    for (const std::uint32_t member : line.members) devices.push_back(plans_.devices(group)[member]);
    std::optional<Ways> ways = find_ways(devices, fabric_);
    has_ways = ways.has_value();
    if (has_ways) lines.push_back({{line.members.begin(), line.members.end()}, std::move(*ways)});
  });
  if (!has_ways) return false;
  const collectives::Schedule& schedule = pattern.plan->phases[phase].schedule();
  std::uint64_t key = hash_of({pattern.key, phase});
  for (std::uint32_t send = 0; send < schedule.sends(0); send += schedule.ranks() - 1)
    key = hash_of({key, static_cast<std::uint64_t>(schedule.step(0, send).bytes.count())});
  for (const Line& line : lines) {
    const Vertex vertex = refinement_.add_vertex(hash_of({kExchange, key}));
    for (const std::uint32_t member : line.members)
      refinement_.add_edge(vertex, vertex_of(member_of(job_, group, member)),
                           hash_of({kMember, slot_of(job_, plans_, group, member)}));
    cross_ways(group, {0, phase, line.members}, key, line.ways);
  }
  return true;
}

void Symmetry::cross_ways(GroupId group, const PatternLine& line, std::uint64_t key, const Ways& ways) {
  for (std::uint32_t i = 0; i < line.members.size(); ++i) {
    const RankId rank = member_of(job_, group, line.members[i]);
    for (const auto sort : {kSends, kReceives}) {
      route_ = sort == kSends ? ways.out[i] : ways.in[i];
      for (const network::LinkShare& share : shares_of(route_))
        crossings_.push_back(
            {vertex_of(rank), share.link,
             hash_of({kCrosses, key, slot_of(job_, plans_, group, line.members[i]), sort, share.times})});
    }
  }
}

void Symmetry::add_messages(GroupId group, std::uint32_t number) {
  const Pattern& pattern = patterns_.of(group)[number];
  const CommunicatorLayout& layout = *pattern.plan->layout;
  const auto devices = plans_.devices(group);
  for_each_message(pattern, complete(group, number), [&](const PatternMessage& message) {
    const PlannedPhase& planned = pattern.plan->phases[message.phase];
    const std::uint32_t from = layout.coordinate(layout.position_of[message.from], planned.phase.axis);
    const std::uint32_t to = layout.coordinate(layout.position_of[message.to], planned.phase.axis);
    const KindsOfRanks::Ranks& kinds = kinds_.of(planned.schedule(), pattern.is_complete[message.phase]);
    const Vertex vertex = refinement_.vertex_count();
    const Duration latency = cross_route(vertex, devices[message.from], devices[message.to]);
    const auto bytes = static_cast<std::uint64_t>(planned.schedule().step(from, message.send).bytes.count());
    refinement_.add_vertex(
        hash_of({kMessage, pattern.key, message.phase, kinds[from]->of_send(message.send),
                 kinds[to]->of_receive(message.slot), static_cast<std::uint64_t>(latency.count()), bytes}));
    refinement_.add_edge(vertex, vertex_of(member_of(job_, group, message.from)),
                         hash_of({kSends, slot_of(job_, plans_, group, message.from)}));
    refinement_.add_edge(vertex, vertex_of(member_of(job_, group, message.to)),
                         hash_of({kReceives, slot_of(job_, plans_, group, message.to)}));
  });
}

// Lines of all members are alike where the communicators are, whose members see but one each in a slot: what they put
// on the links the communicator does. Returns what tells them apart from the start.
std::uint64_t Symmetry::add_whole_lines(GroupId group, Vertex communicator) {
  std::uint64_t own = 0;
  std::vector<Crossing> crossings;
  for (std::uint32_t i = 0; i < patterns_.of(group).size(); ++i)
    for_each_line(patterns_.of(group)[i], [&](const PatternLine& line) {
      if (!is_whole(job_, group, line)) return;
      const LineTraffic traffic = this->traffic(group, i, line);
      own = hash_of({own, i, line.phase, static_cast<std::uint64_t>(traffic.latency.count()),
                     static_cast<std::uint64_t>(traffic.least.count())});
      for (const network::LinkLoad& load : traffic.loads)
        crossings.push_back({communicator, load.link,
                             hash_of({i, line.phase, static_cast<std::uint64_t>(load.bytes.count()), load.connections}),
                             load.copies});
    });
  std::ranges::stable_sort(crossings, {}, &Crossing::link);
  for (auto first = crossings.begin(); first != crossings.end();) {
    Crossing all{communicator, first->link, kCrosses, first->times};
    for (; first != crossings.end() && first->link == all.link; ++first) all.how = hash_of({all.how, first->how});
    crossings_.push_back(all);
  }
  return own;
}

void Symmetry::add_lines(GroupId group, std::uint32_t number) {
  const Pattern& pattern = patterns_.of(group)[number];
  for_each_line(pattern, [&](const PatternLine& line) {
    if (is_whole(job_, group, line)) return;
    const LineTraffic traffic = this->traffic(group, number, line);
    const Vertex vertex = refinement_.add_vertex(
        hash_of({kLine, pattern.key, line.phase, static_cast<std::uint64_t>(traffic.latency.count()),
                 static_cast<std::uint64_t>(traffic.least.count())}),
        replicas_.copies(group));
    for (const std::uint32_t member : line.members)
      ties_.push_back({vertex, vertex_of(member_of(job_, group, member)),
                       hash_of({kMember, slot_of(job_, plans_, group, member)}), 1});
    tie();
    for (const network::LinkLoad& load : traffic.loads)
      crossings_.push_back({vertex, load.link,
                            hash_of({kCrosses, static_cast<std::uint64_t>(load.bytes.count()), load.connections}),
                            load.copies});
  });
}

LineTraffic Symmetry::traffic(GroupId group, std::uint32_t pattern, const PatternLine& line) const {
  if (replicas_.any() && is_by_kinds(group)) return traffic_of_kinds(group, *patterns_.of(group)[pattern].plan);
  std::vector<DeviceId> devices;
  for (const std::uint32_t member : line.members) devices.push_back(plans_.devices(group)[member]);
  return traffic_of(*patterns_.of(group)[pattern].plan, line.phase, devices, fabric_);
}

// True if one link stands for its kind in the traffic of all calls: where one call is told link by link, all are, for
// links are compared by what all calls of the communicator put on them.
bool Symmetry::is_by_kinds(GroupId group) const {
  return std::ranges::all_of(patterns_.of(group), [](const Pattern& pattern) {
    const CollectivePlan& plan = *pattern.plan;
    return plan.phases.empty() ||
           (plan.group != nullptr && plan.group->alike &&
            plan.phases.front().transfer().pattern != collectives::NodePattern::kAllPairs);
  });
}

// Loads of nodes with equal numbers of neighbours are equal, and so are those of links that carry nothing between nodes.
LineTraffic Symmetry::traffic_of_kinds(GroupId group, const CollectivePlan& plan) const {
  const collectives::Aggregate& transfer = plan.phases.front().transfer();
  const NodeMembers& nodes = plan.group->nodes;
  const auto device = [&](std::uint32_t member) { return placement_[index_of(member_of(job_, group, member))]; };
  const NodeTraffic one = traffic_of_node(transfer, nodes, device, fabric_);
  const std::vector<std::uint32_t> neighbours =
      neighbours_of_nodes(transfer.pattern, static_cast<std::uint32_t>(nodes.size()));
  const std::uint32_t most = std::ranges::max(neighbours);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> kinds;  // by first node and number of neighbours
  for (std::size_t i = 0; i < nodes.size(); ++i)
    ++kinds[{replicas_.first_node(network::node_of(fabric_, device(nodes[i].front()))), neighbours[i]}];
  LineTraffic traffic{{}, transfer.latency, transfer.least};
  for (const auto& [kind, nodes_of_kind] : kinds)
    for (const LinkTraffic& link : one.links) {
      network::LinkLoad load = one.load(link, kind.second, most);
      load.link = LinkId(index_of(link.link) + (kind.first - one.node) * fabric_.at_node(link.link).stride);
      load.copies = nodes_of_kind;
      if (load.bytes > Bytes(0)) traffic.loads.push_back(load);
    }
  std::ranges::sort(traffic.loads, {}, &network::LinkLoad::link);
  merge_copies(traffic.loads);
  return traffic;
}

std::uint32_t Symmetry::use_sends(RankId replica, std::uint32_t peer_slot) {
  if (sends(replica, peer_slot) != kNotInUse) return 0;
  const RankId from = rank_of(vertex_of(replica));
  const RankId to = job_.ranks.peer(index_of(from), peer_slot);
  const TransferSlots &here = transfer_slots(from), &there = transfer_slots(to);
  if (here.sends(peer_slot).empty()) return 0;
  const Pairing& pairing = pairings_.find(from, peer_slot);
  const std::uint32_t slot_there = pairing.receive_slot;
  // To several slots of one rank: of these nobody else has the like.
  const std::uint64_t own = pairing.is_spread ? hash_of({pairing.hash, index_of(from), index_of(to)}) : pairing.hash;
  const DeviceId from_device = placement_[index_of(from)], to_device = placement_[index_of(to)];
  const bool is_same_node = network::node_of(fabric_, from_device) == network::node_of(fabric_, to_device);
  const Vertex vertex = refinement_.vertex_count();
  const Duration latency = cross_route(vertex, from_device, to_device);
  refinement_.add_vertex(hash_of({kPair, own, static_cast<std::uint64_t>(latency.count()),
                                  // only a library makes a difference there
                                  plans_.library() != nullptr && is_same_node}),
                         replicas_.copies(vertex_of(from)));
  sends_[first_slot_[vertex_of(from)] + peer_slot] = vertex;
  const std::uint32_t received_at = first_slot_[vertex_of(to)] + slot_there;
  if (Vertex& first = received_[received_at]; first == kNotInUse) {
    first = vertex;
  } else {
    std::vector<Vertex>& several = received_several_[received_at];
    if (several.empty()) several.push_back(first);
    several.push_back(vertex);
  }
  // A message may be like another of the same rank; but ranks are alike only peer by peer, so that each operation of
  // one is the same operation of the other.
  refinement_.add_edge(vertex, vertex_of(from), hash_of({kSends, kPair, here.send_kind(peer_slot)}),
                       hash_of({kSends, kPair, peer_slot}));
  ORRERY_ASSERT(replicas_.copies(vertex_of(to)) == replicas_.copies(vertex_of(from)));  // each has one such peer
  refinement_.add_edge(vertex, vertex_of(to), hash_of({kReceives, kPair, there.receive_kind(slot_there)}),
                       hash_of({kReceives, kPair, slot_there}));
  return replicas_.copies(vertex_of(from));
}

std::span<const Symmetry::Vertex> Symmetry::received(RankId to, std::uint32_t peer_slot) const {
  const std::uint32_t slot = first_slot_[vertex_of(to)] + peer_slot;
  if (const auto several = received_several_.find(slot); several != received_several_.end()) return several->second;
  return std::span(received_).subspan(slot, received_[slot] == kNotInUse ? 0 : 1);
}

void Symmetry::refine() {
  refinement_.forget_changes();
  refinement_.refine();
  count_rank_classes();
  stages_.partners = rank_classes_ - stages_.programs - stages_.links;
  cross_links();
  refinement_.refine();
  count_rank_classes();
  stages_.links = rank_classes_ - stages_.programs - stages_.partners;
}

// Classes are never given up, and what they are of never changes.
void Symmetry::count_rank_classes() {
  for (; counted_classes_ < refinement_.class_count(); ++counted_classes_)
    if (members(counted_classes_).front() < replicas_.kinds()) ++rank_classes_;
}

// The message crosses each link of the route, whose latency is returned.
Duration Symmetry::cross_route(Vertex message, DeviceId from, DeviceId to) {
  fabric_.route(from, to, route_);
  Duration latency{};
  for (const LinkId link : route_) latency = saturating_add(latency, fabric_.link(link).latency);
  for (const network::LinkShare& share : shares_of(route_))
    crossings_.push_back({message, share.link, hash_of({kCrosses, share.times})});
  return latency;
}

void Symmetry::cross_links() {
  link_runs_.push_back({refinement_.vertex_count(), static_cast<std::uint32_t>(used_links_.size())});
  for (const Crossing& crossing : std::exchange(crossings_, {})) {
    const LinkId first = replicas_.first(crossing.link);
    Vertex link = link_vertices_.at(index_of(first));
    if (link == kNotInUse) {
      link = link_vertices_.own(index_of(first)) =
          refinement_.add_vertex(hash_of({kLink, fabric_.kind_of(first)}), replicas_.copies(first));
      used_links_.push_back(first);
    }
    ties_.push_back({crossing.vertex, link, crossing.how, crossing.times});
    if (!replicas_.any()) tie();
  }
  tie();
  if (link_runs_.back().begin == used_links_.size()) link_runs_.pop_back();
}

bool Symmetry::is_alone(GroupId group) const {
  const auto is_crossed_by_others = [&](LinkId link) {
    bool is_crossed = false;
    refinement_.for_each_neighbour(link_vertex(link), [&](Vertex vertex, std::uint32_t times) {
      const Origin user = origin(vertex);
      const bool is_call = user.kind == Origin::Kind::kCommunicator || user.kind == Origin::Kind::kMessage;
      is_crossed = is_crossed || !is_call || user.id != index_of(group) || times > 1;  // more than once: by replicas
    });
    return is_crossed;
  };
  bool is_alone = true;
  for (std::uint32_t pattern = 0; pattern < patterns_.of(group).size(); ++pattern) {
    if (granularity_ == Granularity::kStep) {
      is_alone = is_alone && private_kind(group, pattern) != PrivateCalls::Kind::kNone;
      continue;
    }
    for_each_line(patterns_.of(group)[pattern], [&](const PatternLine& line) {
      if (!is_alone) return;
      for (const network::LinkLoad& load : traffic(group, pattern, line).loads)
        is_alone = is_alone && !is_crossed_by_others(load.link);
    });
  }
  return is_alone;
}

std::optional<Symmetry::Colour> Symmetry::colour(LinkId link) const {
  const Vertex vertex = link_vertex(link);
  if (vertex == kNotInUse) return std::nullopt;
  return refinement_.colour(vertex);
}

Symmetry::Origin Symmetry::origin(Vertex vertex) const {
  using enum Origin::Kind;
  if (vertex < replicas_.kinds()) return {kRank, index_of(rank_of(vertex))};
  const auto group = std::ranges::upper_bound(group_vertices_, vertex, {}, &VerticesOfGroup::first);
  if (group != group_vertices_.begin() && vertex < std::prev(group)->end)
    return {std::prev(group)->first == vertex ? kCommunicator : kMessage, index_of(std::prev(group)->group)};
  const auto links = std::ranges::upper_bound(link_runs_, vertex, {}, &VerticesOfLinks::first);
  if (links != link_runs_.begin()) {
    const std::uint32_t end = links == link_runs_.end() ? static_cast<std::uint32_t>(used_links_.size()) : links->begin;
    const std::uint32_t at = std::prev(links)->begin + (vertex - std::prev(links)->first);
    if (at < end) return {kLink, index_of(used_links_[at])};
  }
  Origin sends{kSends, 0};
  refinement_.for_each_neighbour(vertex, [&](Vertex neighbour, std::uint32_t) {
    if (neighbour >= replicas_.kinds()) return;
    const RankId rank = rank_of(neighbour);
    for (std::uint32_t slot = 0; slot < job_.ranks.peer_count(index_of(rank)); ++slot)
      if (this->sends(rank, slot) == vertex) sends.id = index_of(rank);
  });
  return sends;
}

std::vector<Symmetry::Origin> Symmetry::users(LinkId link) const {
  std::vector<Origin> users;
  refinement_.for_each_neighbour(link_vertex(link),
                                 [&](Vertex vertex, std::uint32_t) { users.push_back(origin(vertex)); });
  return users;
}

std::vector<network::LinkShare> Symmetry::route_of(DeviceId from, DeviceId to) const {
  std::vector<LinkId> route;
  fabric_.route(from, to, route);
  return shares_of(route);
}

}  // namespace orrery::system
