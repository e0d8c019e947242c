// SPDX-License-Identifier: MIT
#include "tests/astra/jobs.h"

#include <numeric>

namespace orrery::astra {

Inputs small_inputs(std::vector<std::pair<TopologyKind, std::uint32_t>> dimensions, AlgorithmKind algorithm) {
  Inputs inputs;
  inputs.network.npus = 1;
  for (const auto& [topology, size] : dimensions) {
    inputs.network.dimensions.push_back({topology, size, 50.0 * (1 << 30) / 1e9, 500, 50});
    inputs.network.npus *= size;
  }
  for (Implementation& implementation : inputs.system.implementations)
    implementation.dimensions.assign(dimensions.size(), {.kind = algorithm, .name = "test"});
  inputs.system.baseline = false;
  inputs.system.splits = 1;
  inputs.system.memory_bandwidth = 1600;
  inputs.memory.kind = MemoryKind::kNone;
  return inputs;
}

Node collective_node(std::uint64_t id, CommKind comm, std::uint64_t bytes, std::uint32_t slot) {
  return {
      .id = id, .kind = NodeKind::kCollective, .comm = comm, .dimensions = UINT32_MAX, .slot = slot, .bytes = bytes};
}

Node compute_node(std::uint64_t id, Ticks duration) { return {.id = id, .duration = duration}; }

Node message_node(std::uint64_t id, NodeKind kind, std::uint32_t slot, std::uint64_t bytes, std::uint32_t tag) {
  return {.id = id, .kind = kind, .tag = tag, .slot = slot, .bytes = bytes};
}

Program program_of(std::vector<Node> nodes, std::span<const std::pair<std::uint32_t, std::uint32_t>> edges) {
  Program program;
  program.nodes = std::move(nodes);
  program.parent_count.assign(program.nodes.size(), 0);
  program.child_begin.assign(program.nodes.size() + 1, 0);
  for (const auto& [parent, child] : edges) {
    ++program.child_begin[parent + 1];
    ++program.parent_count[child];
  }
  std::partial_sum(program.child_begin.begin(), program.child_begin.end(), program.child_begin.begin());
  program.children.resize(edges.size());
  std::vector<std::uint32_t> end = program.child_begin;
  for (const auto& [parent, child] : edges) program.children[end[parent]++] = child;
  return program;
}

Job same_on_all(const Program& program, std::uint32_t ranks) {
  Job job;
  job.programs = {program};
  job.ranks.assign(ranks, {0, {}, {0}});
  return job;
}

std::vector<Ticks> finish_times(const Result& result) {
  std::vector<Ticks> times;
  for (const RankResult& rank : result.ranks) times.push_back(rank.finish);
  return times;
}

}  // namespace orrery::astra
