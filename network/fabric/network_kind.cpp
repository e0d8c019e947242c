#include "network/fabric/link_type.h"

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "network/fabric/topology_config.h"

namespace orrery {
namespace {

HostStack read_stack(Section& section) {
  HostStack stack;
  const Bandwidth thread = required_link_bandwidth(section, "thread", "what one thread of a device's process moves");
  const std::int64_t threads =
      section.optional_integer("threads", 1, {1, 1024}, "that move a device's data, in each direction");
  if (thread > Bandwidth(Bandwidth::max().count() / threads))
    section.error("thread", fmt::format("{} threads of {} make more than can be counted", threads, to_text(thread)));
  else
    stack.bandwidth = thread * threads;
  stack.latency = section.required<Duration>("latency", "of a message, on the way out and again on the way in");
  return stack;
}

}  // namespace

NetworkSpec read_network(Section& section) {
  NetworkSpec network;
  network.kind = static_cast<NetworkKind>(section.required_choice(
      "kind", network_kind_names(),
      "by which libraries decide; efa-v2: the second generation on, ethernet: TCP without RDMA"));
  network.efficiency = read_efficiency(section, "efficiency",
                                       "share of a NIC's bandwidth that messages get, unless `nics` says another");
  section.section("stack", "software of the host that moves the data: TCP",
                  [&](Section& stack) { network.stack = read_stack(stack); });
  section.note("source", "where the figures come from");
  section.note("assumed", "figures that were not read in a source");
  return network;
}

}  // namespace orrery
