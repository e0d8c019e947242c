// SPDX-License-Identifier: MIT
// How the tokens of a mixture of experts go to the ranks of their experts (dispatch) and back (combine): by which
// library, and to how many experts, groups of experts and so ranks and nodes a token goes. Workload and collectives
// share it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "core/units.h"

namespace orrery {

class Section;

// kAllToAll: a row for each expert of a token, by the library of collectives. kAllGather: every rank gets all tokens,
// and a reduce-scatter brings results back. kCopies: a kernel of its own sends one copy to each rank that has one of a
// token's experts, and over the network one to each node, which forwards it (DeepEP).
enum class DispatchKind : std::uint8_t { kAllToAll, kAllGather, kCopies };

// A file of configs/dispatch.
struct DispatchLibrary {
  std::string name = "all-to-all";
  DispatchKind kind = DispatchKind::kAllToAll;
  // kCopies:
  std::int64_t processors = 0;           // streaming multiprocessors that its kernels take from computing
  Bandwidth processor_rate{1};           // at which one of them reads and writes rows
  Efficiency within = kFullEfficiency;   // of the rate of links within a node
  Efficiency between = kFullEfficiency;  // of the rate of links between nodes
  Duration launch{};                     // of a call, with what tells ranks how much comes
  Duration doubling{};                   // more of that for each doubling of the nodes

  auto operator<=>(const DispatchLibrary&) const = default;
};

// Which experts a token goes to: `experts_per_token` of those of `groups_per_token` of `groups` groups, which follow
// one another, all with the same probability; or as evenly as can be over the ranks (`balanced`, as benchmarks do it).
struct TokenRouting {
  std::int64_t experts = 1;
  std::int64_t experts_per_token = 1;
  std::int64_t groups = 1;
  std::int64_t groups_per_token = 1;
  bool balanced = false;

  auto operator<=>(const TokenRouting&) const = default;
};

struct TokenExchange {
  DispatchLibrary library;
  TokenRouting routing;

  auto operator<=>(const TokenExchange&) const = default;
};

// Reads a file of configs/dispatch, or the same inline.
DispatchLibrary read_dispatch(Section& section);

}  // namespace orrery
