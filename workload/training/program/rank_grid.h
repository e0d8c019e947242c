// SPDX-License-Identifier: MIT
// Grid of parallel degrees: the place of each rank, and the groups that follow from it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "workload/graph/job.h"
#include "workload/training/layers/layer_program.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

class RankGrid {
 public:
  using Place = std::array<std::int64_t, kParallelDimensionCount>;  // by ParallelDimension

  explicit RankGrid(const Parallelism& parallel);

  std::int64_t ranks() const { return parallel_.workers(); }
  Place place(std::int64_t rank) const;
  std::int64_t rank_at(const Place& place) const;
  // Among the ranks of the same parameters: context fastest, then data, then the halves of a pipeline both ways.
  std::int64_t replica(const Place& place) const;

  // Among the ranks of the same experts, before these are spread over them.
  std::int64_t expert_replica(const Place& place) const;

  std::int64_t group_size(GroupFamily family) const;
  std::int64_t group_count(GroupFamily family) const { return ranks() / group_size(family); }
  // Number of the rank's group in the family, 0 .. group_count()-1. kEmbedding: ranks of the first and last stage.
  std::int64_t group_of(GroupFamily family, const Place& place) const;
  // The members of the group of the family that the rank at `place` is in, ascending; none where it is in no group.
  std::vector<RankId> members(GroupFamily family, const Place& place) const;
  // The groups of a family with their members in ascending order, called "tensor0", ..., as communicators from `first`
  // on.
  std::vector<Communicator> groups(GroupFamily family, GroupId first) const;

  // The places of a number of neighbours along the data dimension repeat over it: programs are the same, peers as far
  // away, and the groups of every family, by number, equally far from one another.
  Period period() const { return {static_cast<std::uint32_t>(strides_[kData] * repeated_), repeats_}; }
  // How far the group of a rank is, in the family, from that of the same rank a period further. 0: it is the same.
  std::int64_t step(GroupFamily family) const;

  // The least number of ranks, at most `most`, in blocks of which, one behind the other from rank 0 on, every group of
  // the family is whole. 0: there is no such number, or a group is one rank.
  std::int64_t block_of(GroupFamily family, std::int64_t most) const;

  // The rank that `kind` means for a rank at `place`; kServer: the server's.
  RankId peer(const Peer& peer, const Place& place) const;

 private:
  bool is_in(GroupFamily family, const Place& place) const;
  // Places along a dimension of the group of this family that has a member at `place`.
  std::vector<std::int64_t> reach(GroupFamily family, ParallelDimension dimension, const Place& place) const;

  static constexpr auto kData = static_cast<std::size_t>(ParallelDimension::kData);
  void find_period();

  const Parallelism parallel_;
  const std::int64_t inner_;  // ranks of kContextInner
  Place strides_;
  std::int64_t repeated_ = 1;  // places along the data dimension that repeat
  std::uint32_t repeats_ = 1;
};

GroupSizes group_sizes(const RankGrid& grid);

}  // namespace orrery::workload
