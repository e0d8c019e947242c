// SPDX-License-Identifier: MIT
#include "network/fabric/link_type.h"

#include <fmt/format.h>

#include "network/fabric/topology_config.h"

namespace orrery::network {

LinkType read_link_type(Section& section) {
  LinkType type;
  type.bandwidth = required_link_bandwidth(section, "bandwidth", "bandwidth of one link, per direction");
  type.efficiency = read_efficiency(section, "efficiency", "share of the link's bandwidth that messages get");
  section.sources();
  return type;
}

std::optional<LinkType> read_link_type(Section& section, std::string_view key, std::string_view meaning) {
  std::optional<LinkType> type;
  section.section(
      key, meaning, [&](Section& link) { type = read_link_type(link); }, "links");
  return type;
}

DeviceLinks read_device_links(Section& device) {
  return {read_link_type(
              device, "nvlink",
              "NVLink generation of the device, for nodes with a `topology_matrix`. Example: `nvlink: nvlink-3`"),
          read_link_type(
              device, "pcie",
              "PCIe generation of the device's slot, for nodes with a `topology_matrix`. Example: `pcie: pcie-4`")};
}

LinkRate read_link_rate(Section& section, std::string_view bandwidth_meaning, std::string_view efficiency_meaning,
                        const LinkKeys& keys) {
  const auto type = read_link_type(
      section, keys.link,
      fmt::format("the kind of link: it gives `{}` and `{}` where they are left out", keys.bandwidth, keys.efficiency));
  const std::string by_type = fmt::format("by `{}`", keys.link);
  LinkRate rate;
  rate.nominal = section.when(type.has_value())
                     ? optional_link_bandwidth(section, keys.bandwidth, type.value_or(LinkType{}).bandwidth,
                                               bandwidth_meaning, by_type + ", else required")
                     : required_link_bandwidth(section, keys.bandwidth, bandwidth_meaning);
  rate.efficiency = read_efficiency(section, keys.efficiency, efficiency_meaning, type.value_or(LinkType{}).efficiency,
                                    by_type + ", else 100 %");
  return rate;
}

}  // namespace orrery::network
