// SPDX-License-Identifier: MIT
// Graph of flows: the links of each flow, its rate and its end. The state that the flow model's solver and its clocks
// (network/flow/ends.h) work on; it knows neither events nor recipients.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/paged_array.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery::network {

inline constexpr std::uint32_t kNoIndex = UINT32_MAX;
// The rate of a flow that was not solved yet: no known rate is higher.
inline constexpr std::int64_t kUnrated = std::numeric_limits<std::int64_t>::max();

// A link shared by the flows that cross it at the same time. Links are numbered in the order of their first use. What a
// solve looks at comes first, in a cache line of its own.
struct alignas(64) FlowLink {
  struct User {
    std::uint32_t flow = 0;
    std::uint32_t crossing = 0;  // of the flow's crossings
    std::uint64_t weight = 0;
  };
  // Bandwidth that the users leave, in B/s; during a solve, without the flows that are to be stopped on the link and
  // whose weight `filling` counts.
  std::int64_t left = 0;
  std::uint64_t filling = 0;
  std::int64_t key = kUnrated;  // at which the solver looks at it next,
  std::uint8_t state = 0;       // and what it knows of it (FlowSolver)
  std::vector<User> users;
  std::uint64_t bound = 0;  // weight of the users that have it as their bottleneck,

  std::int64_t level = 0;  // and the rate of these
  Bandwidth bandwidth{1};
  std::uint64_t weight = 0;  // of all users, below 2^63
  std::uint64_t mark = 0;    // FlowGraph::new_mark() of who saw it last

  // The clock of those that have it as their bottleneck: what each of their connections has been sent by `since`.
  bool knows_next = false;
  bool is_changed = false;
  std::uint32_t place = kNoIndex;  // among the ends (FlowEnds)
  Time since;
  Int128 sent = 0;
  Int128 next = 0;  // the least Flow::end of them, if it is known

  LinkId id{};
  Time change = Time::max();  // when the bandwidth may be another; has passed while that of a new link is not known
  Duration busy{};            // until `busy_since`, if it has users now
  Time busy_since;
};

struct FlowCrossing {
  std::uint32_t link = 0;
  std::uint32_t place = 0;  // among the link's users
  std::uint64_t weight = 0;
};

struct alignas(64) Flow {
  // In bytes * picoseconds per second, of each of its connections: where the clock of its bottleneck is when it ends;
  // what it has to go while it has no bottleneck.
  Int128 end = 0;
  std::vector<FlowCrossing> crossings;  // every link once
  std::uint64_t bound = 0;              // its weight on its bottleneck
  std::uint64_t mark = 0;               // FlowGraph::new_mark() of who saw it last
};

// Total work of a connection, in the unit of Flow::end.
constexpr Int128 work_of(Bytes bytes) { return Int128{bytes.count()} * 1'000'000'000'000; }

class FlowGraph {
 public:
  explicit FlowGraph(const Fabric& fabric) : fabric_(fabric), index_of_link_(fabric.link_count(), kNoIndex) {}

  // A flow each of whose connections has `left` > 0 to go. It is on no link until it is linked up.
  std::uint32_t create(Int128 left);
  // Lets the flow created last cross a link; crossing it again adds the weights.
  void cross(std::uint32_t flow, LinkId link, std::uint64_t weight);
  void link_up(std::uint32_t flow, Time now);
  // All that are on links.
  std::vector<std::uint32_t> flows() const;
  // Links without users that were busy for as long as their parents.
  void split(std::span<const LinkSplit> links);
  // Off its links, for good; it is bound to none of them.
  void remove(std::uint32_t flow, Time now);

  Flow& flow(std::uint32_t index) { return flows_[index]; }
  std::int64_t rate(std::uint32_t flow) const { return rates_[flow]; }                     // bytes per second
  std::uint32_t bottleneck(std::uint32_t flow) const { return bottlenecks_[flow]; }        // a link, or kNoIndex
  std::span<const FlowCrossing> route(std::uint32_t flow) const { return routes_[flow]; }  // of one that is linked up
  std::span<const std::span<const FlowCrossing>> routes() const { return routes_; }        // likewise, by flow
  std::span<const std::int64_t> rates() const { return rates_; }               // by flow, with those removed
  std::span<const std::uint32_t> bottlenecks() const { return bottlenecks_; }  // likewise
  FlowLink& link(std::uint32_t index) { return links_[index]; }
  std::span<FlowLink> links() { return links_; }
  // Links whose bandwidth changes over time, of those that were used.
  std::span<const std::uint32_t> changing() const { return changing_; }
  // Gives one of them, which nobody uses, what it has now.
  void change(std::uint32_t link, Time now);
  std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
  // The caller has to update what this leaves of its links.
  void set_rate(std::uint32_t flow, std::int64_t rate) { rates_[flow] = rate; }
  void set_bottleneck(std::uint32_t flow, std::uint32_t link) { bottlenecks_[flow] = link; }

  // Tells one walk over flows and links from all others.
  std::uint64_t new_mark() { return ++mark_; }

  // Adds for how long each link had flows.
  void add_busy(PagedArray<LinkUsage>& usage, Time now) const;

 private:
  std::uint32_t number_of(LinkId id);

  const Fabric& fabric_;
  PagedArray<std::uint32_t> index_of_link_;  // by LinkId, into links_
  std::vector<FlowLink> links_;
  std::vector<Flow> flows_;
  // Fields that walks over the flows read, kept in arrays of their own so that they stay in the cache.
  std::vector<std::int64_t> rates_;
  std::vector<std::uint32_t> bottlenecks_;
  std::vector<std::span<const FlowCrossing>> routes_;  // in flows_
  std::vector<std::uint32_t> free_;                    // of flows_
  std::vector<std::uint32_t> changing_;                // links
  std::uint64_t mark_ = 0;
};

}  // namespace orrery::network
