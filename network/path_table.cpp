#include "network/path_table.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery {
namespace {

constexpr std::size_t kStoredHops = 16;
constexpr std::size_t kLong = SIZE_MAX;
constexpr std::size_t kFirstSlots = 64;

// The finaliser of MurmurHash3: every bit of the pair reaches the low bits that choose the slot.
std::size_t hash_of(DeviceId from, DeviceId to) {
  std::uint64_t x = std::uint64_t{index_of(from)} << 32 | index_of(to);
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdU;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53U;
  return x ^ x >> 33;
}

Bytes saturating_sum(Bytes a, Bytes b) { return a > Bytes::max() - b ? Bytes::max() : a + b; }

}  // namespace

PathId PathTable::intern(DeviceId from, DeviceId to) {
  if (2 * (paths_.size() + 1) > slots_.size()) grow();
  std::uint32_t& slot = slots_[slot_of(from, to)];
  if (slot == 0) {
    add(from, to);
    slot = static_cast<std::uint32_t>(paths_.size());
  }
  return PathId(slot - 1);
}

std::span<const LinkId> PathTable::links(PathId path) {
  const auto index = static_cast<std::size_t>(path);
  if (first_[index] != kLong) return std::span(stored_).subspan(first_[index], hops_[index]);
  fabric_.route(paths_[index].from, paths_[index].to, route_);
  return route_;
}

Duration PathTable::send(PathId id, Bytes bytes) {
  ORRERY_ASSERT(bytes >= Bytes(0));
  Traffic& traffic = traffic_[static_cast<std::size_t>(id)];
  traffic.sent = saturating_sum(traffic.sent, bytes);
  if (bytes == traffic.last) return traffic.transfer;
  const Path& path = paths_[static_cast<std::size_t>(id)];
  traffic.last = bytes;
  traffic.transfer = path.from == path.to ? Duration::zero() : bytes / path.narrowest;
  return traffic.transfer;
}

void PathTable::add_sent(std::vector<LinkUsage>& usage) const {
  std::vector<LinkId> route;
  for (std::size_t index = 0; index < paths_.size(); ++index) {
    if (traffic_[index].sent == Bytes(0)) continue;
    fabric_.route(paths_[index].from, paths_[index].to, route);
    for (const LinkId link : route) {
      Bytes& sent = usage[index_of(link)].bytes;
      sent = saturating_sum(sent, traffic_[index].sent);
    }
  }
}

void PathTable::add(DeviceId from, DeviceId to) {
  ORRERY_ASSERT(paths_.size() < UINT32_MAX - 1);
  fabric_.route(from, to, route_);
  Path path{from, to};
  for (const LinkId id : route_) {
    const Link& link = fabric_.link(id);
    path.narrowest = std::min(path.narrowest, link.bandwidth);
    path.latency = saturating_add(path.latency, link.latency);
  }
  const bool store = route_.size() <= kStoredHops;
  first_.push_back(store ? stored_.size() : kLong);
  hops_.push_back(store ? static_cast<std::uint8_t>(route_.size()) : std::uint8_t{0});
  if (store) stored_.insert(stored_.end(), route_.begin(), route_.end());
  paths_.push_back(path);
  traffic_.emplace_back();
}

void PathTable::grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), 0);
  for (std::uint32_t index = 0; index < paths_.size(); ++index)
    slots_[slot_of(paths_[index].from, paths_[index].to)] = index + 1;
}

std::size_t PathTable::slot_of(DeviceId from, DeviceId to) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(from, to) & mask;
  while (slots_[slot] != 0) {
    const Path& path = paths_[slots_[slot] - 1];
    if (path.from == from && path.to == to) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

}  // namespace orrery
