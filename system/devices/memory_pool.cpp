#include "system/devices/memory_pool.h"

#include <algorithm>
#include <utility>

namespace orrery {

MemoryPools::MemoryPools(const RemoteMemory& memory, std::vector<std::uint32_t> pool_of_rank)
    : memory_(memory), pool_of_rank_(std::move(pool_of_rank)) {
  const auto largest = std::ranges::max_element(pool_of_rank_);
  free_at_.resize(largest == pool_of_rank_.end() ? 0 : *largest + 1);
}

Time MemoryPools::access(RankId rank, Bytes bytes, Time now) {
  Time& free_at = free_at_[pool_of_rank_[index_of(rank)]];
  free_at = Time(saturating_add(std::max(free_at, now).time_since_epoch(), bytes / memory_.bandwidth));
  return Time(saturating_add(free_at.time_since_epoch(), memory_.latency));
}

void MemoryPools::split(RankId rank, RankId parent) {
  free_at_[pool_of_rank_[index_of(rank)]] = free_at_[pool_of_rank_[index_of(parent)]];
}

}  // namespace orrery
