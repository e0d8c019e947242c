// SPDX-License-Identifier: MIT
// How long a message takes: the interface that each link-sharing model implements and that the system layer uses.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
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

// What a group of messages puts on a link in all; or each of `copies` such groups. The group has the part of the link's
// bandwidth that `connections` messages have.
struct LinkLoad {
  LinkId link{};
  Bytes bytes{0};  // > 0
  std::uint32_t connections = 1;
  std::uint32_t copies = 1;

  std::uint64_t weight() const { return std::uint64_t{connections} * copies; }
  auto operator<=>(const LinkLoad&) const = default;
};

// How fast the load goes when the link carries it and its copies, and nothing else; and how long that takes.
Bandwidth rate_alone(const Fabric& fabric, const LinkLoad& load);
Duration transfer_alone(const Fabric& fabric, const LinkLoad& load);

enum class PathId : std::uint32_t {};  // an interned pair of devices

// A message that is one of the parts that another came apart into.
struct MessagePart {
  std::uint64_t token = 0;
  PathId path{};
};

// A link that acts for others, but was one of those that `parent` acted for until now.
struct LinkSplit {
  LinkId link{};
  LinkId parent{};
};

// Where a message stands among others that come to a link with it: the devices that it goes between (of a group, its
// first and its last), then its communicator, by the order in the job, and what it is in the programs of these ranks.
// Different for any two messages; nothing in it depends on the order of events.
using MessagePlace = std::array<std::uint64_t, 6>;

// `token` is what the caller gave to Network::start.
class MessageListener {
 public:
  // The last byte has left: the sender's channel is free.
  virtual void on_released(std::uint64_t token) = 0;
  // The last byte has arrived at the receiver: after on_released, unless that was predicted.
  virtual void on_arrived(std::uint64_t token) = 0;
  // Of a message started with start_predicted(): told in settle(). on_released() will not be called, but for:
  virtual void on_release_predicted(std::uint64_t token, Time release);
  // What was predicted will not be, since the message shares its links now; on_released() will be called.
  virtual void on_delayed(std::uint64_t token);
  // What a message under way has come apart into, itself first. Asked during Network::split() and
  // Engine::split_pending(), any number of times.
  virtual std::span<const MessagePart> parts_of(std::uint64_t token);
  // Of a message under way. Asked by a model in which messages queue.
  virtual MessagePlace place_of(std::uint64_t token) const;

 protected:
  ~MessageListener() = default;
};

struct LinkUsage {
  Bytes bytes{0};   // sent over the link
  Duration busy{};  // how long any message was transferring over it
};

class Network {
 public:
  virtual ~Network() = default;

  // Whether messages that are started at one instant and are alike in all else take the same time, so that ranks can be
  // folded.
  virtual bool keeps_messages_alike() const { return true; }

  // The path between two devices: computed once, O(1) afterwards. A device's path to itself is empty.
  virtual PathId path(DeviceId from, DeviceId to) = 0;

  // A path for a class of messages that do the same at the same time and are started as one: `shares` is what all of
  // them take of one link of each class of links. Usage is then that of one link of the class.
  virtual PathId class_path(std::span<const LinkShare> shares, Duration latency) = 0;

  // A path for many messages that make up one phase of a collective: what they put on each link in all, each link
  // once; where links act for classes, once for each load that is not like the others of its class.
  virtual PathId group_path(std::span<const LinkLoad> loads, Duration latency) = 0;

  // A transfer starts now (software latency is the caller's). It is released when the last byte has left and arrives
  // the path's latency later; at the earliest in the next round of this instant. `bytes` >= 0.
  virtual void start(PathId path, Bytes bytes, std::uint64_t token) = 0;

  // The same, but a release that comes before the arrival may be predicted, now or in settle(): its time, after now, is
  // returned or told, and on_released() is not called. Saves an event where nobody waits for it.
  virtual std::optional<Time> start_predicted(PathId path, Bytes bytes, std::uint64_t token) {
    start(path, bytes, token);
    return std::nullopt;
  }

  // The messages of a group_path(), as one: released when the last link is through with them. Their traffic on one link
  // does not wait for that on another. Without links it takes no time but the latency.
  virtual void start_group(PathId path, std::uint64_t token) = 0;

  // Counts messages of `bytes` that were sent on a path one after the other, by a caller that knows their times because
  // nothing else uses its links: they are in link_usage() as if they had been started. Returns the transfer time of
  // each.
  virtual Duration count_private(PathId path, Bytes bytes, std::uint32_t messages) = 0;

  // Classes of messages and links have come apart (MessageListener::parts_of), which so far did the same: each part
  // goes on as the whole would have. Events of messages are Engine::split_pending()'s to split.
  virtual void split(std::span<const LinkSplit> links);

  // No round is left in this instant: where models that share links solve.
  virtual void settle() = 0;

  // Of all messages started so far, by LinkId.
  virtual std::vector<LinkUsage> link_usage() const = 0;
};

}  // namespace orrery::network
