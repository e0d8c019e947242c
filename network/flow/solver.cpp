// SPDX-License-Identifier: MIT
#include "network/flow/solver.h"

#include <algorithm>
#include <limits>

#include "core/assert.h"
#include "network/network.h"

namespace orrery::network {
namespace {

std::int64_t rate_of(std::uint64_t weight, std::int64_t rate) { return rate * static_cast<std::int64_t>(weight); }

}  // namespace

void FlowSolver::leave(std::uint32_t flow) {
  for (const FlowCrossing& crossing : graph_.flow(flow).crossings) left_.push_back(crossing.link);
}

void FlowSolver::forget() {
  joined_.clear();
  left_.clear();
}

void FlowSolver::solve() {
  if (joined_.empty() && left_.empty()) return;
  open_.resize(graph_.rates().size());
  for (const std::uint32_t flow : joined_) admit(flow);
  for (const std::uint32_t flow : joined_)
    for (const FlowCrossing& crossing : graph_.route(flow)) {
      const FlowLink& link = graph_.link(crossing.link);
      push(crossing.link, link.bound > 0 ? std::min(earliest(link), link.level) : earliest(link));
    }
  for (const std::uint32_t link : left_)
    if (graph_.link(link).bound > 0) wake(link);
  forget();
  while (!heap_.empty()) {
    const std::int64_t rate = heap_.front().rate;
    held_.clear();
    full_.clear();
    while (!heap_.empty() && heap_.front().rate == rate) look_at_first(rate);
    for (const std::uint32_t link : held_) stop_held(link, rate);
    for (const std::uint32_t link : full_) stop_users(link, rate);
  }
  for (const std::uint32_t link : entered_) graph_.link(link).state = kHolding;
  entered_.clear();
}

void FlowSolver::solve_alone(std::uint32_t index) {
  const Flow& flow = graph_.flow(index);
  std::int64_t rate = kUnrated;
  const FlowCrossing* bottleneck = &flow.crossings.front();
  for (const FlowCrossing& crossing : flow.crossings) {
    const std::int64_t most = fill_rate(graph_.link(crossing.link).bandwidth.count(), crossing.weight);
    if (most >= rate) continue;
    rate = most;
    bottleneck = &crossing;
  }
  for (const FlowCrossing& crossing : flow.crossings) graph_.link(crossing.link).left -= rate_of(crossing.weight, rate);
  graph_.set_rate(index, rate);
  ends_.set_level(bottleneck->link, rate);
  ends_.bind(index, bottleneck->link, bottleneck->weight);
}

void FlowSolver::enter(FlowLink& link, std::uint32_t index, State state) {
  if (link.state == kHolding) entered_.push_back(index);
  link.state = state;
}

// A new flow rises on its links, beside those that they hold.
void FlowSolver::admit(std::uint32_t index) {
  open_[index] = kReleased;
  for (const FlowCrossing& crossing : graph_.route(index)) {
    FlowLink& link = graph_.link(crossing.link);
    if (link.state == kHolding) {
      enter(link, crossing.link, link.bound > 0 ? kWoken : kRising);
      link.filling = link.bound;
    }
    link.filling += crossing.weight;
  }
}

// The level below which a link cannot fill that rises, or that goes on to hold what it holds beside new flows. Flows
// may count among those that fill it which have that rate already: so a byte per second less for each of them.
std::int64_t FlowSolver::earliest(const FlowLink& link) {
  const std::int64_t left = link.left + rate_of(link.bound, link.level);
  const auto others = static_cast<std::int64_t>(link.weight - link.filling);
  return left < others ? 1 : fill_rate(left - others, link.filling);
}

// At the level at which it holds flows.
void FlowSolver::wake(std::uint32_t index) {
  FlowLink& link = graph_.link(index);
  if (link.state == kHolding) enter(link, index, kWoken);
  push(index, link.level);
}

// Everything of this level before any flow stops at it: so it does not matter in which order. The entry stays in front
// meanwhile, since nothing is pushed below this level.
void FlowSolver::look_at_first(std::int64_t rate) {
  const std::uint32_t index = heap_.front().link;
  FlowLink& link = graph_.link(index);
  if (link.key == rate) {  // else it was looked at earlier
    link.key = look(index, rate);
    if (link.key != kUnrated) return sift_down(0, {link.key, index});
  }
  const Entry last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last);
}

