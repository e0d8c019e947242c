// SPDX-License-Identifier: MIT
#include "network/import/gpu_names.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace orrery::network {
namespace {

// PCI identifiers: pci.ids of the PCI ID project, from memory. Compute capabilities: NVIDIA's CUDA programming guide.
// The first device that was sold as SXM stands for an identifier that several have.
constexpr std::array kGpus = {
    GpuName{"p100-sxm", 0x10de15f9, 60, "nvlink-1", "pcie-3"},
    GpuName{"v100-sxm2-32gb", 0x10de1db5, 70, "nvlink-2", "pcie-3"},
    GpuName{"v100-sxm3-32gb", 0x10de1db8, 0, "nvlink-2", "pcie-3"},
    GpuName{"a100-sxm-80gb", 0x10de20b2, 80, "nvlink-3", "pcie-4"},
    GpuName{"a100-sxm-40gb", 0x10de20b0, 0, "nvlink-3", "pcie-4"},
    GpuName{"a100-pcie-80gb", 0x10de20b5, 0, "nvlink-3", "pcie-4"},
    GpuName{"a800-sxm-80gb", 0x10de20f3, 0, "nvlink-3", "pcie-4"},
    GpuName{"a800-pcie-80gb", 0x10de20f5, 0, "nvlink-3", "pcie-4"},
    GpuName{"a40", 0x10de2235, 86, "nvlink-3-a40", "pcie-4"},
    GpuName{"l40s", 0x10de26b9, 89, "", "pcie-4"},
    GpuName{"rtx4090", 0x10de2684, 0, "", "pcie-4"},
    GpuName{"h100-sxm", 0x10de2330, 90, "nvlink-4", "pcie-5"},
    GpuName{"h100-pcie", 0x10de2331, 0, "nvlink-4", "pcie-5"},
    GpuName{"h200-sxm", 0x10de2335, 0, "nvlink-4", "pcie-5"},
    GpuName{"h200-nvl", 0x10de233b, 0, "nvlink-4", "pcie-5"},
    GpuName{"h800-sxm", 0x10de2324, 0, "nvlink-4", "pcie-5"},
    GpuName{"h20", 0x10de2329, 0, "nvlink-4", "pcie-5"},
    GpuName{"gh200", 0x10de2342, 0, "nvlink-4", "pcie-5"},
    GpuName{"b200-sxm", 0x10de2901, 100, "nvlink-5", "pcie-5"},
    GpuName{"gb200", 0x10de2941, 0, "nvlink-5", "pcie-5"},
    GpuName{"b300-sxm", 0x10de3182, 103, "nvlink-5", "pcie-6"},
    GpuName{"gb300", 0x10de31c2, 0, "nvlink-5", "pcie-6"},
    GpuName{"rtx-pro-6000", 0x10de2bb5, 120, "", "pcie-5"},
    GpuName{"mi250x", 0x10027408, 0, "", "pcie-4", 2},
    GpuName{"mi300x", 0x100274a1, 0, "xgmi-3", "pcie-5"},
    GpuName{"mi325x", 0x100274a5, 0, "xgmi-3", "pcie-5"},
    GpuName{"mi350x", 0x100275a0, 0, "xgmi-4", "pcie-5"},
    GpuName{"mi355x", 0x100275a3, 0, "xgmi-4", "pcie-5"},
};

template <class Value>
const GpuName* find_gpu(Value GpuName::*member, const Value& value) {
  const auto found = std::ranges::find(kGpus, value, member);
  return found == kGpus.end() ? nullptr : &*found;
}

}  // namespace

const GpuName* gpu_of_pci(std::uint32_t vendor_and_device) {
  return vendor_and_device == 0 ? nullptr : find_gpu(&GpuName::pci, vendor_and_device);
}

const GpuName* gpu_of_capability(std::uint32_t capability) {
  return capability == 0 ? nullptr : find_gpu(&GpuName::capability, capability);
}

const GpuName* gpu_of_device(std::string_view device) { return find_gpu(&GpuName::device, device); }

std::vector<std::string> known_capabilities() {
  std::vector<std::string> known;
  for (const GpuName& gpu : kGpus)
    if (gpu.capability != 0) known.push_back(fmt::format("{}", gpu.capability));
  return known;
}

}  // namespace orrery::network
