// SPDX-License-Identifier: MIT
#include "astra/engine/cast.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "astra/engine/network_model.h"

namespace orrery::astra {
namespace {

constexpr std::uint64_t kFirstAliasedGroup = 500;  // from here on streams of groups share tags with others

// False for settings that make ranks differ, or depend on the order of events within an instant, whatever their
// programs.
bool folds_at_all(const Inputs& inputs, const Job& job) {
  const System& system = inputs.system;
  if (inputs.flags.rendezvous || system.bus.on) return false;
  if (inputs.memory.kind == MemoryKind::kPool || !system.custom_of_node.empty()) return false;
  for (const Implementation& implementation : system.implementations) {
    if (!implementation.custom.empty()) return false;
    for (const Algorithm& algorithm : implementation.dimensions)
      if (algorithm.kind == AlgorithmKind::kDoubleBinaryTree ||
          (algorithm.flat && inputs.network.dimensions.size() > 1))
        return false;
  }
  for (const Program& program : job.programs)
    if (std::ranges::any_of(program.nodes, &Node::skips)) return false;
  return std::ranges::none_of(job.ranks, [](const RankProgram& rank) {
    return std::ranges::any_of(rank.groups, [](std::uint64_t id) { return id >= kFirstAliasedGroup; });
  });
}

// The classes of ranks that are alike, by their programs, their groups and whom they send to: the coarsest partition in
// which all ranks of a class have, slot by slot, groups of one shape, and peers of one class at one distance.
class Classes {
 public:
  Classes(const Inputs& inputs, const Job& job)
      : inputs_(inputs), job_(job), paths_(inputs.network), class_of_(job.ranks.size()) {}

  // False where ranks cannot be folded.
  bool find() {
    if (!find_shapes()) return false;
    std::size_t count = number([&](std::uint32_t rank) { return own_signature(job_.ranks[rank]); });
    bool has_peers = std::ranges::any_of(job_.ranks, [](const RankProgram& rank) { return !rank.peers.empty(); });
    while (has_peers && count < class_of_.size()) {
      bool sound = true;
      const std::vector<std::uint32_t> before = class_of_;
      const std::size_t next = number([&](std::uint32_t rank) { return signature(rank, before, sound); });
      if (!sound) return false;
      if (next == count) break;
      count = next;
    }
    return count < class_of_.size() && groups_are_uniform();
  }

  const std::vector<std::uint32_t>& class_of() const { return class_of_; }

  // The slot by which `peer` knows `rank`.
  std::optional<std::uint32_t> slot_at(std::uint32_t peer, std::uint32_t rank) const {
    const std::vector<std::uint32_t>& slots = job_.ranks[peer].peers;
    const auto found = std::ranges::find(slots, rank);
    if (found == slots.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - slots.begin());
  }

 private:
  using Signature = std::vector<std::uint32_t>;

  // Numbers the ranks' signatures; how many there are.
  template <class SignatureOf>
  std::size_t number(SignatureOf signature_of) {
    std::map<Signature, std::uint32_t> numbers;
    for (std::uint32_t rank = 0; rank < class_of_.size(); ++rank)
      class_of_[rank] =
          numbers.try_emplace(signature_of(rank), static_cast<std::uint32_t>(numbers.size())).first->second;
    return numbers.size();
  }

  Signature own_signature(const RankProgram& rank) const {
    Signature signature{rank.program};
    for (const std::uint64_t group : rank.groups) signature.push_back(shape_of_.at(group));
    return signature;
  }

  Signature signature(std::uint32_t rank, const std::vector<std::uint32_t>& classes, bool& sound) const {
    Signature signature{classes[rank]};
    for (const std::uint32_t peer : job_.ranks[rank].peers) {
      const std::optional<std::uint32_t> back = slot_at(peer, rank);
      if (!back) sound = false;  // somebody has no receiver, or waits for no sender
      const UnsharedPaths::Distance distance = paths_.distance(rank, peer);
      signature.insert(signature.end(), {classes[peer], back.value_or(0), distance.dimension, distance.hops});
    }
    return signature;
  }

  // True if all members of each group are of one class and know it by the same slot.
  bool groups_are_uniform() const {
    std::set<std::uint64_t> seen;
    for (const RankProgram& rank : job_.ranks)
      for (std::uint32_t slot = 0; slot < rank.groups.size(); ++slot)
        if (seen.insert(rank.groups[slot]).second && !is_uniform(rank.groups[slot], slot)) return false;
    return true;
  }

  bool is_uniform(std::uint64_t id, std::uint32_t slot) const {
    if (is_world(id))
      return std::ranges::all_of(job_.ranks, [&](const RankProgram& rank) { return knows(rank, id, slot); }) &&
             std::ranges::adjacent_find(class_of_, std::ranges::not_equal_to{}) == class_of_.end();
    const std::vector<std::uint32_t>& members = inputs_.groups.at(id);
    const std::uint32_t first = class_of_[members.front()];
    return std::ranges::all_of(members, [&](std::uint32_t member) {
      return class_of_[member] == first && knows(job_.ranks[member], id, slot);
    });
  }

  bool is_world(std::uint64_t id) const { return id == 0 || inputs_.groups.at(id).size() == inputs_.network.npus; }

  static bool knows(const RankProgram& rank, std::uint64_t id, std::uint32_t slot) {
    return slot < rank.groups.size() && rank.groups[slot] == id;
  }

