// SPDX-License-Identifier: MIT
#include "tests/collectives/oracle/symbolic_replay.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "tests/collectives/oracle/bit_matrix.h"
#include "tests/collectives/oracle/meaning.h"

namespace orrery {
namespace {

// Every rank's copy of every piece as the set of contributions in it; empty is unwritten.
class SymbolicState {
 public:
  explicit SymbolicState(const Exchange& exchange)
      : exchange_(exchange),
        copies_((exchange.ranks + exchange.switches) * exchange.piece_kinds, exchange.ranks),
        promised_(exchange.ranks + 1, exchange.ranks) {
    for (std::uint32_t rank = 0; rank < exchange.ranks; ++rank) {
      insert(promised_.row(rank), rank);
      insert(promised_.row(exchange.ranks), rank);
    }
    for (std::uint32_t rank = 0; rank < exchange.ranks; ++rank)
      for (collectives::PieceId piece = 0; piece < exchange.piece_kinds; ++piece)
        if (has_input(exchange, rank, piece)) insert(copy(rank, piece), rank);
  }

  BitRow copy(std::uint32_t rank, collectives::PieceId piece) {
    return copies_.row(rank * exchange_.piece_kinds + piece);
  }

  std::string broken_promise() {
    for (std::uint32_t rank = 0; rank < exchange_.ranks; ++rank)
      for (collectives::PieceId piece = 0; piece < exchange_.piece_kinds; ++piece)
        if (std::string reason = broken_promise(rank, piece); !reason.empty()) return reason;
    return {};
  }

 private:
  std::string broken_promise(std::uint32_t rank, collectives::PieceId piece) {
    const auto [content, owner] = promise(exchange_, rank, piece);
    if (content == Promise::Content::kAnything) return {};
    const bool from_everybody = content == Promise::Content::kEverybody;
    const ConstBitRow promised = promised_.row(from_everybody ? exchange_.ranks : owner);
    if (std::ranges::equal(copy(rank, piece), promised)) return {};
    if (is_empty(copy(rank, piece))) return fmt::format("rank {} never gets piece {}", rank, piece);
    std::uint32_t giver = 0;
    while (contains(copy(rank, piece), giver) == contains(promised, giver)) ++giver;
    return fmt::format("piece {} of rank {} ends {} the contribution of rank {}", piece, rank,
                       contains(promised, giver) ? "without" : "with", giver);
  }

  const Exchange& exchange_;
  BitMatrix copies_;
  BitMatrix promised_;  // [rank]: that rank's contribution alone; [ranks]: everybody's
};

class Replay {
 public:
  Replay(const Exchange& exchange, std::uint64_t seed)
      : exchange_(exchange), random_(seed), state_(exchange), messages_(exchange.messages.size()) {
    for (std::uint32_t m = 0; m < messages_.size(); ++m) {
      messages_[m].waiting_for = exchange.messages[m].after.size();
      if (messages_[m].waiting_for == 0) ready_.push_back(m);
      for (const std::uint32_t earlier : exchange.messages[m].after) {
        const bool is_receive = exchange.messages[earlier].to == exchange.messages[m].from;
        (is_receive ? messages_[earlier].arrival_unblocks : messages_[earlier].release_unblocks).push_back(m);
      }
    }
  }

  // Lets a random message, of those that can, take its next step, until none is left.
  std::string run() {
    while (!ready_.empty()) {
      std::swap(ready_[random_() % ready_.size()], ready_.back());
      const std::uint32_t m = ready_.back();
      ready_.pop_back();
      if (std::string reason = advance(m); !reason.empty()) return describe(exchange_, m) + " " + reason;
    }
    return state_.broken_promise();
  }

 private:
  enum class Stage : std::uint8_t { kWaiting, kStarted, kReleased };
  struct Progress {
    Stage stage = Stage::kWaiting;
    std::size_t waiting_for = 0;
    std::vector<std::uint32_t> release_unblocks;
    std::vector<std::uint32_t> arrival_unblocks;
    std::vector<std::vector<std::uint64_t>> carried;  // contributions, per piece
  };

  std::string advance(std::uint32_t m) {
    switch (messages_[m].stage) {
      case Stage::kWaiting:
        messages_[m].stage = Stage::kStarted;
        ready_.push_back(m);
        return read(m);
      case Stage::kStarted:
        messages_[m].stage = Stage::kReleased;
        ready_.push_back(m);
        unblock(messages_[m].release_unblocks);
        return {};
      case Stage::kReleased:
        unblock(messages_[m].arrival_unblocks);
        return write(m);
    }
    ORRERY_ASSERT(false);
  }

  void unblock(const std::vector<std::uint32_t>& waiting) {
    for (const std::uint32_t m : waiting)
      if (--messages_[m].waiting_for == 0) ready_.push_back(m);
  }

  std::string read(std::uint32_t m) {
    const Message& message = exchange_.messages[m];
    for (const collectives::PieceId piece : message.pieces) {
      const BitRow copy = state_.copy(message.from, piece);
      if (is_empty(copy)) return fmt::format("reads piece {}, which its sender never got", piece);
      messages_[m].carried.emplace_back(copy.begin(), copy.end());
    }
    return {};
  }

  std::string write(std::uint32_t m) {
    const Message& message = exchange_.messages[m];
    for (std::size_t i = 0; i < message.pieces.size(); ++i) {
      const collectives::PieceId piece = message.pieces[i];
      const ConstBitRow carried = messages_[m].carried[i];
      const BitRow copy = state_.copy(message.to, piece);
      if (message.combine == collectives::Combine::kCopy) {
        std::ranges::copy(carried, copy.begin());
        continue;
      }
      if (is_empty(copy) && message.to < exchange_.ranks) return fmt::format("reduces piece {} onto nothing", piece);
      if (intersects(copy, carried)) return fmt::format("counts a contribution to piece {} twice", piece);
      add_all(copy, carried);
    }
    messages_[m].carried.clear();
    return {};
  }

  const Exchange& exchange_;
  std::mt19937_64 random_;
  SymbolicState state_;
  std::vector<Progress> messages_;
  std::vector<std::uint32_t> ready_;
};

}  // namespace

std::string replay(const Exchange& exchange, std::uint64_t seed) { return Replay(exchange, seed).run(); }

std::string describe(const Exchange& exchange, std::uint32_t message) {
  const Message& m = exchange.messages[message];
  return fmt::format("message {} ({} -> {})", message, m.from, m.to);
}

}  // namespace orrery
