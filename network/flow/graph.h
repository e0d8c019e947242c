// SPDX-License-Identifier: MIT
// Which flows are on which links now, how fast each goes and how much of it is left. The state that the flow model's
// solver and components work on; it knows neither events nor recipients.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery::network {

inline constexpr std::uint32_t kNoIndex = UINT32_MAX;
// The rate of a flow that was not solved yet: no known rate is higher.
inline constexpr std::int64_t kUnrated = std::numeric_limits<std::int64_t>::max();

// What crosses a link at the same time shares it. Links are numbered in the order of their first use. What fillings
// look at comes first, in a cache line of its own.
struct alignas(64) FlowLink {
  struct User {
    std::uint32_t flow = 0;
    std::uint32_t crossing = 0;  // of the flow's crossings
    std::uint64_t weight = 0;
  };
  // During a filling it is part of: what its slower and its stopped flows leave of it, and the weight of the others.
  std::int64_t left = 0;
  std::uint64_t filling = 0;
  std::uint64_t mark = 0;  // FlowGraph::new_mark() of the walk that last saw it
  std::vector<User> users;
  Bandwidth bandwidth{1};

  LinkId id{};
  std::int64_t load = 0;     // what the users take, in B/s,
  std::uint64_t weight = 0;  // and their weight, below 2^63
  std::uint32_t bound = 0;   // users that have it as their bottleneck,
  std::int64_t level = 0;    // and the rate of these

  std::uint32_t seed_of = kNoIndex;  // the component that is to solve it because its users changed,
  bool has_joined = false;           // and some are new

  // What other walks noted.
  std::uint64_t held_mark = 0;  // of the filling in which it only holds flows
  std::uint64_t rise_mark = 0;
  Int128 rise = 0;  // of the load, if the rates of the filling are taken

  Duration busy{};  // until `since`, if it has users now
  Time since;
};

struct FlowCrossing {
  std::uint32_t link = 0;
  std::uint32_t place = 0;  // among the link's users
  std::uint64_t weight = 0;
};

// What fillings look at comes first, and never lies across cache lines.
struct alignas(32) Flow {
  std::vector<FlowCrossing> crossings;  // every link once
  std::uint32_t bottleneck = kNoIndex;
  std::uint32_t component = kNoIndex;
  Int128 left = 0;  // bytes * picoseconds per second, at `updated`
  Time updated;
  std::uint32_t connections = 1;  // that go at its rate, side by side
  std::uint32_t place = 0;        // among the component's flows
  std::uint64_t mark = 0;         // FlowGraph::new_mark() of who saw it last

  // Brings `left` up to `now`, at `rate` since the last time. What is left never depends on how often this is done.
  void advance(Time now, std::int64_t rate) {
    left -= Int128{rate * connections} * (now - updated).count();
    updated = now;
  }
  // When the last byte is through at `rate`; Time::max() if the clock ends before.
  Time finish(std::int64_t rate) const;
};

// What a flow has to go in all, as Flow::left counts it.
constexpr Int128 work_of(Bytes bytes) { return Int128{bytes.count()} * 1'000'000'000'000; }

class FlowGraph {
 public:
  explicit FlowGraph(const Fabric& fabric) : fabric_(fabric), index_of_link_(fabric.link_count(), kNoIndex) {}

  // A flow of so many bytes > 0. It is on no link until it is linked up.
  std::uint32_t create(Bytes bytes, std::uint32_t connections = 1);
  // One that has `left` to go (Flow::left) as of when it is linked up.
  std::uint32_t create_part(Int128 left, std::uint32_t connections = 1);
  // Lets the flow created last cross a link; crossing it again adds the weights.
  void cross(std::uint32_t flow, LinkId link, std::uint64_t weight);
  void link_up(std::uint32_t flow, Time now);
  // Links without users that were busy for as long as their parents.
  void split(std::span<const LinkSplit> links);
  // Off its links, for good.
  void remove(std::uint32_t flow, Time now);

  Flow& flow(std::uint32_t index) { return flows_[index]; }
  std::int64_t rate(std::uint32_t flow) const { return rates_[flow]; }  // bytes per second
  std::span<const std::int64_t> rates() const { return rates_; }        // by flow, with those removed
  FlowLink& link(std::uint32_t index) { return links_[index]; }
  std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
  // Changes the rate from `now` on, up to which the flow is brought. The loads of its links are the caller's to change.
  void set_rate(std::uint32_t flow, std::int64_t rate, Time now) {
    flows_[flow].advance(now, rates_[flow] == kUnrated ? 0 : rates_[flow]);
    rates_[flow] = rate;
  }
  // The level of its new bottleneck is the caller's to set.
  void set_bottleneck(Flow& flow, std::uint32_t link) {
    if (flow.bottleneck == link) return;
    if (flow.bottleneck != kNoIndex) --links_[flow.bottleneck].bound;
    flow.bottleneck = link;
    ++links_[link].bound;
  }

  // Tells one walk over flows and links from all others.
  std::uint64_t new_mark() { return ++mark_; }

  // Adds for how long each link had flows.
  void add_busy(std::vector<LinkUsage>& usage, Time now) const;

 private:
  std::uint32_t number_of(LinkId id);

  const Fabric& fabric_;
  std::vector<std::uint32_t> index_of_link_;  // by LinkId, into links_
  std::vector<FlowLink> links_;
  std::vector<Flow> flows_;
  std::vector<std::int64_t> rates_;  // of each: apart, so that what walks look at stays in the cache
  std::vector<std::uint32_t> free_;  // of flows_
  std::uint64_t mark_ = 0;
};

}  // namespace orrery::network