  // Numbers the shapes of all groups that are called. False where one does not look the same from each of its members;
  // that of all ranks does, dimension by dimension.
  bool find_shapes() {
    std::map<Signature, std::uint32_t> numbers;
    for (const RankProgram& rank : job_.ranks)
      for (const std::uint64_t id : rank.groups) {
        if (shape_of_.contains(id)) continue;
        std::optional<Signature> shape{std::in_place};
        if (!is_world(id) && !(shape = shape_of(inputs_.groups.at(id)))) return false;
        shape_of_[id] =
            numbers.try_emplace(std::move(*shape), static_cast<std::uint32_t>(numbers.size())).first->second;
      }
    return true;
  }

  // The size of a group and the distances that algorithms use, if these are the same from every member.
  std::optional<Signature> shape_of(const std::vector<std::uint32_t>& members) const {
    const auto size = static_cast<std::uint32_t>(members.size());
    Signature shape{size};
    if (size == 1) return shape;
    std::vector<std::uint32_t> ahead{1};
    bool halves = false;
    for (const Implementation& implementation : inputs_.system.implementations) {
      if (implementation.dimensions.size() != 1) continue;
      const AlgorithmKind kind = implementation.dimensions.front().kind;
      halves |= kind == AlgorithmKind::kHalvingDoubling;
      if (kind == AlgorithmKind::kDirect && ahead.size() == 1)
        for (std::uint32_t step = 2; step < size; ++step) ahead.push_back(step);
    }
    if (ahead.back() != size - 1) ahead.push_back(size - 1);
    const auto is_same = [&](auto partner_of) {
      const UnsharedPaths::Distance distance = paths_.distance(members[0], members[partner_of(0)]);
      shape.insert(shape.end(), {distance.dimension, distance.hops});
      for (std::uint32_t place = 1; place < size; ++place)
        if (paths_.distance(members[place], members[partner_of(place)]) != distance) return false;
      return true;
    };
    for (const std::uint32_t step : ahead)
      if (!is_same([&](std::uint32_t place) { return (place + step) % size; })) return std::nullopt;
    for (std::uint32_t offset = 1; halves && offset < size; offset *= 2)
      if (!is_same([&](std::uint32_t place) { return (place ^ offset) % size; })) return std::nullopt;
    return shape;
  }

  const Inputs& inputs_;
  const Job& job_;
  UnsharedPaths paths_;
  std::map<std::uint64_t, std::uint32_t> shape_of_;  // by group
  std::vector<std::uint32_t> class_of_;
};

}  // namespace

Cast Cast::every_rank(const Job& job) {
  Cast cast;
  cast.ranks_.resize(job.ranks.size());
  std::iota(cast.ranks_.begin(), cast.ranks_.end(), 0);
  cast.agents_ = cast.ranks_;
  return cast;
}

Cast Cast::folded(const Inputs& inputs, const Job& job) {
  if (!folds_at_all(inputs, job)) return every_rank(job);
  if (inputs.flags.backend == Backend::kAware) return translated(inputs, job);
  Classes classes(inputs, job);
  if (!classes.find()) return every_rank(job);
  Cast cast;
  cast.folded_ = true;
  cast.agents_ = classes.class_of();  // numbered in the order of their first ranks
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    if (cast.agents_[rank] == cast.ranks_.size()) cast.ranks_.push_back(rank);
  for (const std::uint32_t rank : cast.ranks_) {
    std::vector<End>& ends = cast.ends_.emplace_back();
    for (const std::uint32_t peer : job.ranks[rank].peers)
      ends.push_back({cast.agents_[peer], *classes.slot_at(peer, rank)});
  }
  return cast;
}

Cast Cast::translated(const Inputs& inputs, const Job& job) {
  Cast cast = every_rank(job);
  if (inputs.network.dimensions.size() > 1) return cast;
  cast.symmetry_ = find_symmetry(inputs, job);
  if (!cast.symmetry_) return cast;
  cast.folded_ = true;
  const Translation& translation = cast.symmetry_->translation;
  cast.ranks_.resize(translation.agents(inputs.network.npus));
  for (std::uint32_t& rank : cast.ranks_) rank = translation.rank_of(rank);  // numbered one by one until now
  for (std::uint32_t& agent : cast.agents_) agent = translation.agent_of(agent);
  return cast;
}

std::uint64_t Cast::group_number(std::uint32_t slot, std::uint64_t group) const {
  if (symmetry_) return symmetry_->group_of.at(group);
  return folded_ ? slot + 1 : group;
}

Address Cast::send_address(std::uint32_t agent, std::uint32_t own, const Peer& to) const {
  if (symmetry_) return {agents_[to.rank], symmetry_->translation.seen_from(to.rank, own)};
  return folded_ ? Address{agent, to.channel} : Address{to.rank, own};
}

Address Cast::receive_address(std::uint32_t agent, std::uint32_t own, const Peer& from) const {
  if (symmetry_) return {agent, symmetry_->translation.seen_from(own, from.rank)};
  return {agent, folded_ ? from.channel : from.rank};
}

Address Cast::send_address(std::uint32_t agent, std::uint32_t slot, std::uint32_t peer) const {
  if (symmetry_) return send_address(agent, ranks_[agent], Peer{.rank = peer});
  if (!folded_) return {peer, agent};
  return {ends_[agent][slot].agent, ends_[agent][slot].slot};
}

Address Cast::receive_address(std::uint32_t agent, std::uint32_t slot, std::uint32_t peer) const {
  if (symmetry_) return receive_address(agent, ranks_[agent], Peer{.rank = peer});
  return {agent, folded_ ? slot : peer};
}

}  // namespace orrery::astra
