// SPDX-License-Identifier: MIT
#include "study/benchmark/prediction.h"

#include <algorithm>
#include <map>

#include "collectives/nccl/model.h"
#include "network/fabric/fabric.h"
#include "system/plans/group_library.h"

namespace orrery::study {
namespace {

// Every rank sends to the next at once, so a link has as many messages as cross it.
void note_sends(NcclBenchmark& benchmark, const network::Fabric& fabric, std::span<const DeviceId> devices) {
  std::map<LinkId, std::int64_t> messages;
  std::vector<LinkId> route;
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const DeviceId here = devices[rank], there = devices[(rank + 1) % devices.size()];
    fabric.route(here, there, route);
    for (const LinkId link : route) ++messages[link];
    benchmark.send_latency = std::max(benchmark.send_latency, network::route_latency(fabric, here, there));
  }
  benchmark.send_rate = Bandwidth::max();
  for (const auto& [link, count] : messages)
    benchmark.send_rate = std::min(benchmark.send_rate, Bandwidth(fabric.link(link).bandwidth.count() / count));
  benchmark.sends_between_nodes = benchmark.shape.nodes > 1;
}

double send_seconds(const NcclBenchmark& b, Bytes size, const collectives::NcclConstants& constants) {
  const collectives::NcclSend send =
      collectives::nccl_send(size, !b.sends_between_nodes, b.machine, b.options, constants);
  return seconds(send.latency + b.send_latency) + seconds(send.bytes / b.send_rate);
}

}  // namespace

NcclBenchmark nccl_benchmark(const experiment::Experiment& experiment, const workload::CallOperation& operation,
                             std::span<const DeviceId> devices) {
  const collectives::GroupShape shape = system::lay_out_group(devices, experiment.fabric).shape;
  NcclBenchmark benchmark{operation, shape, system::machine_of(experiment.machine_kinds, shape),
                          *experiment.simulation.collectives.nccl};
  if (!operation.kind) note_sends(benchmark, experiment.fabric, devices);
  return benchmark;
}

collectives::NcclCall call_of(const NcclBenchmark& b, Bytes size) {
  return {*b.operation.kind, workload::input_of_rank(b.operation, size, b.shape.ranks), &b.shape, b.machine};
}

double predicted_seconds(const NcclBenchmark& benchmark, Bytes size, const collectives::NcclConstants& constants) {
  if (!benchmark.operation.kind) return send_seconds(benchmark, size, constants);
  return collectives::fastest_nccl_timing(call_of(benchmark, size), benchmark.options, constants).seconds;
}

std::vector<double> possible_seconds(const NcclBenchmark& benchmark, Bytes size,
                                     const collectives::NcclConstants& constants) {
  if (!benchmark.operation.kind) return {send_seconds(benchmark, size, constants)};
  std::vector<double> times;
  for (const collectives::NcclTiming& way :
       collectives::nccl_timings(call_of(benchmark, size), benchmark.options, constants))
    times.push_back(way.seconds);
  return times;
}

}  // namespace orrery::study
