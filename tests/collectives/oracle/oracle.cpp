// SPDX-License-Identifier: MIT
#include "tests/collectives/oracle/oracle.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/collectives/oracle/meaning.h"
#include "tests/collectives/oracle/message_order.h"
#include "tests/collectives/oracle/symbolic_replay.h"

namespace orrery {
namespace {

std::string fault_of_dependency(const Exchange& exchange, const Message& message, std::uint32_t earlier) {
  if (earlier >= exchange.messages.size()) return fmt::format("waits for message {}, which does not exist", earlier);
  const Message& other = exchange.messages[earlier];
  if (other.to == message.from || other.from == message.from) return {};
  return fmt::format("waits for {}, which its sender neither sends nor receives", describe(exchange, earlier));
}

std::string fault_of_message(const Exchange& exchange, const Message& message) {
  const std::uint32_t ends = exchange.ranks + exchange.switches;
  if (message.from >= ends || message.to >= ends) return "goes outside the group";
  if (message.from == message.to) return "goes to its sender";
  if (message.to >= exchange.ranks && message.combine == collectives::Combine::kCopy)
    return "overwrites what a switch adds up";
  if (message.pieces.empty()) return "carries nothing";
  std::vector<collectives::PieceId> pieces = message.pieces;
  std::ranges::sort(pieces);
  if (pieces.back() >= exchange.piece_kinds)
    return fmt::format("carries piece {}, which does not exist", pieces.back());
  if (const auto twice = std::ranges::adjacent_find(pieces); twice != pieces.end())
    return fmt::format("carries piece {} twice", *twice);
  for (const std::uint32_t earlier : message.after)
    if (std::string fault = fault_of_dependency(exchange, message, earlier); !fault.empty()) return fault;
  return {};
}

std::string fault_of_form(const Exchange& exchange) {
  if (exchange.ranks == 0 || exchange.root >= exchange.ranks) return "the root is not in the group";
  const collectives::PieceId expected = fixed_piece_kinds(exchange.kind, exchange.ranks);
  if (exchange.piece_kinds == 0 || (expected != 0 && exchange.piece_kinds != expected))
    return fmt::format("{} pieces, {} expected", exchange.piece_kinds,
                       expected == 0 ? "at least 1" : fmt::to_string(expected));
  for (std::uint32_t m = 0; m < exchange.messages.size(); ++m)
    if (std::string fault = fault_of_message(exchange, exchange.messages[m]); !fault.empty())
      return describe(exchange, m) + " " + fault;
  return {};
}

// A message that touches a rank's copy of a piece.
struct Access {
  std::uint32_t message;
  bool writes;
};

// [rank * piece_kinds + piece]
std::vector<std::vector<Access>> accesses_of_copies(const Exchange& exchange) {
  std::vector<std::vector<Access>> accesses((exchange.ranks + exchange.switches) * exchange.piece_kinds);
  for (std::uint32_t m = 0; m < exchange.messages.size(); ++m) {
    const Message& message = exchange.messages[m];
    for (const collectives::PieceId piece : message.pieces) {
      accesses[message.from * exchange.piece_kinds + piece].push_back({m, false});
      accesses[message.to * exchange.piece_kinds + piece].push_back({m, true});
    }
  }
  return accesses;
}

bool is_race(const Exchange& exchange, const MessageOrder& order, const Access& write, const Access& other) {
  const std::uint32_t a = write.message;
  const std::uint32_t b = other.message;
  const auto reduces = [&](std::uint32_t m) { return exchange.messages[m].combine == collectives::Combine::kReduce; };
  if (a == b || order.arrived_before(a, b)) return false;
  if (!other.writes) return !order.released_before(b, a);
  return !order.arrived_before(b, a) && !(reduces(a) && reduces(b));
}

std::string find_race(const Exchange& exchange, const MessageOrder& order) {
  const std::vector<std::vector<Access>> accesses = accesses_of_copies(exchange);
  for (std::size_t copy = 0; copy < accesses.size(); ++copy)
    for (const Access& write : accesses[copy]) {
      if (!write.writes) continue;
      for (const Access& other : accesses[copy])
        if (is_race(exchange, order, write, other))
          return fmt::format("{} and {} race for piece {} of rank {}", describe(exchange, write.message),
                             describe(exchange, other.message), copy % exchange.piece_kinds,
                             copy / exchange.piece_kinds);
    }
  return {};
}

Verdict verdict(std::string reason) { return {reason.empty(), std::move(reason)}; }

}  // namespace

Verdict check_meaning(const Exchange& exchange, std::span<const std::uint64_t> seeds) {
  if (std::string fault = fault_of_form(exchange); !fault.empty()) return verdict(std::move(fault));
  const std::vector<std::uint32_t> order = dependency_order(exchange);
  if (order.size() < exchange.messages.size()) return verdict("messages wait for one another in a circle");
  if (std::string race = find_race(exchange, MessageOrder(exchange, order)); !race.empty())
    return verdict(std::move(race));
  for (const std::uint64_t seed : seeds)
    if (std::string reason = replay(exchange, seed); !reason.empty()) return verdict(std::move(reason));
  return {true, {}};
}

}  // namespace orrery
