// SPDX-License-Identifier: MIT
#include "astra/collectives/planner.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files/read_file.h"

namespace orrery::astra {

const CustomSchedules::Schedule& CustomSchedules::schedule(const std::string& prefix, std::uint32_t position,
                                                           std::uint32_t ranks) {
  Schedule& schedule = schedules_[{prefix, position}];
  if (schedule.program) return schedule;
  const std::string file = trace_of(prefix, position);
  if (is_missing(file))
    throw InputError({file}, "does not exist; the system's JSON names it as a custom collective",
                     "its path is relative to the working directory");
  auto peers = std::make_shared<std::vector<std::uint32_t>>();
  schedule.program = std::make_shared<const Program>(read_custom(file, position, *peers));
  for (const std::uint32_t peer : *peers)
    if (peer >= ranks)
      throw InputError({file},
                       fmt::format("a message goes to or comes from {}, but there are ranks 0 to {}", peer, ranks - 1));
  schedule.peers = std::move(peers);
  return schedule;
}

CollectivePlanner::CollectivePlanner(const Inputs& inputs, const Job& job, CustomSchedules& custom, std::uint32_t rank)
    : inputs_(inputs),
      job_(job),
      custom_(custom),
      rank_(rank),
      queues_(inputs.flags.queues_per_dimension),
      turns_(inputs.network.dimensions.size()) {
  for (Turns& turns : turns_) turns.last_half = queues_ / 2;
}

std::vector<std::vector<Phase>> CollectivePlanner::plan(const Node& node, std::uint64_t group) {
  const System& system = inputs_.system;
  const Route route = route_of(node, group);
  const Implementation& implementation = system.implementations[static_cast<std::size_t>(node.comm)];
  const std::string& custom = node.custom > 0 ? job_.custom_prefixes[node.custom - 1] : implementation.custom;
  if (!custom.empty()) return {custom_phases(custom, route, node.comm)};
  if (system.splits == 0)
    throw InputError({system.file}, "the key 'preferred-dataset-splits' is missing, which collectives need",
                     "write \"preferred-dataset-splits\": 4: into how many chunks a collective is cut");
  std::uint64_t bytes = node.bytes;
  std::uint64_t chunk = bytes / system.splits;
  if (node.comm != CommKind::kAllGather && chunk < inputs_.network.npus) {
    chunk = inputs_.network.npus;
    bytes = system.splits * chunk;
  }
  if (chunk == 0)
    throw InputError(
        {trace_of(inputs_.flags.workload, rank_)},
        fmt::format("node {}: an all-gather of {} bytes cannot be cut into {} chunks", node.id, bytes, system.splits),
        "ASTRA-sim never ends here; give preferred-dataset-splits at most the size in bytes");
  if (system.bus.on && chunk > INT32_MAX)
    throw InputError(
        system.where("model-shared-bus"),
        fmt::format("a chunk of {} bytes crosses the shared bus, whose byte counts have 32 bits in ASTRA-sim", chunk),
        "set model-shared-bus to 0, or cut collectives into more chunks with preferred-dataset-splits");
  // The last chunk is not shortened.
  const std::uint64_t chunks = bytes / chunk + (bytes % chunk != 0 ? 1 : 0);
  if (node.comm == CommKind::kAllGather && !gathers(route, chunk))
    throw InputError({trace_of(inputs_.flags.workload, rank_)},
                     fmt::format("node {}: an all-gather of {} bytes from each rank has messages of 2^64 bytes or more",
                                 node.id, node.bytes),
                     "comm_size of an all-gather is what each rank gives");
  std::vector<std::vector<Phase>> plan;
  for (std::uint64_t i = 0; i < chunks; ++i) plan.push_back(phases_of(route, node.comm, chunk));
  if (plan.front().empty())
    throw StuckError(fmt::format("rank {}, node {}: the {} goes through no dimension with several ranks, and never "
                                 "ends in ASTRA-sim",
                                 rank_, node.id, name_of(node.comm)),
                     rank_, fmt::format("node {}", node.id));
  return plan;
}

CollectivePlanner::Route CollectivePlanner::route_of(const Node& node, std::uint64_t group) const {
  const Implementation& implementation = inputs_.system.implementations[static_cast<std::size_t>(node.comm)];
  Route route{.algorithms = implementation.dimensions};
  if (group != 0 && inputs_.groups.at(group).size() < inputs_.network.npus) {
    route.members = &inputs_.groups.at(group);
    if (route.algorithms.size() != 1) route.algorithms = {{.kind = AlgorithmKind::kRing, .name = "ring"}};
    if (route.members->size() > 1) route.dimensions = {0};
    return route;
  }
  const bool is_custom = node.custom > 0 || !implementation.custom.empty();
  if (route.algorithms.empty() && !is_custom)
    throw InputError(
        {inputs_.system.file},
        fmt::format("the key '{}-implementation' is missing, and the traces have such collectives", name_of(node.comm)),
        "write one name for each network dimension, as [\"ring\"]");
  const bool is_flat = !route.algorithms.empty() && route.algorithms.front().flat;
  for (std::uint32_t d = 0; d < route.algorithms.size(); ++d)
    if (is_flat || group != 0 || (node.dimensions & 1u << d) != 0) route.dimensions.push_back(d);
  return route;
}

bool CollectivePlanner::gathers(const Route& route, std::uint64_t bytes) const {
  for (std::size_t left = route.dimensions.size(); left > 0; --left) {
    const std::uint32_t dimension = route.dimensions[left - 1];
    const Algorithm& algorithm = route.algorithms[dimension];
    const std::uint64_t ranks = route.members != nullptr ? route.members->size()
                                : algorithm.flat         ? inputs_.network.npus
                                                         : inputs_.network.dimensions[dimension].size;
    const std::uint64_t growth = left > 1 ? ranks : algorithm.kind == AlgorithmKind::kHalvingDoubling ? ranks / 2 : 1;
    if (bytes > UINT64_MAX / growth) return false;
    bytes *= growth;
  }
  return true;
}

std::vector<Phase> CollectivePlanner::custom_phases(const std::string& prefix, const Route& route, CommKind comm) {
  Phase phase{.comm = comm};
  phase.ring = route.members != nullptr ? ring_of(*route.members, rank_) : ring_of(inputs_.network, 0, rank_, true);
  const CustomSchedules::Schedule& schedule = custom_.schedule(prefix, phase.ring.index, phase.ring.size);
  phase.custom = schedule.program;
  phase.custom_peers = schedule.peers;
  return {phase};
}

std::vector<Phase> CollectivePlanner::phases_of(const Route& route, CommKind comm, std::uint64_t bytes) {
  std::vector<Phase> phases;
  const auto add = [&](std::uint32_t dimension, CommKind kind, Half half) {
    phases.push_back(phase_of(route, dimension, kind, comm, half, bytes));
    bytes = bytes_after(kind, phases.back().algorithm, bytes, phases.back().ring.size);
  };
  const std::vector<std::uint32_t>& dimensions = route.dimensions;
  if (comm == CommKind::kAllGather) {
    for (auto d = dimensions.rbegin(); d != dimensions.rend(); ++d) add(*d, comm, Half::kBoth);
  } else if (comm != CommKind::kAllReduce || inputs_.system.baseline) {
    for (const std::uint32_t d : dimensions) add(d, comm, Half::kBoth);
  } else if (!dimensions.empty()) {
    for (std::size_t i = 0; i + 1 < dimensions.size(); ++i) add(dimensions[i], CommKind::kReduceScatter, Half::kFirst);
    add(dimensions.back(), CommKind::kAllReduce, Half::kFirst);
    for (std::size_t i = dimensions.size() - 1; i-- > 0;) add(dimensions[i], CommKind::kAllGather, Half::kLast);
  }
  return phases;
}

Phase CollectivePlanner::phase_of(const Route& route, std::uint32_t dimension, CommKind comm, CommKind whole, Half half,
                                  std::uint64_t bytes) {
  const Algorithm& algorithm = route.algorithms[dimension];
  Phase phase{.comm = comm, .algorithm = algorithm.kind, .window = algorithm.window, .bytes = bytes};
  phase.local = route.members != nullptr;
  phase.ring =
      phase.local ? ring_of(*route.members, rank_) : ring_of(inputs_.network, dimension, rank_, algorithm.flat);
  check(route, dimension, whole, phase.ring.size);
  take_queue(dimension, half, phase);
  if (algorithm.kind == AlgorithmKind::kDoubleBinaryTree) {
    bool& odd = tree_is_odd_[{whole, dimension}];
    phase.root_is_last = !odd;
    odd = !odd;
  }
  return phase;
}

void CollectivePlanner::take_queue(std::uint32_t dimension, Half half, Phase& phase) {
  Turns& turns = turns_[dimension];
  const auto next = [](std::uint32_t& turn, std::uint32_t begin, std::uint32_t end) {
    const std::uint32_t queue = turn++;
    if (turn >= end) turn = begin;
    return queue;
  };
  std::uint32_t queue = 0;
  switch (half) {
    case Half::kBoth:
      queue = next(turns.all, 0, queues_);
      phase.clockwise = queues_ == 1 || queue < queues_ / 2;
      break;
    case Half::kFirst:
      queue = next(turns.first_half, 0, (queues_ + 1) / 2);
      break;
    case Half::kLast:
      queue = next(turns.last_half, queues_ / 2, queues_);
      phase.clockwise = false;
      break;
  }
  phase.queue = dimension * queues_ + queue;
}

void CollectivePlanner::check(const Route& route, std::uint32_t dimension, CommKind whole, std::uint32_t size) const {
  const Algorithm& algorithm = route.algorithms[dimension];
  const std::string key = fmt::format("{}-implementation", name_of(whole));
  const auto fail = [&](const std::string& message, std::string hint) {
    throw InputError(inputs_.system.where(key), fmt::format("'{}': {}", key, message), std::move(hint));
  };
  const bool is_power = std::has_single_bit(size);
  if (algorithm.kind == AlgorithmKind::kHalvingDoubling) {
    if (!is_power)
      fail(fmt::format("'{}' needs a power of two, but {} ranks take part", algorithm.name, size),
           "ASTRA-sim's all-reduce never ends here, and its other collectives are wrong; take ring or direct");
    if (whole == CommKind::kAllToAll)
      fail(fmt::format("'{}' is no all-to-all: ASTRA-sim never sets the size of its messages", algorithm.name),
           "take ring or direct");
  }
  if (algorithm.kind != AlgorithmKind::kDoubleBinaryTree) return;
  if (!is_power)
    fail(fmt::format("'{}' needs a power of two, but {} ranks take part", algorithm.name, size),
         "ASTRA-sim crashes here; take ring, direct or halvingDoubling");
  if (route.members != nullptr)
    fail(fmt::format("'{}' cannot serve a communicator group", algorithm.name),
         "ASTRA-sim crashes here; take ring, direct or halvingDoubling");
  if (dimension + 1 == route.algorithms.size() && dimension + 1 < inputs_.network.dimensions.size())
    fail(fmt::format("'{}' is the last of {} names, but the network has {} dimensions", algorithm.name,
                     route.algorithms.size(), inputs_.network.dimensions.size()),
         "ASTRA-sim crashes here; name an algorithm for each dimension");
}

}  // namespace orrery::astra
