// SPDX-License-Identifier: MIT
// Interned routes: the cost of every pair of devices that ever talked, computed once, and what they sent. A path may
// also stand for those of many pairs that do the same at the same time, or for what a group of messages puts on links.
// And how a model tells that messages have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery::network {

struct Path {
  DeviceId from{};
  DeviceId to{};
  Bandwidth narrowest = Bandwidth::max();  // of its links; max() for an empty route
  Duration latency{};                      // sum over its links, at most Duration::max()
};

class PathTable {
 public:
  explicit PathTable(const Fabric& fabric) : fabric_(fabric) {}

  PathId intern(DeviceId from, DeviceId to);
  // A path of its own for a class of messages: `shares` is what all of them take of one link of each class.
  PathId add_class(std::span<const LinkShare> shares, Duration latency);
  // Likewise for a group of messages.
  PathId add_group(std::span<const LinkLoad> loads, Duration latency);
  std::size_t size() const { return entries_.size(); }
  const Path& operator[](PathId path) const { return entries_[static_cast<std::size_t>(path)].path; }

  // The links of a path, valid until `scratch` changes. Short routes are stored; long ones (a ring may have thousands
  // of hops) are computed again.
  std::span<const LinkId> links(PathId path, std::vector<LinkId>& scratch) const;
  // The same, valid until the next call.
  std::span<const LinkId> links(PathId path) { return links(path, route_); }

  // Of a class; empty for the path of a pair.
  std::span<const LinkShare> shares(PathId path) const;
  // What a group puts on each link; in the order of links().
  struct GroupLoad {
    LinkLoad load;
    Duration transfer{};  // alone on the link, with its copies
  };
  bool is_group(PathId path) const { return entries_[static_cast<std::size_t>(path)].kind == Kind::kGroup; }
  std::span<const GroupLoad> loads(PathId path) const {
    return groups_[entries_[static_cast<std::size_t>(path)].group].loads;
  }
  // A message on it can have its links for itself.
  bool can_be_alone(PathId path) const { return !entries_[static_cast<std::size_t>(path)].overlaps; }

  // Counts messages; returns how long the transfer of each takes if it shares nothing: nothing on an empty path.
  Duration send(PathId path, Bytes bytes, std::uint32_t messages = 1);
  // Counts a group; returns how long it takes if each link carries it and its copies, and nothing else.
  Duration send_group(PathId path);
  // What `parent` carried so far, `link` did as well.
  void split(std::span<const LinkSplit> links);
  // Adds all that was sent to the links that it crossed.
  void add_sent(std::vector<LinkUsage>& usage) const;

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
    bool overlaps = false;  // messages of the class share links with one another
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
  std::vector<Bytes> before_split_;  // by link; empty before the first
  std::vector<LinkId> route_;        // scratch
};

// Events that tell a listener about a message. Three sinks, so that the payload is the whole token and what is on its
// way needs no state.
template <bool kReleased, bool kArrived>
struct MessageSink final : EventSink {
  explicit MessageSink(MessageListener& to) : listener(to) {}
  void on_event(std::uint64_t token) override {
    if constexpr (kReleased) listener.on_released(token);
    if constexpr (kArrived) listener.on_arrived(token);
  }
  void add_parts(std::uint64_t token, std::vector<std::uint64_t>& parts) override {
    for (const MessagePart& part : listener.parts_of(token).subspan(1)) parts.push_back(part.token);
  }
  MessageListener& listener;
};

// The three, and the one rule by which messages end: without a latency both come in one event.
class MessageEvents {
 public:
  MessageEvents(Engine& engine, MessageListener& listener)
      : engine_(engine), released_(listener), arrived_(listener), both_(listener) {}

  // Released `transfer` from now, arrived `latency` later.
  void deliver(Duration transfer, Duration latency, std::uint64_t token) {
    if (latency == Duration::zero()) {
      engine_.after(transfer, both_, token);
    } else {
      engine_.after(transfer, released_, token);
      arrive(saturating_add(transfer, latency), token);
    }
  }
  // Arrived `delay` from now; the release is told, or predicted, by the caller.
  EventHandle arrive(Duration delay, std::uint64_t token) { return engine_.after(delay, arrived_, token); }

 private:
  Engine& engine_;
  MessageSink<true, false> released_;
  MessageSink<false, true> arrived_;
  MessageSink<true, true> both_;
};

// What the models have in common: paths of a table, and a listener that is told by events.
class PathNetwork : public Network {
 public:
  // Pending events point into it.
  PathNetwork(const PathNetwork&) = delete;
  PathNetwork& operator=(const PathNetwork&) = delete;

  PathId path(DeviceId from, DeviceId to) override { return paths_.intern(from, to); }
  PathId class_path(std::span<const LinkShare> shares, Duration latency) override {
    return paths_.add_class(shares, latency);
  }
  PathId group_path(std::span<const LinkLoad> loads, Duration latency) override {
    return paths_.add_group(loads, latency);
  }

 protected:
  // All outlive it.
  PathNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener)
      : engine_(engine), fabric_(fabric), listener_(listener), events_(engine, listener), paths_(fabric) {}

  Engine& engine_;
  const Fabric& fabric_;
  MessageListener& listener_;
  MessageEvents events_;
  PathTable paths_;
};

}  // namespace orrery::network
