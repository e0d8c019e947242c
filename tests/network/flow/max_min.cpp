// SPDX-License-Identifier: MIT
#include "tests/network/flow/max_min.h"

#include <algorithm>
#include <limits>

#include "core/assert.h"
#include "network/path_table.h"

namespace orrery::test {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

}  // namespace

void MaxMin::clear() {
  links_.clear();
  flows_.clear();
  crossings_.clear();
}

std::uint32_t MaxMin::add_link(Bandwidth bandwidth) {
  links_.push_back({bandwidth.count()});
  return static_cast<std::uint32_t>(links_.size() - 1);
}

std::uint32_t MaxMin::add_flow() {
  flows_.push_back({static_cast<std::uint32_t>(crossings_.size())});
  return static_cast<std::uint32_t>(flows_.size() - 1);
}

void MaxMin::cross(std::uint32_t link, std::uint64_t weight) {
  ORRERY_ASSERT(weight > 0 && weight <= kMost - links_[link].weight);
  crossings_.push_back({weight, link});
  links_[link].weight += weight;
  ++links_[link].users;
}

void MaxMin::solve() {
  list_users();
  heap_.clear();
  for (std::uint32_t link = 0; link < links_.size(); ++link)
    if (links_[link].users > 0) heap_.push_back({network::fill_rate(links_[link].left, links_[link].weight), link});
  for (std::size_t i = heap_.size() / 2; i-- > 0;) sift_down(i, heap_[i]);
  while (!heap_.empty()) {
    const std::int64_t rate = collect_full_links();
    for (const std::uint32_t link : full_) {
      const auto first = users_.begin() + links_[link].first_user;
      std::for_each(first, first + links_[link].users, [&](std::uint32_t flow) { freeze(flow, rate, link); });
    }
  }
}

void MaxMin::list_users() {
  std::uint32_t first = 0;
  for (Link& link : links_) {
    link.first_user = first;
    first += link.users;
    link.users = 0;
  }
  users_.resize(crossings_.size());
  for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
    ORRERY_ASSERT(flows_[flow].first_crossing < end_of(flow));
    for (std::size_t i = flows_[flow].first_crossing; i < end_of(flow); ++i) {
      Link& link = links_[crossings_[i].link];
      users_[link.first_user + link.users++] = flow;
    }
  }
}

// Takes out all links that fill at the least rate, before any flow on them is frozen, and returns that rate. Freezing
// flows at a rate at which a link is not yet full never makes it fill earlier.
std::int64_t MaxMin::collect_full_links() {
  full_.clear();
  std::int64_t rate = std::numeric_limits<std::int64_t>::max();
  while (!heap_.empty() && heap_.front().rate <= rate) {
    const Filling first = heap_.front();
    const Link& link = links_[first.link];
    const std::int64_t now = link.weight == 0 ? 0 : network::fill_rate(link.left, link.weight);
    if (now > first.rate) {
      sift_down(0, {now, first.link});
      continue;
    }
    if (now == first.rate) {
      rate = now;
      full_.push_back(first.link);
    }
    const Filling last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0, last);
  }
  return rate;
}

// Puts `filling` where it belongs at or below `hole`.
void MaxMin::sift_down(std::size_t hole, Filling filling) {
  for (std::size_t child = 2 * hole + 1; child < heap_.size(); child = 2 * hole + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1].rate < heap_[child].rate) ++child;
    if (heap_[child].rate >= filling.rate) break;
    heap_[hole] = heap_[child];
    hole = child;
  }
  heap_[hole] = filling;
}

void MaxMin::freeze(std::uint32_t flow, std::int64_t rate, std::uint32_t link) {
  Flow& frozen = flows_[flow];
  if (frozen.rate != 0) return;
  frozen.rate = rate;
  frozen.bottleneck = link;
  for (std::size_t i = frozen.first_crossing; i < end_of(flow); ++i) {
    Link& crossed = links_[crossings_[i].link];
    crossed.left -= rate * static_cast<std::int64_t>(crossings_[i].weight);
    crossed.weight -= crossings_[i].weight;
  }
}

std::size_t MaxMin::end_of(std::uint32_t flow) const {
  return flow + 1 < flows_.size() ? flows_[flow + 1].first_crossing : crossings_.size();
}

}  // namespace orrery::test
