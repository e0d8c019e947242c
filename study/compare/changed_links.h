// SPDX-License-Identifier: MIT
// Links that differ between two experiments on fabrics of the same classes of links, by the key that sets them, and
// what holds them up: a slot that brings less to a NIC than the NIC carries.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "network/fabric/caps.h"
#include "network/fabric/fabric.h"

namespace orrery::study {

// A class of links of both fabrics whose bandwidth or number differs.
struct ChangedLinks {
  std::size_t link_class = 0;
  std::string key;
  double rise = 1;  // of the bandwidth of the fastest, from the first fabric to the second
};

// Links of a set that can be full in neither fabric, and the least of what keeps them from it in the second; and the
// others.
struct CappedLinks {
  std::vector<ChangedLinks> capped;
  std::vector<ChangedLinks> others;
  std::optional<network::LinkCap> cap;
};

// True of "a.b", "a.b.c" and "a.b[0]" for the section "a.b".
bool is_below(std::string_view path, std::string_view section);

// Classes in their order; none where the fabrics have other classes.
std::vector<ChangedLinks> changed_links(const network::Fabric& first, const network::Fabric& second);

// Links that a key sets: those whose bandwidth it is, else those of its section; all that differ, if no other key does.
std::vector<ChangedLinks> links_of(const std::string& key, const std::vector<ChangedLinks>& changed, bool is_only);

CappedLinks capped(const network::Fabric& first, const network::Fabric& second, const std::vector<ChangedLinks>& links);

// Cap of links that others keep from being full in the second fabric; nothing where they can be.
std::optional<network::LinkCap> cap_in(const network::Fabric& fabric, const ChangedLinks& links);

// "'nic', 'nic.leaf'": the classes without directions.
std::string names_of(const network::Fabric& fabric, const std::vector<ChangedLinks>& links);

}  // namespace orrery::study
