// SPDX-License-Identifier: MIT
// Interned routes: the cost of every pair of devices that ever talked, computed once, and what they sent. A path may
// also stand for those of many pairs that do the same at the same time, or for what a group of messages puts on links.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/paged_array.h"
#include "core/units.h"
#include "network/fabric/fabric.h"

namespace orrery::network {

// The rate at which a link with `left` B/s fills for flows of total weight `weight`: floor(left / weight), at least 1.
// The weight of a flow is what it takes of the link for each B/s of its rate. weight > 0.
constexpr std::int64_t fill_rate(std::int64_t left, std::uint64_t weight) {
  if (left < 0 || static_cast<std::uint64_t>(left) < weight) return 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) / weight);
}

// A link on the route of a message; or of `copies` messages that do the same at the same time.
struct LinkShare {
  LinkId link{};
  std::uint32_t times = 1;  // that one message crosses the link
  std::uint32_t copies = 1;

  std::uint64_t weight() const { return std::uint64_t{times} * copies; }  // of them all; below 2^63
  auto operator<=>(const LinkShare&) const = default;
};

// Total bytes that a group of messages puts on a link, or that each of `copies` such groups does. The group has the
// part of the link's bandwidth that `connections` messages have.
struct LinkLoad {
  LinkId link{};
  Bytes bytes{0};  // > 0
  std::uint32_t connections = 1;
  std::uint32_t copies = 1;

  std::uint64_t weight() const { return std::uint64_t{connections} * copies; }
  auto operator<=>(const LinkLoad&) const = default;
};

// Rate of the load, and its transfer time, when the link carries it and its copies only.
Bandwidth rate_alone(const Fabric& fabric, const LinkLoad& load);
Duration transfer_alone(const Fabric& fabric, const LinkLoad& load);

enum class PathId : std::uint32_t {};  // an interned pair of devices

// A link that acts for others, but was one of those that `parent` acted for until now.
struct LinkSplit {
  LinkId link{};
  LinkId parent{};
};

struct LinkUsage {
  Bytes bytes{0};   // sent over the link
  Duration busy{};  // how long any message was transferring over it
};

struct Path {
  DeviceId from{};
  DeviceId to{};
  Bandwidth narrowest = Bandwidth::max();  // of its links; max() for an empty route
  Duration latency{};                      // sum over its links, at most Duration::max()
};

class PathTable {
 public:
  explicit PathTable(const Fabric& fabric) : fabric_(fabric), before_split_(fabric.link_count()) {}

  PathId intern(DeviceId from, DeviceId to);
  // A path of its own for a class of messages: `shares` is what all of them take of one link of each class.
  PathId add_class(std::span<const LinkShare> shares, Duration latency);
  // Adds a path for a group of messages.
  PathId add_group(std::span<const LinkLoad> loads, Duration latency);
  std::size_t size() const { return entries_.size(); }
  const Path& operator[](PathId path) const { return entries_[static_cast<std::size_t>(path)].path; }

  // The links of a path, valid until `scratch` changes. Short routes are stored; long ones (a ring may have thousands
  // of hops) are computed again.
  std::span<const LinkId> links(PathId path, std::vector<LinkId>& scratch) const;
  // The same, valid until the next call.
  std::span<const LinkId> links(PathId path) { return links(path, route_); }

  // Link shares of a class; empty for the path of a pair.
  std::span<const LinkShare> shares(PathId path) const;
  // Load of a group on each link, in the order of links().
  struct GroupLoad {
    LinkLoad load;
    Duration transfer{};  // alone on the link, with its copies
  };
  bool is_group(PathId path) const { return entries_[static_cast<std::size_t>(path)].kind == Kind::kGroup; }
  std::span<const GroupLoad> loads(PathId path) const {
    return groups_[entries_[static_cast<std::size_t>(path)].group].loads;
  }
  bool has_links_once(PathId path) const;
  // A message on it can have its links for itself, and they are as fast from its start to its end.
  bool can_be_alone(PathId path) const { return !entries_[static_cast<std::size_t>(path)].must_share; }

  // Counts messages; returns how long the transfer of each takes if it shares nothing: nothing on an empty path.
  Duration send(PathId path, Bytes bytes, std::int64_t messages = 1);
  // Counts groups; returns how long one takes if each link carries it and its copies, and nothing else.
  Duration send_group(PathId path, std::int64_t groups = 1);
  // Splits links: `link` inherits what `parent` has carried so far.
  void split(std::span<const LinkSplit> links);
  // Adds all that was sent to the links that it crossed.
  void add_sent(PagedArray<LinkUsage>& usage) const;

 private:
  struct Traffic {
    Bytes sent{0};        // in all
    Bytes last{0};        // size of the last message, nearly always that of the next,
    Duration transfer{};  // and how long it took
  };

  enum class Kind : std::uint8_t { kPair, kClass, kGroup };

  // All that a message needs, in one cache line.
  struct Entry {
    Path path;
    Traffic traffic;
    std::uint64_t first = 0;  // where its links start in stored_,
    std::uint32_t hops = 0;   // and how many there are; kLong if they are not stored
    std::uint32_t group = 0;  // where its loads are in groups_
    Kind kind = Kind::kPair;
    bool must_share = false;  // messages of the class share links with one another, or a link changes over time
  };
  struct Group {
    std::vector<GroupLoad> loads;
    std::int64_t sent = 0;  // times
  };
  struct Slot {
    DeviceId from{};
    DeviceId to{};
    std::uint32_t entry = 0;  // + 1; 0 if the slot is free
  };
  static constexpr std::uint32_t kLong = UINT32_MAX;

  void add(DeviceId from, DeviceId to);
  void grow();
  Slot& slot_of(DeviceId from, DeviceId to);  // where the pair is, or the free slot where it would be

  const Fabric& fabric_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // open addressing, a power of two
  std::vector<LinkId> stored_;
  std::map<PathId, std::vector<LinkShare>> shares_;  // of classes
  std::vector<Group> groups_;
  PagedArray<Bytes> before_split_;  // by link
  std::vector<LinkId> route_;       // scratch
};

}  // namespace orrery::network
