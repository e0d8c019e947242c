// SPDX-License-Identifier: MIT
#include "experiment/warnings.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/algorithms.h"
#include "core/config/key_path.h"
#include "network/fabric/link_names.h"
#include "workload/training/program/rank_grid.h"

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

// Warns where `compute: roofline` or an efficiency has nothing to work on. `compute`: by graph.
void warn_of_idle_roofline(const Experiment& experiment, const workload::Job& job,
                           std::span<const system::ComputeOptions> compute, Diagnostics& diagnostics) {
  const auto is_any = [&](const auto& is_asked, const auto& acts) {
    for (std::size_t graph = 0; graph < job.graphs.size(); ++graph)
      for (std::uint32_t i = 0; is_asked(compute[graph]) && i < job.graphs[graph].size(); ++i)
        if (acts(job.graphs[graph], NodeId(i), compute[graph])) return true;
    return false;
  };
  const auto prefers = [](const system::ComputeOptions& options) { return options.prefer_roofline; };
  const auto has_efficiency = [](const system::ComputeOptions& options) { return options.efficiency.has_value(); };
  const auto has_work = [](const auto& graph, NodeId node, const auto&) {
    return system::has_roofline_work(graph, node);
  };
  if (std::ranges::any_of(compute, prefers) && !is_any(prefers, has_work))
    return diagnostics.warning({experiment.file},
                               "'compute: roofline' changes nothing: no compute node of the traces has FLOPs or bytes",
                               "leave it out, or record the traces with them");
  if (std::ranges::any_of(compute, has_efficiency) && !is_any(has_efficiency, system::is_by_roofline))
    diagnostics.warning(
        {experiment.file},
        "'compute.efficiency' changes nothing: all compute nodes of the traces take their measured "
        "durations",
        "write compute: {by: roofline, efficiency: ...}; it takes effect where nodes have FLOPs or bytes");
}

// Warns where a node is perturbed that no rank runs on.
void warn_of_idle_nodes(const Experiment& experiment, std::span<const DeviceId> placement, Diagnostics& diagnostics) {
  for (const auto& [node, perturbed] : experiment.simulation.perturbation.nodes)
    if (std::ranges::none_of(placement,
                             [&, node = node](DeviceId d) { return network::node_of(experiment.fabric, d) == node; }))
      diagnostics.warning(perturbed.where, fmt::format("no rank runs on node {}: this changes nothing", node),
                          "`placement` says which devices ranks run on");
}

// Numbers of nodes that groups of a family reach over: of the group with the fewest, and of that with the most.
// `placement`: of the ranks of the grid.
std::pair<std::size_t, std::size_t> nodes_of_groups(workload::GroupFamily family, const Experiment& experiment,
                                                    const workload::RankGrid& grid,
                                                    std::span<const DeviceId> placement) {
  using Place = std::pair<std::int64_t, std::uint32_t>;  // a group, and a node that it has a rank on
  std::set<Place> places;
  Place last{-1, 0};  // neighbours are mostly in one place
  for (std::int64_t rank = 0; rank < grid.ranks(); ++rank) {
    const Place place(grid.group_of(family, grid.place(rank)),
                      network::node_of(experiment.fabric, placement[static_cast<std::size_t>(rank)]));
    if (place != last) places.insert(place);
    last = place;
  }
  std::vector<std::size_t> nodes(static_cast<std::size_t>(grid.group_count(family)));
  for (const auto& [group, node] : places) ++nodes[static_cast<std::size_t>(group)];
  const auto [least, most] = std::ranges::minmax(nodes);
  return {least, most};
}

