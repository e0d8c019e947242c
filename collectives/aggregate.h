// SPDX-License-Identifier: MIT
// A collective that runs as one pipelined whole (rotated rings, double binary trees, reduction inside a switch): what
// it puts on the network all in all, which is known, rather than message by message, which is not.
//
// The ranks of a group lie on nodes. Traffic within the nodes is even: each rank sends the same to its neighbours, over
// all links that it has to them, since rings are rotated until every link is used. Traffic between nodes goes between
// ranks of the same place in their nodes, so that every NIC carries its part.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace orrery::collectives {

// Communication pattern among nodes.
enum class NodePattern : std::uint8_t {
  kRing,        // each to the next
  kDoubleTree,  // two binary trees, each for half of the data: an inner node of one is a leaf of the other
  kAllPairs,    // each rank to each rank of other nodes; within a node, to each rank of it
};

// Part of a rank's device that a call takes from what is computed beside it.
struct DeviceShare {
  std::uint32_t processors = 0;  // streaming multiprocessors, from its launch to its end, also while it waits
  std::int64_t memory_rate = 0;  // bytes a second that it reads and writes in the device's memory while data moves

  bool is_none() const { return processors == 0 && memory_rate == 0; }
  bool operator==(const DeviceShare&) const = default;
};

struct Aggregate {
  NodePattern pattern = NodePattern::kRing;
  Bytes within{0};  // that each rank sends to the ranks of its node in all
  // Bytes that each rank sends to other nodes in all (kRing, kAllPairs); for kDoubleTree, bytes that each edge of each
  // tree carries in each direction, for each rank of a node.
  Bytes between{0};
  Duration latency{};  // from the entry of the last rank to the end, less the time that the bytes take
  Duration least{};    // that the bytes take on however fast links: those who send them are no faster
  DeviceShare takes{};

  bool operator==(const Aggregate&) const = default;
};

}  // namespace orrery::collectives
