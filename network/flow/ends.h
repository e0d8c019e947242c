// SPDX-License-Identifier: MIT
// When flows end. All flows with one bottleneck go at one rate, so they have one clock, which counts what each of their
// connections has been sent: a flow ends when it shows a certain sum, and a new rate of the link is a new rate of the
// clock and nothing else. Only the link whose next flow ends first has an event.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine.h"
#include "core/units.h"
#include "network/flow/graph.h"

namespace orrery::network {

class FlowEnds {
 public:
  // An event comes to `sink`, with `payload`, when flows end.
  FlowEnds(Engine& engine, EventSink& sink, std::uint64_t payload, FlowGraph& graph)
      : engine_(engine), sink_(sink), payload_(payload), graph_(graph) {}

  // The flows that have `link` as their bottleneck go at `level` from now on. Before the first is bound, too.
  void set_level(std::uint32_t link, std::int64_t level);
  // A flow has this link as its bottleneck, whatever it had before.
  void bind(std::uint32_t flow, std::uint32_t link, std::uint64_t weight);
  // It has none, and what is left of it to go in Flow::end.
  void unbind(std::uint32_t flow);
  // The event came: appends the flows that end now to `ended`, link by link.
  void collect(std::vector<std::uint32_t>& ended);
  // Sets the event right.
  void settle();

 private:
  struct End {
    Time time;
    std::uint32_t link;
  };

  // Reading of the link's clock now.
  Int128 clock(const FlowLink& link) const {
    return link.sent + Int128{link.level} * (engine_.now() - link.since).count();
  }
  void change(std::uint32_t link);
  void find_next(std::uint32_t link);
  Time time_of_next(const FlowLink& link) const;
  void place(std::uint32_t link, Time time);
  void take_out(std::uint32_t link);
  void sift_up(std::size_t hole, End end);
  void sift_down(std::size_t hole, End end);
  void put(std::size_t place, End end) {
    ends_[place] = end;
    graph_.link(end.link).place = static_cast<std::uint32_t>(place);
  }

  Engine& engine_;
  EventSink& sink_;
  std::uint64_t payload_;
  FlowGraph& graph_;
  std::vector<End> ends_;               // a heap: the first in front, the children of i at 2 i + 1 and 2 i + 2
  std::vector<std::uint32_t> changed_;  // links whose next end may be another
  EventHandle event_;
  Time due_ = Time::max();  // of the event; max() if there is none
};

}  // namespace orrery::network
