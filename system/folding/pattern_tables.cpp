// SPDX-License-Identifier: MIT
#include "system/folding/pattern_tables.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/assert.h"

namespace orrery::system {
namespace {

constexpr std::uint32_t kNoClass = UINT32_MAX;

}  // namespace

class TableMaker {
 public:
  TableMaker(const Symmetry& symmetry, const CollectivePlans& plans, const FoldedRoutes& routes, GroupId group,
             const Home& home, std::uint32_t number)
      : symmetry_(symmetry),
        plans_(plans),
        routes_(routes),
        group_(group),
        home_(home),
        number_(number),
        pattern_(symmetry.patterns().of(group)[number]) {}

  PatternTables make() {
    if (symmetry_.granularity() == Granularity::kPhase) {
      fold_lines();
    } else {
      fold_messages();
      fold_exchanges();
    }
    return std::move(tables_);
  }

 private:
  // A complete exchange on a line.
  struct Exchange {
    Symmetry::Vertex one;
    std::uint32_t phase;
    std::span<const std::uint32_t> members;  // of the line
    const collectives::Schedule& schedule;
  };
  // Slots by class of the line, seats of sender and receiver, and round.
  using SlotsOfExchanges = std::map<std::array<std::uint32_t, 4>, std::vector<std::uint32_t>>;
  std::uint32_t seat_of(std::uint32_t member) const { return home_.seat_of_member[member]; }
  bool holds_seat(std::uint32_t member) const { return home_.member_of_seat[seat_of(member)] == member; }
  void fold_messages();
  void fold_exchanges();
  void find_slots(const Exchange& exchange, SlotsOfExchanges& slots) const;
  void fold_exchange(const Exchange& exchange, const SlotsOfExchanges& slots);
  void fold_lines();

