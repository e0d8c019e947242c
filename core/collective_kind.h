// SPDX-License-Identifier: MIT
// The collective operations, as a word that the workload (what is asked), the collectives (how it is done) and the
// reports share.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace orrery {

enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kReduce,
  kAllGather,
  kGather,
  kScatter,
  kBroadcast,
  kAllToAll,
  kReduceScatter,
  kBarrier,
};

inline constexpr std::array<CollectiveKind, 9> kAllCollectiveKinds = {
    CollectiveKind::kAllReduce, CollectiveKind::kReduce,        CollectiveKind::kAllGather,
    CollectiveKind::kGather,    CollectiveKind::kScatter,       CollectiveKind::kBroadcast,
    CollectiveKind::kAllToAll,  CollectiveKind::kReduceScatter, CollectiveKind::kBarrier};

// "all_reduce", "all_gather", ...: the names used in configurations, on the command line and in results.
std::string_view name_of(CollectiveKind kind);

// True if one member is the root: its data go to all, or the data of all go to it.
constexpr bool is_from_root(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kScatter;
}
constexpr bool is_to_root(CollectiveKind kind) {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather;
}
constexpr bool has_root(CollectiveKind kind) { return is_from_root(kind) || is_to_root(kind); }

}  // namespace orrery
