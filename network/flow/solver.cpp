// SPDX-License-Identifier: MIT
#include "network/flow/solver.h"

#include <algorithm>
#include <limits>

#include "core/assert.h"
#include "network/network.h"

namespace orrery::network {
namespace {

// How often the concerned links are extended one by one, and what part of all flows may be on them. After that, all
// that can be reached are solved.
constexpr int kRounds = 8;
constexpr std::size_t kMostNear = 4;
// Where that was in vain, up to so many of the next solves do not try.
constexpr std::uint32_t kMostFarSolves = 31;
// How often the rate at which a link fills is brought closer, from below. Any lower rate is safe, it only costs time.
constexpr int kFillingSteps = 16;

}  // namespace

void FlowFilling::clear() {
  links_.clear();
  mark_ = graph_.new_mark();
}

bool FlowFilling::reach(std::uint32_t index) {
  FlowLink& link = graph_.link(index);
  if (link.mark == mark_) return false;
  link.mark = mark_;
  links_.push_back(index);
  return true;
}

void FlowFilling::fill(std::int64_t level, bool far) {
  flows_.clear();
  stops_.clear();
  heap_.clear();
  held_mark_ = graph_.new_mark();
  fills_.resize(graph_.rates().size());
  for (std::size_t next = 0; next < links_.size(); ++next) collect(links_[next], level, far);
  for (std::size_t i = heap_.size() / 2; i-- > 0;) sift_down(i, heap_[i]);
  while (!heap_.empty()) {
    const std::int64_t rate = take_full_links();
    for (const std::uint32_t link : full_) stop_users(link, rate);
  }
}

// Finds the flows to fill a link with and what the others leave of it. Which flows these are is anybody's guess: so
// nothing branches on it.
void FlowFilling::collect(std::uint32_t index, std::int64_t level, bool far) {
  FlowLink& link = graph_.link(index);
  found_.resize(link.users.size());
  const std::span<const std::int64_t> rates = graph_.rates();
  const std::span<std::uint8_t> fills = fills_;
  const std::span<std::uint32_t> fresh = found_;
  std::size_t found = 0;
  std::int64_t kept = 0;
  std::uint64_t filling = 0;
  for (const FlowLink::User& user : link.users) {
    const std::int64_t rate = rates[user.flow];
    const unsigned is_slow = rate < level ? 1 : 0;
    kept += rate * static_cast<std::int64_t>(user.weight * is_slow);
    filling += user.weight * (1 - is_slow);
    fresh[found] = user.flow;
    found += (1 - is_slow) & (1U - fills[user.flow]);
    fills[user.flow] = static_cast<std::uint8_t>(1 - is_slow);
  }
  link.left = link.bandwidth.count() - kept;
  link.filling = filling;
  for (std::size_t i = 0; i < found; ++i) {
    const Flow& flow = graph_.flow(found_[i]);
    if (far)
      for (const FlowCrossing& crossing : flow.crossings) reach(crossing.link);
    else if (flow.bottleneck != kNoIndex)
      hold(flow.bottleneck);
  }
  if (filling > 0) heap_.push_back({fill_rate(link.left, filling), index});
}

// A flow whose bottleneck is not in goes no faster than that lets it.
void FlowFilling::hold(std::uint32_t index) {
  FlowLink& link = graph_.link(index);
  if (reached(link) || link.held_mark == held_mark_) return;
  link.held_mark = held_mark_;
  heap_.push_back({link.level, index});
}

// 0 if nobody is left to fill it.
std::int64_t FlowFilling::filling_rate(const Entry& entry) {
  const FlowLink& link = graph_.link(entry.link);
  if (!reached(link)) return link.level;
  return link.filling == 0 ? 0 : fill_rate(link.left, link.filling);
}

// Takes out all links that fill at the least rate, before any flow on them stops, and returns that rate. Stopping flows
// at a rate at which a link is not yet full never makes it fill earlier.
std::int64_t FlowFilling::take_full_links() {
  full_.clear();
  std::int64_t rate = std::numeric_limits<std::int64_t>::max();
  while (!heap_.empty() && heap_.front().rate <= rate) {
    const Entry first = heap_.front();
    const std::int64_t now = filling_rate(first);
    if (now > first.rate) {
      sift_down(0, {now, first.link});
      continue;
    }
    if (now == first.rate) {
      rate = now;
      full_.push_back(first.link);
    }
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0, last);
  }
  return rate;
}

