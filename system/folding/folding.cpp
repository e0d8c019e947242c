// SPDX-License-Identifier: MIT
#include "system/folding/folding.h"

#include <algorithm>
#include <optional>

namespace orrery::system {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

constexpr GroupId kNoHome{kNone};

}  // namespace

std::span<const std::uint32_t> ClassSplit::parts_of(std::uint32_t agent) const {
  const auto parts = parts_of_agent.find(agent);
  if (parts == parts_of_agent.end()) return {};
  return parts->second;
}

Folding::Folding(const workload::Job& job, std::span<const DeviceId> placement, CollectivePlans& plans,
                 const Symmetry& symmetry, Granularity granularity, network::Network& network)
    : job_(job),
      placement_(placement),
      plans_(plans),
      symmetry_(symmetry),
      granularity_(granularity),
      network_(network),
      homes_(job.communicators.size()) {
  update();
}

ClassSplit Folding::update() {
  ClassSplit split;
  of_class_.resize(symmetry_.class_count(), kNone);
  const Changes changes = find_changes();
  fold_ranks(changes.ranks, split);
  fold_links(changes.links, split);
  fold_communicators(changes, split);
  fold_transfers(changes, split);
  return split;
}

// One member of each class will do: what it has to do with is like what the others have.
Folding::Changes Folding::find_changes() const {
  using enum Symmetry::Origin::Kind;
  Changes changes;
  for (const Symmetry::Colour colour : symmetry_.changed()) {
    const Symmetry::Origin origin = symmetry_.origin(symmetry_.members(colour).front());
    switch (origin.kind) {
      case kRank:
        changes.ranks.push_back(colour);
        add_user(origin, changes);
        break;
      case kLink:
        changes.links.push_back(colour);
        for (const Symmetry::Origin& user : symmetry_.users(LinkId(origin.id))) add_user(user, changes);
        break;
      case kCommunicator:
        changes.communicators.push_back(colour);
        break;
      case kMessage:
      case kSends:
        add_user(origin, changes);
    }
  }
  return changes;
}

void Folding::add_user(const Symmetry::Origin& origin, Changes& changes) const {
  using enum Symmetry::Origin::Kind;
  if (origin.kind == kCommunicator || origin.kind == kMessage) return changes.groups.push_back(GroupId(origin.id));
  changes.senders.push_back(RankId(origin.id));
  if (origin.kind == kSends) return;
  for (const GroupId group : job_.ranks[origin.id].communicators)
    if (symmetry_.is_in_use(group)) changes.groups.push_back(group);
}

// Of changed classes of ranks, links or communicators, in the order of who acts: the first, of those that come apart or
// came into use together. Who acted for a class keeps acting for those that are still like it.
template <class ColourOf>
std::vector<Folding::Acting> Folding::find_acting(std::span<const Symmetry::Colour> classes,
                                                  const ColourOf& colour_of) const {
  std::vector<Acting> acting;
  for (const Symmetry::Colour colour : classes) {
    const std::span<const Symmetry::Vertex> members = symmetry_.members(colour);
    const bool is_of_ranks = members.front() < job_.ranks.size();
    const std::optional<Symmetry::Colour> before = symmetry_.before(colour);
    const std::uint32_t known = before ? of_class_[*before] : kNone;
    std::uint32_t first = known != kNone && is_of_ranks ? index_of(first_ranks_[known]) : known;
    if (colour == before) {  // large, maybe: not looked through
      while (colour_of(first) != colour) ++first;
    } else if (known == kNone || colour_of(first) != colour) {
      first = kNone;
      for (const Symmetry::Vertex member : members) first = std::min(first, symmetry_.origin(member).id);
    }
    acting.push_back({first, known, colour});
  }
  std::ranges::sort(acting, {}, &Acting::id);
  return acting;
}

void Folding::fold_ranks(std::span<const Symmetry::Colour> classes, ClassSplit& split) {
  for (const Acting& acting :
       find_acting(classes, [&](std::uint32_t rank) { return symmetry_.colour(RankId(rank)); })) {
    const bool is_known = acting.before != kNone && index_of(first_rank(acting.before)) == acting.id;
    of_class_[acting.colour] = is_known ? acting.before : agent_count();
    if (!is_known) add_agent(RankId(acting.id), acting.before, split);
  }
}

