// Many messages as one: the links that a group of messages uses, and how much of each.
#pragma once

#include <span>

#include "core/ids.h"
#include "core/units.h"
#include "network/fabric.h"
#include "network/max_min.h"

namespace orrery {

// What a group takes of a link; or `copies` groups that do the same at the same time, each.
struct LinkShare {
  LinkId link{};
  std::uint64_t weight = kUnitWeight;  // weight_of(bytes over the link, bytes of the busiest message), > 0
  std::uint32_t copies = 1;            // weight * copies < 2^63

  bool operator==(const LinkShare&) const = default;
};

// The bytes over the link while the busiest message sends `busiest`: floor(weight * busiest / 2^32) for each copy, at
// most Bytes::max().
Bytes load_of(const LinkShare& share, Bytes busiest);

// How fast the busiest message of a group goes when nothing is shared, not even with its copies; Bandwidth::max()
// without links.
Bandwidth rate_alone(const Fabric& fabric, std::span<const LinkShare> shares);

}  // namespace orrery
