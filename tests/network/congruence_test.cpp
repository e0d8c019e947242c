// SPDX-License-Identifier: MIT
// Groups of equal congruence have the same routes, link for link, and routes between devices that share their switches
// follow from their ends.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "network/fabric/fabric.h"
#include "tests/network/config/read_cluster_text.h"

using namespace orrery;
using namespace orrery::network;

namespace {

using Group = std::vector<DeviceId>;

std::string cluster_text(const std::string& scale_out, const std::string& nics = "count: 4") {
  return "cluster:\n"
         "  node:\n"
         "    device: a100-sxm-80gb\n"
         "    devices: 4\n"
         "    fabric: {topology: switch, bandwidth: 300 GB/s, latency: 1 us, name: nvlink}\n"
         "    nics: {" +
         nics +
         ", bandwidth: 200 Gb/s, host_link: pcie-4, host_latency: 300 ns}\n"
         "  scale_out: {latency: 2 us, " +
         scale_out + "}\nnodes: 12\n";
}

// Some devices, each once: of few nodes, so that groups often lie alike.
Group random_group(std::mt19937& random, std::uint32_t devices) {
  std::vector<std::uint32_t> all(devices);
  for (std::uint32_t i = 0; i < devices; ++i) all[i] = i;
  std::shuffle(all.begin(), all.end(), random);
  Group group;
  const auto size = std::uniform_int_distribution<std::size_t>(2, 4)(random);
  for (std::size_t i = 0; i < size; ++i) group.push_back(DeviceId(all[i]));
  return group;
}

// Whether renaming the links of one group's routes gives those of the other, kinds included.
bool have_like_routes(const Fabric& fabric, const Group& a, const Group& b) {
  std::map<LinkId, LinkId> there, back;
  std::vector<LinkId> route_a, route_b;
  for (std::size_t from = 0; from < a.size(); ++from)
    for (std::size_t to = 0; to < a.size(); ++to) {
      fabric.route(a[from], a[to], route_a);
      fabric.route(b[from], b[to], route_b);
      if (route_a.size() != route_b.size()) return false;
      for (std::size_t i = 0; i < route_a.size(); ++i) {
        if (fabric.kind_of(route_a[i]) != fabric.kind_of(route_b[i])) return false;
        if (there.try_emplace(route_a[i], route_b[i]).first->second != route_b[i]) return false;
        if (back.try_emplace(route_b[i], route_a[i]).first->second != route_a[i]) return false;
      }
    }
  return true;
}

// Whether every route is a way out of the one device and a way into the other, wherever else these lead.
bool are_ways_out_and_in(const Fabric& fabric, const Group& group) {
  std::vector<LinkId> route, other;
  for (const DeviceId from : group)
    for (const DeviceId to : group) {
      if (from == to) continue;
      fabric.route(from, to, route);
      auto out = route.end();  // of what other routes from there have too
      auto in = route.rend();
      for (const DeviceId third : group) {
        if (third == from || third == to) continue;
        fabric.route(from, third, other);
        out = std::min(out, std::ranges::mismatch(route, other).in1);
        fabric.route(third, to, other);
        in = std::min(in, std::mismatch(route.rbegin(), route.rend(), other.rbegin(), other.rend()).first);
      }
      if (in.base() > out) return false;
    }
  return true;
}

Fabric fabric_of(const std::string& text, const Routing& routing = {}) {
  ReadCluster read = read_cluster_text(text, {}, routing);
  INFO(read.errors);
  REQUIRE(read.fabric);
  return *read.fabric;
}

std::vector<std::pair<std::string, bool>> with_and_without_relays(const std::vector<std::string>& clusters) {
  std::vector<std::pair<std::string, bool>> both;
  for (const std::string& text : clusters)
    for (const bool relays : {false, true}) both.emplace_back(text, relays);
  return both;
}

}  // namespace

