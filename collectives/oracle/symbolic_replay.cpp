// SPDX-License-Identifier: MIT
#include "collectives/oracle/symbolic_replay.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "collectives/oracle/bit_matrix.h"
#include "collectives/oracle/meaning.h"
#include "core/assert.h"

namespace orrery::collectives {
namespace {

// Contents of one copy: the piece, and the ranks that contributed. No contributions: unwritten.
struct Content {
  PieceId piece = 0;
  std::vector<std::uint64_t> givers;  // as a BitRow
};

// Every rank's places, each with a copy of some piece as the set of contributions in it.
class SymbolicState {
 public:
  explicit SymbolicState(const Exchange& exchange)
      : exchange_(exchange),
        pieces_((exchange.ranks + exchange.switches) * exchange.places()),
        copies_(pieces_.size(), exchange.ranks),
        promised_(exchange.ranks + 1, exchange.ranks) {
    for (std::uint32_t rank = 0; rank < exchange.ranks; ++rank) {
      insert(promised_.row(rank), rank);
      insert(promised_.row(exchange.ranks), rank);
    }
    if (!exchange.buffers)
      for (std::size_t copy = 0; copy < pieces_.size(); ++copy) pieces_[copy] = copy % exchange.piece_kinds;
    for (std::uint32_t rank = 0; rank < exchange.ranks; ++rank)
      for (PieceId piece = 0; piece < exchange.piece_kinds; ++piece) {
        if (!has_input(exchange, rank, piece)) continue;
        const PieceId place = place_of_input(exchange, rank, piece);
        insert(copy(rank, place), rank);
        piece_at(rank, place) = piece;
      }
  }

  BitRow copy(std::uint32_t rank, PieceId place) { return copies_.row(rank * exchange_.places() + place); }
  PieceId& piece_at(std::uint32_t rank, PieceId place) { return pieces_[rank * exchange_.places() + place]; }

  std::string broken_promise() {
    for (std::uint32_t rank = 0; rank < exchange_.ranks; ++rank)
      for (PieceId piece = 0; piece < exchange_.piece_kinds; ++piece)
        if (std::string reason = broken_promise(rank, piece); !reason.empty()) return reason;
    return {};
  }

 private:
  std::string broken_promise(std::uint32_t rank, PieceId piece) {
    const auto [content, owner] = promise(exchange_, rank, piece);
    if (content == Promise::Content::kAnything) return {};
    const bool from_everybody = content == Promise::Content::kEverybody;
    const ConstBitRow promised = promised_.row(from_everybody ? exchange_.ranks : owner);
    const PieceId place = place_of_result(exchange_, rank, piece);
    const BitRow held = copy(rank, place);
    const bool is_it = is_empty(held) || piece_at(rank, place) == piece;
    if (is_it && std::ranges::equal(held, promised)) return {};
    const std::string at = exchange_.buffers ? fmt::format(" (in {})", name_of_place(exchange_, place)) : "";
    if (is_empty(held)) return fmt::format("rank {} never gets {}{}", rank, name_of_piece(exchange_, piece), at);
    if (!is_it)
      return fmt::format("rank {} ends with {} in place of {}{}", rank, name_of_piece(exchange_, piece_at(rank, place)),
                         name_of_piece(exchange_, piece), at);
    std::uint32_t giver = 0;
    while (contains(held, giver) == contains(promised, giver)) ++giver;
    return fmt::format("{} of rank {}{} ends {} the contribution of rank {}", name_of_piece(exchange_, piece), rank, at,
                       contains(promised, giver) ? "without" : "with", giver);
  }

  const Exchange& exchange_;
  std::vector<PieceId> pieces_;  // by rank and place, likewise
  BitMatrix copies_;
  BitMatrix promised_;  // [rank]: that rank's contribution alone; [ranks]: everybody's
};

class Replay {
 public:
  Replay(const Exchange& exchange, std::uint64_t seed)
      : exchange_(exchange), random_(seed), state_(exchange), messages_(exchange.messages.size()) {
    for (std::uint32_t m = 0; m < messages_.size(); ++m) {
      const Message& message = exchange.messages[m];
      messages_[m].waiting_for = message.after.size();
      messages_[m].landing_waits_for = message.lands_after.size();
      if (messages_[m].waiting_for == 0) ready_.push_back(m);
      for (const std::uint32_t earlier : message.after) unblocks(earlier, message.from).push_back({m, false});
      for (const std::uint32_t earlier : message.lands_after) unblocks(earlier, message.to).push_back({m, true});
    }
  }

  // Lets a random message, of those that can, take its next step, until none is left.
  Verdict run() {
    while (!ready_.empty()) {
      std::swap(ready_[random_() % ready_.size()], ready_.back());
      const std::uint32_t m = ready_.back();
      ready_.pop_back();
      if (std::optional<Verdict> wrong = advance(m)) return *std::move(wrong);
    }
    for (std::uint32_t m = 0; m < messages_.size(); ++m)
      if (std::optional<Verdict> wrong = add(m)) return *std::move(wrong);
    std::string reason = state_.broken_promise();
    return {reason.empty(), std::move(reason), {}};
  }

