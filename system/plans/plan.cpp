// SPDX-License-Identifier: MIT
#include "system/plans/plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "collectives/token_exchange.h"
#include "core/assert.h"
#include "core/error.h"
#include "system/plans/line_traffic.h"

namespace orrery::system {
namespace {

// Chunks times phases times members of one call: some gigabytes.
constexpr std::uint64_t kMostStates = std::uint64_t{1} << 25;

// True if any two members reach each other over switches alone, so that halving-doubling crosses no link twice. A
// cluster does not get another algorithm because its switch is written out as levels of switches; where those are
// oversubscribed, a ring sends less over the spine, and the configuration has to name it. A dragonfly has few ways
// between its groups, and of an edge list nothing is known: rings, as on grids.
bool is_one_switch(std::string_view topology) {
  return topology == "switch" || topology == "fat-tree" || topology == "rail-optimised" || topology == "butterfly";
}

// True if all members are equally far from one another; elsewhere long messages had better stay near.
bool is_equally_far(std::string_view topology) { return topology == "switch" || topology == "fully-connected"; }

// True for grids. Two members have one link each way, and one ring already fills both, so a ring of two is none.
bool is_grid(std::string_view topology, std::uint32_t size) {
  return (topology == "ring" && size > 2) || topology == "torus" || topology == "mesh";
}

std::string_view default_algorithm(CollectiveKind kind, std::string_view topology, std::uint32_t size) {
  if (kind == CollectiveKind::kAllToAll) return "direct";
  if (topology == "fully-connected") return "direct";
  // The partners of halving-doubling are neighbours on a hypercube.
  if ((is_one_switch(topology) || topology == "hypercube") && std::has_single_bit(size)) return "halving-doubling";
  return is_grid(topology, size) ? "bidirectional-ring" : "ring";
}

// Sizes in the order of positions, as the schedule counts its ranks, of one of `parts` parts.
std::vector<Bytes> by_position(std::span<const Bytes> of_member, const CommunicatorLayout& layout,
                               std::uint32_t parts) {
  std::vector<Bytes> sizes;
  if (of_member.empty()) return sizes;
  for (const std::uint32_t member : layout.member_at) sizes.push_back(ceil_div(of_member[member], parts));
  return sizes;
}

// A line with open ends is no ring: its ring, one way, sends over the links of both directions.
std::vector<collectives::PlanAxis> plan_axes(const CommunicatorLayout& layout,
                                             std::span<const DimensionAlgorithm> algorithms) {
  std::vector<collectives::PlanAxis> axes;
  std::size_t at = 0;
  for (std::size_t axis = 0; axis < layout.sizes.size(); ++axis) {
    const std::uint32_t dimension = layout.cuboid ? layout.dimensions[axis] : 0;
    while (algorithms[at].dimension != dimension) ++at;
    const collectives::Algorithm& algorithm = algorithms[at].algorithm;
    const bool has_ends = algorithm.along_axes && layout.open[axis];
    const bool both_ways = algorithm.both_ways && !has_ends && layout.sizes[axis] > 2;
    axes.push_back({layout.sizes[axis], dimension, both_ways, algorithm.all_reduce_by()});
  }
  return axes;
}

void require_doable(const PlanRequest& request, const collectives::MessageTable& table) {
  if (!request.bytes_of_member.empty())
    throw InputError(
        {}, fmt::format("{} with members of different sizes cannot run by '{}'", name_of(request.kind), table.name()),
        "algorithm files are for equal sizes");
  if (has_root(request.kind) && request.root != table.root())
    throw InputError({}, fmt::format("{} with root {} cannot run by '{}', whose root is {}", name_of(request.kind),
                                     request.root, table.name(), table.root()));
}

void connect(std::vector<PlannedPhase>& phases) {
  for (std::uint32_t i = 0; i < phases.size(); ++i)
    for (const std::uint32_t before : phases[i].phase.after) phases[before].then.push_back(i);
}

// True if the phases may visit the dimensions in any order: the parts of each chunk are then wherever that order leaves
// them.
bool may_reorder(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == kAllReduce || kind == kReduceScatter || kind == kAllGather;
}

// One more chunk, whose phases wait for one another only.
void append(std::vector<collectives::Phase>& phases, std::vector<collectives::Phase> chunk) {
  const auto first = static_cast<std::uint32_t>(phases.size());
  for (collectives::Phase& phase : chunk) {
    for (std::uint32_t& before : phase.after) before += first;
    phases.push_back(std::move(phase));
  }
}

collectives::Schedule schedule_of(const collectives::Phase& phase, std::uint32_t ranks,
                                  std::vector<Bytes> bytes_of_rank, const DimensionAlgorithm& chosen) {
  collectives::Request request{
      phase.kind,          ranks, phase.root, phase.bytes, std::move(bytes_of_rank), std::nullopt, phase.descending,
      chosen.nearest_first};
  if (chosen.table != nullptr) return collectives::make_schedule(*chosen.table, std::move(request));
  return collectives::make_schedule(chosen.algorithm, std::move(request));
}

// Adds the bytes that links carry in a phase of the members on the line of one of them.
void add_line(const collectives::Phase& phase, std::size_t axis, std::uint32_t member, const CommunicatorLayout& layout,
              const DimensionAlgorithm& chosen, const GroupPlace& place, std::map<LinkId, Bytes>& loads) {
  std::vector<DeviceId> line;
  for (std::uint32_t at = 0; at < layout.sizes[axis]; ++at)
    line.push_back(place.devices[layout.member_at[layout.moved_to(member, axis, at)]]);
  const collectives::Schedule schedule = schedule_of(phase, static_cast<std::uint32_t>(line.size()), {}, chosen);
  for (const network::LinkLoad& load : line_traffic(schedule, line, place.fabric).loads)
    loads[load.link] = saturating_add(loads[load.link], load.bytes);
}

// Times, by number of the dimension, for which its busiest link is busy with a reduce-scatter of kProbe. Whatever the
// algorithm sends over however many links at once counts as it is. All lines are looked at if they differ, else that of
// the first member.
std::vector<Duration> probe_dimensions(std::span<const collectives::PlanAxis> axes, const CommunicatorLayout& layout,
                                       std::span<const DimensionAlgorithm> algorithms, const GroupPlace& place) {
  std::vector<Duration> probes;
  for (std::size_t first = 0, last = 0; first < axes.size(); first = last) {
    while (last < axes.size() && axes[last].dimension == axes[first].dimension) ++last;
    const auto chosen = std::ranges::find(algorithms, axes[first].dimension, &DimensionAlgorithm::dimension);
    std::map<LinkId, Bytes> loads;
    for (const collectives::Phase& phase :
         collectives::plan_phases(CollectiveKind::kReduceScatter, axes.subspan(first, last - first), kProbe)) {
      const std::size_t axis = first + phase.axis;
      const std::uint32_t members = place.differs_by_line ? layout.size() : 1;
      for (std::uint32_t member = 0; member < members; ++member)
        if (layout.coordinate(member, axis) == 0) add_line(phase, axis, member, layout, *chosen, place, loads);
    }
    probes.resize(std::max<std::size_t>(probes.size(), axes[first].dimension + 1));
    for (const auto& [link, bytes] : loads)
      probes[axes[first].dimension] =
          std::max(probes[axes[first].dimension], bytes / place.fabric.link(link).bandwidth);
  }
  return probes;
}

}  // namespace

const collectives::MessageTable* CollectiveOptions::table(CollectiveKind kind, std::uint32_t ranks) const {
  for (const auto& table : tables[static_cast<std::size_t>(kind)])
    if (table->ranks() == ranks) return table.get();
  return nullptr;
}

std::vector<std::string> granularity_names() { return {"step", "phase"}; }

bool CollectivePlan::participates(std::size_t phase, std::uint32_t position) const {
  const collectives::Phase& p = phases[phase].phase;
  return p.aligned == 0 || orrery::collectives::participates(p, layout->coordinates(position), root);
}

collectives::Algorithm choose_algorithm(CollectiveKind kind, const CollectiveOptions& options,
                                        std::string_view topology, std::uint32_t fabric_dimension, std::uint32_t size) {
  const std::vector<collectives::Algorithm>& configured = options.algorithms[static_cast<std::size_t>(kind)];
  if (!topology.empty() && fabric_dimension < configured.size()) return configured[fabric_dimension];
  const auto in_network = collectives::find_algorithm("in-network");
  const bool is_named =
      !configured.empty() && configured.back().is_in_network() && fabric_dimension + 1 == configured.size();
  const bool is_default = configured.empty() && options.in_network_dimension == fabric_dimension;
  if ((is_named || is_default) && in_network->supports(kind)) return *in_network;
  const auto found = collectives::find_algorithm(default_algorithm(kind, topology, size));
  ORRERY_ASSERT(found.has_value());
  return *found;
}

std::vector<DimensionAlgorithm> choose_algorithms(CollectiveKind kind, const CollectiveOptions& options,
                                                  const CommunicatorLayout& layout,
                                                  std::span<const network::LogicalDimension> dimensions) {
  if (const collectives::MessageTable* table = options.table(kind, layout.size()))
    return {{0, *collectives::find_algorithm("ring"), false, table}};  // positions are those of a logical ring
  if (!layout.cuboid) {
    // Members that are all on nodes of their own are joined by the switches between nodes.
    const std::uint32_t dimension = layout.apart ? static_cast<std::uint32_t>(dimensions.size() - 1) : UINT32_MAX;
    return {{0, choose_algorithm(kind, options, {}, dimension, layout.size())}};
  }
  std::vector<DimensionAlgorithm> algorithms;
  for (std::size_t axis = 0, next = 0; axis < layout.sizes.size(); axis = next) {
    const std::uint32_t dimension = layout.dimensions[axis];
    std::uint32_t size = 1;
    for (next = axis; next < layout.sizes.size() && layout.dimensions[next] == dimension; ++next)
      size *= layout.sizes[next];
    const std::string_view topology = dimensions[dimension].topology;
    algorithms.push_back(
        {dimension, choose_algorithm(kind, options, topology, dimension, size), !is_equally_far(topology)});
  }
  return algorithms;
}

std::string name_of(std::span<const DimensionAlgorithm> algorithms) {
  std::string text;
  for (const DimensionAlgorithm& chosen : algorithms)
    text += (text.empty() ? "" : "+") + (chosen.table != nullptr ? chosen.table->name() : chosen.algorithm.full_name());
  return text;
}

CollectivePlan plan_collective(const PlanRequest& request, const CommunicatorLayout& layout,
                               const CollectiveOptions& options, std::span<const DimensionAlgorithm> algorithms,
                               const GroupPlace& place) {
  ORRERY_ASSERT(request.bytes_of_member.empty() || layout.sizes.size() == 1);
  CollectivePlan plan;
  plan.layout = &layout;
  // The root of a call that names none is at the lowest coordinates, in whatever order the group lists its members.
  plan.root = layout.coordinates(has_root(request.kind) ? layout.position_of[request.root] : 0);
  if (layout.size() == 1) return plan;
  if (const collectives::MessageTable* table = algorithms.front().table) require_doable(request, *table);
  const bool splits = request.bytes.count() > 0 && request.bytes_of_member.empty();
  // Never chunks of less than a byte: each is rounded up to one.
  if (splits) plan.chunks = static_cast<std::uint32_t>(std::min<std::int64_t>(options.chunks, request.bytes.count()));
  const Bytes chunk = ceil_div(request.bytes, plan.chunks);
  const std::vector<collectives::PlanAxis> axes = plan_axes(layout, algorithms);
  const bool has_shards = std::ranges::all_of(
      axes, [](const collectives::PlanAxis& axis) { return axis.all_reduce == collectives::AllReduceBy::kShards; });
  std::vector<std::vector<std::uint32_t>> orders(1);
  if (options.order == DimensionOrder::kThemis && may_reorder(request.kind) && plan.chunks > 1 && has_shards) {
    auto balanced = balanced_orders(request.kind, axes, chunk, plan.chunks,
                                    probe_dimensions(axes, layout, algorithms, place), options.active_chunks);
    plan.balance = balanced.empty() ? CollectivePlan::Balance::kNone : CollectivePlan::Balance::kOrders;
    if (!balanced.empty()) orders = std::move(balanced);
  }
  std::vector<collectives::Phase> phases;
  for (const std::vector<std::uint32_t>& order : orders)
    append(phases, collectives::plan_phases(request.kind, axes, chunk, plan.root, order));
  // Chunks that go ways of their own are parts of one.
  plan.chunks /= static_cast<std::uint32_t>(orders.size());
  if (std::uint64_t{layout.size()} * plan.chunks * phases.size() > kMostStates)
    throw InputError({},
                     fmt::format("{} chunks of a collective of {} ranks are too many to simulate",
                                 plan.chunks * orders.size(), layout.size()),
                     "lower collectives.chunks");
  for (collectives::Phase& phase : phases) {
    const collectives::PlanAxis& axis = axes[phase.axis];
    const auto chosen = std::ranges::find(algorithms, axis.dimension, &DimensionAlgorithm::dimension);
    collectives::Schedule schedule =
        schedule_of(phase, axis.size, by_position(request.bytes_of_member, layout, phase.parts), *chosen);
    plan.phases.push_back({std::move(phase), std::move(schedule)});
  }
  connect(plan.phases);
  return plan;
}

CollectivePlan plan_transfer(const PlanRequest& request, const CommunicatorLayout& layout, const GroupLayout& group,
                             const GroupLibrary& library, const TokenExchange* exchange) {
  ORRERY_ASSERT(layout.sizes.size() == 1 && layout.size() == group.shape.ranks);
  CollectivePlan plan;
  plan.layout = &layout;
  plan.root = layout.coordinates(layout.position_of[request.root]);
  plan.group = &group;
  if (layout.size() == 1) return plan;
  const collectives::Phase phase{.kind = request.kind, .bytes = request.bytes, .root = request.root};
  if (exchange != nullptr && request.kind == CollectiveKind::kAllToAll)
    plan.phases.push_back({phase, collectives::token_exchange(*exchange, request.bytes, group.shape)});
  else
    plan.phases.push_back({phase, library.transfer(request.kind, request.bytes, request.root, group)});
  return plan;
}

LineTraffic traffic_of(const CollectivePlan& plan, std::size_t phase, std::span<const DeviceId> devices,
                       const network::Fabric& fabric) {
  const PlannedPhase& planned = plan.phases[phase];
  if (planned.is_whole())
    return group_traffic(planned.transfer(), plan.group->nodes, devices, fabric, plan.group->alike);
  if (planned.schedule().is_in_network()) return in_network_traffic(planned.schedule(), devices, fabric);
  return line_traffic(planned.schedule(), devices, fabric);
}

}  // namespace orrery::system
