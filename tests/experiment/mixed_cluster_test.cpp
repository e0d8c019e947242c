// SPDX-License-Identifier: MIT
// Clusters of several types of nodes.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "experiment/experiment.h"
#include "experiment/job.h"
#include "experiment/runs/run.h"
#include "report/operation_log.h"
#include "system/simulation.h"
#include "tests/shipped_files.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

constexpr std::string_view kScaleOut = "scale_out: {topology: switch, network: infiniband, latency: 600 ns}";
const std::string kMixed = "[{node: dgx-a100, count: 1}, {node: dgx-h100, count: 1}]";
const std::string kTensorData = "parallel: {tensor: 8, data: 2}, batch: {global: 8, micro: 1}";
const std::string kTensorPipeline = "parallel: {tensor: 8, pipeline: 2}, batch: {global: 4, micro: 1}";

Experiment read(const std::string& text) {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  diagnostics.throw_if_errors();
  return read_experiment("x.yaml", std::move(root), kFiles, diagnostics);
}

// LL128 is not for mixed GPUs before Hopper, so that protocols are held to one for comparisons; nor is anything slowed
// by what is beside it.
std::string job_on(const std::string& nodes, const std::string& parallel, const std::string& more = {}) {
  return fmt::format(
      "cluster: {{nodes: {}, {}}}\n"
      "workload: {{model: {{hidden: 2048, layers: 4, heads: 16, vocab: 32000, sequence: 2048}}, {}, software: "
      "megatron-2022}}\ncollectives: {{proto: simple, contention: false}}\n{}",
      nodes, kScaleOut, parallel, more);
}

