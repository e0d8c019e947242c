// SPDX-License-Identifier: MIT
// A schedule written out: every message of every rank in one list. Only small groups are ever written out, to check
// what a schedule means (oracle.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/schedule.h"
#include "core/collective_kind.h"

namespace orrery::collectives {

// Buffers of a rank that keeps more than one copy of every piece: places, each with a piece of an input, an output and
// a scratch buffer. An all-gather's input in place is its own part of the output, a reduce-scatter's output its own
// part of the input; elsewhere the two are one.
struct Buffers {
  enum class Kind : std::uint8_t { kInput, kOutput, kScratch };

  std::uint32_t input = 0;  // places of each
  std::uint32_t output = 0;
  std::uint32_t scratch = 0;
  bool in_place = false;
  std::uint32_t share = 1;  // pieces of what Schedule::pieces() calls one where it counts by ranks

  std::uint32_t places() const { return scratch_begin() + scratch; }
  std::uint32_t scratch_begin() const { return in_place ? std::max(input, output) : input + output; }
};

struct Message {
  std::uint32_t from = 0;
  std::uint32_t to = 0;         // with buffers it may be the sender: data that it moves, or adds up
  std::vector<PieceId> pieces;  // with buffers: places of the sender
  Combine combine = Combine::kCopy;
  // Indices of messages that come first: those the sender receives must have arrived, those it sends be released.
  std::vector<std::uint32_t> after;
  std::vector<PieceId> places{};  // of the receiver, with buffers
  // Indices of messages that come before this one lands, where the receiver takes it in only then.
  std::vector<std::uint32_t> lands_after{};
};

struct Exchange {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::uint32_t ranks = 1;
  std::uint32_t root = 0;
  PieceId piece_kinds = 1;  // piece ids are below this; Schedule::pieces() says what they stand for
  std::vector<Message> messages;
  // Behind the ranks, as senders and receivers of messages: they have no data of their own, and add up what they get.
  std::uint32_t switches = 0;
  std::optional<Buffers> buffers{};
  std::function<std::string(std::uint32_t message)> name_of{};  // for reasons; empty: "message 7 (2 -> 3)"

  // Number of a rank's places, or of its copies of pieces.
  PieceId places() const { return buffers ? buffers->places() : piece_kinds; }
  const std::vector<PieceId>& places_of(const Message& message) const {
    return buffers ? message.places : message.pieces;
  }
  bool has_landings() const {
    return std::ranges::any_of(messages, [](const Message& message) { return !message.lands_after.empty(); });
  }
};

// Asserts that each receive slot is filled by exactly one send.
Exchange expand(const Schedule& schedule);

}  // namespace orrery::collectives
