// SPDX-License-Identifier: MIT
// No collective on any shipped cluster is faster than its links.
#include <catch2/catch.hpp>
#include <cmath>

#include "experiment/experiment.h"
#include "study/benchmark/study.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::experiment;
using namespace orrery::network;
using namespace orrery::study;

namespace {

// A "node" of these is a pod of thousands, and an all-to-all of two of them tens of millions of messages: they are
// tested as pods of 16 and 64 with as many chips for each NIC.
std::vector<std::string> settings_of(const std::string& cluster) {
  std::vector<std::string> settings = {"network.model=flow"};
  const auto add = [&](const char* devices, const char* sizes, const char* nics) {
    settings.push_back(std::string("cluster.node.devices=") + devices);
    settings.push_back(std::string("cluster.node.fabric.sizes=") + sizes);
    settings.push_back(std::string("cluster.node.nics.count=") + nics);
  };
  // Enough of a pod to go round in every dimension.
  if (cluster == "tpu-v3-pod" || cluster == "tpu-v5e-pod" || cluster == "tpu-v6e-pod") add("16", "[4, 4]", "4");
  if (cluster == "tpu-v4-pod" || cluster == "tpu-v5p-pod") add("32", "[2, 4, 4]", "8");
  if (cluster == "tpu-v7-pod") add("32", "[2, 4, 4]", "16");
  return settings;
}

Fabric fabric_of(const std::string& cluster) {
  Diagnostics diagnostics;
  ConfigValue root{ConfigValue::Kind::kMap, {}, {}, {}, {}};
  std::vector<std::string> settings = settings_of(cluster);
  settings.insert(settings.begin(), {"cluster=" + cluster, "nodes=2"});
  for (const std::string& setting : settings) apply_setting(root, setting, kFiles, diagnostics);
  return read_machine(cluster, std::move(root), kFiles, diagnostics).fabric;
}

// Everything that leaves a device, and everything that leaves the first node, in bytes per second.
struct Capacities {
  double device = 0;
  double node = 0;
};

Capacities capacities_of(const Fabric& fabric) {
  const auto in_first_node = [&](VertexId vertex) { return fabric.vertex_name(vertex).starts_with("node0."); };
  Capacities capacities;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const LinkEnds ends = fabric.ends(LinkId(i));
    const auto bandwidth = static_cast<double>(fabric.link(LinkId(i)).bandwidth.count());
    if (index_of(ends.from) == 0) capacities.device += bandwidth;
    if (in_first_node(ends.from) && !in_first_node(ends.to)) capacities.node += bandwidth;
  }
  return capacities;
}

constexpr double kRounding = 1 + 1e-9;  // of doubles

}  // namespace

TEST_CASE("collectives over two nodes of every shipped cluster are within what its links carry") {
  const std::vector<std::string> clusters = kFiles.names("clusters");
  REQUIRE(clusters.size() > 30);
  for (const std::string& cluster : clusters) {
    CAPTURE(cluster);
    const Fabric fabric = fabric_of(cluster);
    const Capacities capacities = capacities_of(fabric);
    REQUIRE(capacities.node > 0);
    const double per_node = fabric.dimensions().front().size;
    for (const char* name : {"all_reduce", "all_to_all"}) {
      CAPTURE(name);
      const CollectiveQuestion question{.cluster = cluster, .nodes = "2", .settings = settings_of(cluster)};
      const CollectiveTable table = study_collective(question, workload::call_operation_named(name, "--op"),
                                                     std::vector{Bytes(8), Bytes(64 << 20)}, kFiles);
      REQUIRE(table.ranks == fabric.device_count());
      for (const CollectiveRow& row : table.rows) {
        CHECK(row.time > Duration::zero());
        CHECK(std::isfinite(row.bus_bandwidth));
        CHECK(row.bus_bandwidth > 0);
        CHECK(row.bound.share > 0);
        CHECK(row.bound.share <= kRounding);
        CHECK(row.overload.factor <= kRounding);
        // A rank sends busbw * time bytes, or more.
        CHECK(row.bus_bandwidth <= capacities.device * kRounding);
        // Of an all-reduce, S leaves each of two nodes, half reducing and half gathering; of an all-to-all, half of
        // what each of its ranks has.
        const double leaving = std::string(name) == "all_reduce" ? 1 : per_node / 2;
        CHECK(row.algorithm_bandwidth * leaving <= capacities.node * kRounding);
      }
      CHECK(table.rows[1].bus_bandwidth > table.rows[0].bus_bandwidth);
    }
  }
}

TEST_CASE("more bytes never take less time, with any operation on two nodes of any shipped cluster") {
  // About the changes of protocol and algorithm too, and sizes that do not divide.
  const std::vector<Bytes> sizes = {
      Bytes(8),         Bytes(1 << 10),       Bytes(64 << 10), Bytes((256 << 10) + 4),
      Bytes(260 << 10), Bytes(1 << 20),       Bytes(8 << 20),  Bytes((8 << 20) + (256 << 10)),
      Bytes(64 << 20),  Bytes((64 << 20) + 4)};
  for (const std::string& cluster : kFiles.names("clusters"))
    for (const workload::CallOperation& operation : workload::call_operations()) {
      CAPTURE(cluster, operation.name);
      const CollectiveQuestion question{.cluster = cluster, .nodes = "2", .settings = settings_of(cluster)};
      const CollectiveTable table = study_collective(question, operation, sizes, kFiles);
      for (std::size_t i = 1; i < sizes.size(); ++i) {
        INFO(sizes[i].count() << " bytes: " << table.rows[i].time.count() << " ps, " << sizes[i - 1].count()
                              << " bytes: " << table.rows[i - 1].time.count() << " ps");
        CHECK(table.rows[i].time >= table.rows[i - 1].time);
      }
    }
}

TEST_CASE("a DGX A100 and an HGX A800 differ in NVLink and in nothing else") {
  const Fabric a100 = fabric_of("dgx-a100");
  const Fabric a800 = fabric_of("hgx-a800");
  REQUIRE(a100.link_count() == a800.link_count());
  for (std::uint32_t i = 0; i < a100.link_count(); ++i) {
    const Link& first = a100.link(LinkId(i));
    const Link& second = a800.link(LinkId(i));
    const bool nvlink = a100.link_classes()[first.link_class].starts_with("nvlink");
    CHECK(first.latency == second.latency);
    // 12 links of 25 GB/s against 8.
    if (nvlink)
      CHECK(first.bandwidth * 8 == second.bandwidth * 12);
    else
      CHECK(first.bandwidth == second.bandwidth);
  }
}
