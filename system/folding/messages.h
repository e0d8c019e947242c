// SPDX-License-Identifier: MIT
// A message stands for all of its class, and takes of one link of each class what all of them together take of every
// such link.
//
// A message class goes from one seat of a home communicator to one other (or to itself), with some of the sender's
// sends and some of the receiver's receives: those that its messages are at one sender and at one receiver.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "network/network.h"
#include "system/folding/actors.h"
#include "system/folding/symmetry.h"
#include "system/plans/line_traffic.h"

namespace orrery::system {

// All messages of one class. Of a collective: with sends of the sender's program, the seat of the receiver, and slots
// of its program. Of sends to a peer: with peer slots of the sender, the receiver's agent, and peer slots there.
struct MessageClass {
  std::uint32_t sender = 0;          // of a collective: seat
  std::uint32_t round = 0;           // of a complete exchange
  std::vector<std::uint32_t> sends;  // ascending; the first starts the message for all
  std::uint32_t receiver = 0;
  std::vector<std::uint32_t> slots;
  bool is_uniform_ring = false;  // of every step: sends and slots are that of the step instead
  std::vector<network::LinkShare> shares;
  Duration latency{};
  network::PathId path{};
  std::uint64_t count = 0;                     // messages; 0: not in use
  Symmetry::Vertex one = Symmetry::kNotInUse;  // of them; of a complete exchange the line
  const MessageClass* before = nullptr;        // of a collective, while a split goes on: what it was part of
};

// All lines of one class, at granularity `phase`.
struct LineClass {
  std::vector<std::uint32_t> seats;
  std::vector<network::LinkLoad> loads;  // with copies
  network::PathId path{};                // of these
  std::uint64_t count = 1;
  Symmetry::Vertex one = Symmetry::kNotInUse;  // of them
};

// True if the message's class or that of a link on its way has changed.
bool has_changed(const MessageClass& message, const Symmetry& symmetry);
bool has_changed(const LineClass& line, const Symmetry& symmetry);

// The links that act for those that the messages of a class cross.
class FoldedRoutes {
 public:
  // All outlive it.
  FoldedRoutes(const Symmetry& symmetry, const Actors& actors, network::Network& network)
      : symmetry_(symmetry), actors_(actors), network_(network) {}

  // The route of one of the messages, for all of them.
  void take(MessageClass& message, DeviceId from, DeviceId to) const;
  // Sets what one of the lines puts on links.
  void take(LineClass& line, const LineTraffic& traffic) const;

 private:
  template <class Share>
  std::vector<Share> folded(std::vector<Share> shares, std::uint64_t count) const;

  const Symmetry& symmetry_;
  const Actors& actors_;
  network::Network& network_;
};

}  // namespace orrery::system
