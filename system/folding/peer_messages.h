// SPDX-License-Identifier: MIT
// The message classes of sends to peers, of every agent.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "system/folding/messages.h"
#include "workload/graph/job.h"

namespace orrery::system {

class PeerMessages {
 public:
  // All outlive it.
  PeerMessages(const workload::Job& job, std::span<const DeviceId> placement, const Symmetry& symmetry,
               const Actors& actors, const FoldedRoutes& routes)
      : job_(job), placement_(placement), symmetry_(symmetry), actors_(actors), routes_(routes) {}

  // The sends of an agent to a peer; of count 0 if not in use.
  const MessageClass& sends(std::uint32_t agent, std::uint32_t peer_slot) const { return messages_[agent][peer_slot]; }

  using Sends = std::pair<std::uint32_t, std::uint32_t>;  // agent, and the first of the peer slots
  using PeerSlots = std::map<Sends, std::vector<std::uint32_t>>;
  // Looks again at what the agents of some ranks send. Returns those that were described so far and are described anew,
  // as they were.
  PeerSlots update(std::span<const RankId> senders);

 private:
  // The peer slots of a rank, by the class of what it sends to the peer or receives from it.
  using SlotsByClass = std::map<Symmetry::Colour, std::vector<std::uint32_t>>;
  SlotsByClass sends_by_class(RankId rank) const;
  SlotsByClass receives_by_class(RankId rank) const;
  void update_agent(std::uint32_t agent, std::map<RankId, SlotsByClass>& received, PeerSlots& before);
  MessageClass message(RankId from, const std::vector<std::uint32_t>& sends,
                       std::map<RankId, SlotsByClass>& received) const;

  const workload::Job& job_;
  std::span<const DeviceId> placement_;
  const Symmetry& symmetry_;
  const Actors& actors_;
  const FoldedRoutes& routes_;
  std::vector<std::vector<MessageClass>> messages_;  // by agent and peer slot
};

}  // namespace orrery::system
