// SPDX-License-Identifier: MIT
// Figures of a fabric as a whole: how far apart its devices are at most, and what goes from one half to the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "network/fabric/fabric.h"

namespace orrery::network {

// Over all pairs of devices; the longest route need not have the largest latency.
struct Diameter {
  std::size_t links = 0;
  Duration latency{};
};

// Nothing for a fabric of more than `most` devices, whose pairs are too many to look at.
std::optional<Diameter> diameter_of(const Fabric& fabric, std::uint32_t most = 2048);

// Bisection bandwidth: what devices in one half can send to the other half, one way, all at once and over any links;
// the least over the halving cuts across each axis of the fabric, or across nodes if there are several. A half of an
// odd number is the smaller. Nothing for one device, or more links than `most`.
std::optional<Bandwidth> bisection_of(const Fabric& fabric, std::uint32_t most = 20'000);

// Number and cost of the parts of one kind that has a price.
struct KindCost {
  std::string kind;
  std::uint64_t count = 0;  // 0: nothing is called so
  double each = 0;
};
std::vector<KindCost> costs_of(const Fabric& fabric);

}  // namespace orrery::network
