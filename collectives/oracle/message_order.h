// SPDX-License-Identifier: MIT
// Order of an exchange's messages by their dependencies, whatever the network does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/oracle/bit_matrix.h"
#include "collectives/oracle/exchange.h"

namespace orrery::collectives {

// Number of events: the start of each message and, if some wait to land, their landing; that of message m has number
// messages + m.
std::size_t event_count(const Exchange& exchange);

// Events in an order in which each comes after those it depends on; shorter than event_count() if there is a cycle.
// Dependencies must be indices of messages.
std::vector<std::uint32_t> dependency_order(const Exchange& exchange);

class MessageOrder {
 public:
  // `order` as by dependency_order(), complete; every dependency is one of the sender's own messages.
  MessageOrder(const Exchange& exchange, const std::vector<std::uint32_t>& order);

  // True if the last byte of `first` has left, or has arrived, before `second` starts.
  bool released_before(std::uint32_t first, std::uint32_t second) const {
    return contains(released_.row(second), first);
  }
  bool arrived_before(std::uint32_t first, std::uint32_t second) const { return contains(arrived_.row(second), first); }
  // Tells whether `first` is released before `second` lands.
  bool released_before_landing(std::uint32_t first, std::uint32_t second) const {
    return contains(released_.row(landing_of(second)), first);
  }
  bool arrived_before_landing(std::uint32_t first, std::uint32_t second) const {
    return contains(arrived_.row(landing_of(second)), first);
  }

 private:
  // Makes the predecessors of `first`, which is complete, predecessors of the event.
  void add_dependency(const Exchange& exchange, std::uint32_t first, std::uint32_t rank, std::size_t event);
  std::size_t landing_of(std::uint32_t message) const { return first_landing_ + message; }

  std::size_t first_landing_;  // 0: those of the starts
  BitMatrix released_;         // [event] = the set of first
  BitMatrix arrived_;
};

}  // namespace orrery::collectives
