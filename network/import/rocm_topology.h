// SPDX-License-Identifier: MIT
// Output of `rocm-smi --showtopo` and `amd-smi topology`: for every two GPUs the kind of link, and its weight.
#pragma once

#include <string>
#include <string_view>

#include "network/import/imported_node.h"

namespace orrery::network {

// True if a text is such an output.
bool is_rocm_topology(std::string_view text);

// Its node. `device`: of configs/devices, which the output does not name. A weight of 15 is one link of xGMI, more are
// several, which messages pass one after the other; hops say nothing, they are 1 however long the way (ROCm, issue
// 5763 of rocm-systems). InputError, with its line, for what is incomplete.
ImportedNode read_rocm_topology(std::string_view text, const std::string& file, const std::string& device);

}  // namespace orrery::network
