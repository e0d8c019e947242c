// SPDX-License-Identifier: MIT
// A library of collectives for tests: what it makes of a call depends on all that it is told, and on nothing else.
#pragma once

#include "system/plans/group_library.h"

namespace orrery::test {

// All-to-alls go between all pairs; the others by ring or double tree, whichever is faster. Small sends take longer and
// weigh double inside a node, all take a sixteenth more between nodes. Those of more than `send_buffer` wait until
// their receive is posted. Calls and sends take parts of the devices that they run on.
class FakeLibrary : public system::GroupLibrary {
 public:
  explicit FakeLibrary(Bytes send_buffer = Bytes::max()) : send_buffer_(send_buffer) {}

  collectives::Aggregate transfer(CollectiveKind kind, Bytes bytes, std::uint32_t root,
                                  const system::GroupLayout& layout) const override;
  system::PointToPoint point_to_point(Bytes bytes, bool is_same_node, Duration route_latency) const override;

 private:
  Bytes send_buffer_;
};

}  // namespace orrery::test
