#include "system/folding.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "core/assert.h"

namespace orrery {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

Folding::Folding(const Job& job, const Fabric& fabric, std::span<const DeviceId> placement, CollectivePlans& plans,
                 const Symmetry& symmetry, Granularity granularity)
    : job_(job) {
  fold_ranks(symmetry);
  fold_links(fabric, symmetry);
  fold_communicators(symmetry);
  for (std::uint32_t i = 0; i < homes_.size(); ++i) {
    if (homes_[i].member_of_seat.empty()) continue;
    for (const Pattern& pattern : symmetry.patterns(GroupId(i)))
      granularity == Granularity::kPhase ? fold_lines(GroupId(i), pattern, symmetry)
                                         : fold_messages(GroupId(i), pattern, symmetry, plans);
  }
  fold_transfers(symmetry, placement);
  find_private_relays();
}

void Folding::find_private_relays() {
  // Who uses each link: a home, if nobody else does.
  const auto shared = GroupId(kNone);
  std::map<LinkId, GroupId> user;
  const auto use = [&](GroupId group, const std::vector<LinkShare>& shares) {
    for (const LinkShare& share : shares) {
      const auto [known, is_first] = user.try_emplace(share.link, group);
      if (!is_first && known->second != group) known->second = shared;
    }
  };
  for (const auto& [key, tables] : patterns_)
    for (const MessageClass& message : tables.classes_) use(key.first, message.shares);
  for (const auto& [key, message] : transfers_) use(shared, message.shares);
  for (auto& [key, tables] : patterns_) {
    std::set<LinkId> crossed;  // by an earlier class of the pattern
    const auto alone = [&](const LinkShare& share) {
      return user.at(share.link) == key.first && share.copies == 1 && share.weight == kUnitWeight &&
             crossed.insert(share.link).second;
    };
    tables.is_private_relay_ =
        tables.class_of_send_.size() == 1 && std::ranges::all_of(tables.classes_, [&](const MessageClass& message) {
          return message.is_relay && !message.shares.empty() && std::ranges::all_of(message.shares, alone);
        });
  }
}

void Folding::fold_ranks(const Symmetry& symmetry) {
  std::map<Symmetry::Colour, std::uint32_t> agents;
  for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
    const auto [agent, is_first] = agents.try_emplace(symmetry.colour(RankId(rank)), agent_count());
    if (is_first) {
      first_rank_.push_back(RankId(rank));
      ranks_of_agent_.push_back(0);
    }
    ++ranks_of_agent_[agent->second];
    agent_of_rank_.push_back(agent->second);
  }
}

void Folding::fold_links(const Fabric& fabric, const Symmetry& symmetry) {
  std::map<Symmetry::Colour, LinkId> acting;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const auto colour = symmetry.colour(LinkId(i));
    acting_link_.push_back(colour ? acting.try_emplace(*colour, LinkId(i)).first->second : LinkId(i));
  }
  link_classes_ = static_cast<std::uint32_t>(acting.size());
}

void Folding::fold_communicators(const Symmetry& symmetry) {
  std::map<Symmetry::Colour, GroupId> homes;
  std::map<GroupId, std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>> seats;  // by agent and slot
  homes_.resize(job_.communicators.size());
  for (std::uint32_t i = 0; i < job_.communicators.size(); ++i) {
    const GroupId group{i};
    home_of_.push_back(symmetry.is_in_use(group) ? homes.try_emplace(symmetry.colour(group), group).first->second
                                                 : group);
    if (!symmetry.is_in_use(group) || home_of_.back() != group) continue;
    Home& home = homes_[i];
    const std::vector<RankId>& members = job_.communicators[i].members;
    for (std::uint32_t member = 0; member < members.size(); ++member) {
      const auto next = static_cast<std::uint32_t>(home.member_of_seat.size());
      const auto [seat, is_first] =
          seats[group].try_emplace({agent_of(members[member]), slot_of(members[member], group)}, next);
      if (is_first) home.member_of_seat.push_back(member);
      home.seat_of_member.push_back(seat->second);
    }
  }
  for (std::uint32_t agent = 0; agent < agent_count(); ++agent) {
    std::vector<std::uint32_t>& of_slot = seat_of_.emplace_back();
    const std::vector<GroupId>& groups = job_.ranks[index_of(first_rank(agent))].communicators;
    for (std::uint32_t slot = 0; slot < groups.size(); ++slot) {
      const auto home = seats.find(home_of(groups[slot]));
      of_slot.push_back(home == seats.end() ? kNone : home->second.at({agent, slot}));
    }
  }
}