 private:
  enum class Stage : std::uint8_t { kWaiting, kStarted, kReleased };
  struct Waiter {
    std::uint32_t message;
    bool to_land;  // else to start
  };
  struct Progress {
    Stage stage = Stage::kWaiting;
    std::size_t waiting_for = 0;
    std::size_t landing_waits_for = 0;
    std::vector<Waiter> release_unblocks;
    std::vector<Waiter> arrival_unblocks;
    std::vector<Content> carried;  // as `pieces`
    bool is_aside = false;         // arrived, and to be added when a send of the receiver waits for it
  };

  // Waiters at `rank` for a message that it sends or receives.
  std::vector<Waiter>& unblocks(std::uint32_t message, std::uint32_t rank) {
    Progress& progress = messages_[message];
    return exchange_.messages[message].to == rank ? progress.arrival_unblocks : progress.release_unblocks;
  }

  std::optional<Verdict> advance(std::uint32_t m) {
    Progress& progress = messages_[m];
    switch (progress.stage) {
      case Stage::kWaiting:
        progress.stage = Stage::kStarted;
        ready_.push_back(m);
        return read(m);
      case Stage::kStarted:
        progress.stage = Stage::kReleased;
        if (progress.landing_waits_for == 0) ready_.push_back(m);
        unblock(progress.release_unblocks);
        return {};
      case Stage::kReleased:
        unblock(progress.arrival_unblocks);
        return write(m);
    }
    ORRERY_ASSERT(false);
  }

  void unblock(const std::vector<Waiter>& waiting) {
    for (const auto& [m, to_land] : waiting) {
      Progress& progress = messages_[m];
      if (--(to_land ? progress.landing_waits_for : progress.waiting_for) > 0) continue;
      if (!to_land || progress.stage == Stage::kReleased) ready_.push_back(m);
    }
  }

  std::optional<Verdict> read(std::uint32_t m) {
    const Message& message = exchange_.messages[m];
    for (const std::uint32_t earlier : message.after)
      if (exchange_.messages[earlier].to == message.from)
        if (std::optional<Verdict> wrong = add(earlier)) return wrong;
    for (const PieceId place : message.pieces) {
      const BitRow copy = state_.copy(message.from, place);
      if (is_empty(copy))
        return fault(m, exchange_.buffers
                            ? fmt::format("reads {}, which is not written then", name_of_place(exchange_, place))
                            : fmt::format("reads piece {}, which its sender never got", place));
      messages_[m].carried.push_back({state_.piece_at(message.from, place), {copy.begin(), copy.end()}});
    }
    return {};
  }

  std::optional<Verdict> write(std::uint32_t m) {
    const Message& message = exchange_.messages[m];
    messages_[m].is_aside = message.combine == Combine::kReduce;
    if (messages_[m].is_aside) return exchange_.buffers ? add(m) : std::nullopt;
    const std::vector<PieceId>& places = exchange_.places_of(message);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& [piece, givers] = messages_[m].carried[i];
      std::ranges::copy(givers, state_.copy(message.to, places[i]).begin());
      state_.piece_at(message.to, places[i]) = piece;
    }
    messages_[m].carried.clear();
    return {};
  }

  std::optional<Verdict> add(std::uint32_t m) {
    if (!std::exchange(messages_[m].is_aside, false)) return {};
    const Message& message = exchange_.messages[m];
    const std::vector<PieceId>& places = exchange_.places_of(message);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& [piece, givers] = messages_[m].carried[i];
      const ConstBitRow carried = givers;
      const BitRow copy = state_.copy(message.to, places[i]);
      PieceId& held = state_.piece_at(message.to, places[i]);
      const std::string name = name_of_piece(exchange_, piece);
      if (is_empty(copy) && message.to < exchange_.ranks) return fault(m, fmt::format("reduces {} onto nothing", name));
      if (!is_empty(copy) && held != piece)
        return fault(m, fmt::format("adds {} to {}", name, name_of_piece(exchange_, held)));
      if (intersects(copy, carried)) return fault(m, fmt::format("counts a contribution to {} twice", name));
      add_all(copy, carried);
      held = piece;
    }
    messages_[m].carried.clear();
    return {};
  }

  Verdict fault(std::uint32_t m, const std::string& what) const {
    return {false, describe(exchange_, m) + " " + what, m};
  }

  const Exchange& exchange_;
  std::mt19937_64 random_;
  SymbolicState state_;
  std::vector<Progress> messages_;
  std::vector<std::uint32_t> ready_;
};

}  // namespace

Verdict replay(const Exchange& exchange, std::uint64_t seed) { return Replay(exchange, seed).run(); }

std::string describe(const Exchange& exchange, std::uint32_t message) {
  if (exchange.name_of) return exchange.name_of(message);
  const Message& m = exchange.messages[message];
  return fmt::format("message {} ({} -> {})", message, m.from, m.to);
}

}  // namespace orrery::collectives
