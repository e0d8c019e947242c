#include "system/collective_plan.h"

#include <algorithm>
#include <bit>

#include "core/assert.h"

namespace orrery {
namespace {

std::string_view default_algorithm(CollectiveKind kind, std::string_view topology, std::uint32_t size) {
  if (kind == CollectiveKind::kAllToAll) return "direct";
  if (topology == "fully-connected") return "direct";
  if (topology == "switch" && std::has_single_bit(size)) return "halving-doubling";
  return "ring";
}

std::vector<std::uint32_t> coordinates_of(const CommunicatorLayout& layout, std::uint32_t position) {
  std::vector<std::uint32_t> coordinates(layout.sizes.size());
  for (std::size_t d = 0; d < coordinates.size(); ++d) coordinates[d] = layout.coordinate(position, d);
  return coordinates;
}

// Sizes in the order of positions, as the schedule counts its ranks.
std::vector<Bytes> by_position(std::span<const Bytes> of_member, const CommunicatorLayout& layout) {
  std::vector<Bytes> sizes;
  if (of_member.empty()) return sizes;
  for (const std::uint32_t member : layout.member_at) sizes.push_back(of_member[member]);
  return sizes;
}

}  // namespace

bool CollectivePlan::participates(std::size_t phase, std::uint32_t position) const {
  const Phase& p = phases[phase].phase;
  if (p.participants == Participants::kEveryone) return true;
  for (std::size_t d = 0; d < p.dimension; ++d)
    if (layout->coordinate(position, d) != root[d]) return false;
  return true;
}

Algorithm choose_algorithm(CollectiveKind kind, const CollectiveOptions& options, std::string_view topology,
                           std::uint32_t fabric_dimension, std::uint32_t size) {
  const std::vector<Algorithm>& configured = options.algorithms[static_cast<std::size_t>(kind)];
  if (!topology.empty() && fabric_dimension < configured.size()) return configured[fabric_dimension];
  const auto found = find_algorithm(default_algorithm(kind, topology, size));
  ORRERY_ASSERT(found.has_value());
  return *found;
}

CollectivePlan plan_collective(const PlanRequest& request, const CommunicatorLayout& layout,
                               const CollectiveOptions& options, std::span<const std::string> topologies) {
  ORRERY_ASSERT(request.bytes_of_member.empty() || layout.sizes.size() == 1);
  CollectivePlan plan;
  plan.layout = &layout;
  plan.root = coordinates_of(layout, layout.position_of[request.root]);
  if (layout.size() == 1) return plan;
  const bool splits = request.bytes.count() > 0 && request.bytes_of_member.empty();
  // Never chunks of less than a byte: each is rounded up to one.
  plan.chunks = splits ? static_cast<std::uint32_t>(std::min<std::int64_t>(options.chunks, request.bytes.count())) : 1;
  const Bytes chunk = ceil_div(request.bytes, plan.chunks);
  for (const Phase& phase : plan_phases(request.kind, layout.sizes, chunk, plan.root)) {
    const std::uint32_t size = layout.sizes[phase.dimension];
    const std::uint32_t dimension = layout.cuboid ? layout.dimensions[phase.dimension] : 0;
    const std::string_view topology = layout.cuboid ? std::string_view(topologies[dimension]) : std::string_view();
    const Algorithm algorithm = choose_algorithm(phase.kind, options, topology, dimension, size);
    plan.phases.push_back(
        {phase, make_schedule(algorithm, {phase.kind, size, phase.root, phase.bytes,
                                          by_position(request.bytes_of_member, layout), std::nullopt})});
  }
  return plan;
}

}  // namespace orrery
