// SPDX-License-Identifier: MIT
// Representatives: for each class of ranks, links and communicators, the one that acts for it. When more comes into
// use, classes may come apart: whoever acts keeps acting for those that are still like it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "system/folding/symmetry.h"

namespace orrery::system {

class Actors {
 public:
  // Outlives it.
  explicit Actors(const Symmetry& symmetry) : symmetry_(symmetry) {}

  // Part of a split class: its new representative and the former one; kNobody if that was not in use.
  struct Part {
    std::uint32_t id;
    std::uint32_t before;
    Symmetry::Colour colour;
  };
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  // Take over changed classes, in the order of who acts for them: the first, of those that come apart or came into use
  // together. Of ranks and links, returns who is new, ranks by their agents.
  std::vector<Part> take_ranks(std::span<const Symmetry::Colour> classes);
  std::vector<Part> take_links(std::span<const Symmetry::Colour> classes);
  std::vector<Part> take_communicators(std::span<const Symmetry::Colour> classes);

  // Agents are the classes of ranks; the first rank of a class acts.
  std::uint32_t agent_count() const { return static_cast<std::uint32_t>(first_ranks_.size()); }
  std::uint32_t agent_of(RankId rank) const { return of_class_[symmetry_.colour(rank)]; }
  RankId first_rank(std::uint32_t agent) const { return first_ranks_[agent]; }
  // Ranks that an agent stands for, unordered, one of each set of replicas; valid until more comes into use.
  std::span<const Symmetry::Vertex> vertices_of(std::uint32_t agent) const {
    return symmetry_.members(symmetry_.colour(first_rank(agent)));
  }

  // The link that is simulated for `link`: itself if no message crosses it.
  LinkId acting(LinkId link) const {
    const std::optional<Symmetry::Colour> colour = symmetry_.colour(link);
    return colour ? LinkId(of_class_[*colour]) : link;
  }
  std::uint32_t link_class_count() const { return link_classes_; }
  GroupId home_of(GroupId group) const { return GroupId(of_class_[symmetry_.colour(group)]); }

 private:
  template <class ColourOf>
  std::vector<Part> find(std::span<const Symmetry::Colour> classes, const ColourOf& colour_of);

  const Symmetry& symmetry_;
  std::vector<RankId> first_ranks_;      // by agent
  std::vector<std::uint32_t> of_class_;  // by class, who acts: the agent of ranks, else the link or communicator
  std::uint32_t link_classes_ = 0;
};

}  // namespace orrery::system
