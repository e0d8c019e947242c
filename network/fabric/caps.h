// SPDX-License-Identifier: MIT
// Links that can never be full, since all that crosses them crosses narrower ones, too: a NIC behind a slot that
// carries less.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "network/fabric/fabric.h"

namespace orrery::network {

struct LinkCap {
  std::size_t by = 0;     // the class that all messages cross as well, into Fabric::link_classes()
  Bandwidth together{1};  // most that its links bring to one link of the capped class
  Bandwidth least{1};     // of the links of the capped class
  // The same of what links carry by their names, before the share that messages get.
  Bandwidth nominal_together{1};
  Bandwidth nominal_least{1};

  // A NIC of 400 Gb/s that a slot of PCIe 5 slows by its headers is sold so; one of 800 Gb/s is not.
  bool is_by_name() const { return nominal_together < nominal_least; }
};

// Class of links, set by another key, that brings least bandwidth to the links of `link_class`; nothing where
// some message crosses these alone, or none crosses them. They are never full if `together` is at most `least`. Of a
// large fabric, the links at devices of the first node are looked at, and nothing is said of links between switches.
std::optional<LinkCap> cap_of(const Fabric& fabric, std::size_t link_class);

// A class of links that are never full.
struct CappedClass {
  std::size_t link_class = 0;
  LinkCap cap;
};

// Classes of links that carry more than comes to them, one for each key that sets bandwidths, of those keys that are
// `wanted`.
std::vector<CappedClass> capped_links(const Fabric& fabric, const std::function<bool(const std::string& key)>& wanted);

// "links 'nic.up' of 100 GB/s are faster than what comes to them: all of it crosses 'pcie.up', 48 GB/s".
std::string capped_text(const CappedClass& links, const Fabric& fabric);

}  // namespace orrery::network