// Hints at libraries that send a token to each node once, where groups of experts reach over nodes and nobody chose the
// all-to-all that sends it once for each of its experts.
void warn_of_plain_dispatch(const Experiment& experiment, std::span<const DeviceId> placement,
                            Diagnostics& diagnostics) {
  if (experiment.jobs.size() != 1 || experiment.nccl == nullptr) return;
  const std::optional<workload::TrainingSpec>& training = experiment.jobs.front().workload.training;
  if (!training || training->experts.has_chosen_dispatch || training->parallel.expert == 1) return;
  const auto* model = std::get_if<workload::TransformerSpec>(&training->model.sizes);
  if (training->experts.dispatch.kind != DispatchKind::kAllToAll || model == nullptr || model->experts_per_token < 2)
    return;
  const auto [least, most] =
      nodes_of_groups(workload::GroupFamily::kExpert, experiment, workload::RankGrid(training->parallel), placement);
  if (most == 1) return;
  diagnostics.warning(
      {experiment.file},
      fmt::format("groups of {} expert ranks reach over {}{} nodes, and an all-to-all sends each token once "
                  "for each of its {} experts",
                  training->parallel.expert, least < most ? "up to " : "", most, model->experts_per_token),
      "workload.experts.dispatch: deepep sends it to each node once; all-to-all, written down, is taken "
      "as meant");
}

// Warns where tensor-parallel groups of one of several jobs reach over more nodes than they have to: jobs stand one
// behind the other, and none is packed by node. Jobs behind one whose ranks only its traces tell are left out.
void warn_of_unpacked_jobs(const Experiment& experiment, std::span<const DeviceId> placement,
                           Diagnostics& diagnostics) {
  if (experiment.jobs.size() < 2 || !experiment.fabric.is_of_nodes()) return;
  if (experiment.placement.kind != PlacementKind::kPacked) return;
  const std::int64_t per_node = experiment.fabric.dimensions().front().size;
  std::size_t first = 0;
  for (const JobSource& job : experiment.jobs) {
    const std::optional<workload::TrainingSpec>& training = job.workload.training;
    if (!training && !job.workload.call) return;
    const std::size_t ranks =
        training ? static_cast<std::size_t>(training->parallel.ranks()) : std::size_t{job.workload.call->ranks};
    const std::span<const DeviceId> devices = placement.subspan(first, ranks);
    first += ranks;
    if (!training || training->parallel.tensor() == 1 || training->parallel.tensor() > per_node) continue;
    const auto [least, most] =
        nodes_of_groups(workload::GroupFamily::kTensor, experiment, workload::RankGrid(training->parallel), devices);
    if (most > 1)
      diagnostics.warning(training->where,
                          fmt::format("tensor-parallel groups of job '{}' reach over up to {} nodes: several jobs are "
                                      "placed one behind the other, and none is packed by node",
                                      printable(job.name), most),
                          "list the devices that ranks are to run on in `placement`");
  }
}

}  // namespace

void warn_before_run(const Experiment& experiment, const workload::Job& job, const workload::Matching& matching,
                     std::span<const DeviceId> placement, std::span<const system::ComputeOptions> compute,
                     Diagnostics& diagnostics) {
  warn_of_memory_nodes(experiment, job, diagnostics);
  warn_of_idle_roofline(experiment, job, compute, diagnostics);
  warn_of_idle_nodes(experiment, placement, diagnostics);
  warn_of_plain_dispatch(experiment, placement, diagnostics);
  warn_of_unpacked_jobs(experiment, placement, diagnostics);
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

void warn_of_unused_links(const Experiment& experiment, std::span<const report::LinkClassUse> links,
                          Diagnostics& diagnostics) {
  const ConfigValue* perturbed = value_at_path(experiment.resolved, "perturb.links");
  const bool counts = std::ranges::any_of(links, [](const report::LinkClassUse& use) { return use.bytes > 0; });
  if (perturbed == nullptr || !counts) return;  // a job without messages, or a network that counts none
  const network::Fabric& fabric = experiment.fabric;
  const auto is_used = [&](LinkId link) {
    const std::string& name = fabric.link_classes()[fabric.link(link).link_class];
    const auto use = std::ranges::find(links, name, &report::LinkClassUse::name);
    return use != links.end() && use->bytes > 0;
  };
  for (const ConfigEntry& entry : perturbed->entries) {
    const std::vector<LinkId> named = network::links_named(fabric, entry.key);
    if (!named.empty() && std::ranges::none_of(named, is_used))
      diagnostics.warning(entry.where, fmt::format("'perturb.links' of '{}' changes nothing: no message of the job "
                                                   "crosses links of the kind",
                                                   printable(entry.key)));
  }
}

}  // namespace orrery::experiment
