// Many messages as one: the links that a group of messages uses, and how much of each.
#pragma once

#include <span>

#include "core/ids.h"
#include "core/units.h"
#include "network/fabric.h"
#include "network/max_min.h"

namespace orrery {

// What a group takes of a link.
struct LinkShare {
  LinkId link{};
  std::uint64_t weight = kUnitWeight;  // weight_of(bytes over the link, bytes of the busiest message), > 0

  bool operator==(const LinkShare&) const = default;
};

// The bytes over a link of that weight while the busiest message sends `busiest`: floor(weight * busiest / 2^32), at
// most Bytes::max().
Bytes load_of(std::uint64_t weight, Bytes busiest);

// How fast the busiest message goes when the group has its links for itself; Bandwidth::max() without links. A link
// given twice counts twice.
Bandwidth rate_alone(const Fabric& fabric, std::span<const LinkShare> shares);

}  // namespace orrery
