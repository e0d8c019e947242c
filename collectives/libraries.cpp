// SPDX-License-Identifier: MIT
#include "collectives/libraries.h"

#include <array>

namespace orrery::collectives {
namespace {

constexpr std::array<Library, 3> kLibraries = {{
    {LibraryKind::kFixed, "fixed", "one algorithm for each collective and dimension, named or by the topology"},
    {LibraryKind::kNccl, "nccl", "as NCCL does: of its algorithms and protocols the fastest by its own cost model"},
    {LibraryKind::kRccl, "rccl", "NCCL's algorithms on AMD's GPUs, where nccl is the same"},
}};

}  // namespace

std::span<const Library> libraries() { return kLibraries; }

std::vector<std::string> library_names() {
  std::vector<std::string> names;
  for (const Library& library : kLibraries) names.emplace_back(library.name);
  return names;
}

}  // namespace orrery::collectives
