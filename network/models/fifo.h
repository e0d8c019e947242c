// SPDX-License-Identifier: MIT
// Store-and-forward: a link carries one whole message at a time, in the order in which they come to it, and a message
// goes on to its next link when all of it has come. Every hop takes bytes / bandwidth, in which the link is taken, and
// then the link's latency.
//
// Messages that come to a link at the same instant have an order: they queue by MessagePlace, as an arbiter serves its
// ports in a fixed order. So ranks on places that are alike may fare differently, other than in the other models, and
// which of them waits depends on where they are in the fabric, but not on how ranks are numbered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/assert.h"
#include "core/engine.h"
#include "core/slab.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery::network {

// A message is released when its first link has sent it. One without bytes takes no time on a link, but waits for its
// turn.
class FifoNetwork final : public Network, private EventSink {
 public:
  // `engine` and `fabric` outlive the network.
  FifoNetwork(Engine& engine, const Fabric& fabric);

  // Messages that differ in their ends only do queue behind one another.
  bool keeps_messages_alike() const override { return false; }
  // Every link of a group carries what the group sends over it as one message; the group is through when all are.
  Time start(const Message& message) override;
  Duration count_private(PathId path, Bytes bytes, std::uint64_t messages) override;
  void split(std::span<const LinkSplit>) override { ORRERY_ASSERT(false); }  // nor is anything folded
  void settle() override;
  // Busy includes the whole of a transmission that is under way.
  PagedArray<LinkUsage> usage() const override;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Queued {
    Message message;
    Bytes bytes{0};  // on each link of the route
    std::vector<LinkId> route;
    std::uint32_t hop = 0;
    std::uint32_t next = kNone;   // in its link's queue
    std::uint32_t group = kNone;  // which it is a part of
  };
  struct Group {
    Message message;
    std::size_t parts = 0;  // not yet sent
  };
  struct Queue {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    bool sending = false;
    LinkUsage usage;
  };

  void on_event(std::uint64_t payload) override;
  void start_group(const Message& message);
  Queued& queue_new(Bytes bytes, std::span<const LinkId> route);
  void on_sent(std::uint32_t message);
  void on_part_sent(std::uint32_t group);
  LinkId next_link(std::uint32_t message) const { return messages_[message].route[messages_[message].hop]; }
  void queue_up(std::span<const std::uint32_t> messages);
  void queue_up(std::uint32_t message);
  void send_next(LinkId link);

  std::vector<Queue> queues_;  // by LinkId
  std::vector<Queued> messages_;
  std::vector<std::uint32_t> free_;  // of messages_
  Slab<Group> groups_;
  std::vector<std::uint32_t> came_;  // messages that came to their next link at this instant
  std::vector<LinkId> ready_;        // links that may have become able to send at this instant
};

}  // namespace orrery::network
