// SPDX-License-Identifier: MIT
#include "collectives/oracle/oracle.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collectives/oracle/meaning.h"
#include "collectives/oracle/message_order.h"
#include "collectives/oracle/symbolic_replay.h"

namespace orrery::collectives {
namespace {

// `end`: which end of the message that waits the rank is.
std::string fault_of_dependency(const Exchange& exchange, std::string_view end, std::uint32_t rank,
                                std::uint32_t earlier) {
  if (earlier >= exchange.messages.size()) return fmt::format("waits for message {}, which does not exist", earlier);
  const Message& other = exchange.messages[earlier];
  if (other.to == rank || other.from == rank) return {};
  return fmt::format("waits for {}, which its {} neither sends nor receives", describe(exchange, earlier), end);
}

std::string fault_of_places(const std::vector<PieceId>& places, PieceId count) {
  if (places.empty()) return "carries nothing";
  std::vector<PieceId> sorted = places;
  std::ranges::sort(sorted);
  if (sorted.back() >= count) return fmt::format("carries piece {}, which does not exist", sorted.back());
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fmt::format("carries piece {} twice", *twice);
  return {};
}

std::string fault_of_message(const Exchange& exchange, const Message& message) {
  const std::uint32_t ends = exchange.ranks + exchange.switches;
  if (message.from >= ends || message.to >= ends) return "goes outside the group";
  if (message.from == message.to && !exchange.buffers) return "goes to its sender";
  if (message.to >= exchange.ranks && message.combine == Combine::kCopy) return "overwrites what a switch adds up";
  if (exchange.buffers && message.places.size() != message.pieces.size()) return "writes not as much as it reads";
  if (std::string fault = fault_of_places(message.pieces, exchange.places()); !fault.empty()) return fault;
  if (std::string fault = fault_of_places(exchange.places_of(message), exchange.places()); !fault.empty()) return fault;
  for (const std::uint32_t earlier : message.after)
    if (std::string fault = fault_of_dependency(exchange, "sender", message.from, earlier); !fault.empty())
      return fault;
  for (const std::uint32_t earlier : message.lands_after)
    if (std::string fault = fault_of_dependency(exchange, "receiver", message.to, earlier); !fault.empty())
      return fault;
  return {};
}

Verdict wrong(std::string reason, std::optional<std::uint32_t> message = {}) {
  return {false, std::move(reason), message};
}

std::optional<Verdict> fault_of_form(const Exchange& exchange) {
  if (exchange.ranks == 0 || exchange.root >= exchange.ranks) return wrong("the root is not in the group");
  const PieceId expected = fixed_piece_kinds(exchange);
  if (exchange.piece_kinds == 0 || (expected != 0 && exchange.piece_kinds != expected))
    return wrong(fmt::format("{} pieces, {} expected", exchange.piece_kinds,
                             expected == 0 ? "at least 1" : fmt::to_string(expected)));
  for (std::uint32_t m = 0; m < exchange.messages.size(); ++m)
    if (const std::string fault = fault_of_message(exchange, exchange.messages[m]); !fault.empty())
      return wrong(describe(exchange, m) + " " + fault, m);
  return std::nullopt;
}

// A message that touches a rank's copy of a piece.
struct Access {
  std::uint32_t message;
  bool writes;
};

// [rank * places + place]
std::vector<std::vector<Access>> accesses_of_copies(const Exchange& exchange) {
  const PieceId places = exchange.places();
  std::vector<std::vector<Access>> accesses((exchange.ranks + exchange.switches) * places);
  for (std::uint32_t m = 0; m < exchange.messages.size(); ++m) {
    const Message& message = exchange.messages[m];
    const std::vector<PieceId>& written = exchange.places_of(message);
    for (std::size_t i = 0; i < written.size(); ++i) {
      accesses[message.from * places + message.pieces[i]].push_back({m, false});
      accesses[message.to * places + written[i]].push_back({m, true});
    }
  }
  return accesses;
}

// A reduction stays beside the copy until the first send that waits for it, or until the end: whether `other`, which
// reads or overwrites the copy, is over by then.
bool is_over_before_adding(const Exchange& exchange, const MessageOrder& order, std::uint32_t reduction,
                           const Access& other) {
  for (std::uint32_t m = 0; m < exchange.messages.size(); ++m) {
    const Message& message = exchange.messages[m];
    if (message.from != exchange.messages[reduction].to) continue;
    if (std::ranges::find(message.after, reduction) == message.after.end()) continue;
    if (other.writes ? !order.arrived_before(other.message, m) : !order.released_before(other.message, m)) return false;
  }
  return true;
}

bool is_race(const Exchange& exchange, const MessageOrder& order, const Access& write, const Access& other) {
  const std::uint32_t a = write.message;
  const std::uint32_t b = other.message;
  const auto reduces = [&](std::uint32_t m) { return exchange.messages[m].combine == Combine::kReduce; };
  if (a == b || order.arrived_before(a, b)) return false;
  if (!other.writes && order.released_before_landing(b, a)) return false;
  if (other.writes && (order.arrived_before_landing(b, a) || order.arrived_before_landing(a, b))) return false;
  if (exchange.buffers) return true;
  if (!other.writes || !reduces(b)) return !reduces(a) || !is_over_before_adding(exchange, order, a, other);
  return !reduces(a) && !is_over_before_adding(exchange, order, b, write);
}

std::optional<Verdict> find_race(const Exchange& exchange, const MessageOrder& order) {
  const std::vector<std::vector<Access>> accesses = accesses_of_copies(exchange);
  for (std::size_t copy = 0; copy < accesses.size(); ++copy)
    for (const Access& write : accesses[copy]) {
      if (!write.writes) continue;
      for (const Access& other : accesses[copy])
        if (is_race(exchange, order, write, other)) {
          const PieceId place = copy % exchange.places();
          return wrong(fmt::format("{} and {} race for {} of rank {}", describe(exchange, write.message),
                                   describe(exchange, other.message),
                                   exchange.buffers ? name_of_place(exchange, place) : name_of_piece(exchange, place),
                                   copy / exchange.places()),
                       write.message);
        }
    }
  return std::nullopt;
}

}  // namespace

Verdict check_meaning(const Exchange& exchange, std::span<const std::uint64_t> seeds) {
  if (std::optional<Verdict> fault = fault_of_form(exchange)) return *std::move(fault);
  const std::vector<std::uint32_t> order = dependency_order(exchange);
  if (order.size() < event_count(exchange)) return wrong("messages wait for one another in a circle");
  if (std::optional<Verdict> race = find_race(exchange, MessageOrder(exchange, order))) return *std::move(race);
  for (const std::uint64_t seed : seeds)
    if (Verdict verdict = replay(exchange, seed); !verdict.correct) return verdict;
  return {true, {}, {}};
}

}  // namespace orrery::collectives
