#include "core/collective_kind.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kScatter:
      return "scatter";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kBarrier:
      return "barrier";
  }
  ORRERY_ASSERT(false);
}

std::optional<CollectiveKind> collective_kind_named(std::string_view name) {
  const auto found = std::ranges::find(kAllCollectiveKinds, name, &name_of);
  if (found == kAllCollectiveKinds.end()) return std::nullopt;
  return *found;
}

}  // namespace orrery
