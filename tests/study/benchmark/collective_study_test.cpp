// SPDX-License-Identifier: MIT
// Tables of collectives on real clusters against calculations by hand.
#include "study/benchmark/study.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;
using namespace std::chrono_literals;

namespace {

constexpr Bytes kGiB{1 << 30};
constexpr Bandwidth kNvlink{240'000'000'000};  // 80 % of 300
constexpr Bandwidth kHost{23'999'850'000};     // 76.19 % of PCIe's 31.5, which is less than the NIC's 25
constexpr Duration kNvlinkLatency = 700ns;
constexpr Duration kNetworkLatency = 500ns + 600ns + 500ns;  // host link, InfiniBand, host link

CollectiveTable table_of(const CollectiveQuestion& question, const char* operation, std::vector<Bytes> sizes) {
  return study_collective(question, workload::call_operation_named(operation, "--op"), sizes, kFiles);
}

CollectiveRow row_of(const CollectiveQuestion& question, const char* operation, Bytes size) {
  return table_of(question, operation, {size}).rows.at(0);
}

std::string error_of(const CollectiveQuestion& question, const char* operation = "all_reduce") {
  try {
    row_of(question, operation, kGiB);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

// Halving-doubling among `ranks` (a power of two): halves, quarters, ... of `bytes`, each after the latency; and back.
Duration halving_doubling(Bytes bytes, std::int64_t ranks, Bandwidth bandwidth, Duration latency) {
  Duration time{};
  for (std::int64_t parts = 2; parts <= ranks; parts *= 2) time += 2 * (latency + ceil_div(bytes, parts) / bandwidth);
  return time;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("eight A100 all-reduce at the speed of NVLink") {
  const CollectiveRow row = row_of({.cluster = "dgx-a100", .library = "fixed"}, "all_reduce", kGiB);
  CHECK(row.time == halving_doubling(kGiB, 8, kNvlink, kNvlinkLatency));
  CHECK(row.algorithm_bandwidth == Approx(0x1p30 / seconds(row.time)));
  CHECK(row.bus_bandwidth == Approx(1.75 * row.algorithm_bandwidth));
  CHECK(row.count == 1 << 28);
  CHECK(row.algorithm == "halving-doubling");
  CHECK_FALSE(row.protocol.has_value());
  CHECK(row.bound.name == "nvlink");
  // Each GPU sends 7/4 GiB over its link.
  CHECK(row.bound.share == Approx(1.75 * 0x1p30 / 240e9 / seconds(row.time)));
}

TEST_CASE("over nodes, NVLink and NICs take turns, and the slower one bounds") {
  const auto expected = [](std::int64_t nodes) {
    return halving_doubling(kGiB, 8, kNvlink, kNvlinkLatency) +
           halving_doubling(ceil_div(kGiB, 8), nodes, kHost, kNetworkLatency);
  };
  // Per GiB: NVLink 1.75 / 240 = 7.3e-3; PCIe 2 * 1/2 / 8 / 24 = 5.2e-3 with two nodes, 7.8e-3 with four.
  const CollectiveRow two = row_of({.cluster = "dgx-a100", .nodes = "2", .library = "fixed"}, "all_reduce", kGiB);
  CHECK(two.time == expected(2));
  CHECK(two.algorithm == "halving-doubling+halving-doubling");
  CHECK(two.bound.name == "nvlink");
  const CollectiveRow four = row_of({.cluster = "dgx-a100", .nodes = "4", .library = "fixed"}, "all_reduce", kGiB);
  CHECK(four.time == expected(4));
  CHECK(four.bound.name == "pcie");
  const CollectiveQuestion one_each{.cluster = "dgx-a100", .nodes = "2", .devices_per_node = "1", .library = "fixed"};
  CHECK(row_of(one_each, "all_reduce", kGiB).bound.name == "pcie");
}

TEST_CASE("a few bytes take the latencies") {
  for (const workload::CallOperation& operation : workload::call_operations())
    for (const char* nodes : {"1", "2"})
      for (const char* library : {"fixed", "nccl"}) {
        CAPTURE(operation.name, nodes, library);
        const CollectiveQuestion question{.cluster = "dgx-a100", .nodes = nodes, .library = library};
        const CollectiveRow row = study_collective(question, operation, std::vector{Bytes(8)}, kFiles).rows.at(0);
        CHECK(row.bound.name == "latency");
        CHECK(row.bound.share > 0.99);  // 8 bytes at 24 GB/s are 0.3 ns, beside 700 ns and more
        CHECK(row.time >= kNvlinkLatency);
      }
}

TEST_CASE("latency gives way to the link where it is half of the time") {
  // Ring of 8: 14 * (700 ns + S/8 / 240 GB/s); both are alike at S = 8 * 168,000 B.
  const CollectiveQuestion question{.cluster = "dgx-a100", .algorithm = "ring", .library = "fixed"};
  CHECK(row_of(question, "all_reduce", Bytes(1'300'000)).bound.name == "latency");
  CHECK(row_of(question, "all_reduce", Bytes(1'400'000)).bound.name == "nvlink");
}

TEST_CASE("every rank sends to the next, and the messages between nodes are last") {
  const CollectiveRow inside = row_of({.cluster = "dgx-a100", .library = "fixed"}, "sendrecv", kGiB);
  CHECK(inside.time == kNvlinkLatency + kGiB / kNvlink);
  const CollectiveRow across = row_of({.cluster = "dgx-a100", .nodes = "2", .library = "fixed"}, "sendrecv", kGiB);
  CHECK(across.time == kNetworkLatency + kGiB / kHost);
  CHECK(across.bus_bandwidth == across.algorithm_bandwidth);
  CHECK(across.algorithm == "point-to-point");
  CHECK(across.bound.name == "pcie");
  // Two ranks send to each other at once.
  const CollectiveRow pair =
      row_of({.cluster = "dgx-a100", .devices_per_node = "2", .library = "fixed"}, "sendrecv", kGiB);
  CHECK(pair.time == kNvlinkLatency + kGiB / kNvlink);
}

TEST_CASE("the algorithm is chosen for all dimensions or for each, in any case") {
  const auto algorithm = [](const char* text) {
    const CollectiveQuestion question{.cluster = "dgx-a100", .nodes = "2", .algorithm = text, .library = "fixed"};
    return row_of(question, "all_reduce", Bytes(1 << 20)).algorithm;
  };
  CHECK(algorithm("ring") == "ring+ring");
  CHECK(algorithm("RING,Direct4") == "ring+direct4");
  CHECK(algorithm("Halving-Doubling") == "halving-doubling+halving-doubling");
  // 14 steps of an eighth each.
  CHECK(row_of({.cluster = "dgx-a100", .algorithm = "Ring", .library = "fixed"}, "all_reduce", kGiB).time ==
        14 * (kNvlinkLatency + ceil_div(kGiB, 8) / kNvlink));
  // Of logical dimensions, which are as many as they are.
  const CollectiveQuestion logical{.cluster = "dgx-a100",
                                   .nodes = "2",
                                   .algorithm = "ring",
                                   .library = "fixed",
                                   .settings = {"collectives.logical_dimensions=[2, 4, 2]"}};
  CHECK(row_of(logical, "all_reduce", Bytes(1 << 20)).algorithm == "ring+ring+ring");
  const CollectiveQuestion settings{
      .cluster = "dgx-a100", .algorithm = "ring", .settings = {"collectives.algorithms.all_reduce=direct"}};
  CHECK(row_of(settings, "all_reduce", kGiB).algorithm == "ring");
}

TEST_CASE("the library is an option or a setting, and tells what --algo, --proto and --launch mean") {
  CHECK(error_of({.cluster = "dgx-a100",
                  .algorithm = "Tree,CollNetDirect",
                  .protocol = "LL,Simple",
                  .launch = "single-process",
                  .library = "nccl"})
            .empty());
  // NVLS runs in Simple only, so each of the two says that the other has been heard.
  constexpr const char* kNone = "NCCL has none of the algorithms of 'algo' in a protocol of 'proto'";
  CHECK(has(error_of({.cluster = "dgx-a100", .algorithm = "NVLS", .protocol = "LL128", .library = "nccl"}), kNone));
  CHECK(has(error_of({.cluster = "dgx-a100",
                      .algorithm = "nvls",
                      .settings = {"collectives.library=nccl", "collectives.proto=ll"}}),
            kNone));
  CHECK(has(
      error_of(
          {.cluster = "dgx-a100", .protocol = "ll", .settings = {"collectives.library=nccl", "collectives.algo=nvls"}}),
      kNone));
  CHECK(has(error_of({.cluster = "dgx-a100", .launch = "threads", .library = "fixed"}),
            "--launch: error: 'launch' means nothing"));
  CHECK(has(error_of({.cluster = "dgx-a100", .launch = "none", .library = "nccl"}), "--launch: error"));
  CHECK(has(error_of({.cluster = "dgx-a100", .protocol = "ll", .library = "nccl"}, "sendrecv"), "--proto: error"));
  const CollectiveQuestion fixed{
      .cluster = "dgx-a100", .algorithm = "ring", .library = "fixed", .settings = {"collectives.library=nccl"}};
  CHECK(row_of(fixed, "all_reduce", kGiB).algorithm == "ring");
  CHECK(has(error_of({.cluster = "dgx-a100", .algorithm = "ring", .settings = {"collectives=7"}}),
            "'collectives' is a plain value"));
}

TEST_CASE("ranks take the first devices of every node") {
  const CollectiveTable table = table_of(
      {.cluster = "dgx-a100", .nodes = "2", .devices_per_node = "4", .library = "fixed"}, "all_reduce", {kGiB});
  CHECK(table.ranks == 8);
  CHECK(table.nodes == 2);
  CHECK(table.rows[0].algorithm == "ring");
  // One logical ring in the order of the ranks. NVLink brings the next eighth while the one before crosses to the other
  // node: 14 of them cross one behind the other, and the last arrives a latency later.
  CHECK(table.rows[0].time == 14 * (ceil_div(kGiB, 8) / kHost) + kNetworkLatency);
  CHECK(table_of({.cluster = "dgx-a100", .nodes = "2", .devices_per_node = "1"}, "reduce", {kGiB}).ranks == 2);
}

TEST_CASE("settings reach the cluster, the collectives and the network") {
  const CollectiveQuestion question{
      .cluster = "dgx-a100",
      .settings = {"cluster.node.fabric.bandwidth=200 GB/s", "cluster.node.fabric.efficiency=90 %",
                   "network.model=alpha-beta", "collectives.chunks=2"}};
  const CollectiveTable table = table_of(question, "all_reduce", {kGiB});
  CHECK(table.network_model == "alpha-beta");
  CHECK(table.rows[0].bus_bandwidth == Approx(180e9).epsilon(0.01));  // latency is 17 us of 10.4 ms
}

TEST_CASE("a question that cannot be answered names its option") {
  CHECK(has(error_of({.cluster = "dgx-a10"}), "--cluster: error: no 'dgx-a10'"));
  CHECK(has(error_of({.cluster = "dgx-a100", .nodes = "none"}), "--nodes: error"));
  CHECK(has(error_of({.cluster = "dgx-a100", .nodes = "0"}), "--nodes: error"));
  CHECK(has(error_of({.cluster = "dgx-a100", .devices_per_node = "9"}), "--gpus-per-node: error"));
  CHECK(has(error_of({.cluster = "dgx-a100", .devices_per_node = "1"}), "only one rank"));
  CHECK(has(error_of({.cluster = "dgx-a100", .algorithm = "rng"}), "did you mean 'ring'?"));
  CHECK(has(error_of({.cluster = "dgx-a100", .algorithm = "ring,"}), "--algo: error"));
  CHECK(
      has(error_of({.cluster = "dgx-a100", .algorithm = "ring,direct"}), "2 algorithms for a cluster of 1 dimension"));
  CHECK(has(error_of({.cluster = "dgx-a100", .algorithm = "ring"}, "sendrecv"), "--algo: error: sendrecv has no"));
  CHECK(has(error_of({.cluster = "dgx-a100", .nodes = "2", .devices_per_node = "4", .algorithm = "direct"}),
            "direct cannot be chosen"));
  CHECK(error_of({.cluster = "dgx-a100", .nodes = "2", .devices_per_node = "4", .algorithm = "ring"}).empty());
  CHECK(has(error_of({.cluster = "dgx-a100", .settings = {"workload.model=gpt"}}),
            "the workload is one call"));
}

TEST_CASE("a network that does not share its links warns of times that are too good") {
  // All-to-all in a node: every GPU sends to the 7 others at once.
  const auto warnings = [](const char* model, const char* operation, const char* nodes) {
    const CollectiveQuestion question{
        .cluster = "dgx-a100", .nodes = nodes, .library = "fixed", .settings = {std::string("network.model=") + model}};
    return table_of(question, operation, {Bytes(8), kGiB}).warnings;
  };
  for (const char* nodes : {"1", "2"}) {
    CAPTURE(nodes);
    REQUIRE(warnings("alpha-beta", "all_to_all", nodes).size() == 1);
    CHECK(has(warnings("alpha-beta", "all_to_all", nodes)[0].message, "nvlink carries 7.0 times its bandwidth"));
    CHECK(warnings("flow", "all_to_all", nodes).empty());
    CHECK(warnings("fifo", "all_to_all", nodes).empty());
    CHECK(warnings("alpha-beta", "all_reduce", nodes).empty());
    CHECK(warnings("alpha-beta", "sendrecv", nodes).empty());
  }
}

TEST_CASE("tables stand side by side with the ratio to the first") {
  const std::vector<Bytes> sizes = {kGiB};
  const auto side_by_side = [&](const char* library) {
    const std::vector<CollectiveTable> tables = {
        table_of({.cluster = "dgx-a100", .library = library}, "all_reduce", sizes),
        table_of({.cluster = "hgx-a800", .library = library}, "all_reduce", sizes)};
    return side_by_side_text(tables);
  };
  const std::string text = side_by_side("fixed");
  CHECK(has(text, "dgx-a100: 8 ranks (1 x 8 a100-sxm-80gb), flow network, halving-doubling\n"));
  CHECK(has(text, "0.667"));  // 160 / 240 GB/s
  // NCCL's choice depends on the size, so that it stands in the rows.
  const std::string nccl = side_by_side("nccl");
  CHECK(has(nccl, "dgx-a100: 8 ranks (1 x 8 a100-sxm-80gb), flow network, nccl 2.30.0\n"));
  CHECK(has(nccl, "ring simple"));
}

TEST_CASE("a cluster in braces is one like any other") {
  const std::string inline_cluster =
      "{device: a100-sxm-80gb, dims: [{topology: switch, size: 8, bandwidth: 240 GB/s, latency: 700 ns}]}";
  const CollectiveTable table = table_of({.cluster = inline_cluster}, "all_reduce", {kGiB});
  CHECK(table.cluster == "inline");
  CHECK(table.rows.at(0).time == halving_doubling(kGiB, 8, kNvlink, kNvlinkLatency));
  CHECK(table_of({.cluster = "\n " + inline_cluster}, "all_reduce", {kGiB}).cluster == "inline");
  CHECK(table_of({.cluster = "{name: pair, " + inline_cluster.substr(1)}, "all_reduce", {kGiB}).cluster == "pair");
  const std::string nodes = "{node: dgx-a100, scale_out: {topology: switch, network: infiniband, latency: 600 ns}}";
  CHECK(row_of({.cluster = nodes, .nodes = "2"}, "all_reduce", kGiB).time ==
        row_of({.cluster = "dgx-a100", .nodes = "2"}, "all_reduce", kGiB).time);
  CHECK(has(error_of({.cluster = "{node: dgx-a100, scale_ot: {}}"}), "--cluster: error: unknown key 'scale_ot'"));
  CHECK(has(error_of({.cluster = "{device: a100-sxm-80gb"}), "--cluster"));
}

TEST_CASE("gather and scatter take as long as the root's link, a barrier its latencies") {
  // Rank 0 takes 7/8 of the result through its link, or hands out as much of the input, along a binomial tree.
  const CollectiveQuestion fixed{.cluster = "dgx-a100", .library = "fixed"};
  const Duration root = Bytes(kGiB.count() * 7 / 8) / kNvlink;
  for (const char* operation : {"gather", "scatter"}) {
    const CollectiveRow row = row_of(fixed, operation, kGiB);
    CHECK(row.time >= root + 3 * kNvlinkLatency);
    CHECK(row.time <= root + 3 * kNvlinkLatency + Duration(3));  // each of three messages is rounded up
    CHECK(row.bus_bandwidth == Approx(0.875 * row.algorithm_bandwidth));
    CHECK(row.count == 1 << 25);
    CHECK(row_of({.cluster = "dgx-a100"}, operation, kGiB).algorithm == "send/recv");
  }
  const CollectiveRow barrier = row_of(fixed, "barrier", Bytes(0));
  CHECK(barrier.time == 3 * kNvlinkLatency);
  CHECK(barrier.bus_bandwidth == 0);
  CHECK(barrier.bound.name == "latency");
  CHECK(row_of({.cluster = "dgx-a100"}, "barrier", Bytes(0)).time > kNvlinkLatency);
  const CollectiveQuestion instant{
      .cluster = "{device: a100-sxm-80gb, dims: [{topology: switch, size: 8, bandwidth: 1 GB/s, latency: 0 ns}]}"};
  CHECK(row_of(instant, "barrier", Bytes(0)).time == Duration::zero());
}

TEST_CASE("TCP is slower than RDMA with either library, by its threads and its latency") {
  for (const char* library : {"fixed", "nccl"}) {
    INFO(library);
    const auto row = [&](const char* network, Bytes size) {
      return row_of({.cluster = "dgx-a100",
                     .nodes = "2",
                     .library = library,
                     .settings = {std::string("cluster.scale_out.network=") + network}},
                    "all_reduce", size);
    };
    // Each step between nodes passes two stacks of 8 us: two steps there, two of a tree or ring.
    CHECK(row("ethernet", Bytes(8)).time - row("infiniband", Bytes(8)).time >= 2 * 16us);
    // 24 GB/s of a NIC against 2 GB/s of a thread, for the part of it that is between the nodes.
    CHECK(seconds(row("ethernet", kGiB).time) > 5 * seconds(row("infiniband", kGiB).time));
    CHECK(row("ethernet", kGiB).bound.name == "stack");
    CHECK(row("roce", kGiB).time >= row("infiniband", kGiB).time);
  }
}

TEST_CASE("switches that add up shorten an all-reduce with either library") {
  for (const char* library : {"fixed", "nccl"}) {
    INFO(library);
    const auto time = [&](const char* adds_up) {
      return row_of({.cluster = "dgx-a100",
                     .nodes = "16",
                     .library = library,
                     .settings = {std::string("cluster.scale_out.in_network_reduction=") + adds_up}},
                    "all_reduce", kGiB)
          .time;
    };
    CHECK(time("true") < time("false"));
  }
  CHECK(row_of({.cluster = "gaudi2-8", .nodes = "4", .settings = {"cluster.scale_out.in_network_reduction=true"}},
               "all_reduce", kGiB)
            .algorithm == "direct+in-network");
  CHECK(row_of({.cluster = "cerebras-swarmx", .nodes = "4"}, "all_reduce", kGiB).algorithm == "in-network");
}
