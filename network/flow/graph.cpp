// SPDX-License-Identifier: MIT
#include "network/flow/graph.h"

#include <algorithm>
#include <limits>

#include "core/assert.h"

namespace orrery::network {
namespace {

constexpr std::uint64_t kMostWeight = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::uint32_t FlowGraph::create(Int128 left) {
  ORRERY_ASSERT(left > 0);
  std::uint32_t index = static_cast<std::uint32_t>(flows_.size());
  if (free_.empty()) {
    ORRERY_ASSERT(index != kNoIndex);
    flows_.emplace_back();
    rates_.emplace_back();
    bottlenecks_.emplace_back();
    routes_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Flow& flow = flows_[index];
  flow.end = left;
  flow.crossings.clear();
  flow.mark = new_mark();
  rates_[index] = kUnrated;
  bottlenecks_[index] = kNoIndex;
  return index;
}

void FlowGraph::cross(std::uint32_t index, LinkId id, std::uint64_t weight) {
  ORRERY_ASSERT(index_of(id) < index_of_link_.size() && weight > 0 && weight <= kMostWeight);
  Flow& flow = flows_[index];
  const std::uint32_t known = number_of(id);
  FlowLink& link = links_[known];
  if (link.mark == flow.mark) {
    std::uint64_t& sum = std::ranges::find(flow.crossings, known, &FlowCrossing::link)->weight;
    sum += weight;
    ORRERY_ASSERT(sum <= kMostWeight);
    return;
  }
  link.mark = flow.mark;
  flow.crossings.push_back({known, 0, weight});
}

std::uint32_t FlowGraph::number_of(LinkId id) {
  std::uint32_t& known = index_of_link_.own(index_of(id));
  if (known != kNoIndex) return known;
  known = static_cast<std::uint32_t>(links_.size());
  FlowLink& added = links_.emplace_back();
  added.bandwidth = fabric_.link(id).bandwidth;
  added.left = added.bandwidth.count();
  added.id = id;
  if (!fabric_.link(id).is_steady()) {
    changing_.push_back(known);
    added.change = Time::min();
  }
  return known;
}

void FlowGraph::change(std::uint32_t index, Time now) {
  FlowLink& link = links_[index];
  ORRERY_ASSERT(link.users.empty());
  link.bandwidth = fabric_.bandwidth_at(link.id, now);
  link.left = link.bandwidth.count();
  link.change = fabric_.next_change(link.id, now);
}

void FlowGraph::split(std::span<const LinkSplit> links) {
  for (const LinkSplit& split : links) {
    const std::uint32_t parent = index_of_link_.at(index_of(split.parent));
    if (parent == kNoIndex) continue;
    const std::uint32_t link = number_of(split.link);
    ORRERY_ASSERT(links_[parent].users.empty() && links_[link].users.empty());
    links_[link].busy = links_[parent].busy;
  }
}

void FlowGraph::link_up(std::uint32_t index, Time now) {
  Flow& flow = flows_[index];
  routes_[index] = flow.crossings;
  for (std::uint32_t i = 0; i < flow.crossings.size(); ++i) {
    FlowCrossing& crossing = flow.crossings[i];
    FlowLink& link = links_[crossing.link];
    if (link.users.empty()) link.busy_since = now;
    crossing.place = static_cast<std::uint32_t>(link.users.size());
    link.users.push_back({index, i, crossing.weight});
    link.weight += crossing.weight;
    ORRERY_ASSERT(link.weight <= kMostWeight);
  }
}

std::vector<std::uint32_t> FlowGraph::flows() const {
  std::vector<std::uint32_t> flows;
  for (const FlowLink& link : links_)
    for (const FlowLink::User& user : link.users)
      if (user.crossing == 0) flows.push_back(user.flow);
  return flows;
}

void FlowGraph::remove(std::uint32_t index, Time now) {
  Flow& flow = flows_[index];
  for (const FlowCrossing& crossing : flow.crossings) {
    FlowLink& link = links_[crossing.link];
    const FlowLink::User last = link.users.back();
    link.users[crossing.place] = last;
    flows_[last.flow].crossings[last.crossing].place = crossing.place;
    link.users.pop_back();
    link.weight -= crossing.weight;
    if (rates_[index] != kUnrated) link.left += rates_[index] * static_cast<std::int64_t>(crossing.weight);
    if (link.users.empty()) link.busy += now - link.busy_since;
  }
  free_.push_back(index);
}

void FlowGraph::add_busy(PagedArray<LinkUsage>& usage, Time now) const {
  for (const FlowLink& link : links_)
    usage.own(index_of(link.id)).busy += link.busy + (link.users.empty() ? Duration::zero() : now - link.busy_since);
}

}  // namespace orrery::network
