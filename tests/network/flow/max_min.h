// SPDX-License-Identifier: MIT
// Max-min fair rates by progressive filling, in integers. The rates of all flows rise together; when a link is full,
// the flows on it stay at the rate they have, and the others rise on. One round freezes all flows on all links that
// fill at the same rate together. The plain solver, which the product's (network/flow/solver.h) is checked against:
// that works on parts and in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace orrery::test {

// Describe links and flows, solve, read the rates.
class MaxMin {
 public:
  void clear();
  // Returns the link's index: 0, 1, ...
  std::uint32_t add_link(Bandwidth bandwidth);
  // Returns the flow's index: 0, 1, ... It crosses at least one link before solve().
  std::uint32_t add_flow();
  // The flow added last crosses `link`; crossing it again adds the weights. 0 < weight, and below 2^63 in all on a
  // link.
  void cross(std::uint32_t link, std::uint64_t weight);

  void solve();

  // Bytes per second.
  std::int64_t rate(std::uint32_t flow) const { return flows_[flow].rate; }
  // The link that froze the flow: it is full, and no flow on it is faster.
  std::uint32_t bottleneck(std::uint32_t flow) const { return flows_[flow].bottleneck; }

 private:
  struct Link {
    std::int64_t left = 0;     // of its bandwidth, after the frozen flows
    std::uint64_t weight = 0;  // of the flows not yet frozen
    std::uint32_t first_user = 0;
    std::uint32_t users = 0;
  };
  struct Flow {
    std::uint32_t first_crossing = 0;
    std::uint32_t bottleneck = 0;
    std::int64_t rate = 0;  // 0 until frozen
  };
  struct Crossing {
    std::uint64_t weight = 0;
    std::uint32_t link = 0;
  };
  // When a link was last seen to fill. That only rises, so an entry is brought up to date when it comes first.
  struct Filling {
    std::int64_t rate;
    std::uint32_t link;
  };

  void list_users();
  std::int64_t collect_full_links();
  void sift_down(std::size_t hole, Filling filling);
  void freeze(std::uint32_t flow, std::int64_t rate, std::uint32_t link);
  std::size_t end_of(std::uint32_t flow) const;

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Crossing> crossings_;   // flow by flow
  std::vector<std::uint32_t> users_;  // flows, link by link
  std::vector<Filling> heap_;         // the least rate in front, the children of i at 2 i + 1 and 2 i + 2
  std::vector<std::uint32_t> full_;   // links of the current round
};

}  // namespace orrery::test
