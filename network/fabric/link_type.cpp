// SPDX-License-Identifier: MIT
#include "network/fabric/link_type.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "network/fabric/topology_config.h"

namespace orrery::network {
namespace {

HostStack read_stack(Section& section) {
  HostStack stack;
  stack.key = section.path() + ".thread";
  const Bandwidth thread =
      read_link_bandwidth(section, "thread", "bandwidth that one thread of a device's process moves");
  std::int64_t threads = 1;
  section.takes("threads", threads, {1, 1024}, "number of threads that move a device's data, in each direction");
  if (thread > Bandwidth(Bandwidth::max().count() / threads))
    section.error("thread", fmt::format("{} threads of {} make more than can be counted", threads, to_text(thread)));
  else
    stack.bandwidth = thread * threads;
  section.needs("latency", stack.latency,
                "latency that the stack adds to a message, once at the sender and once at the receiver");
  return stack;
}

// Bandwidth of a fabric link known only by its kind; with `is_port`, of all links of a device together. Nothing where
// there are several, and their number is not known.
std::optional<Bandwidth> fabric_bandwidth(const LinkType& type, const DeviceLinks& device, bool is_port) {
  if (!type.bundled) return type.bandwidth;
  if (!is_port || device.nvlink != type || !device.nvlink_count) return std::nullopt;
  if (type.bandwidth > Bandwidth(Bandwidth::max().count() / *device.nvlink_count)) return std::nullopt;
  return type.bandwidth * *device.nvlink_count;
}

// Figures of a kind of link that the section gives itself. Called before defaults are written in.
void overrule_link(Section& section, const LinkKeys& keys) {
  const auto overrule = [&](std::string_view below, std::string_view by) {
    if (section.given(by))
      section.overruled(fmt::format("{}.{}", keys.link, below), fmt::format("{}.{}", section.path(), by),
                        section.where(by));
  };
  overrule("bandwidth", keys.bandwidth);
  overrule("bundled", keys.bandwidth);
  overrule("efficiency", keys.efficiency);
}

constexpr std::string_view kShareMeaning =
    "share of the nominal bandwidth that messages get, on every link of the topology";

}  // namespace

std::string derived_bandwidth_problem(std::string_view what, Int128 together, std::uint64_t links) {
  if (together > Bandwidth::max().count())
    return fmt::format("{} make more bandwidth together than can be counted", what);
  const auto each = static_cast<std::int64_t>(together / links);
  if (each >= kLeastBandwidth.count()) return {};
  return fmt::format("{} would have {} B/s {}, less than a link can have, {}", what, each,
                     links == 1 ? "together" : "each", to_text(kLeastBandwidth));
}

Bandwidth read_link_bandwidth(Section& section, std::string_view key, std::string_view meaning,
                              std::optional<Bandwidth> fallback, std::string_view documented) {
  const Key<Bandwidth> declared(key, meaning);
  const std::size_t errors = section.errors();
  const Bandwidth bandwidth =
      fallback ? declared.optional(section, *fallback, documented) : declared.required(section, documented);
  if (bandwidth >= kLeastBandwidth || !section.has(key) || !section.sound(errors))
    return std::max(bandwidth, kLeastBandwidth);
  section.error(key,
                fmt::format("{}.{}: {} is less than a link can have, {}", section.path(), key, to_text(bandwidth),
                            to_text(kLeastBandwidth)),
                "look for a unit that is missing its prefix, such as 'GB/s' or 'Gb/s'");
  return kLeastBandwidth;
}

LinkType read_link_type(Section& section) {
  LinkType type;
  type.bandwidth = read_link_bandwidth(section, "bandwidth", "bandwidth of one link, per direction");
  type.efficiency = read_efficiency(section, "efficiency", "share of the link's bandwidth that messages get");
  section.accepts("bundled", type.bundled,
                  "whether a device has several of these links (NVLink), so that a port of a switch has them all");
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
  constexpr Range kCount{1, 1024};
  DeviceLinks links;
  links.nvlink = read_link_type(device, "nvlink",
                                "NVLink generation of the device, for nodes with a `topology_matrix` and for switches "
                                "whose `link` is the same. Example: `nvlink: nvlink-3`");
  links.nvlink_count =
      WholeNumber("nvlink_count",
                  "number of NVLinks of the device, for switches whose `link` is its `nvlink`. Example: "
                  "`nvlink_count: 12`",
                  kCount)
          .maybe(device);
  links.pcie = read_link_type(
      device, "pcie",
      "PCIe generation of the device's slot, for nodes with a `topology_matrix`. Example: `pcie: pcie-4`");
  // The device's own reader documents and checks it.
  const ConfigValue* architecture = device.value("architecture");
  const std::vector<std::string> names = architecture_names();
  const auto named = architecture == nullptr ? names.end() : std::ranges::find(names, architecture->scalar);
  if (named != names.end()) links.architecture = static_cast<Architecture>(named - names.begin());
  return links;
}

LinkRate read_link_rate(Section& section, std::string_view bandwidth_meaning, std::string_view efficiency_meaning,
                        const LinkKeys& keys) {
  const auto type = read_link_type(
      section, keys.link,
      fmt::format("the kind of link: it gives `{}` and `{}` where they are left out", keys.bandwidth, keys.efficiency));
  overrule_link(section, keys);
  const std::string by_type = fmt::format("by `{}`", keys.link);
  LinkRate rate;
  rate.nominal =
      read_link_bandwidth(section, keys.bandwidth, bandwidth_meaning, bandwidth_of(type), by_type + ", else required");
  rate.efficiency = read_efficiency(section, keys.efficiency, efficiency_meaning, type.value_or(LinkType{}).efficiency,
                                    by_type + ", else 100 %");
  return rate;
}

LinkRate read_fabric_rate(Section& section, std::string_view bandwidth_meaning, const DeviceLinks& device,
                          bool is_port) {
  const auto type = read_link_type(section, "link",
                                   "the kind of link: it gives `efficiency` and `bandwidth` where they are left out; "
                                   "the port of a switch has as many NVLinks as the device's `nvlink_count` says");
  overrule_link(section, {});
  std::optional<Bandwidth> by_type = type ? fabric_bandwidth(*type, device, is_port) : std::nullopt;
  if (type && !by_type) {
    if (!section.has("bandwidth"))
      section.context().diagnostics().error(
          section.where_key("link"),
          fmt::format("{}: `link` is one link of {}, and a device has several", section.path(),
                      to_text(type->bandwidth)),
          is_port ? "write `bandwidth`, of all links of a device together; or `nvlink_count`, their number, "
                    "and `nvlink`, the same kind, in the device"
                  : "write `bandwidth`, of all links between two devices together");
    by_type = type->bandwidth;
  }
  LinkRate rate;
  rate.nominal = read_link_bandwidth(section, "bandwidth", bandwidth_meaning, by_type,
                                     "by `link` and the device's `nvlink_count`, else required");
  rate.efficiency = read_efficiency(section, "efficiency", kShareMeaning, type.value_or(LinkType{}).efficiency,
                                    "by `link`, else 100 %");
  return rate;
}

NetworkSpec read_network(Section& section) {
  NetworkSpec network;
  section.needs("kind", network.kind, network_kind_names(),
                "kind of the network, which NCCL's costs depend on; efa-v2: the second generation of EFA and later "
                "ones, ethernet: TCP without RDMA");
  network.efficiency = read_efficiency(
      section, "efficiency", "share of a NIC's bandwidth that messages get, unless `nics.efficiency` is given");
  section.section("stack", "network stack of the host that moves the data (TCP)",
                  [&](Section& stack) { network.stack = read_stack(stack); });
  section.sources();
  return network;
}

}  // namespace orrery::network
