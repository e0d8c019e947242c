// SPDX-License-Identifier: MIT
// Re-solves the rates of the flows that a change makes a difference to. Progressive filling freezes flows in the order
// of their rates, so a change that first makes a difference at some level leaves every flow below that level as it is:
// * a flow that left makes a difference on a link only if the link is still the bottleneck of somebody, and first at
//   their rate;
// * a flow that joined makes one at the rate at which one of its links now fills.
//
// From there on it goes from link to link: solve the links known to be concerned, with their flows held to the rates
// that other links give them; a link that holds a flow whose rate changed, or that is now too full, is concerned too.
// When there are no more of these, every flow has a bottleneck and no link is overbooked, which only the max-min fair
// rates do: what is found is the same as a full solve of everything, to the last byte per second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "network/flow/graph.h"

namespace orrery::network {

// Max-min fair rates by progressive filling, in integers. The rates of all flows rise together; when a link is full,
// the flows on it stay at the rate they have, and the others rise on. One round freezes all flows on all links that
// fill at the same rate together, so the result depends neither on the order of links and flows nor on how they are cut
// into independent problems. Rates are in whole B/s: a link that is shared by flows of total weight A and has R left
// fills at floor(R / A). What the floor leaves goes to flows that are frozen later. A rate is never below 1 B/s, so
// that every transfer ends: a link of fewer B/s than flows is overbooked.
//
// Here of some of the flows: those of at least some rate on some links. What goes slower keeps its rate, and so does
// what a link that is left out holds, unless another link gives it less. Nothing is copied, since this is done for
// every message that comes or goes.
class FlowFilling {
 public:
  // The flows that a link stopped: those of flows() from where the stop before this ends up to `end`.
  struct Stop {
    std::uint32_t link = 0;
    std::uint32_t end = 0;
    std::int64_t rate = 0;
  };

  explicit FlowFilling(FlowGraph& graph) : graph_(graph) {}

  // Leaves all links out.
  void clear();
  // Takes a link in; false if it is in already.
  bool reach(std::uint32_t link);
  bool reached(const FlowLink& link) const { return link.mark == mark_; }

  // Fills the links that are in with their flows of at least `level`; `far`: takes in all links that can be reached
  // over such flows first.
  void fill(std::int64_t level, bool far);

  std::span<const std::uint32_t> links() const { return links_; }
  std::span<const std::uint32_t> flows() const { return flows_; }  // in the order in which they stopped
  std::span<const Stop> stops() const { return stops_; }

 private:
  // When a link was last seen to fill. That only rises, so an entry is brought up to date when it comes first.
  struct Entry {
    std::int64_t rate;
    std::uint32_t link;
  };

  void collect(std::uint32_t index, std::int64_t level, bool far);
  void hold(std::uint32_t index);
  std::int64_t filling_rate(const Entry& entry);
  std::int64_t take_full_links();
  void stop_users(std::uint32_t index, std::int64_t rate);
  void stop(std::uint32_t flow, std::int64_t rate, std::uint32_t at);
  void sift_down(std::size_t hole, Entry entry);

  FlowGraph& graph_;
  std::uint64_t mark_ = 0;            // of links that are in
  std::uint64_t held_mark_ = 0;       // of links that are not, but hold a flow
  std::vector<std::uint32_t> links_;  // that are in
  std::vector<std::uint8_t> fills_;   // by flow: 1 while it is to be stopped
  std::vector<std::uint32_t> flows_;
  std::vector<Stop> stops_;
  std::vector<Entry> heap_;           // the least rate in front, the children of i at 2 i + 1 and 2 i + 2
  std::vector<std::uint32_t> full_;   // links of the current round
  std::vector<std::uint32_t> found_;  // scratch of collect()
};

// A plain solver of flows that share nothing with others, in place of FlowSolver's: tests check one by the other.
class ReferenceSolver {
 public:
  struct Share {
    std::int64_t rate = 0;
    std::uint32_t bottleneck = 0;  // link
  };

  virtual ~ReferenceSolver() = default;
  // By flow.
  virtual std::vector<Share> solve(FlowGraph& graph, std::span<const std::uint32_t> flows) = 0;
};

class FlowSolver {
 public:
  explicit FlowSolver(FlowGraph& graph) : graph_(graph), filling_(graph) {}

  // `seeds` are the links whose users changed since the last solve, `flows` how many flows they can reach at most.
  // Gives all flows their rates and bottlenecks and returns those whose rate changed, which are then up to date as of
  // `now`; valid until the next call.
  std::span<const std::uint32_t> solve(std::span<const std::uint32_t> seeds, std::size_t flows, Time now);

  // Gives all of `flows` the rates that `reference` finds, whether they can have changed or not. Returns them.
  std::span<const std::uint32_t> solve_all(std::span<const std::uint32_t> flows, Time now, ReferenceSolver& reference);

  // A flow that nobody shares a link with.
  void solve_alone(std::uint32_t flow, Time now);

 private:
  std::int64_t reach_concerned(std::span<const std::uint32_t> seeds);
  bool reach_further();
  bool reach_beyond(std::uint32_t flow, std::int64_t change, std::uint64_t mark);
  void apply(Time now);
  void set(std::uint32_t flow, std::int64_t rate, std::uint32_t bottleneck, Time now);
  std::int64_t filling_level(const FlowLink& link) const;

  FlowGraph& graph_;
  FlowFilling filling_;
  std::uint32_t far_solves_ = 0;       // to do after the next attempt in vain
  std::uint32_t far_solves_left_ = 0;  // to do now
  std::vector<std::uint32_t> risen_;   // links that are not reached but cross changed flows
  std::vector<std::uint32_t> changed_;
};

}  // namespace orrery::network
