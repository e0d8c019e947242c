// SPDX-License-Identifier: MIT
// SimAI's topology file: GPUs, NVSwitches and switches of a whole cluster, link by link.
#pragma once

#include <string>
#include <string_view>

namespace orrery::network {

// True if the first line of a text is a topology's: five numbers, and the kind of GPU.
bool is_simai_topology(std::string_view text);

// Text of the cluster. Servers are nodes, whose NVSwitches are one; what leads from a GPU to other switches is its NIC.
// Switches that lead to the same GPUs, and above them to the same switches, act as one of their bandwidths together, as
// everywhere in Orrery where messages spread over parallel links. `device`: of configs/devices, in place of the file's;
// may be empty. InputError, with its line, for what is not as SimAI's generator writes it.
std::string simai_cluster_text(std::string_view text, const std::string& file, const std::string& device);

}  // namespace orrery::network
