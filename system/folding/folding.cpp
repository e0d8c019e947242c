// SPDX-License-Identifier: MIT
#include "system/folding/folding.h"

#include <algorithm>
#include <unordered_map>

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

Folding::Folding(const workload::Job& job, const network::Fabric& fabric, std::span<const DeviceId> placement,
                 CollectivePlans& plans, const Symmetry& symmetry, Granularity granularity, network::Network& network)
    : job_(job),
      placement_(placement),
      plans_(plans),
      symmetry_(symmetry),
      granularity_(granularity),
      network_(network),
      agent_of_rank_(job.ranks.size(), kNone),
      link_in_use_(fabric.link_count()),
      home_of_(job.communicators.size(), kNoHome),
      homes_(job.communicators.size()) {
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) acting_link_.push_back(LinkId(i));
  update();
}

ClassSplit Folding::update() {
  ClassSplit split;
  fold_ranks(split);
  fold_links(split);
  fold_communicators(split);
  fold_transfers(split);
  return split;
}

void Folding::fold_ranks(ClassSplit& split) {
  if (agent_count() > 0 && !symmetry_.has_split()) return;
  std::vector<std::uint32_t> agent_of_class(symmetry_.class_count(), kNone);
  for (std::uint32_t agent = 0; agent < agent_count(); ++agent) {
    agent_of_class[symmetry_.colour(first_rank(agent))] = agent;
    ranks_of_agent_[agent].clear();
  }
  for (std::uint32_t i = 0; i < job_.ranks.size(); ++i) {
    std::uint32_t& agent = agent_of_class[symmetry_.colour(RankId(i))];
    if (agent == kNone) {
      agent = agent_count();
      add_agent(RankId(i), split);
    }
    ranks_of_agent_[agent].push_back(RankId(i));
    agent_of_rank_[i] = agent;
  }
}

void Folding::add_agent(RankId first, ClassSplit& split) {
  const std::uint32_t parent = agent_of_rank_[index_of(first)];
  const workload::RankBinding& binding = job_.ranks[index_of(first)];
  if (parent != kNone) split.parts_of_agent[parent].push_back(agent_count());
  seat_of_.push_back(parent != kNone ? seat_of_[parent]
                                     : std::vector<std::uint32_t>(binding.communicators.size(), kNone));
  transfers_.emplace_back(binding.peers.size());
  ranks_of_agent_.emplace_back();
}

// Where nothing came apart only new links have to be looked at.
void Folding::fold_links(ClassSplit& split) {
  if (!symmetry_.has_split()) {
    std::vector<LinkId> links(symmetry_.news().links.begin(), symmetry_.news().links.end());
    std::ranges::sort(links);
    return fold_links(links, split);
  }
  std::vector<LinkId> links;
  for (std::uint32_t i = 0; i < acting_link_.size(); ++i)
    if (symmetry_.colour(LinkId(i))) links.push_back(LinkId(i));
  link_classes_ = 0;
  fold_links(links, split);
}

// Whole classes of links in use.
void Folding::fold_links(std::span<const LinkId> links, ClassSplit& split) {
  std::unordered_map<Symmetry::Colour, LinkId> acting_of_class;
  for (const LinkId link : links) {
    const auto [acting, is_first] = acting_of_class.try_emplace(*symmetry_.colour(link), link);
    LinkId& known = acting_link_[index_of(link)];
    if (is_first) ++link_classes_;
    if (is_first && link_in_use_[index_of(link)] && known != link) split.links.push_back({link, known});
    known = acting->second;
    link_in_use_[index_of(link)] = true;
  }
}

void Folding::fold_communicators(ClassSplit& split) {
  std::unordered_map<Symmetry::Colour, GroupId> home_of_class;
  std::vector<std::pair<GroupId, GroupId>> homes;  // with whose part they were
  for (const GroupId group : communicators_to_look_at()) {
    const auto [home, is_first] = home_of_class.try_emplace(symmetry_.colour(group), group);
    if (is_first) homes.emplace_back(group, home_of(group));
    home_of_[index_of(group)] = home->second;
  }
  for (const auto& [home, parent] : homes) {
    if (home == parent && !has_changed(home)) continue;
    std::vector<std::uint32_t> parent_seat = take_seats(home);
    for (std::uint32_t i = 0; i < symmetry_.patterns().of(home).size(); ++i) fold_pattern(home, parent, i, split);
    if (parent != kNoHome) split.homes.push_back({home, parent, std::move(parent_seat)});
  }
}

// Whole classes, ascending: where nothing came apart those in use stay as they are.
std::vector<GroupId> Folding::communicators_to_look_at() const {
  std::vector<GroupId> groups;
  if (!symmetry_.has_split()) {
    groups = symmetry_.news().communicators;
    std::ranges::sort(groups);
    return groups;
  }
  for (std::uint32_t i = 0; i < homes_.size(); ++i)
    if (symmetry_.is_in_use(GroupId(i))) groups.push_back(GroupId(i));
  return groups;
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
