// SPDX-License-Identifier: MIT
// Kinds of links by generation (configs/links): what one link carries, and the share of it that messages get. A node
// names them wherever it says what its links are, so that a link is as fast however the machine is described.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/config/config.h"
#include "core/machine_kind.h"
#include "core/units.h"

namespace orrery::network {

// The bandwidths of links in configurations. Rates are whole bytes per second, so that a link which many messages share
// must have some thousands of them for each to get its share; what is given as less is a slip of the pen.
inline constexpr Bandwidth kLeastBandwidth{1000};  // of a link

// Problem with `links` equal links whose bandwidth `together` is derived from other values, or "". `what` names them:
// "the links up from a leaf switch".
std::string derived_bandwidth_problem(std::string_view what, Int128 together, std::uint64_t links);

// Reads the bandwidth of a link, which must be there unless there is a `fallback`; reports one that no link may have.
// `documented` as in Key.
Bandwidth read_link_bandwidth(Section& section, std::string_view key, std::string_view meaning,
                              std::optional<Bandwidth> fallback = {}, std::string_view documented = "required");

struct LinkType {
  Bandwidth bandwidth{1};  // nominal, of one link, per direction
  Efficiency efficiency = kFullEfficiency;
  bool bundled = false;  // devices have several, as of NVLink: one alone is not what joins a device to a switch

  friend bool operator==(const LinkType&, const LinkType&) = default;
};

inline std::optional<Bandwidth> bandwidth_of(const std::optional<LinkType>& type) {
  return type ? std::optional(type->bandwidth) : std::nullopt;
}

// Reads a kind of link, a file of configs/links.
LinkType read_link_type(Section& section);

// The one at `key`; nothing if the key is not there.
std::optional<LinkType> read_link_type(Section& section, std::string_view key, std::string_view meaning);

// Links of a device, as far as its configuration names them.
struct DeviceLinks {
  std::optional<LinkType> nvlink;
  std::optional<std::int64_t> nvlink_count;
  std::optional<LinkType> pcie;
  Architecture architecture = Architecture::kOther;
};
DeviceLinks read_device_links(Section& device);

// The keys of a link in a section: "bandwidth", "efficiency", "link".
struct LinkKeys {
  std::string_view bandwidth = "bandwidth";
  std::string_view efficiency = "efficiency";
  std::string_view link = "link";
};

struct LinkRate {
  Bandwidth nominal{1};
  Efficiency efficiency = kFullEfficiency;
};

// Reads the nominal bandwidth of a link and the share of it that messages get; a kind of link stands for what is left
// out, but for a bandwidth that nothing says, which is an error.
LinkRate read_link_rate(Section& section, std::string_view bandwidth_meaning, std::string_view efficiency_meaning,
                        const LinkKeys& keys = {});

// The same of a fabric that joins devices: links between two of them or, with `is_port`, between a device and a switch,
// which are then all that the device has. A bundled kind without a bandwidth is an error where their number is not
// known.
LinkRate read_fabric_rate(Section& section, std::string_view bandwidth_meaning, const DeviceLinks& device,
                          bool is_port);

// Software stack of a host whose processors move the data between a device and its NICs: a pair of links of each
// device, out and in. Each message between nodes crosses one of the sender's and one of the receiver's. Part of the
// scale-out network (configs/networks), which also says what the NICs speak and what share of their bandwidth messages
// get.
struct HostStack {
  Bandwidth bandwidth{1};  // of a device, per direction
  Duration latency{};      // on the way out, and again on the way in
  std::string key{};       // of the configuration that sets the bandwidth; may be empty
};

struct NetworkSpec {
  NetworkKind kind = NetworkKind::kOther;
  Efficiency efficiency = kFullEfficiency;  // of the NICs, where the node does not say otherwise
  std::optional<HostStack> stack{};
};

// Reads a network, a file of configs/networks.
NetworkSpec read_network(Section& section);

}  // namespace orrery::network
