// Progressive filling as in network/max_min.h, to the same rates, but of some of the flows in place: those of at least
// some rate on some links. What goes slower keeps its rate, and so does what a link that is left out holds, unless
// another link gives it less. Nothing is copied, since this is done for every message that comes or goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "network/flow/graph.h"

namespace orrery {

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

}  // namespace orrery
