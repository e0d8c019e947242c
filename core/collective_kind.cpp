// SPDX-License-Identifier: MIT
#include "core/collective_kind.h"

#include <algorithm>
#include <array>

namespace orrery {

std::string_view name_of(CollectiveKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {"all_reduce", "reduce",     "all_gather",     "gather", "scatter",
                                                      "broadcast",  "all_to_all", "reduce_scatter", "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<CollectiveKind> collective_kind_named(std::string_view name) {
  const auto found = std::ranges::find(kAllCollectiveKinds, name, &name_of);
  if (found == kAllCollectiveKinds.end()) return std::nullopt;
  return *found;
}

}  // namespace orrery