void Folding::add_agent(RankId first, std::uint32_t parent, ClassSplit& split) {
  const workload::RankBinding& binding = job_.ranks[index_of(first)];
  if (parent != kNone) split.parts_of_agent[parent].push_back(agent_count());
  seat_of_.push_back(parent != kNone ? seat_of_[parent]
                                     : std::vector<std::uint32_t>(binding.communicators.size(), kNone));
  transfers_.emplace_back(binding.peers.size());
  first_ranks_.push_back(first);
}

void Folding::fold_links(std::span<const Symmetry::Colour> classes, ClassSplit& split) {
  for (const Acting& acting :
       find_acting(classes, [&](std::uint32_t link) { return symmetry_.colour(LinkId(link)); })) {
    of_class_[acting.colour] = acting.id;
    if (acting.before == acting.id) continue;
    ++link_classes_;
    if (acting.before != kNone) split.links.push_back({LinkId(acting.id), LinkId(acting.before)});
  }
}

// A home comes before what was part of it.
void Folding::fold_communicators(const Changes& changes, ClassSplit& split) {
  const auto colour_of = [&](std::uint32_t group) {
    return symmetry_.is_in_use(GroupId(group)) ? std::optional(symmetry_.colour(GroupId(group))) : std::nullopt;
  };
  std::map<GroupId, GroupId> homes;  // with whose part they were
  for (const Acting& acting : find_acting(changes.communicators, colour_of)) {
    of_class_[acting.colour] = acting.id;
    homes.emplace(GroupId(acting.id), GroupId(acting.before));
  }
  for (const GroupId group : changes.groups) homes.emplace(home_of(group), home_of(group));
  for (const auto& [home, parent] : homes) {
    if (home == parent && !has_changed(home)) continue;
    std::vector<std::uint32_t> parent_seat = take_seats(home);
    for (std::uint32_t i = 0; i < symmetry_.patterns().of(home).size(); ++i)
      fold_pattern(home, parent, i, parent_seat, split);
    if (parent != kNoHome) split.homes.push_back({home, parent, std::move(parent_seat)});
  }
}

// Whether anything that a home's seats and tables were made from has.
bool Folding::has_changed(GroupId group) const {
  if (symmetry_.has_changed(symmetry_.colour(group))) return true;
  const std::vector<RankId>& members = job_.communicators[index_of(group)].members;
  for (const std::uint32_t member : homes_[index_of(group)].member_of_seat)
    if (symmetry_.has_changed(symmetry_.colour(members[member]))) return true;
  for (std::uint32_t i = 0; i < symmetry_.patterns().of(group).size(); ++i) {
    const PatternTables& tables = patterns_.at({group, i});
    for (const MessageClass& message : tables.classes_)
      if (has_changed(message)) return true;
    for (const LineClass& line : tables.lines_)
      if (symmetry_.has_changed(symmetry_.colour_of(line.one)) || has_changed_link(line.loads)) return true;
  }
  return false;
}

bool Folding::has_changed(const MessageClass& message) const {
  return symmetry_.has_changed(symmetry_.colour_of(message.one)) || has_changed_link(message.shares);
}

// Gives the members of a home their seats; those that were there keep their number. Returns what part of which seat
// each was, here or in the home that this was part of.
std::vector<std::uint32_t> Folding::take_seats(GroupId group) {
  Home& home = homes_[index_of(group)];
  const std::vector<RankId>& members = job_.communicators[index_of(group)].members;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> seats;  // by agent and slot
  std::vector<std::uint32_t> parent_seat;
  const auto seat_of = [&](std::uint32_t member) -> std::uint32_t& {
    return seat_of_[agent_of(members[member])][slot_of(members[member], group)];
  };
  for (std::uint32_t seat = 0; seat < home.member_of_seat.size(); ++seat) {
    const RankId holder = members[home.member_of_seat[seat]];
    seats[{agent_of(holder), slot_of(holder, group)}] = seat;
    parent_seat.push_back(seat);
  }
  home.seat_of_member.clear();
  for (std::uint32_t member = 0; member < members.size(); ++member) {
    const auto next = static_cast<std::uint32_t>(home.member_of_seat.size());
    const auto [seat, is_new] = seats.try_emplace({agent_of(members[member]), slot_of(members[member], group)}, next);
    if (is_new) {
      home.member_of_seat.push_back(member);
      parent_seat.push_back(seat_of(member));
    }
    home.seat_of_member.push_back(seat->second);
  }
  for (const std::uint32_t member : home.member_of_seat) seat_of(member) = home.seat_of_member[member];
  return parent_seat;
}

}  // namespace orrery::system