  const Symmetry& symmetry_;
  const CollectivePlans& plans_;
  const FoldedRoutes& routes_;
  GroupId group_;
  const Home& home_;
  std::uint32_t number_;
  const Pattern& pattern_;
  PatternTables tables_;
};

PatternTables make_tables(const Symmetry& symmetry, const CollectivePlans& plans, const FoldedRoutes& routes,
                          GroupId group, const Home& home, std::uint32_t number) {
  return TableMaker(symmetry, plans, routes, group, home, number).make();
}

void TableMaker::fold_messages() {
  const Symmetry::Vertex first = symmetry_.first_message(group_, number_);
  const auto seats = static_cast<std::uint32_t>(home_.member_of_seat.size());
  tables_.class_of_send_.assign(pattern_.plan->phases.size(), std::vector<std::vector<std::uint32_t>>(seats));
  // Per message class: what each seat receives and sends.
  std::map<std::pair<Symmetry::Colour, std::uint32_t>, std::vector<std::uint32_t>> slots;
  std::map<std::pair<Symmetry::Colour, std::uint32_t>, std::uint32_t> class_at_seat;
  const std::vector<bool>& left_out = symmetry_.complete(group_, number_);
  for_each_message(pattern_, left_out, [&](const PatternMessage& message) {
    if (holds_seat(message.to))
      slots[{symmetry_.colour_of(first + message.number), seat_of(message.to)}].push_back(message.slot);
  });
  for_each_message(pattern_, left_out, [&](const PatternMessage& message) {
    if (!holds_seat(message.from)) return;
    const Symmetry::Vertex one = first + message.number;
    const Symmetry::Colour colour = symmetry_.colour_of(one);
    const std::uint32_t seat = seat_of(message.from), to_seat = seat_of(message.to);
    auto& classes = tables_.class_of_send_[message.phase][seat];
    const auto [known, is_first] =
        class_at_seat.try_emplace({colour, seat}, static_cast<std::uint32_t>(tables_.classes_.size()));
    classes.push_back(is_first ? known->second : kNoClass);
    if (!is_first) return tables_.classes_[known->second].sends.push_back(message.send);
    const DeviceId from = plans_.devices(group_)[message.from], to = plans_.devices(group_)[message.to];
    MessageClass& added = tables_.classes_.emplace_back();
    added.sender = seat;
    added.sends = {message.send};
    added.receiver = to_seat;
    added.slots = slots.at({colour, to_seat});
    added.is_uniform_ring = message.is_uniform_ring;
    added.count = symmetry_.class_size(colour);
    added.one = one;
    routes_.take(added, from, to);
  });
}

void TableMaker::fold_exchanges() {
  const std::vector<bool>& complete = symmetry_.complete(group_, number_);
  if (std::ranges::find(complete, true) == complete.end()) return;
  const auto for_each_exchange = [&](const auto& visit) {
    Symmetry::Vertex next = symmetry_.first_line(group_, number_);
    for_each_line(pattern_, [&](const PatternLine& line) {
      if (complete[line.phase])
        visit(Exchange{next++, line.phase, line.members, pattern_.plan->phases[line.phase].schedule()});
    });
  };
  SlotsOfExchanges slots;  // at who holds the seat, maybe on another line that is alike
  for_each_exchange([&](const Exchange& exchange) { find_slots(exchange, slots); });
  for_each_exchange([&](const Exchange& exchange) { fold_exchange(exchange, slots); });
}

// The sender of a rank's messages is as far behind it as its receiver is ahead.
void TableMaker::find_slots(const Exchange& exchange, SlotsOfExchanges& slots) const {
  const auto ranks = static_cast<std::uint32_t>(exchange.members.size());
  for (std::uint32_t at = 0; at < ranks; ++at) {
    if (!holds_seat(exchange.members[at])) continue;
    for (std::uint32_t slot = 0; slot < exchange.schedule.receives(at); ++slot) {
      const std::uint32_t ahead = exchange.schedule.step(at, slot).to;
      const std::uint32_t from = (2 * at + ranks - ahead) % ranks;
      const std::uint32_t seat = seat_of(exchange.members[at]), from_seat = seat_of(exchange.members[from]);
      slots[{symmetry_.colour_of(exchange.one), from_seat, seat, slot / (ranks - 1)}].push_back(slot);
    }
  }
}

// Sends of a line's seated members: in each round, one message for each seat of others.
void TableMaker::fold_exchange(const Exchange& exchange, const SlotsOfExchanges& slots) {
  const auto ranks = static_cast<std::uint32_t>(exchange.members.size());
  const Symmetry::Colour colour = symmetry_.colour_of(exchange.one);
  std::map<std::uint32_t, std::uint64_t> members;  // by seat
  for (const std::uint32_t member : exchange.members) ++members[seat_of(member)];
  for (std::uint32_t at = 0; at < ranks; ++at) {
    const std::uint32_t member = exchange.members[at], seat = seat_of(member);
    if (!holds_seat(member)) continue;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;  // by round and receiver
    for (std::uint32_t send = 0; send < exchange.schedule.sends(at); ++send) {
      const std::uint32_t to = exchange.members[exchange.schedule.step(at, send).to], to_seat = seat_of(to);
      const std::uint32_t round = send / (ranks - 1);
      const auto [number, is_first] =
          known.try_emplace({round, to_seat}, static_cast<std::uint32_t>(tables_.classes_.size()));
      tables_.class_of_send_[exchange.phase][seat].push_back(is_first ? number->second : kNoClass);
      if (is_first) {
        MessageClass& added = tables_.classes_.emplace_back();
        added.sender = seat;
        added.round = round;
        added.receiver = to_seat;
        added.slots = slots.at({colour, seat, to_seat, round});
        added.one = exchange.one;
        added.count = symmetry_.class_size(colour) * members[seat] * (members[to_seat] - (to_seat == seat ? 1 : 0));
        routes_.take(added, plans_.devices(group_)[member], plans_.devices(group_)[to]);
      }
      tables_.classes_[number->second].sends.push_back(send);
    }
  }
}

void TableMaker::fold_lines() {
  tables_.line_of_seat_.assign(pattern_.plan->phases.size(),
                               std::vector<std::uint32_t>(home_.member_of_seat.size(), kNoClass));
  std::map<std::pair<std::uint32_t, Symmetry::Colour>, std::uint32_t> lines;  // by phase and class
  for_each_line(pattern_, [&](const PatternLine& line) {
    const Symmetry::Vertex one = symmetry_.vertex_of(group_, number_, line);
    const Symmetry::Colour colour = symmetry_.colour_of(one);
    const auto [known, is_first] =
        lines.try_emplace({line.phase, colour}, static_cast<std::uint32_t>(tables_.lines_.size()));
    if (!is_first) return;
    LineClass& added = tables_.lines_.emplace_back();
    added.count = symmetry_.class_size(colour);
    added.one = one;
    routes_.take(added, symmetry_.traffic(group_, number_, line));
    for (const std::uint32_t member : line.members) {
      std::uint32_t& of_seat = tables_.line_of_seat_[line.phase][seat_of(member)];
      ORRERY_ASSERT(of_seat == kNoClass || of_seat == known->second);
      if (of_seat == kNoClass) added.seats.push_back(seat_of(member));
      of_seat = known->second;
    }
  });
}

bool PatternTables::has_changed(const Symmetry& symmetry) const {
  const auto changed = [&](const auto& of) { return system::has_changed(of, symmetry); };
  return std::ranges::any_of(classes_, changed) || std::ranges::any_of(lines_, changed);
}

void PatternTables::come_from(std::span<const MessageClass> before, std::span<const std::uint32_t> parent_seat,
                              const Symmetry& symmetry) {
  // Messages by class, those of a complete exchange by the seats and the round as well.
  std::map<std::array<std::uint32_t, 4>, const MessageClass*> of_class;
  const auto class_before = [&](const MessageClass& message) {
    return *symmetry.before(symmetry.colour_of(message.one));
  };
  for (const MessageClass& message : before)
    of_class[{class_before(message), message.sender, message.receiver, message.round}] = &message;
  for (MessageClass& message : classes_)
    message.before =
        of_class.at({class_before(message), parent_seat[message.sender], parent_seat[message.receiver], message.round});
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
