// SPDX-License-Identifier: MIT
#include "network/fabric/link_type.h"

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "network/fabric/topology_config.h"

namespace orrery::network {
namespace {

HostStack read_stack(Section& section) {
  HostStack stack;
  const Bandwidth thread =
      required_link_bandwidth(section, "thread", "bandwidth that one thread of a device's process moves");
  const std::int64_t threads = section.optional_integer(
      "threads", 1, {1, 1024}, "number of threads that move a device's data, in each direction");
  if (thread > Bandwidth(Bandwidth::max().count() / threads))
    section.error("thread", fmt::format("{} threads of {} make more than can be counted", threads, to_text(thread)));
  else
    stack.bandwidth = thread * threads;
  section.needs("latency", stack.latency,
                "latency that the stack adds to a message, once at the sender and once at the receiver");
  return stack;
}

}  // namespace

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
