// SPDX-License-Identifier: MIT
#include "system/folding/actors.h"

#include <algorithm>

namespace orrery::system {

template <class ColourOf>
std::vector<Actors::Part> Actors::find(std::span<const Symmetry::Colour> classes, const ColourOf& colour_of) {
  of_class_.resize(symmetry_.class_count(), kNobody);
  std::vector<Part> acting;
  for (const Symmetry::Colour colour : classes) {
    const std::span<const Symmetry::Vertex> members = symmetry_.members(colour);
    const bool is_of_ranks = symmetry_.origin(members.front()).kind == Symmetry::Origin::Kind::kRank;
    const std::optional<Symmetry::Colour> before = symmetry_.before(colour);
    const std::uint32_t known = before ? of_class_[*before] : kNobody;
    std::uint32_t first = known != kNobody && is_of_ranks ? index_of(first_ranks_[known]) : known;
    if (colour == before) {  // large, maybe: not looked through
      while (colour_of(first) != colour) ++first;
    } else if (known == kNobody || colour_of(first) != colour) {
      first = kNobody;
      for (const Symmetry::Vertex member : members) first = std::min(first, symmetry_.origin(member).id);
    }
    acting.push_back({first, known, colour});
  }
  std::ranges::sort(acting, {}, &Part::id);
  return acting;
}

std::vector<Actors::Part> Actors::take_ranks(std::span<const Symmetry::Colour> classes) {
  std::vector<Part> agents;
  for (const Part& part : find(classes, [&](std::uint32_t rank) { return symmetry_.colour(RankId(rank)); })) {
    const bool is_known = part.before != kNobody && index_of(first_rank(part.before)) == part.id;
    of_class_[part.colour] = is_known ? part.before : agent_count();
    if (is_known) continue;
    agents.push_back({agent_count(), part.before, part.colour});
    first_ranks_.push_back(RankId(part.id));
  }
  return agents;
}

std::vector<Actors::Part> Actors::take_links(std::span<const Symmetry::Colour> classes) {
  std::vector<Part> links = find(classes, [&](std::uint32_t link) { return symmetry_.colour(LinkId(link)); });
  for (const Part& part : links) of_class_[part.colour] = part.id;
  std::erase_if(links, [](const Part& part) { return part.before == part.id; });
  link_classes_ += static_cast<std::uint32_t>(links.size());
  return links;
}

std::vector<Actors::Part> Actors::take_communicators(std::span<const Symmetry::Colour> classes) {
  std::vector<Part> homes = find(classes, [&](std::uint32_t group) {
    return symmetry_.is_in_use(GroupId(group)) ? std::optional(symmetry_.colour(GroupId(group))) : std::nullopt;
  });
  for (const Part& part : homes) of_class_[part.colour] = part.id;
  return homes;
}

}  // namespace orrery::system
