// SPDX-License-Identifier: MIT
#include "experiment/warnings.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/algorithms.h"

namespace orrery::experiment {
namespace {

// Warns where MEM nodes have no remote memory to go to.
void warn_of_memory_nodes(const Experiment& experiment, const workload::Job& job, Diagnostics& diagnostics) {
  if (experiment.simulation.remote_memory) return;
  std::vector<std::size_t> of_graph(job.graphs.size());
  for (std::size_t graph = 0; graph < job.graphs.size(); ++graph)
    for (std::uint32_t i = 0; i < job.graphs[graph].size(); ++i) {
      const workload::NodeKind kind = job.graphs[graph].kind(NodeId(i));
      if (kind == workload::NodeKind::kMemoryLoad || kind == workload::NodeKind::kMemoryStore) ++of_graph[graph];
    }
  std::size_t nodes = 0;
  for (const workload::RankBinding& rank : job.ranks) nodes += of_graph[rank.graph];
  if (nodes > 0)
    diagnostics.warning({experiment.file},
                        fmt::format("{} MEM nodes take the bandwidth of the device's own memory", nodes),
                        "give memory.remote if they go elsewhere");
}

// Warns where the algorithms of the configuration do not apply: in groups that are no whole part of the cluster.
void warn_of_rings(const Experiment& experiment, const workload::Job& job, const workload::Matching& matching,
                   const system::CollectivePlans& plans, Diagnostics& diagnostics) {
  std::size_t groups = 0;
  std::string first;
  for (std::uint32_t i = 0; i < job.communicators.size(); ++i) {
    const auto is_configured = [&](const workload::CollectiveCall& call) {
      return !experiment.simulation.collectives.algorithms[static_cast<std::size_t>(call.kind)].empty();
    };
    const system::CommunicatorLayout& layout = plans.layout(GroupId(i));
    if (layout.cuboid || layout.size() == 1 || !std::ranges::any_of(matching.calls(GroupId(i)), is_configured))
      continue;
    if (groups++ == 0) first = job.communicators[i].name;
  }
  if (groups > 0)
    diagnostics.warning({experiment.file},
                        fmt::format("collectives.algorithms does not apply to {} groups ('{}' is one), which are not a "
                                    "whole part of the cluster and run as logical rings",
                                    groups, printable(first)),
                        "a group needs, in each dimension, all coordinates or one; on an axis of a ring, a torus or a "
                        "mesh, equally spaced ones");
}

// Warns where groups have other numbers of ranks than the files with algorithms.
void warn_of_tables(const Experiment& experiment, const workload::Job& job, const workload::Matching& matching,
                    Diagnostics& diagnostics) {
  const system::CollectiveOptions& options = experiment.simulation.collectives;
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    if (options.tables[static_cast<std::size_t>(kind)].empty()) continue;
    std::set<std::size_t> others;  // numbers of ranks
    for (std::uint32_t i = 0; i < job.communicators.size(); ++i) {
      const std::size_t ranks = job.communicators[i].members.size();
      const bool calls = std::ranges::find(matching.calls(GroupId(i)), kind, &workload::CollectiveCall::kind) !=
                         matching.calls(GroupId(i)).end();
      if (calls && ranks > 1 && options.table(kind, static_cast<std::uint32_t>(ranks)) == nullptr) others.insert(ranks);
    }
    if (!others.empty())
      diagnostics.warning({experiment.file},
                          fmt::format("no file of collectives.algorithms.{} is for groups of {} ranks, which run the "
                                      "default algorithm",
                                      name_of(kind), fmt::join(others, ", ")),
                          "an algorithm file is for one number of ranks; name one for each");
  }
}

// Warns where switches between the nodes could add up, and no collective makes use of it.
void warn_of_idle_switches(const Experiment& experiment, const workload::Job& job, const workload::Matching& matching,
                           const system::CollectivePlans& plans, Diagnostics& diagnostics) {
  const system::CollectiveOptions& options = experiment.simulation.collectives;
  if (!experiment.fabric.interconnect().in_network_reduction || experiment.fabric.dimensions().size() < 2) return;
  for (std::uint32_t i = 0; i < job.communicators.size(); ++i) {
    const auto group = static_cast<GroupId>(i);
    if (plans.model_of(group) != group || plans.layout(group).size() == 1) continue;
    for (const workload::CollectiveCall& call : matching.calls(group))
      for (const system::DimensionAlgorithm& chosen :
           system::choose_algorithms(call.kind, options, plans.layout(group), plans.dimensions()))
        if (chosen.algorithm.is_in_network()) return;
  }
  std::vector<std::string_view> kinds;
  for (const CollectiveKind kind : kAllCollectiveKinds)
    if (collectives::find_algorithm("in-network")->supports(kind)) kinds.push_back(name_of(kind));
  diagnostics.warning(
      {experiment.file},
      "'in_network_reduction: true' changes nothing: no collective of the job runs in the switches between nodes",
      fmt::format("with 'library: fixed' these do: {}; unless collectives.algorithms names another algorithm, and in "
                  "groups of whole nodes or of one rank per node",
                  fmt::join(kinds, ", ")));
}

// Warns of what the fixed library does otherwise than the configuration suggests.
void warn_of_collectives(const Experiment& experiment, const workload::Job& job, const workload::Matching& matching,
                         std::span<const DeviceId> placement, Diagnostics& diagnostics) {
  if (experiment.simulation.collectives.library != nullptr) return;
  const system::CollectivePlans plans(job, matching, experiment.fabric, placement, experiment.simulation.collectives);
  warn_of_rings(experiment, job, matching, plans, diagnostics);
  warn_of_idle_switches(experiment, job, matching, plans, diagnostics);
  warn_of_tables(experiment, job, matching, diagnostics);
}

// Warns where `compute: roofline` has nothing to work on. `compute`: by graph.
void warn_of_idle_roofline(const Experiment& experiment, const workload::Job& job,
                           std::span<const system::ComputeOptions> compute, Diagnostics& diagnostics) {
  if (std::ranges::none_of(compute, &system::ComputeOptions::prefer_roofline)) return;
  for (std::size_t graph = 0; graph < job.graphs.size(); ++graph)
    for (std::uint32_t i = 0; compute[graph].prefer_roofline && i < job.graphs[graph].size(); ++i)
      if (system::has_roofline_work(job.graphs[graph], NodeId(i))) return;
  diagnostics.warning({experiment.file},
                      "'compute: roofline' changes nothing: no compute node of the traces has FLOPs or bytes",
                      "leave it out, or record the traces with them");
}

// Warns where a node is perturbed that no rank runs on.
void warn_of_idle_nodes(const Experiment& experiment, std::span<const DeviceId> placement, Diagnostics& diagnostics) {
  for (const auto& [node, perturbed] : experiment.simulation.perturbation.nodes)
    if (std::ranges::none_of(placement,
                             [&, node = node](DeviceId d) { return network::node_of(experiment.fabric, d) == node; }))
      diagnostics.warning(perturbed.where, fmt::format("no rank runs on node {}: this changes nothing", node),
                          "`placement` says which devices ranks run on");
}

}  // namespace

void warn_before_run(const Experiment& experiment, const workload::Job& job, const workload::Matching& matching,
                     std::span<const DeviceId> placement, std::span<const system::ComputeOptions> compute,
                     Diagnostics& diagnostics) {
  warn_of_memory_nodes(experiment, job, diagnostics);
  warn_of_idle_roofline(experiment, job, compute, diagnostics);
  warn_of_idle_nodes(experiment, placement, diagnostics);
  warn_of_collectives(experiment, job, matching, placement, diagnostics);
}

void warn_after_run(const Experiment& experiment, const system::CollectivePlans& plans, Diagnostics& diagnostics) {
  if (plans.balanced_in_vain())
    diagnostics.warning(
        {experiment.file},
        "'dimension_order: themis' changes nothing: no collective of the job ends sooner if its chunks go "
        "through the dimensions in orders of their own",
        "leave it out; more chunks, or dimensions of other bandwidths, may change that");
}

}  // namespace orrery::experiment
