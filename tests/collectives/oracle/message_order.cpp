// SPDX-License-Identifier: MIT
#include "tests/collectives/oracle/message_order.h"

#include <cstddef>

namespace orrery {

std::vector<std::uint32_t> dependency_order(const Exchange& exchange) {
  const std::size_t count = exchange.messages.size();
  std::vector<std::size_t> waiting_for(count);
  std::vector<std::vector<std::uint32_t>> unblocks(count);
  std::vector<std::uint32_t> order;
  for (std::uint32_t m = 0; m < count; ++m) {
    waiting_for[m] = exchange.messages[m].after.size();
    if (waiting_for[m] == 0) order.push_back(m);
    for (const std::uint32_t earlier : exchange.messages[m].after) unblocks[earlier].push_back(m);
  }
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::uint32_t next : unblocks[order[i]])
      if (--waiting_for[next] == 0) order.push_back(next);
  return order;
}

MessageOrder::MessageOrder(const Exchange& exchange, const std::vector<std::uint32_t>& order)
    : released_(exchange.messages.size(), exchange.messages.size()),
      arrived_(exchange.messages.size(), exchange.messages.size()) {
  // The latest dependency first, since it often implies the others.
  for (const std::uint32_t m : order) {
    const std::vector<std::uint32_t>& after = exchange.messages[m].after;
    for (auto earlier = after.rbegin(); earlier != after.rend(); ++earlier) add_dependency(exchange, *earlier, m);
  }
}

void MessageOrder::add_dependency(const Exchange& exchange, std::uint32_t first, std::uint32_t second) {
  const bool is_receive = exchange.messages[first].to == exchange.messages[second].from;
  if (is_receive ? arrived_before(first, second) : released_before(first, second)) return;
  insert(released_.row(second), first);
  if (is_receive) insert(arrived_.row(second), first);
  if (exchange.messages[first].after.empty()) return;
  add_all(released_.row(second), released_.row(first));
  add_all(arrived_.row(second), arrived_.row(first));
}

}  // namespace orrery
