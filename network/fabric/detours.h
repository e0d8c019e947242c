// SPDX-License-Identifier: MIT
// Ways around dead links: where the route that a topology gives crosses one, the fewest links that are left.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "network/fabric/routed_graph.h"

namespace orrery::network {

class Detours {
 public:
  struct Edge {
    std::uint32_t from = 0;  // vertices
    std::uint32_t to = 0;
  };
  // Predicate: true if a message that reaches a vertex over link `in` may leave it over link `out`.
  using Passes = std::function<bool(LinkId in, LinkId out)>;

  // `edges` by link. Links that lead from a vertex to itself are no part of a way.
  Detours(std::vector<Edge> edges, std::uint32_t vertices, std::span<const LinkId> dead, Passes passes);

  bool is_dead(LinkId link) const { return is_dead_[index_of(link)]; }
  // Replaces `out` by a way of the fewest links that are not dead; where several begin equally well, the routing
  // chooses by the ends. Nothing if there is none.
  void find(const Endpoints& ends, const Routing& routing, std::vector<LinkId>& out) const;

 private:
  std::vector<Edge> edges_;
  std::vector<bool> is_dead_;
  std::vector<std::vector<LinkId>> from_;  // by vertex: those that are not dead
  Passes passes_;
};

}  // namespace orrery::network
