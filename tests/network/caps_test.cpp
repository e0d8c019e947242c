// SPDX-License-Identifier: MIT
// Links that other links on every way keep from ever being full.
#include "network/fabric/caps.h"

#include <algorithm>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "tests/network/config/read_cluster_text.h"

using namespace orrery;
using namespace orrery::network;

namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

// Three nodes of two devices with a NIC and a host path each; GB/s.
Fabric cluster_of(int nic, int host) {
  const ReadCluster read = read_cluster_text(
      "cluster: {node: {device: {name: x}, devices: 2, fabric: {topology: switch, bandwidth: 90 GB/s, latency: 1 us, "
      "name: nvlink}, nics: {count: 2, bandwidth: " +
      std::to_string(nic) + " GB/s, host_bandwidth: " + std::to_string(host) +
      " GB/s, host_latency: 1 us}}, nodes: 3, scale_out: {topology: switch, latency: 1 us}}");
  INFO(read.errors);
  REQUIRE(read.fabric);
  return *read.fabric;
}

std::optional<LinkCap> cap_of_class(const Fabric& fabric, const std::string& name) {
  const auto classes = fabric.link_classes();
  const auto found = std::ranges::find(classes, name);
  REQUIRE(found != classes.end());
  return cap_of(fabric, static_cast<std::size_t>(found - classes.begin()));
}

}  // namespace

TEST_CASE("NICs get what their devices' host paths bring, and these what NICs do") {
  const Fabric fabric = cluster_of(25, 16);
  const std::optional<LinkCap> nic = cap_of_class(fabric, "nic.up");
  REQUIRE(nic);
  CHECK(fabric.link_classes()[nic->by].starts_with("pcie."));
  CHECK(nic->together == Bandwidth(16 * kGigabyte));
  CHECK(nic->least == Bandwidth(25 * kGigabyte));
  CHECK(nic->is_by_name());
  const std::optional<LinkCap> host = cap_of_class(fabric, "pcie.up");
  REQUIRE(host);
  CHECK(fabric.link_classes()[host->by].starts_with("nic."));
  CHECK_FALSE(host->is_by_name());
}

TEST_CASE("links that some messages cross alone have no cap") {
  const Fabric fabric = cluster_of(25, 16);
  for (const std::string name : {"nvlink.up", "nvlink.down"}) CHECK_FALSE(cap_of_class(fabric, name));
  const auto any = [](const std::string&) { return true; };
  for (const CappedClass& capped : capped_links(fabric, any))
    CHECK_FALSE(fabric.link_classes()[capped.link_class].starts_with("nvlink."));
}

TEST_CASE("classes are named as capped only where what comes to them is less than they carry") {
  const auto any = [](const std::string&) { return true; };
  const auto names = [&](const Fabric& fabric) {
    std::vector<std::string> found;
    for (const CappedClass& capped : capped_links(fabric, any)) found.push_back(capped_text(capped, fabric));
    return found;
  };
  const std::vector<std::string> by_host = names(cluster_of(25, 16));
  REQUIRE(by_host.size() == 1);
  CHECK(by_host.front().find("'nic.") != std::string::npos);
  CHECK(by_host.front().find("25 GB/s") != std::string::npos);
  CHECK(by_host.front().find("16 GB/s") != std::string::npos);
  const std::vector<std::string> by_nic = names(cluster_of(16, 25));
  REQUIRE(by_nic.size() == 1);
  CHECK(by_nic.front().find("'pcie.") != std::string::npos);
}
