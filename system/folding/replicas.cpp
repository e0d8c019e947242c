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
// a round tells no more apart: so the kinds are equitable.
class KindsOfNodes {
 public:
  explicit KindsOfNodes(const ReplicasInput& input)
      : in_(input),
        per_node_(input.fabric.dimensions().front().size),
        ranks_(input.fabric.device_count(), kNoOne),
        kind_(input.fabric.device_count() / per_node_),
        fixed_(kind_.size()),
        fixed_of_group_(input.job.communicators.size()),
        kind_of_group_(input.job.communicators.size(), kNoOne) {}

  // False if there are hardly fewer kinds than nodes, or it takes too long to tell.
  bool find() {
    if (!place_ranks() || !describe_ranks()) return false;
    describe_groups();
    std::size_t kinds = 0, before = 0;
    for (int round = 0; round < kMostRounds; ++round) {
      before = std::exchange(kinds, tell_apart());
      if (kinds == before) return true;
      if (2 * kinds > kind_.size()) return false;
    }
    return false;
  }

  std::uint32_t node(RankId rank) const { return index_of(in_.placement[index_of(rank)]) / per_node_; }
  std::uint32_t kind(std::uint32_t node) const { return kind_[node]; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(kind_.size()); }
  // Kinds of nodes by place there.
  std::uint32_t kind(RankId rank) const { return kind_[node(rank)] * per_node_ + place(rank); }
  // kNoOne for a group without calls.
  std::uint32_t kind(GroupId group) const { return kind_of_group_[index_of(group)]; }

 private:
  std::uint32_t place(RankId rank) const { return index_of(in_.placement[index_of(rank)]) % per_node_; }
  bool place_ranks();
  bool describe_ranks();
  bool describe_rank(RankId rank, Digest& digest);
  void describe_groups();
  const std::vector<Digest>& loads(GroupId group, std::span<const std::uint32_t> node_of_member, std::uint32_t nodes);
  std::size_t tell_apart();

  const ReplicasInput& in_;
  std::uint32_t per_node_;
  std::vector<std::uint32_t> ranks_;  // by device
  std::vector<std::uint32_t> kind_;   // by node
  std::vector<Digest> fixed_;         // likewise: what does not depend on the kinds of others
  std::vector<Digest> fixed_of_group_;
  std::vector<std::uint32_t> kind_of_group_;
  // Link loads of groups with equal layout, node by node in the order of their members.
  std::map<std::pair<const Pattern*, Digest>, std::vector<Digest>> loads_;
};

bool KindsOfNodes::place_ranks() {
  for (std::uint32_t rank = 0; rank < in_.job.ranks.size(); ++rank) {
    std::uint32_t& there = ranks_[index_of(in_.placement[rank])];
    if (there != kNoOne) return false;
    there = rank;
  }
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
  const workload::RankBinding& binding = in_.job.ranks[index_of(rank)];
  digest.add(binding.graph);
  digest.add(in_.own[index_of(rank)]);
  digest.add(binding.communicators.size());
  for (std::uint32_t slot = 0; slot < binding.peers.size(); ++slot) {
    const RankId peer = binding.peers[slot];
    digest.add(node(peer) == node(rank));
    if (!in_.pairings.slots(rank).sends(slot).empty()) {
      const Pairing& pairing = in_.pairings.find(rank, slot);
      if (pairing.is_spread) return false;
      digest.add(pairing.hash);
      digest.add(pairing.receive_slot);
    }
    const std::vector<RankId>& back = in_.job.ranks[index_of(peer)].peers;
    for (std::uint32_t there = 0; there < back.size(); ++there)
      if (back[there] == rank) digest.add(there);
  }
  return true;
}

void KindsOfNodes::describe_groups() {
  std::vector<std::uint32_t> number(kind_.size()), seen_by(kind_.size(), kNoOne);
  std::vector<std::uint32_t> node_of_member, nodes;
  for (std::uint32_t i = 0; i < kind_of_group_.size(); ++i) {
    const std::span<const Pattern> patterns = in_.patterns.of(GroupId(i));
    if (patterns.empty()) continue;
    const std::vector<RankId>& members = in_.job.communicators[i].members;
    Digest& digest = fixed_of_group_[i];
    node_of_member.clear();
    nodes.clear();
    for (const RankId member : members) {
      const std::uint32_t at = node(member);
      if (std::exchange(seen_by[at], i) != i) {
        number[at] = static_cast<std::uint32_t>(nodes.size());
        nodes.push_back(at);
      }
      node_of_member.push_back(number[at]);
      digest.add(std::uint64_t{number[at]} << 32 | place(member));
      digest.add(in_.plans.slot_of(member, GroupId(i)));
    }
    if (nodes.size() > 1) {
      const std::vector<Digest>& carried = loads(GroupId(i), node_of_member, static_cast<std::uint32_t>(nodes.size()));
      for (std::uint32_t member = 0; member < members.size(); ++member) {
        // The place of the part's owner is counted from the first rank of its node.
        Digest part;
        part.add(place(members[member]));
        part.add(in_.plans.slot_of(members[member], GroupId(i)));
        part.add(carried[node_of_member[member]]);
        for (const Pattern& pattern : patterns)
          for (std::uint32_t phase = 0; phase < pattern.plan->phases.size(); ++phase)
            part.add(pattern.plan->participates(phase, pattern.plan->layout->position_of[member]));
        fixed_[node(members[member])].sum(part);
      }
    }
    digest.add(in_.patterns.calls_hash(GroupId(i)));
    digest.add(index_of(in_.plans.model_of(GroupId(i))));
  }
}

