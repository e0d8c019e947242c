// SPDX-License-Identifier: MIT
// Sends and receives between two ranks. A send is done when its last byte has left, a receive when it is posted and its
// message has arrived; a message does not wait for its receive to be posted. A library of collectives may add to what a
// send takes.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/paged.h"
#include "core/slab.h"
#include "network/network.h"
#include "system/folding/folding.h"
#include "system/plans/group_library.h"
#include "system/plans/transfer_slots.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {

class TransferListener {
 public:
  // `moving`: when its message started, or when the receive was posted if that was later; a send's own start.
  virtual void on_transfer_done(RankId rank, NodeId node, Time moving) = 0;

 protected:
  ~TransferListener() = default;
};

class TransferExecution final : private EventSink, private network::MessageRecipient {
 public:
  // All outlive it. `placement`: the device of each rank; `folding`: who acts for whom, or null; `library` may be null.
  // Ranks given and told are those that act.
  TransferExecution(Engine& engine, const network::Fabric& fabric, network::Network& network,
                    TransferListener& listener, const workload::Job& job, const workload::Matching& matching,
                    std::span<const DeviceId> placement, const Folding* folding, const GroupLibrary* library);

  void start_send(RankId rank, NodeId node);
  void post_receive(RankId rank, NodeId node);

  std::uint64_t messages() const { return sent_; }
  // Agents have come apart, and what they send is described anew. The parts of messages are known until end_split().
  void split(const ClassSplit& split);
  void end_split();

 private:
  struct Inbox {
    Time started;
    Time posted;
    bool has_arrived = false;
    bool is_posted = false;
  };
  struct Message {
    RankId from{};
    NodeId send{};
    Time started;
  };

  void begin(std::uint32_t message);
  PointToPoint point_to_point(RankId from, NodeId send) const;
  void on_released(std::uint32_t message) override;
  void on_arrived(std::uint32_t message) override;
  std::span<const network::MessagePart> parts_of(std::uint32_t message) override;
  network::MessagePlace place_of(std::uint32_t message) const override;
  void on_event(std::uint64_t payload) override;
  void add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) override;
  const MessageClass& message_class(RankId rank, NodeId send) const;
  std::vector<NodeId> sends_like(RankId rank, NodeId send) const;
  std::vector<workload::TransferEnd> ends_of(RankId rank, NodeId send) const;
  network::PathId path(RankId from, NodeId send) const;
  Inbox& inbox(RankId rank, NodeId transfer);
  void finish(RankId rank, NodeId transfer, Time moving);
  void finish_receive(RankId rank, NodeId node);

  Engine& engine_;
  const network::Fabric& fabric_;
  network::Network& network_;
  TransferListener& listener_;
  const workload::Job& job_;
  const workload::Matching& matching_;
  std::span<const DeviceId> placement_;
  const Folding* folding_;
  const GroupLibrary* library_;
  std::vector<TransferSlots> slots_;   // by graph; only for a folding
  std::vector<Paged<Inbox>> inboxes_;  // by agent, by transfer index; sends have one that stays empty
  Slab<Message> messages_;
  std::uint64_t sent_ = 0;
  const ClassSplit* split_ = nullptr;
  std::unordered_map<std::uint32_t, std::vector<network::MessagePart>> parts_;  // asked for so far
};

}  // namespace orrery::system
