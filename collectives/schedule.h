// SPDX-License-Identifier: MIT
// A collective as data: for every rank of the group a program of sends, computed when asked for and never stored, so
// that a ring of 16,384 ranks costs no memory.
//
// A rank runs its program like this. Send i may start when all receives in `needs` have arrived and been combined, and
// the last byte of send `after_send` has left. The rank is through when all its sends are released (last byte left) and
// all its receives have arrived. A send on a link of bandwidth B and latency L is released bytes/B after its start and
// arrives L later. Sends start in order, and what a receive adds is in none of those before the first that needs it.
//
// A program that a file gives (message_table.h) has several lanes of sends instead, beside one another, may wait for
// more than `needs` and `after_send` say, and adds at once.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/layout.h"
#include "collectives/request.h"
#include "collectives/step.h"
#include "core/units.h"

namespace orrery::collectives {

struct Algorithm;
struct Program;

class Schedule {
 public:
  std::uint32_t ranks() const { return layout_.ranks; }
  const Request& request() const { return request_; }

  // Number of messages that `rank` sends, and that it receives. No messages at all in a group of one.
  std::uint32_t sends(std::uint32_t rank) const;
  std::uint32_t receives(std::uint32_t rank) const;

  // The index-th send of `rank`, index < sends(rank): arithmetic, no allocation, no loop over ranks.
  Step step(std::uint32_t rank, std::uint32_t index) const;

  // The table that the programs are in; null for those of an algorithm.
  const MessageTable* table() const { return layout_.table; }

  // All sends of all ranks are alike: as many from each, of the same bytes, to the rank's one successor; all ranks are
  // on one ring of successors; send i waits for the release of send i-1 and passes on receive i-1, which was send i-1
  // there. So what holds for one step holds for all.
  bool is_uniform_ring() const;

  // All ranks send and receive as often, and in step i all send as much, at least a byte, as soon as receive i-1 is
  // there. So ranks that begin together stay together, whatever it is that they send over, if it is alike.
  bool is_lockstep() const;

  // Every one of three or more ranks sends as much to every other, in rounds: send i of a round goes i + 1 ranks ahead
  // (or behind, throughout) and is receive i of the round there; a round starts when all of the ones before it have
  // arrived. So what goes from one rank to another follows from who these two are.
  bool is_complete_exchange() const;

  // Switches on the way add up what ranks send and copy what they receive. All ranks begin together and end together; a
  // link carries what its messages share once, and every receiver has the sum of all that was sent.
  bool is_in_network() const;

  // Pieces that this send carries, each once, for checking the meaning; simulation never asks, and a table does not
  // say. In all_gather, gather, scatter, reduce_scatter and barrier piece p is the contribution or the result of rank
  // p; in all_to_all piece source * ranks + destination; elsewhere the p-th part of the buffer, cut into piece_kinds()
  // parts.
  std::vector<PieceId> pieces(std::uint32_t rank, std::uint32_t index) const;
  PieceId piece_kinds() const;

 private:
  friend Schedule make_schedule(const Algorithm&, Request);
  friend Schedule make_schedule(const MessageTable&, Request);
  Schedule(Request request, Layout layout, const Program& program);

  Request request_;
  Layout layout_;
  const Program* program_;  // of a constexpr table
};

// The schedule of `request` by `algorithm`, which must support its kind. Throws InputError when the sizes are so large
// that bytes of a message could pass 2^62. `root` and the number of `bytes_of_rank` must fit `ranks`.
Schedule make_schedule(const Algorithm& algorithm, Request request);
// Schedule by a table, which outlives it: its kind, ranks and root, and no sizes by rank.
Schedule make_schedule(const MessageTable& table, Request request);

}  // namespace orrery::collectives
