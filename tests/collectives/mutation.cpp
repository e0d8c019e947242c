// SPDX-License-Identifier: MIT
#include "tests/collectives/mutation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "collectives/oracle/message_order.h"
#include "collectives/oracle/oracle.h"

namespace orrery {
namespace {

using collectives::Exchange;
using collectives::Message;
using collectives::MessageOrder;
using collectives::Verdict;
using Random = std::mt19937_64;

void forget(std::vector<std::uint32_t>& after, std::uint32_t message) { std::erase(after, message); }

std::optional<Exchange> without_message(Exchange exchange, std::uint32_t m, Random&) {
  exchange.messages.erase(exchange.messages.begin() + m);
  for (Message& message : exchange.messages) {
    forget(message.after, m);
    for (std::uint32_t& earlier : message.after)
      if (earlier > m) --earlier;
  }
  return exchange;
}

std::optional<Exchange> retargeted(Exchange exchange, std::uint32_t m, Random& random) {
  if (exchange.ranks < 3) return std::nullopt;
  Message& target = exchange.messages[m];
  const std::uint32_t old = target.to;
  for (Message& message : exchange.messages)
    if (message.from == old && target.combine == collectives::Combine::kCopy) forget(message.after, m);
  while (target.to == old || target.to == target.from)
    target.to = static_cast<std::uint32_t>(random() % exchange.ranks);
  return exchange;
}

std::optional<Exchange> without_piece(Exchange exchange, std::uint32_t m, Random& random) {
  std::vector<collectives::PieceId>& pieces = exchange.messages[m].pieces;
  if (pieces.size() < 2) return std::nullopt;
  pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(random() % pieces.size()));
  return exchange;
}

std::optional<Exchange> with_other_piece(Exchange exchange, std::uint32_t m, Random& random) {
  std::vector<collectives::PieceId>& pieces = exchange.messages[m].pieces;
  if (pieces.size() == exchange.piece_kinds) return std::nullopt;
  collectives::PieceId other = pieces.front();
  while (std::ranges::find(pieces, other) != pieces.end()) other = random() % exchange.piece_kinds;
  pieces[random() % pieces.size()] = other;
  return exchange;
}

std::optional<Exchange> with_other_combine(Exchange exchange, std::uint32_t m, Random&) {
  collectives::Combine& combine = exchange.messages[m].combine;
  combine = combine == collectives::Combine::kCopy ? collectives::Combine::kReduce : collectives::Combine::kCopy;
  return exchange;
}

std::optional<Exchange> without_dependency(Exchange exchange, std::uint32_t m, Random& random) {
  Message& message = exchange.messages[m];
  std::vector<std::uint32_t> receives;
  for (const std::uint32_t earlier : message.after)
    if (exchange.messages[earlier].to == message.from) receives.push_back(earlier);
  if (receives.empty()) return std::nullopt;
  const std::uint32_t forgotten = receives[random() % receives.size()];
  forget(message.after, forgotten);
  if (MessageOrder(exchange, dependency_order(exchange)).arrived_before(forgotten, m)) return std::nullopt;
  return exchange;
}

struct Mutation {
  const char* name;
  std::optional<Exchange> (*apply)(Exchange, std::uint32_t message, Random&);
};
constexpr std::array kMutations = {
    Mutation{"left out", without_message},
    Mutation{"sent elsewhere", retargeted},
    Mutation{"without a piece", without_piece},
    Mutation{"with another piece", with_other_piece},
    Mutation{"combined wrongly", with_other_combine},
    Mutation{"too early", without_dependency},
};

}  // namespace

MutationReport try_mutations(const Exchange& exchange, std::size_t most, std::uint64_t seed, Waits waits) {
  constexpr std::array<std::uint64_t, 1> kSeeds = {3};
  Random random(seed);
  std::vector<std::uint32_t> chosen(exchange.messages.size());
  for (std::uint32_t m = 0; m < chosen.size(); ++m) chosen[m] = m;
  if (chosen.size() > most) {
    std::shuffle(chosen.begin(), chosen.end(), random);
    chosen.resize(most);
  }
  MutationReport report;
  for (const std::uint32_t m : chosen)
    for (const Mutation& mutation : kMutations) {
      if (waits == Waits::kForMore && mutation.apply == without_dependency) continue;
      const std::optional<Exchange> mutant = mutation.apply(exchange, m, random);
      if (!mutant) continue;
      ++report.tried;
      const Verdict verdict = check_meaning(*mutant, kSeeds);
      if ((verdict.correct || verdict.reason.empty()) && report.survivor.empty())
        report.survivor = fmt::format("message {} ({} -> {}) {}", m, exchange.messages[m].from, exchange.messages[m].to,
                                      mutation.name);
    }
  return report;
}

}  // namespace orrery
