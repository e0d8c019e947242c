// SPDX-License-Identifier: MIT
#include "astra/engine/translation.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace orrery::astra {
namespace {

// Checks translations of one job.
class SymmetrySearch {
 public:
  SymmetrySearch(const Inputs& inputs, const Job& job) : inputs_(inputs), job_(job), npus_(inputs.network.npus) {
    find_algorithms();
  }

  std::optional<JobSymmetry> find() {
    for (const Candidate& candidate : candidates()) {
      const Translation translation(candidate.kind, candidate.period, candidate.stride);
      if (holds(candidate, translation) && are_disjoint()) return JobSymmetry{translation, standing_for()};
    }
    return std::nullopt;
  }

 private:
  void find_algorithms() {
    for (const RankProgram& rank : job_.ranks)
      calls_world_ |= std::ranges::any_of(rank.groups, [&](std::uint64_t id) { return is_world(id); });
    for (const Program& program : job_.programs)
      for (const Node& node : program.nodes) {
        if (node.kind != NodeKind::kCollective || node.comm == CommKind::kBroadcast) continue;
        const auto& algorithms = inputs_.system.implementations[static_cast<std::size_t>(node.comm)].dimensions;
        const bool halves = algorithms.size() == 1 && algorithms.front().kind == AlgorithmKind::kHalvingDoubling;
        halves_ |= halves;
        rings_ |= !halves;
      }
  }

  bool is_world(std::uint64_t id) const { return id == 0 || inputs_.groups.at(id).size() == npus_; }

  struct Candidate {
    std::uint32_t agents;
    Translation::Kind kind;
    std::uint32_t period;
    std::uint32_t stride;
  };

  // Translations that the network and the algorithms allow, those with the fewest agents first.
  std::vector<Candidate> candidates() const {
    const bool is_ring = inputs_.network.dimensions.front().topology == TopologyKind::kRing;
    std::vector<Candidate> all;
    for (std::uint32_t period = npus_; period > 1; --period) {
      if (npus_ % period != 0 || (is_ring && period < npus_)) continue;
      for (std::uint32_t stride = 1; stride < period; ++stride) {
        if (period % stride != 0) continue;
        const std::uint32_t agents = npus_ / period * stride;
        // A ring of all ranks goes on behind the end of a period.
        if (!calls_world_ || (!halves_ && period == npus_))
          all.push_back({agents, Translation::Kind::kRotation, period, stride});
        if (!is_ring && std::has_single_bit(npus_) && !(calls_world_ && rings_))
          all.push_back({agents, Translation::Kind::kExclusiveOr, period, stride});
      }
    }
    std::ranges::stable_sort(all, {}, &Candidate::agents);
    return all;
  }

  bool holds(const Candidate& candidate, const Translation& translation) {
    groups_.clear();
    if (candidate.kind == Translation::Kind::kRotation) return keeps_job(translation, candidate.stride);
    for (std::uint32_t by = candidate.stride; by < candidate.period; by *= 2)
      if (!keeps_job(translation, by)) return false;
    return true;
  }

  bool keeps_job(const Translation& translation, std::uint32_t by) {
    std::map<std::uint64_t, std::uint64_t> images;
    for (std::uint32_t rank = 0; rank < npus_; ++rank) {
      const RankProgram& own = job_.ranks[rank];
      const RankProgram& other = job_.ranks[translation.moved(rank, by)];
      if (own.program != other.program || own.peers.size() != other.peers.size() ||
          own.groups.size() != other.groups.size())
        return false;
      for (std::size_t slot = 0; slot < own.peers.size(); ++slot)
        if (translation.moved(own.peers[slot], by) != other.peers[slot]) return false;
      for (std::size_t slot = 0; slot < own.groups.size(); ++slot) {
        const auto [image, is_new] = images.try_emplace(own.groups[slot], other.groups[slot]);
        if (image->second != other.groups[slot]) return false;
        if (is_new && !is_image(translation, by, own.groups[slot], other.groups[slot])) return false;
      }
    }
    for (const auto& [group, image] : images) join(group, image);
    return true;
  }

  // True if the members of `image` are those of `group` after the translation, and algorithms see the same neighbours
  // from each of them.
  bool is_image(const Translation& translation, std::uint32_t by, std::uint64_t group, std::uint64_t image) const {
    if (is_world(group) || is_world(image)) return group == image;
    const std::vector<std::uint32_t>& from = inputs_.groups.at(group);
    const std::vector<std::uint32_t>& to = inputs_.groups.at(image);
    if (from.size() != to.size()) return false;
    const auto found = std::ranges::find(to, translation.moved(from.front(), by));
    if (found == to.end()) return false;
    const auto first = static_cast<std::size_t>(found - to.begin());
    const auto keeps = [&](auto place_of) {
      for (std::size_t place = 0; place < from.size(); ++place)
        if (const std::size_t at = place_of(place); at >= to.size() || to[at] != translation.moved(from[place], by))
          return false;
      return true;
    };
    if ((first == 0 || !halves_) && keeps([&](std::size_t place) { return (place + first) % to.size(); })) return true;
    return !rings_ && keeps([&](std::size_t place) { return place ^ first; });
  }

  // Groups that stand for one another, each with the least of them as its root.
  std::uint64_t root_of(std::uint64_t group) {
    std::uint64_t& above = groups_.try_emplace(group, group).first->second;
    return above == group ? group : above = root_of(above);
  }
  void join(std::uint64_t one, std::uint64_t other) {
    one = root_of(one);
    other = root_of(other);
    groups_[std::max(one, other)] = std::min(one, other);
  }

  // True if no rank calls two groups that stand for one another: their messages would be taken for one another's.
  bool are_disjoint() {
    for (const RankProgram& rank : job_.ranks) {
      std::vector<std::uint64_t> roots;
      for (const std::uint64_t group : rank.groups) roots.push_back(root_of(group));
      std::ranges::sort(roots);
      if (std::ranges::adjacent_find(roots) != roots.end()) return false;
    }
    return true;
  }

  std::map<std::uint64_t, std::uint64_t> standing_for() {
    std::map<std::uint64_t, std::uint64_t> all;
    for (const auto& [group, above] : groups_) all[group] = above;
    for (auto& [group, above] : all) above = root_of(group);
    return all;
  }

  const Inputs& inputs_;
  const Job& job_;
  std::uint32_t npus_;
  bool calls_world_ = false;
  bool rings_ = false;   // algorithms whose neighbours are so many places ahead
  bool halves_ = false;  // and those whose neighbours differ in a bit of the place
  std::map<std::uint64_t, std::uint64_t> groups_;
};

}  // namespace

std::optional<JobSymmetry> find_symmetry(const Inputs& inputs, const Job& job) {
  return SymmetrySearch(inputs, job).find();
}

}  // namespace orrery::astra