std::uint32_t Folding::slot_of(RankId rank, GroupId group) const {
  const std::vector<GroupId>& groups = job_.ranks[index_of(rank)].communicators;
  return static_cast<std::uint32_t>(std::ranges::find(groups, group) - groups.begin());
}

void Folding::fold_messages(GroupId group, const Pattern& pattern, const Symmetry& symmetry, CollectivePlans& plans) {
  const Home& home = homes_[index_of(group)];
  const auto seats = static_cast<std::uint32_t>(home.member_of_seat.size());
  const std::size_t phases = pattern.plan->phases.size();
  const auto number = static_cast<std::uint32_t>(&pattern - symmetry.patterns(group).data());
  PatternTables& tables = patterns_[{group, number}];
  tables.class_of_send_.assign(phases, std::vector<std::vector<std::uint32_t>>(seats));
  // What of each class arrives at who holds a seat, and what leaves there.
  std::map<std::pair<Symmetry::Colour, std::uint32_t>, std::vector<std::uint32_t>> slots;
  std::map<std::pair<Symmetry::Colour, std::uint32_t>, std::uint32_t> class_at_seat;
  const auto holds_seat = [&](std::uint32_t member) {
    return home.member_of_seat[home.seat_of_member[member]] == member;
  };
  Symmetry::for_each_message(pattern, [&](const Symmetry::PatternMessage& message) {
    if (holds_seat(message.to))
      slots[{symmetry.colour_of(message.vertex), home.seat_of_member[message.to]}].push_back(message.slot);
  });
  Symmetry::for_each_message(pattern, [&](const Symmetry::PatternMessage& message) {
    if (!holds_seat(message.from)) return;
    const Symmetry::Colour colour = symmetry.colour_of(message.vertex);
    const std::uint32_t seat = home.seat_of_member[message.from], to_seat = home.seat_of_member[message.to];
    auto& classes = tables.class_of_send_[message.phase][seat];
    const auto [known, is_first] =
        class_at_seat.try_emplace({colour, seat}, static_cast<std::uint32_t>(tables.classes_.size()));
    classes.push_back(is_first ? known->second : kNone);
    if (!is_first) return tables.classes_[known->second].sends.push_back(message.send);
    const DeviceId from = plans.devices(group)[message.from], to = plans.devices(group)[message.to];
    const std::uint64_t count = symmetry.class_size(colour);
    tables.classes_.push_back({{message.send},
                               to_seat,
                               slots.at({colour, to_seat}),
                               message.is_relay,
                               folded(symmetry.route_of(from, to), count, symmetry),
                               symmetry.latency_of(from, to),
                               count});
  });
}

void Folding::fold_lines(GroupId group, const Pattern& pattern, const Symmetry& symmetry) {
  const Home& home = homes_[index_of(group)];
  const auto number = static_cast<std::uint32_t>(&pattern - symmetry.patterns(group).data());
  PatternTables& tables = patterns_[{group, number}];
  tables.line_of_seat_.assign(pattern.plan->phases.size(),
                              std::vector<std::uint32_t>(home.member_of_seat.size(), kNone));
  std::map<Symmetry::Colour, std::uint32_t> lines;
  Symmetry::for_each_line(pattern, [&](const Symmetry::PatternLine& line) {
    const Symmetry::Colour colour = symmetry.colour_of(line.vertex);
    const auto [known, is_first] = lines.try_emplace(colour, static_cast<std::uint32_t>(tables.lines_.size()));
    if (!is_first) return;
    LineClass& added = tables.lines_.emplace_back();
    added.count = symmetry.class_size(colour);
    added.traffic = symmetry.traffic(group, pattern, line);
    added.traffic.shares = folded(added.traffic.shares, added.count, symmetry);
    for (const std::uint32_t member : line.members) {
      std::uint32_t& of_seat = tables.line_of_seat_[line.phase][home.seat_of_member[member]];
      ORRERY_ASSERT(of_seat == kNone || of_seat == known->second);
      if (of_seat == kNone) added.seats.push_back(home.seat_of_member[member]);
      of_seat = known->second;
    }
  });
}

