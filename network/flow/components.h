// SPDX-License-Identifier: MIT
// Flows that may share links, directly or through others, kept together: each such component has one pending event, for
// the flow that ends first. Components merge when a flow joins them. They come apart only now and then, when as many
// flows have left as remain: until then a component may hold flows that no longer share anything, which costs time but
// changes no result.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine.h"
#include "core/units.h"
#include "network/flow/graph.h"
#include "network/flow/solver.h"

namespace orrery::network {

class FlowComponents {
 public:
  // Events go to `sink`, with the component as payload. With a `reference` everything is solved again by it whenever
  // something changes, to the same rates.
  FlowComponents(Engine& engine, EventSink& sink, FlowGraph& graph, ReferenceSolver* reference)
      : engine_(engine), sink_(sink), graph_(graph), solver_(graph), reference_(reference) {}

  // Links the flow up. Its rate follows in settle().
  void join(std::uint32_t flow);
  // Links up a flow that has had its links to itself since `start`: as if it had been joined and settled then.
  void adopt(std::uint32_t flow, Time start);
  // The event of `component` came: appends the flows that end now to `ended`, by number.
  void collect_ended(std::uint32_t component, std::vector<std::uint32_t>& ended);
  // Takes an ended flow off its links.
  void remove(std::uint32_t flow);
  // All flows.
  std::vector<std::uint32_t> flows() const;
  // Takes all flows off their links.
  void clear();
  // Solves what changed and sets the events right.
  void settle();

 private:
  struct Component {
    std::vector<std::uint32_t> flows;
    std::vector<Time> finish;          // of each
    std::vector<std::uint32_t> seeds;  // links whose users changed, if still FlowLink::seed_of this component
    EventHandle event;
    Time due = Time::max();     // of the event; max() if there is none
    std::uint32_t removed = 0;  // flows, since its flows were last known to hang together
    bool touched = false;
  };

  std::uint32_t open();
  void close(std::uint32_t component);
  void touch(std::uint32_t component);
  void add(std::uint32_t component, std::uint32_t flow, Time finish);
  void add_seed(std::uint32_t component, std::uint32_t link);
  void clear_seeds(std::uint32_t component);
  std::uint32_t merge(std::uint32_t a, std::uint32_t b);
  void settle(std::uint32_t component);
  void solve(std::uint32_t component);
  void split(std::uint32_t component);
  void grow(std::uint32_t component, std::uint32_t first, std::uint64_t mark);
  void schedule(std::uint32_t component);
  void unschedule(Component& component);
  void touch_everything();
  Time finish(std::uint32_t flow) { return graph_.flow(flow).finish(graph_.rate(flow)); }

  Engine& engine_;
  EventSink& sink_;
  FlowGraph& graph_;
  FlowSolver solver_;
  ReferenceSolver* reference_;
  std::vector<Component> components_;
  std::vector<std::uint32_t> free_;  // of components_
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> apart_;  // scratch of split()
  std::vector<Time> finish_apart_;    // by place in apart_
};

}  // namespace orrery::network
