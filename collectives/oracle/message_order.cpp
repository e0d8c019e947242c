// SPDX-License-Identifier: MIT
#include "collectives/oracle/message_order.h"

#include <cstddef>

namespace orrery::collectives {

namespace {

bool arrives_at(const Exchange& exchange, std::uint32_t message, std::uint32_t rank) {
  return exchange.messages[message].to == rank;
}

// Predecessors of an event: calls `visit` with earlier events.
template <class Visit>
void for_each_earlier(const Exchange& exchange, std::uint32_t event, bool has_landings, Visit visit) {
  const auto count = static_cast<std::uint32_t>(exchange.messages.size());
  const bool is_landing = event >= count;
  const Message& message = exchange.messages[event % count];
  for (const std::uint32_t earlier : is_landing ? message.lands_after : message.after) {
    const bool lands = arrives_at(exchange, earlier, is_landing ? message.to : message.from);
    visit(lands && has_landings ? count + earlier : earlier);
  }
  if (is_landing) visit(event - count);
}

}  // namespace

std::size_t event_count(const Exchange& exchange) {
  return exchange.messages.size() * (exchange.has_landings() ? 2 : 1);
}

std::vector<std::uint32_t> dependency_order(const Exchange& exchange) {
  const bool has_landings = exchange.has_landings();
  const std::size_t count = event_count(exchange);
  std::vector<std::size_t> waiting_for(count);
  std::vector<std::vector<std::uint32_t>> unblocks(count);
  std::vector<std::uint32_t> order;
  for (std::uint32_t event = 0; event < count; ++event) {
    for_each_earlier(exchange, event, has_landings, [&](std::uint32_t earlier) {
      ++waiting_for[event];
      unblocks[earlier].push_back(event);
    });
    if (waiting_for[event] == 0) order.push_back(event);
  }
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::uint32_t next : unblocks[order[i]])
      if (--waiting_for[next] == 0) order.push_back(next);
  return order;
}

MessageOrder::MessageOrder(const Exchange& exchange, const std::vector<std::uint32_t>& order)
    : first_landing_(exchange.has_landings() ? exchange.messages.size() : 0),
      released_(event_count(exchange), exchange.messages.size()),
      arrived_(event_count(exchange), exchange.messages.size()) {
  const std::size_t count = exchange.messages.size();
  for (const std::uint32_t event : order) {
    const bool is_landing = event >= count;
    const Message& message = exchange.messages[event % count];
    if (is_landing) {
      add_all(released_.row(event), released_.row(event - count));
      add_all(arrived_.row(event), arrived_.row(event - count));
    }
    // The latest dependency first, since it often implies the others.
    const std::vector<std::uint32_t>& after = is_landing ? message.lands_after : message.after;
    for (auto earlier = after.rbegin(); earlier != after.rend(); ++earlier)
      add_dependency(exchange, *earlier, is_landing ? message.to : message.from, event);
  }
}

void MessageOrder::add_dependency(const Exchange& exchange, std::uint32_t first, std::uint32_t rank,
                                  std::size_t event) {
  const bool is_receive = arrives_at(exchange, first, rank);
  if (contains((is_receive ? arrived_ : released_).row(event), first)) return;
  insert(released_.row(event), first);
  if (is_receive) insert(arrived_.row(event), first);
  const std::size_t row = is_receive ? landing_of(first) : first;
  if (exchange.messages[first].after.empty() && exchange.messages[first].lands_after.empty()) return;
  add_all(released_.row(event), released_.row(row));
  add_all(arrived_.row(event), arrived_.row(row));
}

}  // namespace orrery::collectives
