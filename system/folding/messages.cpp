// SPDX-License-Identifier: MIT
// What a folding's message classes and lines are made of.
#include <algorithm>
#include <array>
#include <set>

#include "core/assert.h"
#include "system/folding/folding.h"

namespace orrery::system {
namespace {

constexpr std::uint32_t kNoClass = UINT32_MAX;

}  // namespace

void Folding::fold_pattern(GroupId home, GroupId parent, std::uint32_t number,
                           std::span<const std::uint32_t> parent_seat, ClassSplit& split) {
  PatternTables& tables = patterns_[{home, number}];
  if (home == parent) split.tables_before[{home, number}] = std::move(tables.classes_);
  tables = {};
  if (granularity_ == Granularity::kPhase) return fold_lines(home, number);
  fold_messages(home, number);
  fold_exchanges(home, number);
  const auto before = split.tables_before.find({parent, number});  // a home comes before what was part of it
  if (before == split.tables_before.end()) return;
  // By class, and of a complete exchange by the seats and the round.
  std::map<std::array<std::uint32_t, 4>, const MessageClass*> of_class;
  const auto class_before = [&](const MessageClass& message) {
    return *symmetry_.before(symmetry_.colour_of(message.one));
  };
  for (const MessageClass& message : before->second)
    of_class[{class_before(message), message.sender, message.receiver, message.round}] = &message;
  for (MessageClass& message : tables.classes_)
    message.before =
        of_class.at({class_before(message), parent_seat[message.sender], parent_seat[message.receiver], message.round});
}

void Folding::fold_messages(GroupId group, std::uint32_t number) {
  const Home& home = homes_[index_of(group)];
  const Pattern& pattern = symmetry_.patterns().of(group)[number];
  const Symmetry::Vertex first = symmetry_.first_message(group, number);
  const auto seats = static_cast<std::uint32_t>(home.member_of_seat.size());
  PatternTables& tables = patterns_[{group, number}];
  tables.class_of_send_.assign(pattern.plan->phases.size(), std::vector<std::vector<std::uint32_t>>(seats));
  // What of each class arrives at who holds a seat, and what leaves there.
  std::map<std::pair<Symmetry::Colour, std::uint32_t>, std::vector<std::uint32_t>> slots;
  std::map<std::pair<Symmetry::Colour, std::uint32_t>, std::uint32_t> class_at_seat;
  const auto holds_seat = [&](std::uint32_t member) {
    return home.member_of_seat[home.seat_of_member[member]] == member;
  };
  const std::vector<bool>& left_out = symmetry_.complete(group, number);
  for_each_message(pattern, left_out, [&](const PatternMessage& message) {
    if (holds_seat(message.to))
      slots[{symmetry_.colour_of(first + message.number), home.seat_of_member[message.to]}].push_back(message.slot);
  });
  for_each_message(pattern, left_out, [&](const PatternMessage& message) {
    if (!holds_seat(message.from)) return;
    const Symmetry::Vertex one = first + message.number;
    const Symmetry::Colour colour = symmetry_.colour_of(one);
    const std::uint32_t seat = home.seat_of_member[message.from], to_seat = home.seat_of_member[message.to];
    auto& classes = tables.class_of_send_[message.phase][seat];
    const auto [known, is_first] =
        class_at_seat.try_emplace({colour, seat}, static_cast<std::uint32_t>(tables.classes_.size()));
    classes.push_back(is_first ? known->second : kNoClass);
    if (!is_first) return tables.classes_[known->second].sends.push_back(message.send);
    const DeviceId from = plans_.devices(group)[message.from], to = plans_.devices(group)[message.to];
    MessageClass& added = tables.classes_.emplace_back();
    added.sender = seat;
    added.sends = {message.send};
    added.receiver = to_seat;
    added.slots = slots.at({colour, to_seat});
    added.is_uniform_ring = message.is_uniform_ring;
    added.count = symmetry_.class_size(colour);
    added.one = one;
    take_route(added, from, to);
  });
}

void Folding::fold_exchanges(GroupId group, std::uint32_t number) {
  const Pattern& pattern = symmetry_.patterns().of(group)[number];
  const std::vector<bool>& complete = symmetry_.complete(group, number);
  if (std::ranges::find(complete, true) == complete.end()) return;
  const Home& home = homes_[index_of(group)];
  const auto for_each_exchange = [&](const auto& visit) {
    Symmetry::Vertex next = symmetry_.first_line(group, number);
    for_each_line(pattern, [&](const PatternLine& line) {
      if (!complete[line.phase]) return;
      std::vector<std::uint32_t> seats;
      for (const std::uint32_t member : line.members) seats.push_back(home.seat_of_member[member]);
      visit(Exchange{next++, line.phase, line.members, seats, pattern.plan->phases[line.phase].schedule()});
    });
  };
  SlotsOfExchanges slots;  // at who holds the seat, maybe on another line that is alike
  for_each_exchange([&](const Exchange& exchange) { find_slots(home, exchange, slots); });
  PatternTables& tables = patterns_[{group, number}];
  for_each_exchange([&](const Exchange& exchange) { fold_exchange(group, exchange, slots, tables); });
}

// Who sends what a rank receives is as far behind it as the one it sends to is ahead.
void Folding::find_slots(const Home& home, const Exchange& exchange, SlotsOfExchanges& slots) const {
  const auto ranks = static_cast<std::uint32_t>(exchange.members.size());
  for (std::uint32_t at = 0; at < ranks; ++at) {
    const std::uint32_t seat = exchange.seats[at];
    if (home.member_of_seat[seat] != exchange.members[at]) continue;
    for (std::uint32_t slot = 0; slot < exchange.schedule.receives(at); ++slot) {
      const std::uint32_t ahead = exchange.schedule.step(at, slot).to;
      const std::uint32_t from = (2 * at + ranks - ahead) % ranks;
      slots[{symmetry_.colour_of(exchange.one), exchange.seats[from], seat, slot / (ranks - 1)}].push_back(slot);
    }
  }
}

// What those members of a line send who hold seats: in each round a message for each seat of others.
void Folding::fold_exchange(GroupId group, const Exchange& exchange, const SlotsOfExchanges& slots,
                            PatternTables& tables) {
  const auto ranks = static_cast<std::uint32_t>(exchange.members.size());
  const Symmetry::Colour colour = symmetry_.colour_of(exchange.one);
  std::map<std::uint32_t, std::uint64_t> members;  // by seat
  for (const std::uint32_t seat : exchange.seats) ++members[seat];
  for (std::uint32_t at = 0; at < ranks; ++at) {
    const std::uint32_t member = exchange.members[at], seat = exchange.seats[at];
    if (homes_[index_of(group)].member_of_seat[seat] != member) continue;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;  // by round and receiver
    for (std::uint32_t send = 0; send < exchange.schedule.sends(at); ++send) {
      const std::uint32_t to = exchange.schedule.step(at, send).to, to_seat = exchange.seats[to];
      const std::uint32_t round = send / (ranks - 1);
      const auto [number, is_first] =
          known.try_emplace({round, to_seat}, static_cast<std::uint32_t>(tables.classes_.size()));
      tables.class_of_send_[exchange.phase][seat].push_back(is_first ? number->second : kNoClass);
      if (is_first) {
        MessageClass& added = tables.classes_.emplace_back();
        added.sender = seat;
        added.round = round;
        added.receiver = to_seat;
        added.slots = slots.at({colour, seat, to_seat, round});
        added.one = exchange.one;
        added.count = symmetry_.class_size(colour) * members[seat] * (members[to_seat] - (to_seat == seat ? 1 : 0));
        take_route(added, plans_.devices(group)[member], plans_.devices(group)[exchange.members[to]]);
      }
      tables.classes_[number->second].sends.push_back(send);
    }
  }
}

void Folding::fold_lines(GroupId group, std::uint32_t number) {
  const Home& home = homes_[index_of(group)];
  const Pattern& pattern = symmetry_.patterns().of(group)[number];
  PatternTables& tables = patterns_[{group, number}];
  tables.line_of_seat_.assign(pattern.plan->phases.size(),
                              std::vector<std::uint32_t>(home.member_of_seat.size(), kNoClass));
  std::map<std::pair<std::uint32_t, Symmetry::Colour>, std::uint32_t> lines;  // by phase and class
  for_each_line(pattern, [&](const PatternLine& line) {
    const Symmetry::Vertex one = symmetry_.vertex_of(group, number, line);
    const Symmetry::Colour colour = symmetry_.colour_of(one);
    const auto [known, is_first] =
        lines.try_emplace({line.phase, colour}, static_cast<std::uint32_t>(tables.lines_.size()));
    if (!is_first) return;
    const LineTraffic traffic = symmetry_.traffic(group, number, line);
    LineClass& added = tables.lines_.emplace_back();
    added.count = symmetry_.class_size(colour);
    added.one = one;
    added.loads = folded(traffic.loads, added.count);
    added.path = network_.group_path(added.loads, traffic.latency);
    for (const std::uint32_t member : line.members) {
      std::uint32_t& of_seat = tables.line_of_seat_[line.phase][home.seat_of_member[member]];
      ORRERY_ASSERT(of_seat == kNoClass || of_seat == known->second);
      if (of_seat == kNoClass) added.seats.push_back(home.seat_of_member[member]);
      of_seat = known->second;
    }
  });
}

void Folding::fold_transfers(const Changes& changes, ClassSplit& split) {
  std::set<std::uint32_t> agents;
  for (const RankId rank : changes.senders) agents.insert(agent_of(rank));
  std::map<RankId, SlotsByClass> received;  // what was looked up of receivers
  for (const std::uint32_t agent : agents) fold_transfers_of(agent, received, split);
}

void Folding::fold_transfers_of(std::uint32_t agent, std::map<RankId, SlotsByClass>& received, ClassSplit& split) {
  const RankId rank = first_rank(agent);
  const bool is_changed = symmetry_.has_changed(symmetry_.colour(rank));
  const SlotsByClass sends = sends_by_class(rank);
  for (std::uint32_t slot = 0; slot < transfers_[agent].size(); ++slot) {
    MessageClass& message = transfers_[agent][slot];
    if (symmetry_.sends(rank, slot) == Symmetry::kNotInUse) continue;
    if (!is_changed && message.count > 0 && !has_changed(message)) continue;
    if (message.count > 0 && message.sends.front() == slot) split.sends_before[{agent, slot}] = message.sends;
    message = transfer(rank, sends.at(symmetry_.colour_of(symmetry_.sends(rank, slot))), received);
  }
}

Folding::SlotsByClass Folding::sends_by_class(RankId rank) const {
  SlotsByClass slots;
  for (std::uint32_t slot = 0; slot < job_.ranks[index_of(rank)].peers.size(); ++slot)
    if (const auto vertex = symmetry_.sends(rank, slot); vertex != Symmetry::kNotInUse)
      slots[symmetry_.colour_of(vertex)].push_back(slot);
  return slots;
}

Folding::SlotsByClass Folding::receives_by_class(RankId rank) const {
  SlotsByClass slots;
  for (std::uint32_t slot = 0; slot < job_.ranks[index_of(rank)].peers.size(); ++slot)
    for (const Symmetry::Vertex message : symmetry_.received(rank, slot))
      slots[symmetry_.colour_of(message)].push_back(slot);
  return slots;
}

MessageClass Folding::transfer(RankId from, const std::vector<std::uint32_t>& sends,
                               std::map<RankId, SlotsByClass>& received) const {
  const RankId to = job_.ranks[index_of(from)].peers[sends.front()];
  const RankId receiver = first_rank(agent_of(to));
  const auto [slots, is_new] = received.try_emplace(receiver);
  if (is_new) slots->second = receives_by_class(receiver);
  MessageClass message;
  message.sends = sends;
  message.one = symmetry_.sends(from, sends.front());
  message.receiver = agent_of(to);
  message.slots = slots->second.at(symmetry_.colour_of(message.one));
  message.count = symmetry_.class_size(symmetry_.colour_of(message.one));
  take_route(message, placement_[index_of(from)], placement_[index_of(to)]);
  return message;
}

// The route of one of the messages, for all of them.
void Folding::take_route(MessageClass& message, DeviceId from, DeviceId to) const {
  message.shares = folded(symmetry_.route_of(from, to), message.count);
  message.latency = symmetry_.latency_of(from, to);
  message.path = network_.class_path(message.shares, message.latency);
}

// `count` messages or groups that each take `shares`, spread evenly over the links of every class that they cross.
template <class Share>
std::vector<Share> Folding::folded(std::vector<Share> shares, std::uint64_t count) const {
  for (Share& share : shares) share.link = acting(share.link);
  std::ranges::sort(shares);
  std::vector<Share> result;
  for (auto first = shares.begin(); first != shares.end();) {
    const auto last = std::find_if(first, shares.end(), [&](const Share& share) { return !(share == *first); });
    const auto links = static_cast<std::uint64_t>(last - first);  // of one message
    const std::uint32_t in_class = symmetry_.class_size(*symmetry_.colour(first->link));
    ORRERY_ASSERT(count * links % in_class == 0);
    const std::uint64_t copies = count * links / in_class;
    ORRERY_ASSERT(copies <= UINT32_MAX);
    result.push_back(*first);
    result.back().copies = static_cast<std::uint32_t>(copies);
    first = last;
  }
  return result;
}

std::vector<const MessageClass*> PatternTables::messages(std::uint32_t phase, std::uint32_t seat) const {
  std::vector<const MessageClass*> messages;
  for (const std::uint32_t number : class_of_send_[phase][seat])
    if (number != kNoClass) messages.push_back(&classes_[number]);
  return messages;
}

const MessageClass* PatternTables::message(std::uint32_t phase, std::uint32_t seat, std::uint32_t send) const {
  const std::vector<std::uint32_t>& classes = class_of_send_[phase][seat];
  const std::uint32_t number = send < classes.size() ? classes[send] : classes.front();
  return number == kNoClass ? nullptr : &classes_[number];
}

}  // namespace orrery::system