const std::vector<Digest>& KindsOfNodes::loads(GroupId group, std::span<const std::uint32_t> node_of_member,
                                               std::uint32_t nodes) {
  const std::span<const Pattern> patterns = in_.patterns.of(group);
  const auto [known, is_new] = loads_.try_emplace({patterns.data(), fixed_of_group_[index_of(group)]});
  std::vector<Digest>& carried = known->second;
  if (!is_new) return carried;
  carried.resize(nodes);
  const std::span<const DeviceId> devices = in_.plans.devices(group);
  std::unordered_map<std::uint32_t, std::uint32_t> number;  // by node
  for (std::uint32_t member = 0; member < devices.size(); ++member)
    number.emplace(index_of(devices[member]) / per_node_, node_of_member[member]);
  for (std::uint32_t i = 0; i < patterns.size(); ++i)
    for_each_line(patterns[i], [&](const PatternLine& line) {
      std::vector<DeviceId> on_line;
      for (const std::uint32_t member : line.members) on_line.push_back(devices[member]);
      for (const network::LinkLoad& load : traffic_of(*patterns[i].plan, line.phase, on_line, in_.fabric).loads) {
        const network::Fabric::AtNode at = in_.fabric.at_node(load.link);
        Digest of_link;
        for (const std::uint64_t value :
             {std::uint64_t{i}, std::uint64_t{line.phase}, std::uint64_t{index_of(load.link) - at.node * at.stride},
              static_cast<std::uint64_t>(load.bytes.count()), std::uint64_t{load.connections}})
          of_link.add(value);
        carried[number.at(at.node)].sum(of_link);
      }
    });
  return carried;
}

std::size_t KindsOfNodes::tell_apart() {
  Numbers groups;
  for (std::uint32_t i = 0; i < kind_of_group_.size(); ++i) {
    if (in_.patterns.of(GroupId(i)).empty()) continue;
    Digest digest = fixed_of_group_[i];
    for (const RankId member : in_.job.communicators[i].members) digest.add(kind(member));
    kind_of_group_[i] = groups.of(digest);
  }
  Numbers nodes;
  std::vector<std::uint32_t> kinds;
  for (std::uint32_t node = 0; node < kind_.size(); ++node) {
    Digest digest = fixed_[node];
    digest.add(kind_[node]);
    for (std::uint32_t place = 0; place < per_node_; ++place) {
      const std::uint32_t rank = ranks_[node * per_node_ + place];
      if (rank == kNoOne) continue;
      for (const GroupId group : in_.job.ranks[rank].communicators) digest.add(kind_of_group_[index_of(group)]);
      for (const RankId peer : in_.job.ranks[rank].peers) digest.add(kind(peer));
    }
    kinds.push_back(nodes.of(digest));
  }
  kind_ = std::move(kinds);
  return nodes.count();
}

// By thing, the first of its kind, and by first thing, how many there are.
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
  const auto ranks = static_cast<std::uint32_t>(input.job.ranks.size());
  std::optional<KindsOfNodes> kinds;
  if (input.are_wanted && input.plans.library() != nullptr && input.fabric.has_nodes_alike()) kinds.emplace(input);
  if (!kinds || !kinds->find()) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) first_rank_.push_back(RankId(rank));
    return;
  }
  std::unordered_map<std::uint32_t, std::uint32_t> number;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto [known, is_new] = number.try_emplace(kinds->kind(RankId(rank)), this->kinds());
    if (is_new) first_rank_.push_back(RankId(rank));
    kind_of_.push_back(known->second);
  }
  copies_of_rank_.resize(first_rank_.size());
  for (const std::uint32_t kind : kind_of_) ++copies_of_rank_[kind];
  count_kinds(
      static_cast<std::uint32_t>(input.job.communicators.size()),
      [&](std::uint32_t group) { return kinds->kind(GroupId(group)); }, first_group_, copies_of_group_);
  count_kinds(
      kinds->nodes(), [&](std::uint32_t node) { return kinds->kind(node); }, first_node_, copies_of_node_);
}

LinkId Replicas::first(LinkId link) const {
  if (kind_of_.empty()) return link;
  const network::Fabric::AtNode at = fabric_.at_node(link);
  return LinkId(index_of(link) - (at.node - first_node_[at.node]) * at.stride);
}

std::uint32_t Replicas::copies(LinkId link) const {
  return kind_of_.empty() ? 1 : copies_of_node_[first_node_[fabric_.at_node(link).node]];
}

}  // namespace orrery::system