// When to look at the link again; kUnrated if not. Stopping flows at a rate at which a link is not yet full never makes
// it fill earlier.
std::int64_t FlowSolver::look(std::uint32_t index, std::int64_t rate) {
  FlowLink& link = graph_.link(index);
  if (link.state == kHolding) {
    held_.push_back(index);
    return kUnrated;
  }
  if (link.state == kRising) {
    if (link.filling == 0) return kUnrated;
    if (const std::int64_t next = earliest(link); next > rate) return next;
  }
  if (link.state != kFilling) fill(index, rate);
  if (link.filling == 0) return kUnrated;
  const std::int64_t next = fill_rate(link.left, link.filling);
  ORRERY_ASSERT(next >= rate);
  if (next == rate) {
    full_.push_back(index);
    return kUnrated;
  }
  if (link.bound == 0 || link.level < rate) return next;
  if (link.level > rate) return std::min(next, link.level);
  release_bound(index, rate);
  return next;
}

// Opens the flows of at least this rate, and finds what the others leave of the link. Which flows these are is
// anybody's guess: so nothing branches on it.
void FlowSolver::fill(std::uint32_t index, std::int64_t rate) {
  FlowLink& link = graph_.link(index);
  enter(link, index, kFilling);
  const std::span<const std::int64_t> rates = graph_.rates();
  const std::span<std::uint8_t> open = open_;
  std::int64_t kept = 0;
  std::uint64_t filling = 0;
  const std::size_t found = find(link, [&kept, &filling, rates, open, rate](const FlowLink::User& user) {
    const std::uint8_t was_open = open[user.flow];
    const auto is_slow = static_cast<std::uint8_t>(rates[user.flow] < rate ? 1 : 0);
    const auto is_closed = static_cast<std::uint8_t>(is_slow & static_cast<std::uint8_t>(was_open == kStopped ? 1 : 0));
    kept += rates[user.flow] * static_cast<std::int64_t>(user.weight * is_closed);
    filling += user.weight * (1U - is_closed);
    const auto is_open = static_cast<std::uint8_t>(was_open | (1U - is_closed));
    open[user.flow] = is_open;
    return was_open == is_open ? 0U : 1U;
  });
  link.left = link.bandwidth.count() - kept;
  link.filling = filling;
  for (std::size_t i = 0; i < found; ++i) {
    const std::uint32_t bottleneck = graph_.bottleneck(found_[i]);
    const FlowLink& holder = graph_.link(bottleneck);
    if ((holder.state != kFilling) & (holder.key > holder.level)) push(bottleneck, holder.level);
  }
}

// Puts the users into found_ for which `takes` is 1, not 0; how many there are.
template <class Takes>
std::size_t FlowSolver::find(const FlowLink& link, const Takes& takes) {
  if (found_.size() < link.users.size()) found_.resize(link.users.size());
  const std::span<std::uint32_t> found = found_;
  std::size_t count = 0;
  for (const FlowLink::User& user : link.users) {
    found[count] = user.flow;
    count += takes(user);
  }
  return count;
}

// The link does not stop the flows that have it as their bottleneck where it did: other links may.
void FlowSolver::release_bound(std::uint32_t index, std::int64_t rate) {
  const std::size_t found = find_bound(index);
  for (std::size_t i = 0; i < found; ++i) {
    open_[found_[i]] = kReleased;
    for (const FlowCrossing& crossing : graph_.route(found_[i])) {
      FlowLink& link = graph_.link(crossing.link);
      if (link.state == kFilling) continue;
      if (link.bound > 0 || link.state == kWoken) {
        enter(link, crossing.link, kWoken);
        push(crossing.link, rate);
        continue;
      }
      if (link.state == kHolding) link.filling = 0;
      enter(link, crossing.link, kRising);
      link.left += rate_of(crossing.weight, rate);
      link.filling += crossing.weight;
      push(crossing.link, std::max(rate, earliest(link)));
    }
  }
}

