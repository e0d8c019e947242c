// SPDX-License-Identifier: MIT
// A collective algorithm as a file gives it: what each rank does, and what comes first. A reader of a format makes it;
// check.h says whether it is one, message_table.h makes the programs that are simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/oracle/exchange.h"
#include "collectives/step.h"
#include "core/collective_kind.h"
#include "core/error.h"

namespace orrery::collectives {

struct Action {
  enum class Kind : std::uint8_t { kSend, kReceive, kLocal };
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  Kind kind = Kind::kLocal;
  Combine combine = Combine::kCopy;  // what a receive, or a local action, does with the places that it writes
  std::uint32_t peer = 0;            // of a message; never the rank itself
  std::uint64_t channel = 0;         // the k-th send of a channel between two ranks meets the k-th receive
  std::uint32_t count = 1;           // chunks
  std::uint64_t weight = 1;          // of each, see WrittenCollective::whole
  // The first of `count` places (Buffers) that are read, by a send or locally, and that are written, by a receive or
  // locally; kNowhere where the file does not say, and of a local action that only has others wait.
  std::uint32_t from = kNowhere;
  std::uint32_t to = kNowhere;
  std::vector<std::uint32_t> after;  // actions of the same rank: sent, arrived, done before this one begins
  int line = 0;                      // of the file; 0 where it has none
  std::string name;                  // for messages: "gpu 0, tb 1, step 2"
};

struct WrittenCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::uint32_t ranks = 0;
  std::uint32_t root = 0;
  // Weight of Request::bytes: a message takes count * ceil(weight * bytes / whole) bytes.
  std::uint64_t whole = 1;
  std::uint64_t chunks = 1;                    // piece_kinds() of the collective, with `buffers`
  std::optional<Buffers> buffers{};            // nothing where the file does not say what messages carry
  std::vector<std::vector<Action>> actions{};  // by rank
  std::vector<std::string> files{};            // by rank, or one for all

  const std::string& file_of(std::uint32_t rank) const { return files.size() == 1 ? files.front() : files[rank]; }
  Location where(std::uint32_t rank, std::uint32_t action) const {
    return {file_of(rank), actions[rank][action].line, 0};
  }
};

}  // namespace orrery::collectives
