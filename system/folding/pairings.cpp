// SPDX-License-Identifier: MIT
#include "system/folding/pairings.h"

#include <span>

#include "core/hash.h"

namespace orrery::system {

Pairings::Pairings(const workload::Job& job, const workload::Matching& matching) : job_(job), matching_(matching) {
  for (const workload::ExecutionGraph& graph : job.graphs) slots_.emplace_back(graph);
}

// With other tags, others would meet.
const Pairing& Pairings::find(RankId from, std::uint32_t peer_slot) {
  const RankId to = job_.ranks[index_of(from)].peers[peer_slot];
  const PairKey key = {job_.ranks[index_of(from)].graph, peer_slot, matching_.end_list(from, peer_slot),
                       job_.ranks[index_of(to)].graph};
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