constexpr Duration kMillisecond{1'000'000'000};  // in picoseconds

report::Result run(const std::string& text, bool allow_oom = false) {
  const Experiment experiment = read(text);
  Diagnostics diagnostics;
  return run_experiment(experiment, allow_oom, diagnostics).result;
}

// Without what the rank waits for its host, which may be ahead by then.
Duration compute_of(const report::Result& result, std::size_t rank) {
  const report::Breakdown& found = result.classes[result.class_of_rank[rank]];
  return found.compute - found.host;
}

std::string two_of(const std::string& node) { return fmt::format("[{{node: {}, count: 2}}]", node); }

std::string error_of(const std::string& text) {
  try {
    const Experiment experiment = read(text);
    Diagnostics diagnostics;
    check_memory(experiment, false, diagnostics);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("every node has the links and the devices of its type") {
  const Experiment mixed = read(job_on("[{node: dgx-a100, count: 2}, {node: dgx-h100, count: 3}]",
                                       "parallel: {tensor: 8, data: 5}, batch: {global: 10, micro: 1}"));
  REQUIRE(mixed.fabric.device_count() == 40);
  CHECK(mixed.devices_text() == "16 x a100-sxm-80gb, 24 x h100-sxm");
  CHECK(mixed.device_of(DeviceId(15)).name == "a100-sxm-80gb");
  CHECK(mixed.device_of(DeviceId(16)).name == "h100-sxm");
  std::vector<LinkId> route;
  mixed.fabric.route(DeviceId(0), DeviceId(16), route);  // PCIe and NIC of one type, then of the other
  std::vector<Bandwidth> nominal;
  for (const LinkId link : route) nominal.push_back(mixed.fabric.link(link).nominal);
  REQUIRE(nominal.size() == 4);
  CHECK(nominal[0] < nominal[3]);  // of PCIe 4 and 5
  CHECK(nominal[1] == Bandwidth(25'000'000'000));
  CHECK(nominal[2] == Bandwidth(50'000'000'000));
  CHECK(mixed.fabric.link(LinkId(0)).nominal == Bandwidth(300'000'000'000));
  // The oldest decides for NCCL; NVLS needs the switches of all.
  CHECK(mixed.machine_kind().architecture == Architecture::kAmpere);
  CHECK_FALSE(mixed.machine_kind().is_uniform);
  CHECK_FALSE(mixed.machine_kind().multicast);
  // A list of one type is that type.
  CHECK(read(job_on(two_of("dgx-h100"), kTensorData)).machine_kind().multicast);
}

TEST_CASE("an A100 beside an H100 in data parallelism makes the H100 wait, no more and no less") {
  const report::Result mixed = run(job_on(kMixed, kTensorData));
  const report::Result slow = run(job_on(two_of("dgx-a100"), kTensorData));
  const report::Result fast = run(job_on(two_of("dgx-h100"), kTensorData));
  // The last to come to a collective are the A100, and its slowest links are theirs: all is as among A100 alone.
  CHECK(mixed.finish == slow.finish);
  CHECK(mixed.finish > fast.finish);
  CHECK(compute_of(mixed, 0) == compute_of(slow, 0));
  CHECK(compute_of(mixed, 8) == compute_of(fast, 8));
  CHECK(mixed.device == "8 x a100-sxm-80gb, 8 x h100-sxm");
  // The same model FLOPs and time, over 8 * 312 and 8 * 989 TFLOP/s in place of 16 * 312.
  CHECK(mixed.training->mfu == Approx(slow.training->mfu * 16 * 312 / (8 * 312 + 8 * 989)).epsilon(1e-3));
}

TEST_CASE("pipeline stages on different types take the times of those types") {
  const report::Result mixed = run(job_on(kMixed, kTensorPipeline));
  const report::Result slow = run(job_on(two_of("dgx-a100"), kTensorPipeline));
  const report::Result fast = run(job_on(two_of("dgx-h100"), kTensorPipeline));
  for (const std::size_t rank : {0u, 7u}) CHECK(compute_of(mixed, rank) == compute_of(slow, rank));
  for (const std::size_t rank : {8u, 15u}) CHECK(compute_of(mixed, rank) == compute_of(fast, rank));
  CHECK(mixed.finish < slow.finish);
  CHECK(mixed.finish > fast.finish);
  // The other way round the stages change their types.
  const report::Result turned =
      run(job_on(kMixed, kTensorPipeline, "placement: [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]\n"));
  CHECK(compute_of(turned, 0) == compute_of(fast, 0));
  CHECK(compute_of(turned, 8) == compute_of(slow, 8));
}

TEST_CASE("NCCL decides by the GPUs of each group") {
  const Experiment mixed = read(job_on(kMixed, kTensorData));
  const auto machine = [&](std::vector<std::uint32_t> numbers) {
    std::vector<DeviceId> devices;
    for (const std::uint32_t number : numbers) devices.push_back(DeviceId(number));
    return system::machine_of(mixed.machine_kinds, system::lay_out_group(devices, mixed.fabric).shape);
  };
  CHECK(machine({0, 1, 2, 3}).architecture == Architecture::kAmpere);
  CHECK(machine({0, 1, 2, 3}).is_uniform);
  CHECK(machine({8, 9, 10, 11}).architecture == Architecture::kHopper);
  CHECK(machine({8, 9, 10, 11}).multicast);
  CHECK(machine({0, 8}).architecture == Architecture::kAmpere);
  CHECK_FALSE(machine({0, 8}).is_uniform);
  CHECK_FALSE(machine({0, 8}).multicast);
}

TEST_CASE("a mixed cluster folds without a difference") {
  for (const std::string& parallel :
       {kTensorData, kTensorPipeline,
        std::string("parallel: {tensor: 4, pipeline: 2, data: 2}, batch: {global: 8, micro: 1}")})
    for (const std::string more :
         {"", "perturb: {ranks: {9: {compute: 1.3}}}\n", "perturb: {links: {node1.nic0: {dead: true}}}\n"}) {
      const report::Result folded = run(job_on(kMixed, parallel, more));
      const report::Result every = run(job_on(kMixed, parallel, more + "fold: off\n"));
      CHECK(folded.finish == every.finish);
      CHECK(folded.classes.size() < every.class_of_rank.size());
      for (std::size_t rank = 0; rank < 16; ++rank) {
        const report::Breakdown& one = folded.classes[folded.class_of_rank[rank]];
        const report::Breakdown& other = every.classes[every.class_of_rank[rank]];
        CHECK(one.compute == other.compute);
        CHECK(one.exposed_total() == other.exposed_total());  // by groups of other names
        CHECK(one.wait == other.wait);
        CHECK(one.bubble == other.bubble);
        CHECK(one.finish == other.finish);
      }
    }
}

TEST_CASE("what traces leave to the roofline takes the peaks of each rank's device") {
  const Experiment mixed = read(job_on(kMixed, kTensorData));
  test::JobBuilder builder(16);
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    const NodeId work = builder.work(rank, Flops(312'000'000'000), Bytes(1));  // 1 ms on an A100
    builder.compute(rank, 2 * kMillisecond, {work});                           // as measured
    builder.memory(rank, Bytes(2'039'000'000));                                // 1 ms of an A100's memory
  }
  const workload::Job job = builder.build();
  const workload::Matching matching = workload::match(job);
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < 16; ++rank) placement.push_back(DeviceId(rank));
  report::OperationLog log(16);
  system::SimulationOptions options = mixed.simulation;
  options.compute.efficiency = kFullEfficiency;
  system::Simulation simulation({job, matching, mixed.fabric, mixed.devices, placement}, options, network_of(mixed),
                                log);
  const system::SimulationTotals totals = simulation.run();
  const auto time = [&](std::uint32_t rank, std::uint32_t node) {
    for (const system::OperationRecord& record : log.of(totals.acting[rank]))
      if (record.node == NodeId(node)) return record.end - record.start;
    return Duration();
  };
  CHECK(time(0, 0) == kMillisecond);
  CHECK(time(8, 0) == Flops(312'000'000'000) / *mixed.device_of(DeviceId(8)).peak(Precision::kBf16));
  CHECK(time(0, 1) == 2 * kMillisecond);
  CHECK(time(8, 1) == 2 * kMillisecond);
  CHECK(time(0, 2) == kMillisecond);
  CHECK(time(8, 2) == Bytes(2'039'000'000) / mixed.device_of(DeviceId(8)).memory_bandwidth);
}

TEST_CASE("a job that fits one type and not the other names the ranks and the type") {
  const std::string small =
      "{device: a100-sxm-40gb, devices: 8, interconnect: nvlink, fabric: {name: nvlink, topology: switch, bandwidth: "
      "300 GB/s, latency: 700 ns}, nics: {count: 8, bandwidth: 200 Gb/s, host_bandwidth: 24 GB/s, host_latency: 500 "
      "ns}}";
  const std::string nodes = "[{node: dgx-h100, count: 1}, {node: " + small + ", count: 1}]";
  // 18 bytes for each of 2.7e9 parameters, over 40 GB and under 80.
  const std::string job = fmt::format(
      "cluster: {{nodes: {}, {}}}\nworkload: {{model: {{hidden: 2560, layers: 32, heads: 32, vocab: 50304, sequence: "
      "1024}}, parallel: {{data: 16}}, batch: {{global: 16}}}}\n",
      nodes, kScaleOut);
  const std::string error = error_of(job);
  INFO(error);
  CHECK(error.find("rank 8 needs ") != std::string::npos);
  CHECK(error.find("its device has 37.25 GiB") != std::string::npos);
  CHECK(error.find("of those on a100-sxm-40gb these do not fit: 8-15") != std::string::npos);
  CHECK(error_of(job + "placement: strided\n").find("a100-sxm-40gb these do not fit: 1, 3, 5, 7, 9, 11, 13, 15") !=
        std::string::npos);
  CHECK(error_of(fmt::format("cluster: dgx-h100\nnodes: 2\n{}", job.substr(job.find("workload")))).empty());
  // With fewer ranks than devices the small ones have nothing to do.
  std::string fewer = job;
  fewer.replace(fewer.find("data: 16"), 8, "data: 8");
  CHECK(error_of(fewer).empty());
}

TEST_CASE("memory is checked on the devices that packed ranks have") {
  // Tensor groups of 3 take 6 devices of each node: all ranks of the second stage, which needs more, are on H200.
  const std::string job =
      "cluster: {nodes: [{node: dgx-a100, count: 2}, {node: dgx-h200, count: 2}], " + std::string(kScaleOut) +
      "}\nworkload: {model: {hidden: 6144, layers: 24, heads: 48, vocab: 32000, sequence: 4096}, parallel: {tensor: 3, "
      "data: 4, pipeline: 2}, pipeline_layers: [2, 22], batch: {global: 16, micro: 1}}\n";
  REQUIRE(packing_of(read(job)));
  CHECK(error_of(job).empty());
  CHECK(error_of(job + "placement: dense\n").find("do not fit: 12-15") != std::string::npos);
}
