#include "system/plans/double_tree.h"

namespace orrery {
namespace {

// In the first tree node 0 is the root, with one child; the others hang by their lowest set bit: xx01 and xx11 under
// xx10, or, where that is beyond the last node, under xx00.
std::uint32_t parent_of(std::uint32_t node, std::uint32_t nodes) {
  const std::uint32_t lowest = node & (~node + 1);
  const std::uint32_t without = node ^ lowest;
  const std::uint64_t above = without | std::uint64_t{lowest} << 1;
  return above < nodes ? static_cast<std::uint32_t>(above) : without;
}

}  // namespace

std::vector<TreeEdge> double_tree(std::uint32_t nodes) {
  std::vector<TreeEdge> edges;
  for (std::uint32_t child = 1; child < nodes; ++child) edges.push_back({parent_of(child, nodes), child});
  // The second is the first mirrored, or moved by one where mirroring would leave the middle node where it is.
  const auto moved = [nodes](std::uint32_t node) { return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes; };
  for (std::uint32_t child = 1; child < nodes; ++child) edges.push_back({moved(parent_of(child, nodes)), moved(child)});
  return edges;
}

}  // namespace orrery
