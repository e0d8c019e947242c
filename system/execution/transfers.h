// SPDX-License-Identifier: MIT
// Sends and receives between two ranks. A send is done when its last byte has left, a receive when it is posted and its
// message has arrived. A library of collectives may add to what a send takes, and have a message wait until its receive
// is posted (PointToPoint::is_awaited); otherwise none does.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/paged.h"
#include "core/slab.h"
#include "network/network.h"
#include "system/folding/cast.h"
#include "system/plans/group_library.h"

namespace orrery::system {

class Agents;

class Transfers final : private EventSink, private network::MessageRecipient {
 public:
  // All outlive it; `library` may be null. Ranks given and told are those that act.
  Transfers(Engine& engine, const Cast& cast, Agents& agents, const GroupLibrary* library);

  void start_send(RankId rank, NodeId node);
  void post_receive(RankId rank, NodeId node);

  std::uint64_t messages() const { return sent_; }
  // Agents have come apart, and what they send is described anew. parts_of() says what becomes of messages.
  void split(const ClassSplit& split);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Inbox {
    Time started;
    Time posted;
    bool has_arrived = false;
    bool is_posted = false;
    std::uint32_t awaiting = kNone;  // the message that begins when this receive is posted
  };
  struct Message {
    RankId from{};
    NodeId send{};
    Time moving;  // when both ends were there, or when it was sent if it does not wait
    PointToPoint costs;
  };

  void look(RankId from, NodeId send);
  bool is_posted(RankId from, NodeId send);
  void await(std::uint32_t message);
  void depart(std::uint32_t message);
  void begin(std::uint32_t message);
  PointToPoint point_to_point(RankId from, NodeId send) const;
  void on_released(std::uint32_t message) override;
  void on_arrived(std::uint32_t message) override;
  std::span<const network::MessagePart> parts_of(std::uint32_t message) override;
  network::MessagePlace place_of(std::uint32_t message) const override;
  void on_event(std::uint64_t payload) override;
  void add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) override;
  RankId receiver_of(RankId from, NodeId send) const;
  Inbox& inbox(RankId rank, NodeId transfer);
  void finish(RankId rank, NodeId transfer, Time moving);
  void finish_receive(RankId rank, NodeId node);

  Engine& engine_;
  const CastInput& input_;
  const Cast& cast_;
  Agents& agents_;
  const GroupLibrary* library_;
  std::vector<Paged<Inbox>> inboxes_;  // by agent, by transfer index; sends have one that stays empty
  Slab<Message> messages_;
  std::set<std::uint32_t> awaiting_;  // messages whose receive is not posted
  std::uint64_t sent_ = 0;
  std::unordered_map<std::uint32_t, std::vector<network::MessagePart>> parts_;  // asked for since the latest split()
};

// Costs of a message between two ranks, each of which has a device in `placement`.
PointToPoint point_to_point(const GroupLibrary& library, const network::Fabric& fabric,
                            std::span<const DeviceId> placement, RankId from, RankId to, Bytes bytes);

}  // namespace orrery::system
