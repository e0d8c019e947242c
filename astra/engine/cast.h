// SPDX-License-Identifier: MIT
// Simulated ranks, each with the ranks that it stands for. Without folding every rank stands for itself.
//
// Ranks are folded where nothing is shared (congestion_unaware) and all members of every communicator and all pairs of
// peers are alike: then each rank's neighbours do at any instant what its own counterpart does, and a representative
// gets back from itself what its neighbours would send. Whether that holds is checked, not assumed: for programs, for
// groups and for the distances of messages.
//
// Ranks and links that are shared (congestion_aware) are folded by a translation that leaves the job as it is
// (translation.h), and a message is known by its receiver's representative and the distance of its sender.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "astra/collectives/algorithms.h"
#include "astra/engine/messages.h"
#include "astra/engine/translation.h"
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

  // Set where links are shared by those that are folded.
  const Translation* translation() const { return symmetry_ ? &symmetry_->translation : nullptr; }

  // The group by which a collective's messages are numbered: one number for those that stand for one another.
  std::uint64_t group_number(std::uint32_t slot, std::uint64_t group) const;

  // Messages of an agent's collectives, between it, the rank `own`, and a peer.
  Address send_address(std::uint32_t agent, std::uint32_t own, const Peer& to) const;
  Address receive_address(std::uint32_t agent, std::uint32_t own, const Peer& from) const;
  // Messages of an agent's trace to and from the peer of a slot.
  Address send_address(std::uint32_t agent, std::uint32_t slot, std::uint32_t peer) const;
  Address receive_address(std::uint32_t agent, std::uint32_t slot, std::uint32_t peer) const;

 private:
  static Cast translated(const Inputs& inputs, const Job& job);

  // At the other end of a slot.
  struct End {
    std::uint32_t agent = 0;
    std::uint32_t slot = 0;
  };

  bool folded_ = false;
  std::optional<JobSymmetry> symmetry_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint32_t> agents_;
  std::vector<std::vector<End>> ends_;  // by agent and slot, if folded where nothing is shared
};

}  // namespace orrery::astra
