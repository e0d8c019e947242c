// SPDX-License-Identifier: MIT
// Dispatch and combine of a mixture of experts: the library that moves tokens to the ranks of their experts and back,
// and how many experts, groups of experts, ranks and nodes a token goes to. Workload and collectives share it.
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

// Choice of experts for a token: `experts_per_token`, all within `groups_per_token` of `groups` consecutive groups,
// each equally likely; or spread as evenly as possible over the ranks (`balanced`, as benchmarks do it).
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