TEST_CASE("groups of equal congruence have like routes, and groups that lie alike are often of equal congruence") {
  const std::vector<std::string> clusters = {
      cluster_text("topology: switch"),
      cluster_text("topology: switch", "count: 2"),
      cluster_text("topology: fat-tree, leaf_ports: 8, trunk_latency: 1 us"),
      cluster_text("topology: fat-tree, leaf_ports: 3, trunk_latency: 1 us, oversubscription: 2"),
      cluster_text("topology: fat-tree, leaf_ports: 4, pod_leaves: 4, trunk_latency: 1 us"),
      cluster_text("topology: rail-optimised, leaf_ports: 3, trunk_latency: 1 us"),
      cluster_text("topology: rail-optimised, leaf_ports: 2, pod_leaves: 8, trunk_latency: 1 us")};
  std::mt19937 random(7);
  for (const auto& [text, relays] : with_and_without_relays(clusters)) {
    Fabric fabric = fabric_of(text);
    if (relays) fabric.relay_between_rails();
    std::map<std::vector<std::uint32_t>, Group> seen;
    int pairs = 0;
    for (int i = 0; i < 4000; ++i) {
      const Group group = random_group(random, fabric.device_count());
      const auto congruence = fabric.congruence(group);
      REQUIRE(congruence);
      const auto [known, is_new] = seen.try_emplace(*congruence, group);
      if (is_new) continue;
      ++pairs;
      if (!have_like_routes(fabric, known->second, group)) FAIL(text);
    }
    CHECK(pairs > 100);
  }
}

TEST_CASE("no congruence is known where a message may go several ways, or links differ from their like") {
  const Group group = {DeviceId(0), DeviceId(5)};
  const std::string tree = cluster_text("topology: fat-tree, leaf_ports: 4, trunk_latency: 1 us");
  CHECK(fabric_of(tree).congruence(group).has_value());
  CHECK_FALSE(fabric_of(tree, {RoutingKind::kEcmp, 0}).congruence(group).has_value());
  Fabric fabric = fabric_of(tree);
  fabric.set_bandwidth(LinkId(0), Bandwidth(1'000'000));
  CHECK_FALSE(fabric.congruence(group).has_value());
}

TEST_CASE("routes between devices that share their switches are ways out and ways in") {
  const std::string composed =
      "cluster:\n  device: a100-sxm-80gb\n  dims:\n"
      "    - {name: a, topology: switch, size: 4, bandwidth: 100 GB/s, latency: 1 us}\n"
      "    - {name: b, topology: fat-tree, leaf_ports: 3, size: 6, bandwidth: 50 GB/s, "
      "latency: 1 us, trunk_latency: 1 us}\n"
      "    - {name: c, topology: ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}\n";
  const std::vector<std::string> clusters = {
      cluster_text("topology: switch"),
      cluster_text("topology: switch", "count: 2"),
      cluster_text("topology: fat-tree, leaf_ports: 8, trunk_latency: 1 us"),
      cluster_text("topology: rail-optimised, leaf_ports: 3, trunk_latency: 1 us"),
      cluster_text("topology: dragonfly, router_ports: 4, group_routers: 3, local_bandwidth: 100 GB/s, "
                   "global_bandwidth: 100 GB/s, local_latency: 1 us, global_latency: 1 us"),
      composed};
  std::mt19937 random(11);
  for (const auto& [text, relays] : with_and_without_relays(clusters)) {
    Fabric fabric = fabric_of(text);
    if (relays) fabric.relay_between_rails();
    int sharing = 0, others = 0;
    for (int i = 0; i < 4000; ++i) {
      const Group group = random_group(random, fabric.device_count());
      if (fabric.share_switches(group)) {
        ++sharing;
        if (!are_ways_out_and_in(fabric, group)) FAIL(text);
      } else if (!are_ways_out_and_in(fabric, group)) {
        ++others;
      }
    }
    INFO(text);
    CHECK((sharing > 50 || text.find("dragonfly") != std::string::npos));
    CHECK(others > 50);
  }
}