// Collects the flows to be stopped that have the link as their bottleneck.
std::size_t FlowSolver::find_bound(std::uint32_t index) {
  const std::span<const std::uint8_t> open = open_;
  const std::span<const std::uint32_t> bottlenecks = graph_.bottlenecks();
  return find(graph_.link(index), [open, bottlenecks, index](const FlowLink::User& user) {
    return (open[user.flow] != kStopped ? 1U : 0U) & (bottlenecks[user.flow] == index ? 1U : 0U);
  });
}

void FlowSolver::stop_users(std::uint32_t index, std::int64_t rate) {
  const FlowLink& link = graph_.link(index);
  if (link.bound == 0 || link.level != rate) ends_.set_level(index, rate);
  const std::span<const std::uint8_t> open = open_;
  stop_found(find(link, [open](const FlowLink::User& user) { return open[user.flow] != kStopped ? 1U : 0U; }), rate,
             index);
}

// The link goes on as before; flows of it that are on other links which fill stop there as well.
void FlowSolver::stop_held(std::uint32_t index, std::int64_t rate) {
  if (graph_.link(index).state == kHolding) stop_found(find_bound(index), rate, index);  // else it was woken after all
}

// Stops the first of found_. On a link that fills, or on which the flow rises, it was not counted; elsewhere it was.
void FlowSolver::stop_found(std::size_t count, std::int64_t rate, std::uint32_t at) {
  const std::span<std::uint8_t> open = open_;
  const std::span<const std::int64_t> rates = graph_.rates();
  const std::span<const std::span<const FlowCrossing>> routes = graph_.routes();
  const std::span<FlowLink> links = graph_.links();
  for (const std::uint32_t flow : std::span(found_).first(count)) {
    const unsigned rises = open[flow] == kReleased ? 1 : 0;
    open[flow] = kStopped;
    const std::int64_t before = rates[flow] == kUnrated ? 0 : rates[flow];
    for (const FlowCrossing& crossing : routes[flow]) {
      FlowLink& link = links[crossing.link];
      const unsigned is_new = (link.state == kFilling ? 1U : 0U) | (rises & (link.state == kRising ? 1U : 0U));
      link.left -= rate_of(crossing.weight, rate - before * static_cast<std::int64_t>(1 - is_new));
      link.filling -= crossing.weight * is_new;
      const bool is_less = rate < before;
      if (is_less & (is_new == 0) & (link.bound > 0)) wake(crossing.link);
    }
    graph_.set_rate(flow, rate);
    if (graph_.bottleneck(flow) == at) continue;
    ends_.bind(flow, at, std::ranges::find(graph_.route(flow), at, &FlowCrossing::link)->weight);
  }
}

void FlowSolver::push(std::uint32_t index, std::int64_t rate) {
  FlowLink& link = graph_.link(index);
  if (link.key <= rate) return;
  link.key = rate;
  std::size_t hole = heap_.size();
  heap_.push_back({rate, index});
  for (; hole > 0 && rate < heap_[(hole - 1) / 2].rate; hole = (hole - 1) / 2) heap_[hole] = heap_[(hole - 1) / 2];
  heap_[hole] = {rate, index};
}

// Puts `entry` where it belongs at or below `hole`.
void FlowSolver::sift_down(std::size_t hole, Entry entry) {
  for (std::size_t child = 2 * hole + 1; child < heap_.size(); child = 2 * hole + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1].rate < heap_[child].rate) ++child;
    if (heap_[child].rate >= entry.rate) break;
    heap_[hole] = heap_[child];
    hole = child;
  }
  heap_[hole] = entry;
}

}  // namespace orrery::network
