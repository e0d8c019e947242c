// SPDX-License-Identifier: MIT
// Parts of a training job that are kept in the memory of hosts instead of their devices', and what a host can do for
// one of its devices.
#pragma once

#include <cstdint>
#include <optional>

#include "core/config/config.h"
#include "core/units.h"

namespace orrery::workload {

// Host as one of its devices sees it. Copies each way run beside one another and beside kernels: a device has a copy
// engine for each.
struct HostMemory {
  std::optional<Bandwidth> to_device;  // nothing: not known
  std::optional<Bandwidth> from_device;
  std::optional<Bandwidth> update;  // of memory that an optimizer on the host's processors reads and writes
  std::optional<Bytes> capacity;    // a device's part; nothing: not known, and not checked

  bool operator==(const HostMemory&) const = default;
};

struct OffloadSpec {
  double states = 0;       // share of the optimizer's states and masters
  bool on_host = true;     // the host updates them: gradients go down, parameters up; else states go up and down
  double activations = 0;  // share of the layers of each virtual stage, the first ones
  HostMemory host;         // of the device

  bool any() const { return states > 0 || activations > 0; }
  bool operator==(const OffloadSpec&) const = default;
};

// Reads the key `offload`, a map.
void read_offload(Section& section, OffloadSpec& offload);

// Host of a device of which nothing but its PCIe link is known.
HostMemory host_over(std::optional<Bandwidth> pcie);

// Reads the key `host` of a node. `pcie`: of the device, between it and the host where the node does not say otherwise;
// `devices`: of the node, which share its memory and its processors.
HostMemory read_host_memory(Section& node, std::optional<Bandwidth> pcie, std::int64_t devices);

}  // namespace orrery::workload
