// SPDX-License-Identifier: MIT
// Interface of the link-sharing models, which the system layer asks how long a message takes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/assert.h"
#include "core/engine.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/path_table.h"

namespace orrery::network {

// A message that is one of the parts that another came apart into; of the same recipient.
struct MessagePart {
  std::uint32_t id = 0;
  PathId path{};
};

// Key that orders messages reaching a link together: the devices at its ends (for a group, its first and last), then
// its communicator by order in the job, then its place in the programs of these ranks. Different for any two messages;
// nothing in it depends on the order of events.
using MessagePlace = std::array<std::uint64_t, 6>;

// Whoever sends messages hears what becomes of them. `id` is what it gave them in Network::start().
class MessageRecipient {
 public:
  // Pending events point into it.
  MessageRecipient(const MessageRecipient&) = delete;
  MessageRecipient& operator=(const MessageRecipient&) = delete;

  // The last byte has left: the sender's channel is free.
  virtual void on_released(std::uint32_t id) = 0;
  // The last byte has arrived at the receiver: after on_released, unless that was predicted.
  virtual void on_arrived(std::uint32_t id) = 0;
  // Called in settle() for a message whose release can be predicted; on_released() will then not be called, unless
  // on_delayed() is.
  virtual void on_release_predicted(std::uint32_t id, Time release);
  // Withdraws a prediction, since the message shares its links now; on_released() will be called.
  virtual void on_delayed(std::uint32_t id);
  // Messages into which one under way has split, itself first. Asked during Network::split() and
  // Engine::split_pending(), any number of times.
  virtual std::span<const MessagePart> parts_of(std::uint32_t id);
  // Place of a message under way. Asked by a model in which messages queue.
  virtual MessagePlace place_of(std::uint32_t id) const;

  // For models, the events of a message, and the one rule by which messages end: released `transfer` from now, arrived
  // `latency` later; without a latency both come in one event.
  void deliver(Engine& engine, Duration transfer, Duration latency, std::uint32_t id);
  // Arrived `delay` from now; the release is told, or predicted, by the model.
  EventHandle arrive(Engine& engine, Duration delay, std::uint32_t id) { return engine.after(delay, arrives_, id); }

 protected:
  MessageRecipient() = default;
  ~MessageRecipient() = default;

 private:
  // Three sinks, so that the payload is the id and what is on its way needs no state.
  template <bool kReleased, bool kArrived>
  struct Sink final : EventSink {
    explicit Sink(MessageRecipient& of) : recipient(of) {}
    void on_event(std::uint64_t id) override {
      if constexpr (kReleased) recipient.on_released(static_cast<std::uint32_t>(id));
      if constexpr (kArrived) recipient.on_arrived(static_cast<std::uint32_t>(id));
    }
    void add_parts(std::uint64_t id, std::vector<std::uint64_t>& parts) override {
      for (const MessagePart& part : recipient.parts_of(static_cast<std::uint32_t>(id)).subspan(1))
        parts.push_back(part.id);
    }
    MessageRecipient& recipient;
  };

  Sink<true, false> is_released_{*this};
  Sink<false, true> arrives_{*this};
  Sink<true, true> ends_{*this};
};

struct Message {
  PathId path{};
  Bytes bytes{0};                         // >= 0; a group_path() says itself what goes over it
  MessageRecipient* recipient = nullptr;  // outlives it
  std::uint32_t id = 0;                   // by which the recipient knows it
  // A release that comes before the arrival may be predicted: its time, after now, is returned or told in settle(), and
  // on_released() is not called. Saves an event where nobody waits for it. Not of a group.
  bool may_predict = false;
};

class Network {
 public:
  // Pending events point into it.
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  // True if messages started at one instant that are alike in all else take the same time, so that ranks can be folded.
  virtual bool keeps_messages_alike() const { return true; }

  // The path between two devices: computed once, O(1) afterwards. A device's path to itself is empty.
  PathId path(DeviceId from, DeviceId to) { return paths_.intern(from, to); }

  // A path for a class of messages that do the same at the same time and are started as one: `shares` is what all of
  // them take of one link of each class of links. Usage is then that of one link of the class.
  PathId class_path(std::span<const LinkShare> shares, Duration latency) {
    ORRERY_ASSERT(keeps_messages_alike());
    return paths_.add_class(shares, latency);
  }

  // A path for many messages that make up one phase of a collective: what they put on each link in all, each link
  // once; where links act for classes, once for each load that is not like the others of its class. They are started
  // as one, which is released when the last link is through with them. Their traffic on one link does not wait for that
  // on another. Without links it takes no time but the latency.
  PathId group_path(std::span<const LinkLoad> loads, Duration latency) { return paths_.add_group(loads, latency); }

  // A transfer starts now (software latency is the caller's). It is released when the last byte has left and arrives
  // the path's latency later; at the earliest in the next round of this instant. Returns the release if it is
  // predicted, and kNotPredicted otherwise. (Of an empty optional one byte is written and then words are read, for
  // which the processor waits: at every message longer than all the rest takes.)
  virtual Time start(const Message& message) = 0;
  static constexpr Time kNotPredicted = Time::max();

  // True if links stay as they are, so that a recorded stretch may be repeated at another time.
  bool is_steady() const { return fabric_.is_steady(); }

  // Counts messages of `bytes` that were sent on a path one after the other, by a caller that knows their times because
  // nothing else uses its links: they are in link_usage() as if they had been started. Returns the transfer time of
  // each.
  virtual Duration count_private(PathId path, Bytes bytes, std::uint64_t messages) = 0;
  // The same of a group_path() and groups. False, and nothing is counted, if they do not have each link once.
  virtual bool count_groups(PathId path, std::uint64_t groups);

  // Time from its start to its release of a message of `bytes`, or of a group, whose links carry nothing else
  // meanwhile; nothing if it does not cross each link once, or these may change.
  virtual std::optional<Duration> time_alone(PathId path, Bytes bytes);
  std::span<const LinkId> links(PathId path) { return paths_.links(path); }
  Duration latency(PathId path) const { return paths_[path].latency; }

  // Classes of messages and links have come apart (MessageRecipient::parts_of), which so far did the same: each part
  // goes on as the whole would have. Events of messages are Engine::split_pending()'s to split.
  virtual void split(std::span<const LinkSplit> links) = 0;

  // No round is left in this instant: where models that share links solve.
  virtual void settle() = 0;

  // Usage of each link by all messages started so far, by LinkId.
  virtual PagedArray<LinkUsage> usage() const = 0;
  // The same, written out.
  std::vector<LinkUsage> link_usage() const {
    std::vector<LinkUsage> all(fabric_.link_count());
    usage().for_each_own([&](std::size_t link, const LinkUsage& of) { all[link] = of; });
    return all;
  }

 protected:
  // Both outlive it.
  Network(Engine& engine, const Fabric& fabric) : engine_(engine), fabric_(fabric), paths_(fabric) {}

  Engine& engine_;
  const Fabric& fabric_;
  PathTable paths_;
};

}  // namespace orrery::network
