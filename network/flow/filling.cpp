#include "network/flow/filling.h"

#include <limits>

#include "network/max_min.h"

namespace orrery {

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

}  // namespace orrery
