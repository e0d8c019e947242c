// SPDX-License-Identifier: MIT
#include "astra/answer/advice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace orrery::astra {
namespace {

// A collective as its calls differ: what, by whom, how much.
struct Use {
  CommKind comm = CommKind::kAllReduce;
  std::uint64_t ranks = 0;
  std::uint64_t bytes = 0;
  bool is_custom = false;
  auto operator<=>(const Use&) const = default;
};

bool is_whole(const Inputs& inputs, const Use& use) { return use.ranks == inputs.network.npus; }

class Uses {
 public:
  Uses(const Inputs& inputs, const Job& job) {
    std::set<std::pair<std::uint32_t, std::vector<std::uint64_t>>> seen;
    for (const RankProgram& rank : job.ranks) {
      if (!seen.emplace(rank.program, rank.groups).second) continue;
      for (const Node& node : job.programs[rank.program].nodes) {
        if (node.kind == NodeKind::kSend) sends = true;
        if (node.kind != NodeKind::kCollective || inputs.system.replay_only) continue;
        if (node.comm == CommKind::kBroadcast) {
          broadcasts = true;
          continue;
        }
        const std::uint64_t group = rank.groups[node.slot];
        const std::uint64_t ranks = group == 0 ? inputs.network.npus : inputs.groups.at(group).size();
        const bool is_custom =
            node.custom > 0 || !inputs.system.implementations[static_cast<std::size_t>(node.comm)].custom.empty();
        collectives.insert({node.comm, ranks, node.bytes, is_custom});
        if (group != 0 && ranks < inputs.network.npus) groups.insert(group);
      }
    }
  }

  std::set<Use> collectives;
  std::set<std::uint64_t> groups;  // smaller than the world
  bool broadcasts = false;
  bool sends = false;
};

std::string key_of(CommKind comm) { return fmt::format("{}-implementation", name_of(comm)); }

const std::vector<Algorithm>& algorithms_of(const Inputs& inputs, CommKind comm) {
  return inputs.system.implementations[static_cast<std::size_t>(comm)].dimensions;
}

void add_short_lists(const Inputs& inputs, const Uses& uses, std::vector<Problem>& problems) {
  std::set<CommKind> told;
  for (const Use& use : uses.collectives) {
    const std::vector<Algorithm>& algorithms = algorithms_of(inputs, use.comm);
    const std::size_t dimensions = inputs.network.dimensions.size();
    if (use.is_custom || !is_whole(inputs, use) || algorithms.empty() || algorithms.front().flat ||
        algorithms.size() >= dimensions || !told.insert(use.comm).second)
      continue;
    std::uint64_t reached = 1;
    for (std::size_t d = 0; d < algorithms.size(); ++d) reached *= inputs.network.dimensions[d].size;
    problems.push_back(
        {Severity::kWarning, inputs.system.where(key_of(use.comm)),
         fmt::format("'{}' has {} of {} names: the other dimensions are not gone through, so that "
                     "only {} of {} ranks take part in each {}",
                     key_of(use.comm), algorithms.size(), dimensions, reached, inputs.network.npus, name_of(use.comm)),
         "name an algorithm for each dimension"});
  }
}

void add_trees(const Inputs& inputs, const Uses& uses, std::vector<Problem>& problems) {
  std::set<CommKind> told;
  for (const Use& use : uses.collectives) {
    const bool has_tree = std::ranges::find(algorithms_of(inputs, use.comm), AlgorithmKind::kDoubleBinaryTree,
                                            &Algorithm::kind) != algorithms_of(inputs, use.comm).end();
    if (use.comm == CommKind::kAllReduce || use.is_custom || !has_tree || !is_whole(inputs, use) ||
        !told.insert(use.comm).second)
      continue;
    problems.push_back({Severity::kWarning, inputs.system.where(key_of(use.comm)),
                        fmt::format("'doubleBinaryTree' is an all-reduce: the time is that of one in place of the {}",
                                    name_of(use.comm)),
                        "take ring, direct or halvingDoubling"});
  }
}

void add_missing_keys(const Inputs& inputs, const Uses& uses, std::vector<Problem>& problems) {
  const System& system = inputs.system;
  const bool reduces = std::ranges::any_of(uses.collectives, [](const Use& use) {
    return !use.is_custom && (use.comm == CommKind::kAllReduce || use.comm == CommKind::kReduceScatter);
  });
  if (reduces && system.memory_bandwidth <= 0)
    problems.push_back({Severity::kWarning,
                        {system.file},
                        "the key 'local-mem-bw' is missing or 0: reductions cost nothing",
                        "give the memory bandwidth in GB/s"});
  const bool has_order = std::ranges::any_of(uses.collectives, [&](const Use& use) {
    return use.comm == CommKind::kAllReduce && is_whole(inputs, use) && algorithms_of(inputs, use.comm).size() > 1;
  });
  if (has_order && !system.has_optimization)
    problems.push_back({Severity::kWarning,
                        {system.file},
                        "the key 'collective-optimization' is missing, and ASTRA-sim does not initialise it: "
                        "baseline is taken",
                        "write \"collective-optimization\": \"localBWAware\", or \"baseline\""});
}

// Messages that the algorithms in use have in flight at once from one rank.
std::uint64_t messages_at_once(const Inputs& inputs, const Uses& uses) {
  std::uint64_t most = 1;
  for (const Use& use : uses.collectives) {
    const std::vector<Algorithm>& algorithms = algorithms_of(inputs, use.comm);
    for (std::size_t d = 0; d < algorithms.size() && !use.is_custom; ++d) {
      if (algorithms[d].kind != AlgorithmKind::kDirect) continue;
      const bool is_one_ring = algorithms[d].flat || !is_whole(inputs, use);
      const std::uint64_t peers = (is_one_ring ? use.ranks : inputs.network.dimensions[d].size) - 1;
      most = std::max(most, algorithms[d].window == 0 ? peers : std::min<std::uint64_t>(algorithms[d].window, peers));
    }
  }
  return most;
}

// True for a collective that goes round all ranks whatever their dimensions: oneRing, oneDirect, a custom one.
bool has_flat_ring(const Inputs& inputs, const Uses& uses) {
  return std::ranges::any_of(uses.collectives, [&](const Use& use) {
    const std::vector<Algorithm>& algorithms = algorithms_of(inputs, use.comm);
    return is_whole(inputs, use) && (use.is_custom || (!algorithms.empty() && algorithms.front().flat));
  });
}

void add_chunks(const Inputs& inputs, const Uses& uses, std::vector<std::string>& notes) {
  const std::uint64_t splits = inputs.system.splits;
  double worst = 0;
  std::uint64_t size = 0;
  for (const Use& use : uses.collectives) {
    if (use.is_custom || use.bytes == 0 || splits == 0) continue;
    std::uint64_t chunk = use.bytes / splits;
    std::uint64_t moved = 0;
    if (use.comm != CommKind::kAllGather && chunk < inputs.network.npus)
      moved = splits * inputs.network.npus;
    else if (chunk > 0)
      moved = (use.bytes + chunk - 1) / chunk * chunk;
    const double excess = static_cast<double>(moved) / static_cast<double>(use.bytes) - 1;
    if (excess > worst) {
      worst = excess;
      size = use.bytes;
    }
  }
  if (worst >= 0.001)
    notes.push_back(fmt::format("{} bytes in {} chunks: the last chunk is not shortened, so that {} % more is moved",
                                size, splits,
                                worst < 10 ? fmt::format("{:.3g}", 100 * worst) : fmt::format("{:.0f}", 100 * worst)));
}

}  // namespace

