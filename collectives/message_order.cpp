#include "collectives/message_order.h"

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
  for (const std::uint32_t m : order)
    for (const std::uint32_t earlier : exchange.messages[m].after) {
      add_all(released_.row(m), released_.row(earlier));
      add_all(arrived_.row(m), arrived_.row(earlier));
      insert(released_.row(m), earlier);
      if (exchange.messages[earlier].to == exchange.messages[m].from) insert(arrived_.row(m), earlier);
    }
}

}  // namespace orrery
