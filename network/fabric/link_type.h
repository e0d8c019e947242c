// Kinds of links by generation (configs/links): what one link carries, and the share of it that messages get. A node
// names them wherever it says what its links are, so that a link is as fast however the machine is described.
#pragma once

#include <optional>
#include <string_view>

#include "core/config/config.h"
#include "core/units.h"

namespace orrery {

struct LinkType {
  Bandwidth bandwidth{1};  // nominal, of one link, per direction
  Efficiency efficiency = kFullEfficiency;
};

// Reads a kind of link, a file of configs/links.
LinkType read_link_type(Section& section);

// The one at `key`; nothing if the key is not there.
std::optional<LinkType> read_link_type(Section& section, std::string_view key, std::string_view meaning);

// What joins a device to others, as far as its configuration says.
struct DeviceLinks {
  std::optional<LinkType> nvlink;
  std::optional<LinkType> pcie;
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
LinkRate read_link_rate(
    Section& section, std::string_view bandwidth_meaning,
    std::string_view efficiency_meaning = "share of the nominal bandwidth that messages get, on every link",
    const LinkKeys& keys = {});

}  // namespace orrery
