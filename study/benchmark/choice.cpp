#include "study/benchmark/choice.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"
#include "network/fabric/fabric.h"

namespace orrery {
namespace {

constexpr std::string_view kSends = "send/recv";

std::string name_with_window(const Algorithm& algorithm) {
  return fmt::format("{}{}", algorithm.name, algorithm.window ? fmt::format("{}", *algorithm.window) : "");
}

// Of ranks that are no whole part of the cluster.
std::string logical_group_algorithm(CollectiveKind kind, const CollectiveOptions& options, const Algorithm& algorithm) {
  std::string used = name_with_window(algorithm);
  for (const Algorithm& named : options.algorithms[static_cast<std::size_t>(kind)])
    if (name_with_window(named) != used)
      throw InputError({"--gpus-per-node"},
                       fmt::format("some devices of each of several nodes run {} as one logical group, with {}; {} "
                                   "cannot be chosen",
                                   name_of(kind), used, name_with_window(named)),
                       "take all devices of a node or one, or leave the algorithm out");
  return used;
}

const NcclLibrary& library_of(const Experiment& experiment) {
  ORRERY_ASSERT(experiment.nccl != nullptr);
  return *experiment.nccl;
}

}  // namespace

std::string fixed_algorithms(CollectiveKind kind, const Experiment& experiment, std::span<const DeviceId> devices) {
  const auto dimensions = experiment.fabric.dimensions();
  std::vector<std::string> topologies;
  for (const LogicalDimension& dimension : dimensions) topologies.push_back(dimension.topology);
  const CommunicatorLayout layout = lay_out(devices, dimensions);
  const CollectiveOptions& options = experiment.simulation.collectives;
  const std::vector<DimensionAlgorithm> algorithms = choose_algorithms(kind, options, layout, topologies);
  if (!layout.cuboid) return logical_group_algorithm(kind, options, algorithms.front().algorithm);
  std::string text;
  for (const DimensionAlgorithm& chosen : algorithms)
    text += (text.empty() ? "" : "+") + name_with_window(chosen.algorithm);
  return text;
}

NcclChoices::NcclChoices(const Experiment& experiment, std::span<const DeviceId> devices)
    : library_(library_of(experiment)), layout_(lay_out_group(devices, experiment.fabric)) {
  const Fabric& fabric = experiment.fabric;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceId here = devices[i], there = devices[(i + 1) % devices.size()];
    std::optional<Duration>& longest = routes_[node_of(fabric, here) == node_of(fabric, there) ? 1 : 0];
    longest = std::max(longest, std::optional(route_latency(fabric, here, there)));
  }
}

NcclChoice NcclChoices::of_collective(const CollectiveCall& call) const {
  const NcclTiming way = library_.choice(call.kind, call.bytes, layout_.shape);
  return {std::string(way.algorithm ? name_of(*way.algorithm) : kSends), std::string(name_of(way.protocol)),
          way.transfer.latency};
}

NcclChoice NcclChoices::of_sends(Bytes bytes) const {
  NcclChoice choice{std::string(kSends), {}, {}};
  for (const bool is_same_node : {false, true}) {
    const std::optional<Duration> route = routes_[is_same_node ? 1 : 0];
    if (!route) continue;
    const NcclSend send = library_.send(bytes, is_same_node);
    choice.protocol = name_of(send.protocol);
    choice.latency = std::max(choice.latency, send.latency + *route);
  }
  return choice;
}

}  // namespace orrery
