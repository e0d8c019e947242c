// SPDX-License-Identifier: MIT
#include "core/collective_kind.h"

#include <array>

namespace orrery {

std::string_view name_of(CollectiveKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {"all_reduce", "reduce",     "all_gather",     "gather", "scatter",
                                                      "broadcast",  "all_to_all", "reduce_scatter", "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace orrery
