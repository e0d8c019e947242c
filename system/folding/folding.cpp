// SPDX-License-Identifier: MIT
#include "system/folding/folding.h"

#include <algorithm>

namespace orrery::system {
namespace {

constexpr GroupId kNoHome{Actors::kNobody};

}  // namespace

std::span<const std::uint32_t> ClassSplit::parts_of(std::uint32_t agent) const {
  const auto parts = parts_of_agent.find(agent);
  if (parts == parts_of_agent.end()) return {};
  return parts->second;
}

Folding::Folding(const workload::Job& job, std::span<const DeviceId> placement, CollectivePlans& plans,
                 const Symmetry& symmetry, network::Network& network)
    : job_(job),
      plans_(plans),
      symmetry_(symmetry),
      actors_(symmetry),
      routes_(symmetry, actors_, network),
      peers_(job, placement, symmetry, actors_, routes_) {
  update();
}

ClassSplit Folding::update() {
  ClassSplit split;
  const Changes changes = find_changes();
  for (const Actors::Part& agent : actors_.take_ranks(changes.ranks)) {
    const std::size_t slots = job_.ranks.communicator_count(index_of(actors_.first_rank(agent.id)));
    const bool is_part = agent.before != Actors::kNobody;
    if (is_part) split.parts_of_agent[agent.before].push_back(agent.id);
    seat_of_.push_back(is_part ? seat_of_[agent.before] : std::vector<std::uint32_t>(slots, Actors::kNobody));
  }
  for (const Actors::Part& link : actors_.take_links(changes.links))
    if (link.before != Actors::kNobody) split.links.push_back({LinkId(link.id), LinkId(link.before)});
  fold_communicators(changes, split);
  split.sends_before = peers_.update(changes.senders);
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
  const workload::RankBinding binding = job_.ranks[origin.id];
  for (const GroupId group : binding.communicators)
    if (symmetry_.is_in_use(group)) changes.groups.push_back(group);
}

// A home comes before what was part of it.
void Folding::fold_communicators(const Changes& changes, ClassSplit& split) {
  std::map<GroupId, GroupId> homes;  // with whose part they were
  for (const Actors::Part& home : actors_.take_communicators(changes.communicators))
    homes.emplace(GroupId(home.id), GroupId(home.before));
  for (const GroupId group : changes.groups) homes.emplace(actors_.home_of(group), actors_.home_of(group));
  for (const auto& [home, parent] : homes) {
    if (home == parent && !has_changed(home)) continue;
    std::vector<std::uint32_t> parent_seat = take_seats(home);
    for (std::uint32_t i = 0; i < symmetry_.patterns().of(home).size(); ++i)
      fold_pattern(home, parent, i, parent_seat, split);
    if (parent != kNoHome) split.homes.push_back({home, parent, std::move(parent_seat)});
  }
}

// True if anything changed that a home's seats and tables were made from.
bool Folding::has_changed(GroupId group) const {
  if (symmetry_.has_changed(symmetry_.colour(group))) return true;
  const workload::Members& members = job_.communicators[index_of(group)].members;
  for (const std::uint32_t member : homes_.at(group).member_of_seat)
    if (symmetry_.has_changed(symmetry_.colour(members[member]))) return true;
  for (std::uint32_t i = 0; i < symmetry_.patterns().of(group).size(); ++i)
    if (patterns_.at({group, i}).has_changed(symmetry_)) return true;
  return false;
}

// Gives the members of a home their seats; those that were there keep their number. Returns what part of which seat
// each was, here or in the home that this was part of.
std::vector<std::uint32_t> Folding::take_seats(GroupId group) {
  Home& home = homes_[group];
  const workload::Members& members = job_.communicators[index_of(group)].members;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> seats;  // by agent and slot
  std::vector<std::uint32_t> parent_seat;
  const auto seat_of = [&](std::uint32_t member) -> std::uint32_t& {
    return seat_of_[actors_.agent_of(members[member])][slot_of(members[member], group)];
  };
  for (std::uint32_t seat = 0; seat < home.member_of_seat.size(); ++seat) {
    const RankId holder = members[home.member_of_seat[seat]];
    seats[{actors_.agent_of(holder), slot_of(holder, group)}] = seat;
    parent_seat.push_back(seat);
  }
  home.seat_of_member.clear();
  for (std::uint32_t member = 0; member < members.size(); ++member) {
    const auto next = static_cast<std::uint32_t>(home.member_of_seat.size());
    const auto [seat, is_new] =
        seats.try_emplace({actors_.agent_of(members[member]), slot_of(members[member], group)}, next);
    if (is_new) {
      home.member_of_seat.push_back(member);
      parent_seat.push_back(seat_of(member));
    }
    home.seat_of_member.push_back(seat->second);
  }
  for (const std::uint32_t member : home.member_of_seat) seat_of(member) = home.seat_of_member[member];
  return parent_seat;
}

void Folding::fold_pattern(GroupId home, GroupId parent, std::uint32_t number,
                           std::span<const std::uint32_t> parent_seat, ClassSplit& split) {
  PatternTables& tables = patterns_[{home, number}];
  if (home == parent) split.tables_before[{home, number}] = tables.take_messages();
  tables = make_tables(symmetry_, plans_, routes_, home, homes_.at(home), number);
  const auto before = split.tables_before.find({parent, number});  // a home comes before what was part of it
  if (before != split.tables_before.end()) tables.come_from(before->second, parent_seat, symmetry_);
}

}  // namespace orrery::system
