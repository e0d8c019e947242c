// SPDX-License-Identifier: MIT
#include "workload/training/options/offload.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace orrery::workload {
namespace {

// 55 of 63 GB/s of PCIe 5.0 x16.
constexpr Efficiency kPinnedCopies(873'000);

void read_share(Section& section, std::string_view key, double& share, std::string_view meaning) {
  section.takes(key, share, meaning);
  if (std::isfinite(share) && share >= 0 && share <= 1) return;
  section.error(key, fmt::format("{}: {} is no share", key, share), "between 0 and 100 %");
  share = 0;
}

// Leaves what there is where the key is left out.
void read_rate(Section& section, std::string_view key, std::optional<Bandwidth>& rate, std::string_view meaning) {
  std::optional<Bandwidth> given;
  section.takes(key, given, meaning);
  if (given) rate = given;
}

}  // namespace

void read_offload(Section& section, OffloadSpec& offload) {
  enum class Updater : std::uint8_t { kHost, kDevice };
  read_share(section, "states", offload.states,
             "share of the optimizer's states and masters that the host's memory holds. Example: `100 %`");
  Updater updater = Updater::kHost;
  section.takes("update", updater, {"host", "device"},
                "with `states`: who updates them; host: gradients go to the host and parameters come back, device: "
                "states come to the device and go back, bucket by bucket");
  offload.on_host = updater == Updater::kHost;
  if (offload.states == 0) section.idle("update", "no states are offloaded", "write states: 100 %");
  read_share(section, "activations", offload.activations,
             "share of the layers of each virtual stage, the first ones, whose activations go to the host's memory in "
             "the forward pass and come back for the backward pass, beside computing. Example: `50 %`");
}

HostMemory host_over(std::optional<Bandwidth> pcie) {
  HostMemory host;
  if (pcie) host.to_device = host.from_device = *pcie * kPinnedCopies;
  return host;
}

HostMemory read_host_memory(Section& node, std::optional<Bandwidth> pcie, std::int64_t devices) {
  HostMemory host = host_over(pcie);
  Efficiency share = kPinnedCopies;
  node.section(
      "host", "memory of the node's host, which `workload.offload` uses, and the way to it from each device",
      [&](Section& s) {
        s.takes("pcie", share,
                "share of a PCIe link's bandwidth that copies of pinned memory get, where `to_device` or `from_device` "
                "is left out");
        if (pcie) host.to_device = host.from_device = *pcie * share;
        read_rate(s, "to_device", host.to_device,
                  "bandwidth from the host's memory to one device; without it that of its "
                  "PCIe link. Example: `55 GB/s`");
        read_rate(
            s, "from_device", host.from_device,
            "bandwidth from one device to the host's memory; without it that of its PCIe link. Example: `55 GB/s`");
        if (s.has("to_device") && s.has("from_device"))
          s.idle("pcie", "'to_device' and 'from_device' hold", "leave it out", IdleWarning::kOwnFile);
        s.takes("memory", host.capacity, "capacity of the node's memory, which its devices share. Example: `2 TB`");
        s.takes("update", host.update,
                "rate at which the node's processors read and write memory in an optimizer's step, all of them "
                "together. Example: `117 GB/s`");
      });
  if (host.capacity) host.capacity = Bytes(host.capacity->count() / devices);
  if (host.update) host.update = Bandwidth(std::max<std::int64_t>(1, host.update->count() / devices));
  return host;
}

}  // namespace orrery::workload