void Folding::fold_transfers(const Symmetry& symmetry, std::span<const DeviceId> placement) {
  using AtAgent = std::pair<Symmetry::Colour, std::uint32_t>;  // a class of messages at one of its ends
  std::map<AtAgent, std::vector<std::uint32_t>> sends, receives;
  const auto acts = [&](RankId rank) { return first_rank(agent_of(rank)) == rank; };
  for (std::uint32_t i = 0; i < job_.ranks.size(); ++i)
    for (std::uint32_t slot = 0; slot < job_.ranks[i].peers.size(); ++slot) {
      const RankId from{i}, to = job_.ranks[i].peers[slot];
      const Symmetry::Sends& own = symmetry.sends(from, slot);
      if (own.vertex == Symmetry::kNotInUse) continue;
      const Symmetry::Colour colour = symmetry.colour_of(own.vertex);
      if (acts(from)) sends[{colour, agent_of(from)}].push_back(slot);
      if (acts(to)) receives[{colour, agent_of(to)}].push_back(own.receive_slot);
    }
  for (const auto& [key, slots] : sends) {
    const RankId rank = first_rank(key.second);
    const RankId to = job_.ranks[index_of(rank)].peers[slots.front()];
    const DeviceId from_device = placement[index_of(rank)], to_device = placement[index_of(to)];
    MessageClass message;
    message.sends = slots;
    message.receiver = agent_of(to);
    message.slots = receives.at({key.first, message.receiver});
    message.count = symmetry.class_size(key.first);
    message.shares = folded(symmetry.route_of(from_device, to_device), message.count, symmetry);
    message.latency = symmetry.latency_of(from_device, to_device);
    for (const std::uint32_t slot : slots) transfers_[{rank, slot}] = message;
  }
}

// `count` messages that each take `shares`, spread evenly over the links of every class that they cross.
std::vector<LinkShare> Folding::folded(std::span<const LinkShare> shares, std::uint64_t count,
                                       const Symmetry& symmetry) const {
  std::map<std::pair<LinkId, std::uint64_t>, std::uint64_t> crossed;  // by acting link and weight: links of one message
  for (const LinkShare& share : shares) ++crossed[{acting(share.link), share.weight}];
  std::vector<LinkShare> result;
  for (const auto& [key, links] : crossed) {
    const std::uint32_t in_class = symmetry.class_size(*symmetry.colour(key.first));
    ORRERY_ASSERT(count * links % in_class == 0);
    const std::uint64_t copies = count * links / in_class;
    ORRERY_ASSERT(copies <= UINT32_MAX && copies <= std::numeric_limits<std::int64_t>::max() / key.second);
    result.push_back({key.first, key.second, static_cast<std::uint32_t>(copies)});
  }
  return result;
}

const MessageClass* PatternTables::message(std::uint32_t phase, std::uint32_t seat, std::uint32_t send) const {
  const std::vector<std::uint32_t>& classes = class_of_send_[phase][seat];
  const std::uint32_t number = send < classes.size() ? classes[send] : classes.front();
  return number == kNone ? nullptr : &classes_[number];
}

const MessageClass& Folding::sends(RankId acting, std::uint32_t peer_slot) const {
  return transfers_.at({acting, peer_slot});
}

}  // namespace orrery
