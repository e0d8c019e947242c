// SPDX-License-Identifier: MIT
// Max-min fair rates by progressive filling, in integers. The rates of all flows rise together; when a link is full,
// the flows on it stay at the rate they have, and the others rise on. One round freezes all flows on all links that
// fill at the same rate together, so the result depends neither on the order of links and flows nor on how they are cut
// into independent problems. Rates are in whole B/s: a link that is shared by flows of total weight A and has R left
// fills at floor(R / A). What the floor leaves goes to flows that are frozen later. A rate is never below 1 B/s, so
// that every transfer ends: a link of fewer B/s than flows is overbooked.
//
// When flows come and go, the filling is done again only where it comes out otherwise. It goes up from level to level,
// and a link is filled again from the first level on at which it can behave otherwise than it did:
// * one that a flow left: at its own level, if it is still the bottleneck of somebody; otherwise never;
// * one that a flow joined: where it fills if all that held it before goes on as it did;
// * one that crosses a flow which now stops lower: at its own level, if it is the bottleneck of somebody;
// * one that crosses a flow which its bottleneck does not stop any more: at the level at which that did. If it is
//   nobody's bottleneck, where such flows alone can fill it.
// Flows on such links whose bottleneck is none of them stop where they did. So what is found is what a full solve of
// everything finds, to the last byte per second, and what it costs is what changes and what lies beside that.
#pragma once

#include <cstdint>
#include <vector>

#include "network/flow/ends.h"
#include "network/flow/graph.h"

namespace orrery::network {

class FlowSolver {
 public:
  FlowSolver(FlowGraph& graph, FlowEnds& ends) : graph_(graph), ends_(ends) {}

  // The flow was linked up: it is solved next time.
  void join(std::uint32_t flow) { joined_.push_back(flow); }
  // The flow is about to be taken off its links.
  void leave(std::uint32_t flow);
  // Nothing joined, and nothing left.
  void forget();
  // Gives all flows their rates and bottlenecks, and links their levels.
  void solve();
  // A flow that nobody shares a link with, at once.
  void solve_alone(std::uint32_t flow);

 private:
  // State of a link; kHolding unless the solve has come to it. Of a filling link all flows that go at least as fast as
  // the level at which that began are open; of a rising link only flows that are new or that their bottleneck lets go.
  enum State : std::uint8_t { kHolding, kWoken, kRising, kFilling };
  // State of a flow: it is to be stopped; or, besides, nothing held it to its former rate.
  enum Open : std::uint8_t { kStopped = 0, kOpen = 1, kReleased = kOpen | 2 };
  // A link, and the level at which it is looked at.
  struct Entry {
    std::int64_t rate;
    std::uint32_t link;
  };

  void enter(FlowLink& link, std::uint32_t index, State state);
  void admit(std::uint32_t flow);
  void wake(std::uint32_t link);
  static std::int64_t earliest(const FlowLink& link);
  void look_at_first(std::int64_t rate);
  std::int64_t look(std::uint32_t link, std::int64_t rate);
  void fill(std::uint32_t link, std::int64_t rate);
  void release_bound(std::uint32_t link, std::int64_t rate);
  void stop_users(std::uint32_t link, std::int64_t rate);
  std::size_t find_bound(std::uint32_t link);
  template <class Takes>
  std::size_t find(const FlowLink& link, const Takes& takes);
  void stop_held(std::uint32_t link, std::int64_t rate);
  void stop_found(std::size_t count, std::int64_t rate, std::uint32_t at);
  void push(std::uint32_t link, std::int64_t rate);
  void sift_down(std::size_t hole, Entry entry);

  FlowGraph& graph_;
  FlowEnds& ends_;
  std::vector<std::uint32_t> joined_;   // flows
  std::vector<std::uint32_t> left_;     // links
  std::vector<std::uint8_t> open_;      // by flow: Open
  std::vector<std::uint32_t> entered_;  // links that are no longer kHolding
  std::vector<Entry> heap_;             // the least rate in front, the children of i at 2 i + 1 and 2 i + 2
  std::vector<std::uint32_t> held_;     // links of the current level that hold flows as before,
  std::vector<std::uint32_t> full_;     // and those that are full
  std::vector<std::uint32_t> found_;    // flows, scratch
};

}  // namespace orrery::network
