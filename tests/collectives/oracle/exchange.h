// SPDX-License-Identifier: MIT
// A schedule written out: every message of every rank in one list. Only small groups are ever written out, to check
// what a schedule means (oracle.h).
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedule.h"
#include "core/collective_kind.h"

namespace orrery {

struct Message {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::vector<collectives::PieceId> pieces;
  collectives::Combine combine = collectives::Combine::kCopy;
  // Indices of messages that come first: those the sender receives must have arrived, those it sends be released.
  std::vector<std::uint32_t> after;
};

struct Exchange {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::uint32_t ranks = 1;
  std::uint32_t root = 0;
  collectives::PieceId piece_kinds = 1;  // piece ids are below this; Schedule::pieces() says what they stand for
  std::vector<Message> messages;
  // Behind the ranks, as senders and receivers of messages: they have no data of their own, and add up what they get.
  std::uint32_t switches = 0;
};

// Asserts that each receive slot is filled by exactly one send.
Exchange expand(const collectives::Schedule& schedule);

}  // namespace orrery
