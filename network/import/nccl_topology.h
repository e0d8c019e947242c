// SPDX-License-Identifier: MIT
// NCCL's and RCCL's account of a node (NCCL_TOPO_DUMP_FILE): its PCIe tree, what NVLink or xGMI joins, and its NICs.
#pragma once

#include <string>

#include "core/files/xml.h"
#include "network/import/imported_node.h"

namespace orrery::network {

// The node of a document whose root is <system>. `device`: of configs/devices, in place of what the file implies; may
// be empty. InputError, with its line, for what NCCL does not write.
//
// NICs that are as fast as the fastest are the node's: slower ones are for storage or login. NVSwitches
// are one switch, to which each GPU has all its links.
ImportedNode read_nccl_topology(const XmlDocument& document, const std::string& device);

}  // namespace orrery::network
