#include "workload/training/layers/layer_program.h"

#include <array>

namespace orrery {

std::string_view name_of(GroupFamily family) {
  constexpr std::array<std::string_view, 9> kNames = {"tensor",    "context",     "expert",    "data", "shard",
                                                      "replicate", "expert-data", "embedding", "world"};
  return kNames[static_cast<std::size_t>(family)];
}

}  // namespace orrery