void FlowFilling::stop_users(std::uint32_t index, std::int64_t rate) {
  FlowLink& link = graph_.link(index);
  const bool only_held = !reached(link);
  const std::size_t first = flows_.size();
  flows_.resize(first + link.users.size());
  const std::span<std::uint32_t> flows = flows_;
  const std::span<const std::uint8_t> fills = fills_;
  std::size_t end = first;
  for (const FlowLink::User& user : link.users) {
    flows[end] = user.flow;
    end += only_held && graph_.flow(user.flow).bottleneck != index ? 0U : fills[user.flow];
  }
  flows_.resize(end);
  for (std::size_t i = first; i < end; ++i) stop(flows_[i], rate, index);
  stops_.push_back({index, static_cast<std::uint32_t>(end), rate});
  if (only_held) return;
  link.left -= rate * static_cast<std::int64_t>(link.filling);
  link.filling = 0;
}

// Leaves out `at`, where all flows stop at once.
void FlowFilling::stop(std::uint32_t flow, std::int64_t rate, std::uint32_t at) {
  fills_[flow] = 0;
  for (const FlowCrossing& crossing : graph_.flow(flow).crossings) {
    FlowLink& link = graph_.link(crossing.link);
    if (crossing.link == at || !reached(link)) continue;
    link.left -= rate * static_cast<std::int64_t>(crossing.weight);
    link.filling -= crossing.weight;
  }
}

// Puts `entry` where it belongs at or below `hole`.
void FlowFilling::sift_down(std::size_t hole, Entry entry) {
  for (std::size_t child = 2 * hole + 1; child < heap_.size(); child = 2 * hole + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1].rate < heap_[child].rate) ++child;
    if (heap_[child].rate >= entry.rate) break;
    heap_[hole] = heap_[child];
    hole = child;
  }
  heap_[hole] = entry;
}

std::span<const std::uint32_t> FlowSolver::solve(std::span<const std::uint32_t> seeds, std::size_t flows, Time now) {
  changed_.clear();
  risen_.clear();
  const std::int64_t level = reach_concerned(seeds);
  if (filling_.links().empty()) return changed_;
  const bool near_first = far_solves_left_ == 0;
  if (!near_first) --far_solves_left_;
  bool far = !near_first;
  filling_.fill(level, far);
  for (int round = 1; !far && reach_further(); ++round) {
    far = round == kRounds || kMostNear * filling_.flows().size() > flows;
    filling_.fill(level, far);
  }
  if (near_first) {
    far_solves_ = far ? std::min(2 * far_solves_ + 1, kMostFarSolves) : far_solves_ / 2;
    far_solves_left_ = far_solves_;
  }
  apply(now);
  return changed_;
}

std::span<const std::uint32_t> FlowSolver::solve_all(std::span<const std::uint32_t> flows, Time now,
                                                     ReferenceSolver& reference) {
  const std::vector<ReferenceSolver::Share> shares = reference.solve(graph_, flows);
  for (std::size_t i = 0; i < flows.size(); ++i) set(flows[i], shares[i].rate, shares[i].bottleneck, now);
  return flows;
}

void FlowSolver::solve_alone(std::uint32_t index, Time now) {
  const Flow& flow = graph_.flow(index);
  std::int64_t rate = kUnrated;
  std::uint32_t bottleneck = flow.crossings.front().link;
  for (const FlowCrossing& crossing : flow.crossings) {
    const std::int64_t most = fill_rate(graph_.link(crossing.link).bandwidth.count(), crossing.weight);
    if (most >= rate) continue;
    rate = most;
    bottleneck = crossing.link;
  }
  set(index, rate, bottleneck, now);
}

// For a flow whose rate was found apart from filling_.
void FlowSolver::set(std::uint32_t index, std::int64_t rate, std::uint32_t bottleneck, Time now) {
  const std::int64_t before = graph_.rate(index);
  const std::int64_t change = before == kUnrated ? rate : rate - before;
  for (const FlowCrossing& crossing : graph_.flow(index).crossings)
    graph_.link(crossing.link).load += change * static_cast<std::int64_t>(crossing.weight);
  graph_.set_rate(index, rate, now);
  graph_.set_bottleneck(graph_.flow(index), bottleneck);
  graph_.link(bottleneck).level = rate;
}

