// SPDX-License-Identifier: MIT
// GPUs as other tools name them, and the device and kinds of links (configs/devices, configs/links) that these are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::network {

struct GpuName {
  std::string_view device;       // of configs/devices
  std::uint32_t pci = 0;         // vendor and device, as 0x10de2330; 0: not known
  std::uint32_t capability = 0;  // NVIDIA's, as 90, where this is the GPU to take for it; 0: another is
  std::string_view link{};       // kind of the links between GPUs; none: they are no kind of configs/links
  std::string_view pcie{};       // kind of its own slot
  std::uint32_t dies = 1;        // that tools count as GPUs of their own
};

// Null where the table has none.
const GpuName* gpu_of_pci(std::uint32_t vendor_and_device);
const GpuName* gpu_of_capability(std::uint32_t capability);
const GpuName* gpu_of_device(std::string_view device);

// Compute capabilities that the table has.
std::vector<std::string> known_capabilities();

}  // namespace orrery::network
