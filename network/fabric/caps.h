// SPDX-License-Identifier: MIT
// Links that can never be full, since all that crosses them crosses narrower ones, too: a NIC behind a slot that
// carries less.
#pragma once

#include <cstddef>
#include <optional>

#include "core/units.h"
#include "network/fabric/fabric.h"

namespace orrery::network {

struct LinkCap {
  std::size_t by = 0;     // the class that all messages cross as well, into Fabric::link_classes()
  Bandwidth together{1};  // most that its links bring to one link of the capped class
  Bandwidth least{1};     // of the links of the capped class
};

// Class of links, set by another key, that brings least bandwidth to the links of `link_class`; nothing where
// some message crosses these alone, or none crosses them. They are never full if `together` is at most `least`. Of a
// large fabric, the links at devices of the first node are looked at, and nothing is said of links between switches.
std::optional<LinkCap> cap_of(const Fabric& fabric, std::size_t link_class);

}  // namespace orrery::network
