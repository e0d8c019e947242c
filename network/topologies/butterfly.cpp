// SPDX-License-Identifier: MIT
// Butterfly (k-ary n-fly): n stages of switches with k ports on either side, through which all k^n members send one
// way, from the first stage to the last, and so back to the members. There is one way between any two: each stage
// replaces a digit of the sender's number by the receiver's, the highest first.
#include <array>

#include <fmt/format.h>

#include "core/config/config.h"
#include "network/fabric/topology.h"
#include "network/fabric/topology_config.h"

namespace orrery::network {
namespace {

constexpr std::array<std::string_view, 3> kClasses = {"up", "stage", "down"};

struct Stages {
  explicit Stages(const TopologyParameters& p)
      : size(p.size), ports(p.own.fly.ports), count(p.own.fly.stages), switches(size / ports) {}

  // Weight of the digit that a stage replaces.
  std::uint32_t unit(std::uint32_t stage) const {
    std::uint32_t unit = 1;
    for (std::uint32_t i = stage + 1; i < count; ++i) unit *= ports;
    return unit;
  }
  // The switch of a stage that the wire of this number comes to: those that differ in the stage's digit alone meet.
  std::uint32_t vertex(std::uint32_t stage, std::uint32_t wire) const {
    const std::uint32_t low = unit(stage);
    return size + stage * switches + wire / (low * ports) * low + wire % low;
  }

  std::uint32_t size;
  std::uint32_t ports;
  std::uint32_t count;
  std::uint32_t switches;  // of a stage
};

std::uint32_t switches(const TopologyParameters& p) {
  const Stages stages(p);
  return stages.count * stages.switches;
}

std::uint64_t links(const TopologyParameters& p) { return std::uint64_t{p.size} * (p.own.fly.stages + 1); }

// Link level * size + w is wire w behind that many stages. The odd picosecond of the members' latency is on the way
// down.
TopologyLink link(const TopologyParameters& p, std::uint32_t link) {
  const Stages stages(p);
  const std::uint32_t level = link / p.size;
  const std::uint32_t wire = link % p.size;
  const Duration half = p.latency / 2;
  if (level == 0) return {wire, stages.vertex(0, wire), 0, p.bandwidth, half};
  const std::uint32_t from = stages.vertex(level - 1, wire);
  if (level == stages.count) return {from, wire, 2, p.bandwidth, p.latency - half};
  return {from, stages.vertex(level, wire), 1, p.bandwidth, p.own.tree.trunk_latency};
}

void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  const Stages stages(p);
  std::uint32_t wire = from;
  route.cross(wire);
  for (std::uint32_t stage = 0; stage < stages.count; ++stage) {
    const std::uint32_t unit = stages.unit(stage);
    wire = wire - wire / unit % stages.ports * unit + to / unit % stages.ports * unit;
    route.cross((stage + 1) * p.size + wire);
  }
}

std::string switch_name(const TopologyParameters& p, std::uint32_t index) {
  const Stages stages(p);
  return fmt::format("stage{}.switch{}", index / stages.switches, index % stages.switches);
}

}  // namespace

extern constinit const TopologyShape kButterflyShape{kClasses, switches, links, link, route, switch_name};

void read_butterfly(Section& section, const Members&, TopologyOwn& own) {
  section.needs("ports", own.fly.ports, {2, 4096}, "butterfly: number of ports of a switch on either side");
  section.needs("stages", own.fly.stages, {1, 24}, "butterfly: number of stages; there are `ports` ^ `stages` members");
  own.size = 1;
  for (std::uint32_t stage = 0; stage < own.fly.stages; ++stage) {
    if (own.fly.ports > kMostDevices / own.size) {
      section.error("stages", fmt::format("{} stages of {} ports make more than {} members", own.fly.stages,
                                          own.fly.ports, kMostDevices));
      own.size = 0;
      break;
    }
    own.size *= own.fly.ports;
  }
  section.needs("trunk_latency", own.tree.trunk_latency, kTrunkLatencyMeaning);
}

}  // namespace orrery::network
