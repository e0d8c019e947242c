// SPDX-License-Identifier: MIT
#include "system/folding/peer_messages.h"

#include <set>

namespace orrery::system {

PeerMessages::PeerSlots PeerMessages::update(std::span<const RankId> senders) {
  for (auto agent = static_cast<std::uint32_t>(messages_.size()); agent < actors_.agent_count(); ++agent)
    messages_.emplace_back(job_.ranks.peer_count(index_of(actors_.first_rank(agent))));
  std::set<std::uint32_t> agents;
  for (const RankId rank : senders) agents.insert(actors_.agent_of(rank));
  PeerSlots before;
  std::map<RankId, SlotsByClass> received;  // what was looked up of receivers
  for (const std::uint32_t agent : agents) update_agent(agent, received, before);
  return before;
}

void PeerMessages::update_agent(std::uint32_t agent, std::map<RankId, SlotsByClass>& received, PeerSlots& before) {
  const RankId rank = actors_.first_rank(agent);
  const bool is_changed = symmetry_.has_changed(symmetry_.colour(rank));
  const SlotsByClass sends = sends_by_class(rank);
  for (std::uint32_t slot = 0; slot < messages_[agent].size(); ++slot) {
    MessageClass& message = messages_[agent][slot];
    if (symmetry_.sends(rank, slot) == Symmetry::kNotInUse) continue;
    if (!is_changed && message.count > 0 && !has_changed(message, symmetry_)) continue;
    if (message.count > 0 && message.sends.front() == slot) before[{agent, slot}] = message.sends;
    message = this->message(rank, sends.at(symmetry_.colour_of(symmetry_.sends(rank, slot))), received);
  }
}

PeerMessages::SlotsByClass PeerMessages::sends_by_class(RankId rank) const {
  SlotsByClass slots;
  for (std::uint32_t slot = 0; slot < job_.ranks.peer_count(index_of(rank)); ++slot)
    if (const auto vertex = symmetry_.sends(rank, slot); vertex != Symmetry::kNotInUse)
      slots[symmetry_.colour_of(vertex)].push_back(slot);
  return slots;
}

PeerMessages::SlotsByClass PeerMessages::receives_by_class(RankId rank) const {
  SlotsByClass slots;
  for (std::uint32_t slot = 0; slot < job_.ranks.peer_count(index_of(rank)); ++slot)
    for (const Symmetry::Vertex message : symmetry_.received(rank, slot))
      slots[symmetry_.colour_of(message)].push_back(slot);
  return slots;
}

MessageClass PeerMessages::message(RankId from, const std::vector<std::uint32_t>& sends,
                                   std::map<RankId, SlotsByClass>& received) const {
  const RankId to = job_.ranks.peer(index_of(from), sends.front());
  const RankId receiver = actors_.first_rank(actors_.agent_of(to));
  const auto [slots, is_new] = received.try_emplace(receiver);
  if (is_new) slots->second = receives_by_class(receiver);
  MessageClass message;
  message.sends = sends;
  message.one = symmetry_.sends(from, sends.front());
  message.receiver = actors_.agent_of(to);
  message.slots = slots->second.at(symmetry_.colour_of(message.one));
  message.count = symmetry_.class_size(symmetry_.colour_of(message.one));
  routes_.take(message, placement_[index_of(from)], placement_[index_of(to)]);
  return message;
}

}  // namespace orrery::system
