// SPDX-License-Identifier: MIT
#include "network/path_table.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery::network {
namespace {

constexpr std::size_t kStoredHops = 16;
constexpr std::size_t kFirstSlots = 64;

// The finaliser of MurmurHash3: every bit of the pair reaches the low bits that choose the slot.
std::size_t hash_of(DeviceId from, DeviceId to) {
  std::uint64_t x = std::uint64_t{index_of(from)} << 32 | index_of(to);
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdU;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53U;
  return x ^ x >> 33;
}

}  // namespace

Bandwidth rate_alone(const Fabric& fabric, const LinkLoad& load) {
  return Bandwidth(fill_rate(fabric.link(load.link).bandwidth.count(), load.weight()) * load.connections);
}

Duration transfer_alone(const Fabric& fabric, const LinkLoad& load) { return load.bytes / rate_alone(fabric, load); }

PathId PathTable::intern(DeviceId from, DeviceId to) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  Slot& slot = slot_of(from, to);
  if (slot.entry == 0) {
    add(from, to);
    slot = {from, to, static_cast<std::uint32_t>(entries_.size())};
  }
  return PathId(slot.entry - 1);
}

std::span<const LinkId> PathTable::links(PathId path, std::vector<LinkId>& scratch) const {
  const Entry& entry = entries_[static_cast<std::size_t>(path)];
  if (entry.hops != kLong) return std::span(stored_).subspan(entry.first, entry.hops);
  fabric_.route(entry.path.from, entry.path.to, scratch);
  return scratch;
}

Duration PathTable::send(PathId id, Bytes bytes, std::int64_t messages) {
  ORRERY_ASSERT(bytes >= Bytes(0));
  Entry& entry = entries_[static_cast<std::size_t>(id)];
  Traffic& traffic = entry.traffic;
  traffic.sent =
      messages == 1 ? saturating_add(traffic.sent, bytes) : saturating_multiply_add(traffic.sent, bytes, messages);
  if (bytes == traffic.last) return traffic.transfer;
  traffic.last = bytes;
  traffic.transfer = entry.hops == 0 ? Duration::zero() : bytes / entry.path.narrowest;
  return traffic.transfer;
}

void PathTable::add_sent(PagedArray<LinkUsage>& usage) const {
  std::vector<LinkId> route;
  for (const Entry& entry : entries_) {
    if (entry.traffic.sent == Bytes(0) || entry.kind != Kind::kPair) continue;
    fabric_.route(entry.path.from, entry.path.to, route);
    for (const LinkId link : route) {
      Bytes& sent = usage.own(index_of(link)).bytes;
      sent = saturating_add(sent, entry.traffic.sent);
    }
  }
  for (const auto& [path, shares] : shares_)
    for (const LinkShare& share : shares) {
      Bytes& sent = usage.own(index_of(share.link)).bytes;
      sent = saturating_multiply_add(sent, entries_[static_cast<std::size_t>(path)].traffic.sent,
                                     static_cast<std::int64_t>(share.weight()));
    }
  for (const Group& group : groups_)
    for (const auto& [load, transfer] : group.loads) {
      Bytes& sent = usage.own(index_of(load.link)).bytes;
      sent = saturating_multiply_add(sent, load.bytes, group.sent * load.copies);
    }
  before_split_.for_each_own([&](std::size_t link, Bytes sent) {
    if (sent > Bytes(0)) usage.own(link).bytes = saturating_add(usage.own(link).bytes, sent);
  });
}

void PathTable::split(std::span<const LinkSplit> links) {
  if (links.empty()) return;
  PagedArray<LinkUsage> usage(fabric_.link_count());
  add_sent(usage);
  for (const LinkSplit& split : links) before_split_.own(index_of(split.link)) = usage.at(index_of(split.parent)).bytes;
}

PathId PathTable::add_class(std::span<const LinkShare> shares, Duration latency) {
  ORRERY_ASSERT(entries_.size() < UINT32_MAX - 1);
  const PathId id{static_cast<std::uint32_t>(entries_.size())};
  Entry entry{{{}, {}, Bandwidth::max(), latency}, {}, stored_.size(), static_cast<std::uint32_t>(shares.size())};
  entry.kind = Kind::kClass;
  for (const LinkShare& share : shares) {
    entry.path.narrowest = std::min(entry.path.narrowest, fabric_.link(share.link).bandwidth);
    entry.must_share = entry.must_share || share.weight() > 1 || !fabric_.link(share.link).is_steady();
    stored_.push_back(share.link);
  }
  entries_.push_back(entry);
  shares_.emplace(id, std::vector<LinkShare>(shares.begin(), shares.end()));
  return id;
}

PathId PathTable::add_group(std::span<const LinkLoad> loads, Duration latency) {
  ORRERY_ASSERT(entries_.size() < UINT32_MAX - 1);
  const PathId id{static_cast<std::uint32_t>(entries_.size())};
  Entry entry{{{}, {}, Bandwidth::max(), latency}, {}, stored_.size(), static_cast<std::uint32_t>(loads.size())};
  entry.kind = Kind::kGroup;
  entry.group = static_cast<std::uint32_t>(groups_.size());
  Group& group = groups_.emplace_back();
  for (const LinkLoad& load : loads) {
    group.loads.push_back({load, transfer_alone(fabric_, load)});
    entry.traffic.transfer = std::max(entry.traffic.transfer, group.loads.back().transfer);
    entry.must_share = entry.must_share || !fabric_.link(load.link).is_steady();
    stored_.push_back(load.link);
  }
  entries_.push_back(entry);
  return id;
}

bool PathTable::has_links_once(PathId path) const {
  std::vector<LinkId> links, scratch;
  const std::span<const LinkId> crossed = this->links(path, scratch);
  links.assign(crossed.begin(), crossed.end());
  std::ranges::sort(links);
  return std::ranges::adjacent_find(links) == links.end();
}

Duration PathTable::send_group(PathId path, std::int64_t groups) {
  const Entry& entry = entries_[static_cast<std::size_t>(path)];
  groups_[entry.group].sent += groups;
  return entry.traffic.transfer;
}

std::span<const LinkShare> PathTable::shares(PathId path) const {
  if (entries_[static_cast<std::size_t>(path)].kind != Kind::kClass) return {};
  return shares_.at(path);
}

void PathTable::add(DeviceId from, DeviceId to) {
  ORRERY_ASSERT(entries_.size() < UINT32_MAX - 1);
  fabric_.route(from, to, route_);
  Entry entry{{from, to}, {}, stored_.size(), kLong};
  for (const LinkId id : route_) {
    const Link& link = fabric_.link(id);
    entry.path.narrowest = std::min(entry.path.narrowest, link.bandwidth);
    entry.path.latency = saturating_add(entry.path.latency, link.latency);
    entry.must_share = entry.must_share || !link.is_steady();
  }
  if (route_.size() <= kStoredHops) {
    entry.hops = static_cast<std::uint32_t>(route_.size());
    stored_.insert(stored_.end(), route_.begin(), route_.end());
  }
  entries_.push_back(entry);
}

void PathTable::grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), {});
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    if (entries_[index].kind != Kind::kPair) continue;
    const Path& path = entries_[index].path;
    slot_of(path.from, path.to) = {path.from, path.to, index + 1};
  }
}

PathTable::Slot& PathTable::slot_of(DeviceId from, DeviceId to) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t index = hash_of(from, to) & mask;
  while (slots_[index].entry != 0 && (slots_[index].from != from || slots_[index].to != to)) index = (index + 1) & mask;
  return slots_[index];
}

}  // namespace orrery::network
