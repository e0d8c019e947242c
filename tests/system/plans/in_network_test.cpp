// SPDX-License-Identifier: MIT
// Reductions in the switches of a network: closed forms, folding, and where there are none.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "system/plans/plan.h"
#include "tests/shipped_files.h"
#include "tests/system/folding/folded.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::experiment;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::test;
using enum CollectiveKind;

namespace {

constexpr Bandwidth kBandwidth{8'000'000'000};
constexpr Duration kLatency{700'000};
constexpr Bytes kSize{16'000'000};

CollectiveOptions in_switches(std::size_t dimensions, std::string_view others = "ring") {
  CollectiveOptions options = always(others, dimensions);
  for (const CollectiveKind kind : {kAllReduce, kReduce, kBroadcast, kBarrier})
    options.algorithms[static_cast<std::size_t>(kind)].back() = *find_algorithm("in-network");
  options.granularity = Granularity::kPhase;
  return options;
}

// Nodes of two devices, one NIC each, of 8 GB/s; a switch of 8 GB/s and 1 us in the node, 1 us between.
std::string cluster(const std::string& scale_out) {
  return "cluster: {node: {device: gaudi, devices: 2, fabric: {topology: switch, bandwidth: 8 GB/s, latency: 1 us},"
         " nics: {count: 2, bandwidth: 8 GB/s, host_bandwidth: 8 GB/s, host_latency: 500 ns}},"
         " scale_out: {topology: switch, latency: 1 us" +
         scale_out + "}}\nnodes: 4\n";
}

struct Read {
  std::optional<Experiment> experiment;
  std::string problems;
};

Read read(const std::string& text) {
  Read result;
  Diagnostics diagnostics;
  try {
    result.experiment = read_machine("x.yaml", parse_config(text, "x.yaml", diagnostics), kFiles, diagnostics);
  } catch (const InputError& error) {
    result.problems = error.what();
  }
  return result;
}

Duration time_of(CollectiveKind kind, const std::string& text) {
  const Read machine = read(text);
  INFO(machine.problems);
  REQUIRE(machine.experiment.has_value());
  return simulate_collective(kind, kSize, machine.experiment->fabric, machine.experiment->simulation.collectives,
                             NetworkModel::kFlow);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a buffer goes up and down at the rate of a link, whatever the number of ranks") {
  for (const std::uint32_t ranks : {2u, 3u, 8u, 33u})
    for (const NetworkModel model : {NetworkModel::kFlow, NetworkModel::kAlphaBeta, NetworkModel::kFifo}) {
      INFO(ranks);
      const Fabric fabric = one_dimension("switch", ranks, kBandwidth, kLatency);
      const Duration buffer = kSize / kBandwidth;
      CHECK(simulate_collective(kAllReduce, kSize, fabric, in_switches(1), model) == buffer + kLatency);
      CHECK(simulate_collective(kReduce, kSize, fabric, in_switches(1), model) == buffer + kLatency);
      CHECK(simulate_collective(kBroadcast, kSize, fabric, in_switches(1), model) == buffer + kLatency);
      CHECK(simulate_collective(kBarrier, kSize, fabric, in_switches(1), model) == kLatency);
    }
}

TEST_CASE("every link carries the buffer once") {
  const Fabric fabric = one_dimension("switch", 4, kBandwidth, kLatency);
  const auto bytes = [&](CollectiveKind kind) {
    JobBuilder job(4);
    for (std::uint32_t rank = 0; rank < 4; ++rank) job.collective(rank, kind, kSize, kWorld);
    SimulationOptions options;
    options.collectives = in_switches(1);
    std::vector<std::int64_t> of_link;  // up of each rank, then down
    for (const LinkUsage& usage : simulate(job.build(), fabric, options, NetworkModel::kFlow).usage)
      of_link.push_back(usage.bytes.count());
    return of_link;
  };
  const std::int64_t n = kSize.count();
  CHECK(bytes(kAllReduce) == std::vector<std::int64_t>{n, n, n, n, n, n, n, n});
  CHECK(bytes(kReduce) == std::vector<std::int64_t>{0, n, n, n, n, 0, 0, 0});
  CHECK(bytes(kBroadcast) == std::vector<std::int64_t>{n, 0, 0, 0, 0, n, n, n});
}

TEST_CASE("an all-reduce over several dimensions adds up in the switches between its halves") {
  const std::vector<DimensionSpec> dimensions = {dimension("switch", 4, kBandwidth, kLatency),
                                                 dimension("switch", 8, Bandwidth(1'000'000'000), Duration(2'000'000))};
  // Reduce-scatter of the buffer on the first, what a rank holds then up and down on the second, and all-gather.
  const Duration halves = 3 * (kLatency + Bytes(kSize.count() / 4) / kBandwidth);
  const Duration top = Duration(2'000'000) + Bytes(kSize.count() / 4) / Bandwidth(1'000'000'000);
  CHECK(simulate_collective(kAllReduce, kSize, compose(dimensions), in_switches(2), NetworkModel::kFlow) ==
        2 * halves + top);
}

TEST_CASE("switches of an inner dimension add up what the outer ones leave of the buffer") {
  const std::vector<DimensionSpec> dimensions = {dimension("switch", 4, kBandwidth, kLatency),
                                                 dimension("switch", 8, Bandwidth(1'000'000'000), Duration(2'000'000))};
  CollectiveOptions options = in_switches(2);
  std::ranges::swap(options.algorithms[static_cast<std::size_t>(kAllReduce)].front(),
                    options.algorithms[static_cast<std::size_t>(kAllReduce)].back());
  // Reduce-scatter of the buffer on the second, an eighth of it up and down on the first, and all-gather.
  const Duration halves = 7 * (Duration(2'000'000) + Bytes(kSize.count() / 8) / Bandwidth(1'000'000'000));
  const Duration inside = kLatency + Bytes(kSize.count() / 8) / kBandwidth;
  CHECK(simulate_collective(kAllReduce, kSize, compose(dimensions), options, NetworkModel::kFlow) ==
        2 * halves + inside);
  JobBuilder job(32);
  for (std::uint32_t rank = 0; rank < 32; ++rank)
    job.collective(rank, kAllReduce, kSize, kWorld, {job.compute(rank, Duration(rank == 5 ? 9'000'000 : 1'000'000))});
  SimulationOptions simulation;
  simulation.collectives = options;
  fold_and_compare(job.build(), compose(dimensions), simulation, NetworkModel::kFlow);
}

TEST_CASE("switches that a cluster says add up are used, and those that it does not say are not") {
  const std::string with = cluster(", in_network_reduction: true"), without = cluster("");
  // In the node one step each way; between the nodes a half of the buffer, up and down once: 500 ns, 1 us, 500 ns.
  const Duration inside = 2 * (Duration(1'000'000) + Bytes(kSize.count() / 2) / kBandwidth);
  const Duration between = Duration(2'000'000) + Bytes(kSize.count() / 2) / kBandwidth;
  CHECK(time_of(kAllReduce, with) == inside + between);
  for (const CollectiveKind kind : {kAllReduce, kReduce, kBroadcast, kBarrier})
    CHECK(time_of(kind, with) < time_of(kind, without));
  for (const CollectiveKind kind : {kAllGather, kReduceScatter, kAllToAll})
    CHECK(time_of(kind, with) == time_of(kind, without + "network: {granularity: phase}\n"));
}

TEST_CASE("jobs that reduce in switches fold, with stragglers and without") {
  const Fabric fabric = read(cluster(", in_network_reduction: true")).experiment->fabric;
  SimulationOptions options;
  options.collectives.granularity = Granularity::kPhase;
  options.collectives.in_network_dimension = 1;
  for (const bool has_straggler : {false, true})
    for (const CollectiveKind kind : {kAllReduce, kReduce, kBroadcast, kBarrier, kAllGather}) {
      INFO(name_of(kind) << has_straggler);
      JobBuilder job(8);
      const GroupId of_places[] = {job.group("even", {0, 2, 4, 6}), job.group("odd", {1, 3, 5, 7})};
      const GroupId some = job.group("some", {0, 3, 6});  // one on each of three nodes: no whole dimension
      for (std::uint32_t rank = 0; rank < 8; ++rank) {
        const NodeId work = job.compute(rank, Duration(has_straggler && rank == 5 ? 9'000'000 : 1'000'000));
        const NodeId first = job.collective(rank, kind, kSize, of_places[rank % 2], {work});
        if (rank == 0 || rank == 3 || rank == 6) job.collective(rank, kind, kSize, some, {first});
        job.collective(rank, kind, kSize, kWorld, {first});
      }
      fold_and_compare(job.build(), fabric, options, NetworkModel::kFlow);
    }
}

TEST_CASE("a group on nodes of its own uses the switches though it is no whole dimension") {
  const Fabric fabric = read(cluster(", in_network_reduction: true")).experiment->fabric;
  CollectiveOptions options;
  options.in_network_dimension = 1;
  const auto chosen = [&](const std::vector<DeviceId>& devices) {
    const CommunicatorLayout layout = lay_out(devices, fabric.dimensions());
    return std::string(choose_algorithms(kAllReduce, options, layout, fabric.dimensions()).front().algorithm.name);
  };
  CHECK(chosen({DeviceId(0), DeviceId(3), DeviceId(6)}) == "in-network");
  CHECK(chosen({DeviceId(0), DeviceId(1), DeviceId(6)}) == "ring");  // two share a node
  CHECK(chosen({DeviceId(0), DeviceId(1)}) == "halving-doubling");   // within a node
  options.algorithms[static_cast<std::size_t>(kAllReduce)] = {*find_algorithm("ring"), *find_algorithm("ring")};
  CHECK(chosen({DeviceId(0), DeviceId(3), DeviceId(6)}) == "ring");  // who names others does without
  options.algorithms[static_cast<std::size_t>(kAllReduce)].back() = *find_algorithm("in-network");
  CHECK(chosen({DeviceId(0), DeviceId(3), DeviceId(6)}) == "in-network");
}

TEST_CASE("in-network is refused where nothing adds up, and message by message") {
  const std::string dims =
      "cluster: {device: gaudi, dims: [{topology: switch, size: 4, bandwidth: 8 GB/s, latency: 1 us},"
      " {topology: ring, size: 3, bandwidth: 8 GB/s, latency: 1 us}]}\n";
  const auto named = [](const std::string& list) { return "collectives: {algorithms: {all_reduce: " + list + "}}\n"; };
  CHECK(has(read(cluster("") + named("[ring, in-network]")).problems, "in-network needs switches that add up"));
  CHECK(has(read(dims + named("[ring, in-network]")).problems,
            "in-network needs switches that add up, which '3 ring' has not"));
  CHECK(read(dims + named("[in-network, ring]")).problems == "");
  CHECK(has(read(cluster(", in_network_reduction: true") + named("[in-network, ring]")).problems,
            "in-network needs switches that add up, which '2 switch' has not"));
  CHECK(has(read(cluster(", in_network_reduction: true") + "network: {granularity: step}\n").problems,
            "'step' has no meaning where switches add up"));
  CHECK(has(read(cluster(", in_network_reduction: true") +
                 "collectives: {algorithms: {all_gather: [in-network, in-network]}}\n")
                .problems,
            "'in-network' cannot do all_gather"));
  // Who names other algorithms for all that switches can do may have every message.
  CHECK(read(cluster(", in_network_reduction: true") +
             "collectives: {algorithms: {all_reduce: [ring, ring], reduce: [ring, ring], broadcast: [ring, ring],"
             " barrier: [ring, ring]}}\nnetwork: {granularity: step}\n")
            .problems == "");
}
