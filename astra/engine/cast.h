// SPDX-License-Identifier: MIT
// Simulated ranks, each with the ranks that it stands for. Without folding every rank stands for itself.
//
// Ranks are folded where nothing is shared (congestion_unaware) and all members of every communicator and all pairs of
// peers are alike: then each rank's neighbours do at any instant what its own counterpart does, and a representative
// gets back from itself what its neighbours would send. Whether that holds is checked, not assumed: for programs, for
// groups and for the distances of messages.
#pragma once

#include <cstdint>
#include <vector>

#include "astra/engine/messages.h"
#include "astra/input/inputs.h"
#include "astra/input/program.h"

namespace orrery::astra {

class Cast {
 public:
  // Every rank for itself.
  static Cast every_rank(const Job& job);
  // The classes of ranks that are alike; every rank for itself where that cannot be known.
  static Cast folded(const Inputs& inputs, const Job& job);

  bool is_folded() const { return folded_; }
  std::uint32_t agent_count() const { return static_cast<std::uint32_t>(ranks_.size()); }
  std::uint32_t rank_of(std::uint32_t agent) const { return ranks_[agent]; }  // the first it stands for
  std::uint32_t agent_of(std::uint32_t rank) const { return agents_[rank]; }

  // Messages of an agent's trace to and from the peer of a slot.
  Address send_address(std::uint32_t agent, std::uint32_t slot, std::uint32_t peer) const;
  Address receive_address(std::uint32_t agent, std::uint32_t slot, std::uint32_t peer) const;

 private:
  // At the other end of a slot.
  struct End {
    std::uint32_t agent = 0;
    std::uint32_t slot = 0;
  };

  bool folded_ = false;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint32_t> agents_;
  std::vector<std::vector<End>> ends_;  // by agent and slot, if folded
};

}  // namespace orrery::astra
