#include "system/collective_plan.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"
#include "system/group_traffic.h"
#include "system/in_network_traffic.h"

namespace orrery {
namespace {

// Chunks times phases times members of one call: some gigabytes.
constexpr std::uint64_t kMostStates = std::uint64_t{1} << 25;

// Where any two members reach each other over switches alone, halving-doubling crosses no link twice. A cluster does
// not get another algorithm because its switch is written out as levels of switches; where those are oversubscribed, a
// ring sends less over the spine, and the configuration has to name it. A dragonfly has few ways between its groups,
// and of an edge list nothing is known: rings, as on grids.
bool is_one_switch(std::string_view topology) {
  return topology == "switch" || topology == "fat-tree" || topology == "rail-optimised";
}

std::string_view default_algorithm(CollectiveKind kind, std::string_view topology, std::uint32_t size) {
  if (kind == CollectiveKind::kAllToAll) return "direct";
  if (topology == "fully-connected") return "direct";
  if (is_one_switch(topology) && std::has_single_bit(size)) return "halving-doubling";
  return "ring";
}

// Sizes in the order of positions, as the schedule counts its ranks.
std::vector<Bytes> by_position(std::span<const Bytes> of_member, const CommunicatorLayout& layout) {
  std::vector<Bytes> sizes;
  if (of_member.empty()) return sizes;
  for (const std::uint32_t member : layout.member_at) sizes.push_back(of_member[member]);
  return sizes;
}

}  // namespace

std::vector<std::string> granularity_names() { return {"step", "phase"}; }

bool CollectivePlan::participates(std::size_t phase, std::uint32_t position) const {
  const Phase& p = phases[phase].phase;
  return p.participants == Participants::kEveryone || orrery::participates(p, layout->coordinates(position), root);
}

Algorithm choose_algorithm(CollectiveKind kind, const CollectiveOptions& options, std::string_view topology,
                           std::uint32_t fabric_dimension, std::uint32_t size) {
  const std::vector<Algorithm>& configured = options.algorithms[static_cast<std::size_t>(kind)];
  if (!topology.empty() && fabric_dimension < configured.size()) return configured[fabric_dimension];
  const auto in_network = find_algorithm("in-network");
  if (options.in_network_dimension == fabric_dimension && in_network->supports(kind)) return *in_network;
  const auto found = find_algorithm(default_algorithm(kind, topology, size));
  ORRERY_ASSERT(found.has_value());
  return *found;
}

Algorithm choose_algorithm(CollectiveKind kind, const CollectiveOptions& options, const CommunicatorLayout& layout,
                           std::uint32_t which, std::span<const std::string> topologies) {
  const std::uint32_t size = layout.sizes[which];
  if (layout.cuboid) {
    const std::uint32_t dimension = layout.dimensions[which];
    return choose_algorithm(kind, options, topologies[dimension], dimension, size);
  }
  // Whose members are on nodes of their own has the switches between them.
  const auto last = static_cast<std::uint32_t>(topologies.size() - 1);
  return choose_algorithm(kind, options, {}, layout.apart ? last : UINT32_MAX, size);
}

CollectivePlan plan_collective(const PlanRequest& request, const CommunicatorLayout& layout,
                               const CollectiveOptions& options, std::span<const std::string> topologies) {
  ORRERY_ASSERT(request.bytes_of_member.empty() || layout.sizes.size() == 1);
  CollectivePlan plan;
  plan.layout = &layout;
  plan.root = layout.coordinates(layout.position_of[request.root]);
  if (layout.size() == 1) return plan;
  const bool splits = request.bytes.count() > 0 && request.bytes_of_member.empty();
  // Never chunks of less than a byte: each is rounded up to one.
  if (splits) plan.chunks = static_cast<std::uint32_t>(std::min<std::int64_t>(options.chunks, request.bytes.count()));
  const Bytes chunk = ceil_div(request.bytes, plan.chunks);
  const auto algorithm_of = [&](std::uint32_t which) {
    return choose_algorithm(request.kind, options, layout, which, topologies);
  };
  const auto top = static_cast<std::uint32_t>(layout.sizes.size() - 1);
  const AllReduceTop on_top = algorithm_of(top).splits_all_reduce() ? AllReduceTop::kHalves : AllReduceTop::kWhole;
  const std::vector<Phase> phases = plan_phases(request.kind, layout.sizes, chunk, plan.root, on_top);
  if (std::uint64_t{layout.size()} * plan.chunks * phases.size() > kMostStates)
    throw InputError(
        {}, fmt::format("{} chunks of a collective of {} ranks are too many to simulate", plan.chunks, layout.size()),
        "lower collectives.chunks");
  for (const Phase& phase : phases) {
    const std::uint32_t size = layout.sizes[phase.dimension];
    plan.phases.push_back({phase, make_schedule(algorithm_of(phase.dimension),
                                                {phase.kind, size, phase.root, phase.bytes,
                                                 by_position(request.bytes_of_member, layout), std::nullopt})});
  }
  return plan;
}

CollectivePlan plan_transfer(const PlanRequest& request, const CommunicatorLayout& layout, const GroupLayout& group,
                             const GroupLibrary& library) {
  ORRERY_ASSERT(layout.sizes.size() == 1 && layout.size() == group.shape.ranks);
  CollectivePlan plan;
  plan.layout = &layout;
  plan.root = layout.coordinates(layout.position_of[request.root]);
  plan.group = &group;
  if (layout.size() == 1) return plan;
  const Phase phase{0, request.kind, request.bytes, Participants::kEveryone, request.root};
  plan.phases.push_back({phase, library.transfer(request.kind, request.bytes, request.root, group)});
  return plan;
}

LineTraffic traffic_of(const CollectivePlan& plan, std::size_t phase, std::span<const DeviceId> devices,
                       const Fabric& fabric) {
  const PlannedPhase& planned = plan.phases[phase];
  if (planned.is_whole()) return group_traffic(planned.transfer(), plan.group->nodes, devices, fabric);
  if (planned.schedule().is_in_network()) return in_network_traffic(planned.schedule(), devices, fabric);
  return line_traffic(planned.schedule(), devices, fabric);
}

}  // namespace orrery
