// NCCL's double binary tree (ncclGetDtree): two trees over the same nodes, in which an inner node of one is a leaf of
// the other. Each carries half of the data.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery {

struct TreeEdge {
  std::uint32_t parent = 0;
  std::uint32_t child = 0;

  bool operator==(const TreeEdge&) const = default;
};

// Of both trees, the first one's first; those of a tree by ascending place of the child in the first tree.
std::vector<TreeEdge> double_tree(std::uint32_t nodes);

}  // namespace orrery
