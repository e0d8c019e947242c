// SPDX-License-Identifier: MIT
#include "network/config/matrix.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/files/read_file.h"
#include "network/fabric/link_type.h"
#include "network/fabric/topology_config.h"

namespace orrery::network {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

// NVLink: 2.8 us measured with p2pBandwidthLatencyTest on 8 x A100, less 2.1 us on the CPU side. Between sockets: what
// NCCL reckons with on Skylake (SKL_QPI_BW in its topo.h). The latencies of PCIe and of sockets are assumed: a GPU and
// its NIC are about 500 ns apart, over two links.
constexpr Duration kNvlinkLatency{700'000};
constexpr Duration kPcieLatency{250'000};
constexpr Bandwidth kSockets{10'000'000'000};

MatrixCapacities read_capacities(Section& section, const DeviceLinks& links) {
  MatrixCapacities c;
  c.nvlink.latency = kNvlinkLatency;
  if (links.nvlink_count) c.nvlinks = static_cast<std::uint32_t>(*links.nvlink_count);
  c.pcie.latency = c.host_bridge.latency = c.sockets.latency = kPcieLatency;
  const auto efficiency = [&](std::string_view key, Efficiency fallback, std::string_view documented = {}) {
    return read_efficiency(section, key, "share of the bandwidth of these links that messages get", fallback,
                           documented);
  };
  constexpr std::string_view kOfDevice = "by the device's `nvlink`, else 100 %";
  const LinkType nvlink = links.nvlink.value_or(LinkType{Bandwidth(25'000'000'000)});
  c.nvlink.bandwidth = read_link_bandwidth(
      section, "nvlink", "bandwidth of one NVLink, per direction (NVLink 2 to 4: 25 GB/s; NVLink 5: 50 GB/s)",
      nvlink.bandwidth, "by the device's `nvlink`, else 25 GB/s");
  c.nvlink.efficiency = efficiency("nvlink_efficiency", nvlink.efficiency, kOfDevice);
  section.takes("nvlink_latency", c.nvlink.latency, "latency from GPU to GPU over NVLink");
  c.pcie.bandwidth = read_link_bandwidth(
      section, "pcie",
      "bandwidth of a PCIe link, per direction (3.0 x16: 15.75 GB/s; 4.0 x16: 31.5 GB/s; 5.0 x16: 63 GB/s)",
      bandwidth_of(links.pcie), "by the device's `pcie`, else required");
  c.pcie.efficiency =
      efficiency("pcie_efficiency", links.pcie.value_or(LinkType{}).efficiency, "by the device's `pcie`, else 100 %");
  section.takes("pcie_latency", c.pcie.latency,
                "latency of a PCIe link, including the switch or bridge that it leads to");
  c.host_bridge.bandwidth = read_link_bandwidth(
      section, "host_bridge", "bandwidth from a PCIe host bridge to the rest of its socket, per direction",
      c.pcie.bandwidth, "as `pcie`");
  c.host_bridge.efficiency = efficiency("host_bridge_efficiency", c.pcie.efficiency, "as `pcie_efficiency`");
  section.takes("host_bridge_latency", c.host_bridge.latency,
                "latency from a PCIe host bridge to the rest of its socket");
  c.sockets.bandwidth = read_link_bandwidth(
      section, "sockets", "bandwidth from a socket to the other sockets, per direction", kSockets, {});
  c.sockets.efficiency = efficiency("sockets_efficiency", kFullEfficiency);
  section.takes("sockets_latency", c.sockets.latency, "latency from socket to socket");
  section.note("source", "sources of the figures, for people");
  return c;
}

std::optional<std::string> read_matrix_file(Section& section, const std::string& path) {
  try {
    return read_text(path, {.most = kMostBytes, .what = "the output of `nvidia-smi topo -m`"});
  } catch (const InputError& error) {
    const Problem& problem = error.problems().front();
    section.error("topology_matrix", fmt::format("'{}' {}", printable(path), problem.message),
                  problem.hint.empty() ? "a path is relative to the file that names it" : problem.hint);
    return std::nullopt;
  }
}

bool fits(Section& section, const TopologyMatrix& matrix, const GraphMembers& members) {
  if (matrix.devices != members.devices)
    section.error("topology_matrix",
                  fmt::format("the matrix has {} GPUs, the node {} devices", matrix.devices, members.devices),
                  fmt::format("write devices: {}, or give it the matrix of the node", matrix.devices));
  if (members.nics != 0 && matrix.nics != members.nics)
    section.error("topology_matrix", fmt::format("the matrix has {} NICs, the node {}", matrix.nics, members.nics),
                  "NICs that training does not use can be left out of the file, with their rows and columns");
  return matrix.devices == members.devices && (members.nics == 0 || matrix.nics == members.nics);
}

}  // namespace

RoutedGraph read_matrix(Section& section, const GraphMembers& members, const DeviceLinks& links) {
  Diagnostics& diagnostics = section.context().diagnostics();
  const std::size_t errors = diagnostics.error_count();
  const auto name = section.maybe<std::string>(
      "topology_matrix",
      "file with the output of `nvidia-smi topo -m`, in place of `fabric`; a path relative to the file that names it");
  MatrixCapacities capacities;
  constexpr std::string_view kCapacities =
      "bandwidths and latencies of the links that `topology_matrix` implies; not needed if the device has `pcie`";
  const auto read = [&](Section& inner) { capacities = read_capacities(inner, links); };
  const bool implied = links.pcie && !section.has("capacities");
  if (implied)
    section.defaulted_section("capacities", kCapacities, read);
  else if (!section.section("capacities", kCapacities, read))
    section.error("capacities", "'topology_matrix' without 'capacities'", "for example {pcie: 31.5 GB/s}");
  if (!name) return {};
  const std::string file = section.path("topology_matrix", *name);
  const std::optional<std::string> text = read_matrix_file(section, file);
  if (!text) return {};
  const TopologyMatrix matrix = parse_topology_matrix(*text, file, diagnostics);
  if (diagnostics.error_count() != errors || !fits(section, matrix, members)) return {};
  GraphSpec spec = graph_of(matrix, capacities, members.nics > 0, file, diagnostics);
  if (diagnostics.error_count() != errors) return {};
  for (std::string key : spec.link_classes) {
    std::ranges::replace(key, '-', '_');
    spec.class_keys.push_back(fmt::format("{}.capacities.{}", section.path(), key));
  }
  return routed(std::move(spec), section, "topology_matrix");
}

}  // namespace orrery::network
