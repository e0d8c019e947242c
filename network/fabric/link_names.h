// SPDX-License-Identifier: MIT
// Links by the names that people use for them: "nic.up" is all links of the class, "nic.up[5]" one of them, counted
// from 0 in the order of their numbers, "node1.nic0" whatever begins or ends there, "node1.nic0.up" the one link.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "network/fabric/fabric.h"

namespace orrery::network {

// Ascending; none if nothing is called so. A device, switch or NIC with ".*" behind it is all links there, as without
// it.
std::vector<LinkId> links_named(const Fabric& fabric, std::string_view name);

// Links between a device and its NICs were called "host.up" and "host.down": the name of today for such a name, none
// for others.
std::optional<std::string> renamed_link(const Fabric& fabric, std::string_view name);

// One link by where it is: "node1.nic0.up", "node0.gpu3.nvlink.down", and from device to device
// "node0.gpu0>node0.gpu1".
std::string name_of(const Fabric& fabric, LinkId link);

// Hint for a link name that matches nothing.
std::string link_name_hint(const Fabric& fabric, std::string_view name);

}  // namespace orrery::network
