// SPDX-License-Identifier: MIT
// Which messages of an exchange are ordered by their dependencies, whatever the network does.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/collectives/oracle/bit_matrix.h"
#include "tests/collectives/oracle/exchange.h"

namespace orrery {

// Messages in an order in which each comes after those it depends on; shorter than the exchange if there is a cycle.
// Dependencies must be indices of messages.
std::vector<std::uint32_t> dependency_order(const Exchange& exchange);

class MessageOrder {
 public:
  // `order` as by dependency_order(), complete; every dependency is one of the sender's own messages.
  MessageOrder(const Exchange& exchange, const std::vector<std::uint32_t>& order);

  // Whether the last byte of `first` has left, or has arrived, before `second` starts.
  bool released_before(std::uint32_t first, std::uint32_t second) const {
    return contains(released_.row(second), first);
  }
  bool arrived_before(std::uint32_t first, std::uint32_t second) const {
    return contains(arrived_.row(second), first);
  }

 private:
  // What precedes `first` precedes `second` too; `first` is complete.
  void add_dependency(const Exchange& exchange, std::uint32_t first, std::uint32_t second);

  BitMatrix released_;  // [second] = the set of first
  BitMatrix arrived_;
};

}  // namespace orrery
