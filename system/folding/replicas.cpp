// SPDX-License-Identifier: MIT
#include "system/folding/replicas.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/hash.h"
#include "system/plans/line_traffic.h"

namespace orrery::system {
namespace {

constexpr std::uint32_t kNoOne = UINT32_MAX;
constexpr int kMostRounds = 64;

// Digest of a sequence: two independent hashes.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  void add(std::uint64_t value) {
    low = mixed(low ^ value);
    high = mixed(high + value);
  }
  void add(const Digest& other) {
    low = mixed(low ^ other.low);
    high = mixed(high + other.high);
  }
  // In any order.
  void sum(const Digest& other) {
    low += other.low;
    high += other.high;
  }
  auto operator<=>(const Digest&) const = default;
};
struct DigestHash {
  std::size_t operator()(const Digest& digest) const { return digest.low; }
};

// Numbering of values in the order of their first occurrence; equal values get equal numbers.
class Numbers {
 public:
  std::uint32_t of(const Digest& digest) {
    return numbers_.try_emplace(digest, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  std::size_t count() const { return numbers_.size(); }

 private:
  std::unordered_map<Digest, std::uint32_t, DigestHash> numbers_;
};

// Tells nodes apart by what never changes, then round by round by the kinds of nodes that they have to do with, until
// a round tells no more apart: so the kinds are equitable. Of what repeats, ranks, nodes and groups of digit 0 are
// looked at for all; nodes are those of the fabric by their place in the period.
class KindsOfNodes {
 public:
  KindsOfNodes(const ReplicasInput& input, const Repeats& repeats)
      : in_(input),
        repeats_(repeats),
        per_node_(input.fabric.dimensions().front().size),
        ranks_(input.fabric.device_count() / repeats.nodes.count, kNoOne),
        kind_(ranks_.size() / per_node_),
        fixed_(kind_.size()),
        fixed_of_group_(input.job.communicators.size()),
        kind_of_group_(input.job.communicators.size(), kNoOne) {
    for (std::uint32_t i = 0; i < kind_of_group_.size(); ++i)
      if (first_of(GroupId(i)) == GroupId(i) && !in_.patterns.of(GroupId(i)).empty()) groups_.push_back(GroupId(i));
  }

  // False if there are hardly fewer kinds than nodes, or it takes too long to tell; or if what repeats is not alike.
  bool find() {
    if (!place_ranks() || !describe_ranks() || !describe_groups()) return false;
    std::size_t kinds = 0, before = 0;
    for (int round = 0; round < kMostRounds; ++round) {
      before = std::exchange(kinds, tell_apart());
      if (kinds == before) return true;
      if (!repeats_.any() && 2 * kinds > kind_.size()) return false;
    }
    return false;
  }

  std::uint32_t kind(std::uint32_t node) const { return kind_[repeats_.nodes.place(node)]; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(kind_.size()) * repeats_.nodes.count; }
  // Kinds of nodes by place there.
  std::uint32_t kind(RankId rank) const { return kind(node(rank)) * per_node_ + place(rank); }
  // kNoOne for a group without calls.
  std::uint32_t kind(GroupId group) const { return kind_of_group_[index_of(first_of(group))]; }

 private:
  std::uint32_t node(RankId rank) const { return index_of(in_.placement[index_of(rank)]) / per_node_; }
  std::uint32_t place(RankId rank) const { return index_of(in_.placement[index_of(rank)]) % per_node_; }
  Digest& fixed(std::uint32_t node) { return fixed_[repeats_.nodes.place(node)]; }
  bool is_first(RankId rank) const { return repeats_.ranks.digit(index_of(rank)) == 0; }
  GroupId first_of(GroupId group) const {
    return repeats_.any() ? in_.job.communicators[index_of(group)].shifted_from.value_or(group) : group;
  }
  // Visits members of a group with their positions, those of digit 0.
  template <class Visit>
  void for_each_member(GroupId group, const Visit& visit) const {
    const workload::Members& members = in_.job.communicators[index_of(group)].members;
    for (std::uint32_t i = 0; i < members.size(); ++i)
      if (const RankId rank = members[i]; is_first(rank)) visit(i, rank);
  }
  bool place_ranks();
  bool describe_ranks();
  bool describe_rank(RankId rank, Digest& digest);
  bool describe_groups();
  bool describe_traffic(GroupId group, std::span<const std::uint32_t> node_of_member, std::uint32_t nodes);
  using Loads = std::optional<std::vector<Digest>>;
  const Loads& loads(GroupId group, std::span<const std::uint32_t> node_of_member, std::uint32_t nodes);
  bool add_alike(std::uint32_t pattern, std::uint32_t phase, const CollectivePlan& plan, GroupId group,
                 std::vector<Digest>& carried) const;
  bool add_loads(std::uint32_t pattern, const Pattern& of, GroupId group, std::span<const std::uint32_t> node_of_member,
                 std::vector<Digest>& carried) const;
  std::size_t tell_apart();

  const ReplicasInput& in_;
  const Repeats& repeats_;
  std::uint32_t per_node_;
  std::vector<GroupId> groups_;       // of digit 0 that call
  std::vector<std::uint32_t> ranks_;  // by device
  std::vector<std::uint32_t> kind_;   // by node
  std::vector<Digest> fixed_;         // likewise: what does not depend on the kinds of others
  std::vector<Digest> fixed_of_group_;
  std::vector<std::uint32_t> kind_of_group_;
  // Link loads of groups with equal layout, node by node in the order of their members; nothing where nodes that repeat
  // carry other loads.
  std::map<std::pair<const Pattern*, Digest>, Loads> loads_;
};

bool KindsOfNodes::place_ranks() {
  const workload::Period& period = repeats_.ranks;
  for (std::uint32_t i = 0; i < in_.job.ranks.size() / period.count; ++i) {
    const RankId rank{period.at(i)};
    std::uint32_t& there = ranks_[repeats_.nodes.place(node(rank)) * per_node_ + place(rank)];
    if (there != kNoOne) return false;
    there = index_of(rank);
  }
  for (std::uint32_t rank = 0; repeats_.any() && rank < in_.own.size(); ++rank)
    if (in_.own[rank] != in_.own[period.first(rank)]) return false;
  return true;
}

bool KindsOfNodes::describe_ranks() {
  for (std::uint32_t device = 0; device < ranks_.size(); ++device) {
    Digest& digest = fixed_[device / per_node_];
    digest.add(ranks_[device] == kNoOne);
    if (ranks_[device] != kNoOne && !describe_rank(RankId(ranks_[device]), digest)) return false;
  }
  return true;
}

// False if it is like no other rank.
bool KindsOfNodes::describe_rank(RankId rank, Digest& digest) {
  const workload::RankBindings& ranks = in_.job.ranks;
  digest.add(ranks.graph(index_of(rank)));
  digest.add(in_.own.empty() ? 0 : in_.own[index_of(rank)]);
  digest.add(ranks.communicator_count(index_of(rank)));
  for (std::uint32_t slot = 0; slot < ranks.peer_count(index_of(rank)); ++slot) {
    const RankId peer = ranks.peer(index_of(rank), slot);
    digest.add(node(peer) == node(rank));
    if (!in_.pairings.slots(rank).sends(slot).empty()) {
      const Pairing& pairing = in_.pairings.find(rank, slot);
      if (pairing.is_spread) return false;
      digest.add(pairing.hash);
      digest.add(pairing.receive_slot);
    }
    for (std::uint32_t there = 0; there < ranks.peer_count(index_of(peer)); ++there)
      if (ranks.peer(index_of(peer), there) == rank) digest.add(there);
  }
  return true;
}

// False if nodes that repeat carry other loads. Nodes of a group are numbered in the order of its members.
bool KindsOfNodes::describe_groups() {
  std::vector<std::uint32_t> number(kind_.size()), seen_by(kind_.size(), kNoOne), node_of_member;
  for (const GroupId group : groups_) {
    Digest& digest = fixed_of_group_[index_of(group)];
    node_of_member.clear();
    std::uint32_t nodes = 0;
    bool is_of_several = false;
    for_each_member(group, [&](std::uint32_t, RankId rank) {
      const std::uint32_t at = repeats_.nodes.place(node(rank));
      if (std::exchange(seen_by[at], index_of(group)) != index_of(group)) number[at] = nodes++;
      node_of_member.push_back(number[at]);
      digest.add(std::uint64_t{number[at]} << 32 | place(rank));
      digest.add(in_.plans.slot_of(rank, group));
    });
    const workload::Members& members = in_.job.communicators[index_of(group)].members;
    is_of_several = nodes > 1;
    if (!is_first(members.back())) {  // of all digits
      is_of_several = true;
      digest.add(members.size());
      for (std::size_t axis = 0; members.lattice() != nullptr && axis < members.lattice()->size(); ++axis)
        digest.add(std::uint64_t{(*members.lattice())[axis].count} << 32 | (*members.lattice())[axis].stride);
      if (members.lattice() == nullptr) digest.add(index_of(group));
    }
    if (is_of_several && !describe_traffic(group, node_of_member, nodes)) return false;
    digest.add(in_.patterns.calls_hash(group));
    digest.add(index_of(in_.plans.model_of(group)));
  }
  return true;
}

bool KindsOfNodes::describe_traffic(GroupId group, std::span<const std::uint32_t> node_of_member, std::uint32_t nodes) {
  const Loads& carried = loads(group, node_of_member, nodes);
  if (!carried) return false;
  std::uint32_t next = 0;
  bool take_part = true;
  for_each_member(group, [&](std::uint32_t member, RankId rank) {
    // The place of the part's owner is counted from the first rank of its node.
    Digest part;
    part.add(place(rank));
    part.add(in_.plans.slot_of(rank, group));
    part.add((*carried)[node_of_member[next++]]);
    for (const Pattern& pattern : in_.patterns.of(group))
      for (std::uint32_t phase = 0; phase < pattern.plan->phases.size(); ++phase) {
        const bool takes_part = pattern.plan->participates(phase, pattern.plan->layout->position_of[member]);
        part.add(takes_part);
        take_part = take_part && takes_part;
      }
    fixed(node(rank)).sum(part);
  });
  return take_part || !repeats_.any();
}

const KindsOfNodes::Loads& KindsOfNodes::loads(GroupId group, std::span<const std::uint32_t> node_of_member,
                                               std::uint32_t nodes) {
  const std::span<const Pattern> patterns = in_.patterns.of(group);
  const auto [known, is_new] = loads_.try_emplace({patterns.data(), fixed_of_group_[index_of(group)]});
  if (!is_new) return known->second;
  std::vector<Digest> carried(nodes);
  for (std::uint32_t i = 0; i < patterns.size(); ++i)
    if (!add_loads(i, patterns[i], group, node_of_member, carried)) return known->second;
  known->second = std::move(carried);
  return known->second;
}

// Load of a link as its node sees it.
Digest digest_of(std::uint32_t pattern, std::uint32_t phase, const network::Fabric& fabric,
                 const network::LinkLoad& load) {
  const network::Fabric::AtNode at = fabric.at_node(load.link);
  Digest digest;
  for (const std::uint64_t value :
       {std::uint64_t{pattern}, std::uint64_t{phase}, std::uint64_t{index_of(load.link) - at.node * at.stride},
        static_cast<std::uint64_t>(load.bytes.count()), std::uint64_t{load.connections}})
    digest.add(value);
  return digest;
}

// False if they repeat and have other numbers of neighbours.
bool KindsOfNodes::add_alike(std::uint32_t pattern, std::uint32_t phase, const CollectivePlan& plan, GroupId group,
                             std::vector<Digest>& carried) const {
  const workload::Members& members = in_.job.communicators[index_of(group)].members;
  const collectives::Aggregate& transfer = plan.phases[phase].transfer();
  const NodeTraffic one = traffic_of_node(
      transfer, plan.group->nodes, [&](std::uint32_t member) { return in_.placement[index_of(members[member])]; },
      in_.fabric);
  const std::vector<std::uint32_t> neighbours =
      neighbours_of_nodes(transfer.pattern, static_cast<std::uint32_t>(plan.group->nodes.size()));
  const auto [least, most] = std::ranges::minmax(neighbours);
  if (repeats_.any() && least != most) return false;
  std::vector<std::optional<Digest>> of_number(most + 1);
  for (std::uint32_t node = 0; node < carried.size(); ++node) {
    std::optional<Digest>& of_links = of_number[neighbours[node]];
    if (!of_links) {
      of_links.emplace();
      for (const LinkTraffic& link : one.links)
        if (const network::LinkLoad load = one.load(link, neighbours[node], most); load.bytes > Bytes(0))
          of_links->sum(digest_of(pattern, phase, in_.fabric, load));
    }
    carried[node].sum(*of_links);
  }
  return true;
}

// False if nodes that repeat carry other loads.
bool KindsOfNodes::add_loads(std::uint32_t pattern, const Pattern& of, GroupId group,
                             std::span<const std::uint32_t> node_of_member, std::vector<Digest>& carried) const {
  const CollectivePlan& plan = *of.plan;
  if (plan.group != nullptr && plan.group->alike && plan.phases.size() == 1 &&
      plan.phases.front().transfer().pattern != collectives::NodePattern::kAllPairs)
    return add_alike(pattern, 0, plan, group, carried);
  const std::span<const DeviceId> devices = in_.plans.devices(group);
  std::unordered_map<std::uint32_t, Digest> of_node;
  for_each_line(of, [&](const PatternLine& line) {
    std::vector<DeviceId> on_line;
    for (const std::uint32_t member : line.members) on_line.push_back(devices[member]);
    for (const network::LinkLoad& load : traffic_of(plan, line.phase, on_line, in_.fabric).loads)
      of_node[in_.fabric.at_node(load.link).node].sum(digest_of(pattern, line.phase, in_.fabric, load));
  });
  std::unordered_map<std::uint32_t, std::uint32_t> number;  // by node of digit 0
  std::uint32_t next = 0;
  for_each_member(group, [&](std::uint32_t, RankId rank) { number.emplace(node(rank), node_of_member[next++]); });
  for (const auto& [at, place] : number)
    if (const auto found = of_node.find(at); found != of_node.end()) carried[place].sum(found->second);
  if (!repeats_.any()) return true;
  for (const DeviceId device : devices) {
    const std::uint32_t at = index_of(device) / per_node_;
    if (of_node[at] != of_node[repeats_.nodes.first(at)]) return false;
  }
  return true;
}

std::size_t KindsOfNodes::tell_apart() {
  Numbers groups;
  for (const GroupId group : groups_) {
    Digest digest = fixed_of_group_[index_of(group)];
    for_each_member(group, [&](std::uint32_t, RankId member) { digest.add(kind(member)); });
    kind_of_group_[index_of(group)] = groups.of(digest);
  }
  Numbers nodes;
  std::vector<std::uint32_t> kinds;
  const workload::RankBindings& bindings = in_.job.ranks;
  for (std::uint32_t node = 0; node < kind_.size(); ++node) {
    Digest digest = fixed_[node];
    digest.add(kind_[node]);
    for (std::uint32_t place = 0; place < per_node_; ++place) {
      const std::uint32_t rank = ranks_[node * per_node_ + place];
      if (rank == kNoOne) continue;
      for (std::uint32_t slot = 0; slot < bindings.communicator_count(rank); ++slot)
        digest.add(kind(bindings.communicator(rank, slot)));
      for (std::uint32_t slot = 0; slot < bindings.peer_count(rank); ++slot)
        digest.add(kind(bindings.peer(rank, slot)));
    }
    kinds.push_back(nodes.of(digest));
  }
  kind_ = std::move(kinds);
  return nodes.count();
}

// First of its kind by thing, and number of its kind by first thing.
template <class Id, class KindOf>
void count_kinds(std::uint32_t things, const KindOf& kind_of, std::vector<Id>& first,
                 std::vector<std::uint32_t>& copies) {
  std::unordered_map<std::uint32_t, std::uint32_t> first_of_kind;
  copies.assign(things, 0);
  for (std::uint32_t thing = 0; thing < things; ++thing) {
    const std::uint32_t kind = kind_of(thing);
    first.push_back(Id(kind == kNoOne ? thing : first_of_kind.try_emplace(kind, thing).first->second));
    ++copies[static_cast<std::uint32_t>(first.back())];
  }
}

}  // namespace

Replicas::Replicas(const ReplicasInput& input) : fabric_(input.fabric) {
  const bool may_be = input.are_wanted && input.plans.library() != nullptr && input.fabric.has_nodes_alike();
  if (may_be && input.plans.repeats().any()) find(input, input.plans.repeats());
  if (may_be && !any()) find(input, {});
  if (any()) return;
  for (std::uint32_t rank = 0; rank < input.job.ranks.size(); ++rank) first_rank_.push_back(RankId(rank));
}

void Replicas::find(const ReplicasInput& input, const Repeats& repeats) {
  KindsOfNodes kinds(input, repeats);
  if (!kinds.find()) return;
  repeats_ = repeats;
  std::unordered_map<std::uint32_t, std::uint32_t> number;
  const workload::Period& period = repeats.ranks;
  for (std::uint32_t i = 0; i < input.job.ranks.size() / period.count; ++i) {
    const RankId rank{period.at(i)};
    const auto [known, is_new] = number.try_emplace(kinds.kind(rank), this->kinds());
    if (is_new) first_rank_.push_back(rank);
    kind_of_.push_back(known->second);
  }
  copies_of_rank_.resize(first_rank_.size());
  for (const std::uint32_t kind : kind_of_) copies_of_rank_[kind] += period.count;
  count_kinds(
      static_cast<std::uint32_t>(input.job.communicators.size()),
      [&](std::uint32_t group) { return kinds.kind(GroupId(group)); }, first_group_, copies_of_group_);
  count_kinds(
      kinds.nodes(), [&](std::uint32_t node) { return kinds.kind(node); }, first_node_, copies_of_node_);
}

LinkId Replicas::first(LinkId link) const {
  if (kind_of_.empty()) return link;
  const network::Fabric::AtNode at = fabric_.at_node(link);
  return LinkId(index_of(link) - (at.node - first_node_[at.node]) * at.stride);
}

LinkBlock Replicas::block_of(LinkId link) const {
  if (kind_of_.empty()) return {link};
  const network::Fabric::AtNode at = fabric_.at_node(link);
  const LinkId first{index_of(link) - (at.node - first_node_[at.node]) * at.stride};
  const std::uint32_t last = index_of(link) + at.stride - 1;
  if (last >= fabric_.link_count()) return {first};
  const network::Fabric::AtNode at_last = fabric_.at_node(LinkId(last));
  return {first, at_last.node == at.node && at_last.stride == at.stride ? at.stride : 1};
}

std::uint32_t Replicas::copies(LinkId link) const {
  return kind_of_.empty() ? 1 : copies_of_node_[first_node_[fabric_.at_node(link).node]];
}

}  // namespace orrery::system