// The links on which the change makes a difference, and the least rate at which it does.
std::int64_t FlowSolver::reach_concerned(std::span<const std::uint32_t> seeds) {
  filling_.clear();
  std::int64_t level = kUnrated;
  for (const std::uint32_t seed : seeds) {
    const FlowLink& link = graph_.link(seed);
    if (link.bound > 0) level = std::min(level, link.level);
    if (link.has_joined) level = std::min(level, filling_level(link));
    if (link.bound > 0 || link.has_joined) filling_.reach(seed);
  }
  return level;
}

// True if there are links that were not reached but are concerned; now they are reached. A link that holds nobody is
// not if there would be room even for 1 B/s more for everybody: then no floor can make it fill.
bool FlowSolver::reach_further() {
  risen_.clear();
  bool found = false;
  const std::uint64_t mark = graph_.new_mark();
  std::size_t i = 0;
  for (const FlowFilling::Stop& stop : filling_.stops()) {
    for (; i < stop.end; ++i) {
      const std::uint32_t flow = filling_.flows()[i];
      const std::int64_t before = graph_.rate(flow);
      if (before != stop.rate && before != kUnrated) found |= reach_beyond(flow, stop.rate - before, mark);
    }
  }
  return found;
}

// The same for the links of one flow whose rate changes.
bool FlowSolver::reach_beyond(std::uint32_t flow, std::int64_t change, std::uint64_t mark) {
  bool found = false;
  for (const FlowCrossing& crossing : graph_.flow(flow).crossings) {
    FlowLink& link = graph_.link(crossing.link);
    if (filling_.reached(link)) continue;
    if (link.rise_mark != mark) {
      link.rise_mark = mark;
      link.rise = 0;
      risen_.push_back(crossing.link);
    }
    link.rise += Int128{change} * static_cast<std::int64_t>(crossing.weight);
    const Int128 needed = link.load + link.rise + static_cast<std::int64_t>(link.weight);
    if (link.bound > 0 || needed > link.bandwidth.count()) found |= filling_.reach(crossing.link);
  }
  return found;
}

// Takes over what the last filling found. No link that holds a flow changes unless it was reached.
void FlowSolver::apply(Time now) {
  std::size_t i = 0;
  for (const FlowFilling::Stop& stop : filling_.stops()) {
    const bool reached = filling_.reached(graph_.link(stop.link));
    if (reached) graph_.link(stop.link).level = stop.rate;
    for (; i < stop.end; ++i) {
      const std::uint32_t flow = filling_.flows()[i];
      if (reached) graph_.set_bottleneck(graph_.flow(flow), stop.link);
      if (graph_.rate(flow) == stop.rate) continue;
      graph_.set_rate(flow, stop.rate, now);
      changed_.push_back(flow);
    }
  }
  for (const std::uint32_t link : filling_.links())
    graph_.link(link).load = graph_.link(link).bandwidth.count() - graph_.link(link).left;
  for (const std::uint32_t link : risen_)
    if (!filling_.reached(graph_.link(link)))
      graph_.link(link).load += static_cast<std::int64_t>(graph_.link(link).rise);
}

// The rate at which the link fills if the flows that were solved before stop at the rates they have: the least rate at
// which anything can change because of those that joined.
std::int64_t FlowSolver::filling_level(const FlowLink& link) const {
  std::int64_t level = 0;
  for (int step = 0; step < kFillingSteps; ++step) {
    std::int64_t left = link.bandwidth.count();
    std::uint64_t weight = 0;
    for (const FlowLink::User& user : link.users) {
      const std::int64_t rate = graph_.rate(user.flow);
      if (rate < level)
        left -= rate * static_cast<std::int64_t>(user.weight);
      else
        weight += user.weight;
    }
    ORRERY_ASSERT(weight > 0);
    const std::int64_t next = fill_rate(left, weight);
    if (next == level) break;
    level = next;
  }
  return level;
}

}  // namespace orrery::network
