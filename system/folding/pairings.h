// SPDX-License-Identifier: MIT
// Matching of the sends of a rank to a peer with the receives there. Pairs of ranks in which the same meet share the
// description.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/ids.h"
#include "system/plans/transfer_slots.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {

struct Pairing {
  std::uint64_t hash = 0;
  std::uint32_t receive_slot = 0;  // of the first
  bool is_spread = false;          // over several slots
};

class Pairings {
 public:
  // Both outlive it.
  Pairings(const workload::Job& job, const workload::Matching& matching);

  const TransferSlots& slots(RankId rank) const { return *slots_[job_.ranks.graph(index_of(rank))]; }
  // Pairing of a peer slot with sends.
  const Pairing& find(RankId from, std::uint32_t peer_slot);

 private:
  using PairKey = std::array<std::uint32_t, 4>;  // graph and slot here, end list, graph there

  const workload::Job& job_;
  const workload::Matching& matching_;
  std::vector<std::shared_ptr<const TransferSlots>> slots_;  // by graph; one of all with the same transfers
  std::vector<std::uint32_t> model_;                         // by graph: the first with the same transfers
  std::map<PairKey, Pairing> pairings_;
};

}  // namespace orrery::system
