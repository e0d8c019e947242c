// SPDX-License-Identifier: MIT
#include "system/folding/pairings.h"

#include <span>

#include "core/hash.h"

namespace orrery::system {

Pairings::Pairings(const workload::Job& job, const workload::Matching& matching) : job_(job), matching_(matching) {
  std::map<const void*, std::uint32_t> first_of_form;  // the first graph
  for (std::uint32_t i = 0; i < job.graphs.size(); ++i) {
    const workload::ExecutionGraph& graph = job.graphs[i];
    const std::uint32_t first = first_of_form.try_emplace(graph.form(), i).first->second;
    const bool has_model = first < i && graph.has_same_transfers(job.graphs[first]);
    slots_.push_back(has_model ? slots_[first] : std::make_shared<const TransferSlots>(graph));
    model_.push_back(has_model ? first : i);
  }
}

// Finds by the tags of the ends, too: with other tags, others would meet.
const Pairing& Pairings::find(RankId from, std::uint32_t peer_slot) {
  const RankId to = job_.ranks.peer(index_of(from), peer_slot);
  const PairKey key = {model_[job_.ranks.graph(index_of(from))], peer_slot, matching_.end_list(from, peer_slot),
                       model_[job_.ranks.graph(index_of(to))]};
  const auto [known, is_new] = pairings_.try_emplace(key);
  Pairing& pairing = known->second;
  if (!is_new) return pairing;
  const workload::ExecutionGraph &here = job_.graph(from), &there = job_.graph(to);
  const std::span<const NodeId> sends = slots(from).sends(peer_slot);
  const auto end_of = [&](NodeId send) { return matching_.end(from, here.transfer_index(send)).node; };
  pairing.receive_slot = there.peer_slot(end_of(sends.front()));
  for (const NodeId send : sends) {
    pairing.hash = hash_of({pairing.hash, slots(to).ordinal(there, end_of(send))});
    pairing.is_spread = pairing.is_spread || there.peer_slot(end_of(send)) != pairing.receive_slot;
  }
  return pairing;
}

}  // namespace orrery::system
