// SPDX-License-Identifier: MIT
#include "network/flow/ends.h"

#include <algorithm>
#include <limits>

#include "core/assert.h"

namespace orrery::network {

void FlowEnds::set_level(std::uint32_t index, std::int64_t level) {
  FlowLink& link = graph_.link(index);
  if (link.bound > 0) link.sent = clock(link);
  link.since = engine_.now();
  link.level = level;
  change(index);
}

void FlowEnds::bind(std::uint32_t index, std::uint32_t to, std::uint64_t weight) {
  Flow& flow = graph_.flow(index);
  if (graph_.bottleneck(index) != kNoIndex) unbind(index);
  FlowLink& link = graph_.link(to);
  flow.end += clock(link);
  if (link.bound == 0 || (link.knows_next && flow.end < link.next)) {
    link.next = flow.end;
    link.knows_next = true;
  }
  link.bound += weight;
  flow.bound = weight;
  graph_.set_bottleneck(index, to);
  change(to);
}

void FlowEnds::unbind(std::uint32_t index) {
  Flow& flow = graph_.flow(index);
  const std::uint32_t bottleneck = graph_.bottleneck(index);
  FlowLink& link = graph_.link(bottleneck);
  if (flow.end == link.next) link.knows_next = false;
  link.bound -= flow.bound;
  change(bottleneck);
  flow.end -= clock(link);
  graph_.set_bottleneck(index, kNoIndex);
}

void FlowEnds::collect(std::vector<std::uint32_t>& ended) {
  due_ = Time::max();
  while (!ends_.empty() && ends_.front().time <= engine_.now()) {
    const std::uint32_t index = ends_.front().link;
    const Int128 now = clock(graph_.link(index));
    for (const FlowLink::User& user : graph_.link(index).users)
      if (graph_.bottleneck(user.flow) == index && graph_.flow(user.flow).end <= now) ended.push_back(user.flow);
    take_out(index);
    change(index);
  }
}

void FlowEnds::settle() {
  for (const std::uint32_t index : changed_) {
    FlowLink& link = graph_.link(index);
    link.is_changed = false;
    if (link.bound == 0) {
      take_out(index);
      continue;
    }
    if (!link.knows_next) find_next(index);
    place(index, time_of_next(link));
  }
  changed_.clear();
  if (!ends_.empty() && ends_.front().time == due_ && due_ != Time::max()) return;
  if (due_ != Time::max()) engine_.cancel(event_);
  due_ = Time::max();
  if (ends_.empty()) return;
  event_ = engine_.after(ends_.front().time - engine_.now(), sink_, payload_);
  due_ = ends_.front().time;
}

void FlowEnds::change(std::uint32_t index) {
  FlowLink& link = graph_.link(index);
  if (link.is_changed) return;
  link.is_changed = true;
  changed_.push_back(index);
}

void FlowEnds::find_next(std::uint32_t index) {
  FlowLink& link = graph_.link(index);
  bool found = false;
  for (const FlowLink::User& user : link.users) {
    if (graph_.bottleneck(user.flow) != index) continue;
    const Int128 end = graph_.flow(user.flow).end;
    if (found && end >= link.next) continue;
    link.next = end;
    found = true;
  }
  ORRERY_ASSERT(found);
  link.knows_next = true;
}

// Time::max() if simulated time ends before.
Time FlowEnds::time_of_next(const FlowLink& link) const {
  const auto speed = static_cast<std::uint64_t>(link.level);
  const auto work = static_cast<unsigned __int128>(link.next - link.sent) + speed - 1;
  // Up to some megabytes need no 128-bit division.
  const bool is_short = work <= std::numeric_limits<std::uint64_t>::max();
  const unsigned __int128 picoseconds = is_short ? static_cast<std::uint64_t>(work) / speed : work / speed;
  const Duration most = Duration::max() - link.since.time_since_epoch();
  if (picoseconds >= static_cast<std::uint64_t>(most.count())) return Time::max();
  return link.since + Duration(static_cast<std::int64_t>(picoseconds));
}

void FlowEnds::place(std::uint32_t index, Time time) {
  std::size_t hole = graph_.link(index).place;
  if (hole == kNoIndex) {
    hole = ends_.size();
    ends_.push_back({time, index});
  }
  if (hole > 0 && time < ends_[(hole - 1) / 2].time)
    sift_up(hole, {time, index});
  else
    sift_down(hole, {time, index});
}

void FlowEnds::take_out(std::uint32_t index) {
  const std::size_t hole = graph_.link(index).place;
  if (hole == kNoIndex) return;
  graph_.link(index).place = kNoIndex;
  const End last = ends_.back();
  ends_.pop_back();
  if (hole == ends_.size()) return;
  put(hole, last);
  place(last.link, last.time);
}

void FlowEnds::sift_up(std::size_t hole, End end) {
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / 2;
    if (ends_[parent].time <= end.time) break;
    put(hole, ends_[parent]);
    hole = parent;
  }
  put(hole, end);
}

void FlowEnds::sift_down(std::size_t hole, End end) {
  for (std::size_t child = 2 * hole + 1; child < ends_.size(); child = 2 * hole + 1) {
    if (child + 1 < ends_.size() && ends_[child + 1].time < ends_[child].time) ++child;
    if (ends_[child].time >= end.time) break;
    put(hole, ends_[child]);
    hole = child;
  }
  put(hole, end);
}

}  // namespace orrery::network