std::vector<Problem> silent_problems(const Inputs& inputs, const Job& job) {
  const Uses uses(inputs, job);
  std::vector<Problem> problems;
  add_short_lists(inputs, uses, problems);
  add_trees(inputs, uses, problems);
  add_missing_keys(inputs, uses, problems);
  return problems;
}

std::vector<std::string> departures(const Inputs& inputs, const Job& job) {
  const Uses uses(inputs, job);
  const bool is_aware = inputs.flags.backend == Backend::kAware;
  std::vector<std::string> notes;
  const bool talks = !uses.collectives.empty() || uses.sends;
  const bool has_switch = std::ranges::find(inputs.network.dimensions, TopologyKind::kSwitch, &Dimension::topology) !=
                          inputs.network.dimensions.end();
  const std::uint64_t at_once = messages_at_once(inputs, uses) * inputs.system.active_chunks;
  if (!is_aware && !uses.collectives.empty() && at_once > 1)
    notes.push_back(
        fmt::format("nothing is shared: a rank may have {} messages in flight, each at the full bandwidth "
                    "of a link",
                    at_once));
  if (!is_aware && talks && has_switch) notes.push_back("a message through a Switch pays the latency twice");
  if (is_aware && talks && has_switch)
    notes.push_back("a Switch stores a whole message before it sends it on: a lone message takes twice as long");
  if (is_aware && talks && inputs.network.dimensions.front().topology == TopologyKind::kRing && inputs.network.npus > 3)
    notes.push_back("NPUs on the way of a Ring store a whole message before they send it on");
  if (is_aware && talks && inputs.network.dimensions.front().topology == TopologyKind::kFullyConnected)
    notes.push_back("FullyConnected gives each pair of NPUs a link of its own at the full bandwidth");
  const bool crosses_dimensions = !uses.groups.empty() || uses.sends || has_flat_ring(inputs, uses);
  if (!is_aware && inputs.network.dimensions.size() > 1 && crosses_dimensions)
    notes.push_back("a message between ranks that differ in several dimensions is charged the first of them only");
  if (!uses.groups.empty() && inputs.system.endpoint_delay != 10)
    notes.push_back(fmt::format("communicator groups have an endpoint delay of 10 ns in place of {} ns",
                                inputs.system.endpoint_delay));
  if (uses.broadcasts) notes.push_back("a BROADCAST takes its recorded duration, whatever the network");
  add_chunks(inputs, uses, notes);
  return notes;
}

}  // namespace orrery::astra
