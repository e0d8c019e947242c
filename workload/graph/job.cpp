// SPDX-License-Identifier: MIT
#include "workload/graph/job.h"

#include <algorithm>

namespace orrery::workload {

std::optional<std::uint32_t> Communicator::position_of(RankId rank) const {
  const auto found = std::ranges::find(members, rank);
  if (found == members.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - members.begin());
}

GroupId Job::communicator(RankId rank, NodeId collective) const {
  return ranks[index_of(rank)].communicators[graph(rank).communicator_slot(collective)];
}

RankId Job::peer(RankId rank, NodeId transfer) const {
  return ranks[index_of(rank)].peers[graph(rank).peer_slot(transfer)];
}

std::int64_t Job::tag(RankId rank, NodeId transfer) const {
  return ranks[index_of(rank)].tag(graph(rank).transfer_index(transfer));
}

std::string_view Job::peer_family(RankId rank, NodeId transfer) const {
  if (peer_families.empty()) return "p2p";
  return peer_families[ranks[index_of(rank)].graph][graph(rank).peer_slot(transfer)];
}

std::uint32_t Job::root(RankId rank, NodeId collective) const {
  const RankBinding& binding = ranks[index_of(rank)];
  if (binding.roots.empty()) return 0;
  const std::int64_t root = binding.roots[graph(rank).collective_index(collective)];
  if (root < 0) return 0;
  const Communicator& group = communicators[index_of(communicator(rank, collective))];
  return group.position_of(RankId(static_cast<std::uint32_t>(root))).value_or(0);
}

std::string Job::describe(RankId rank, NodeId node) const { return labels_of(rank).describe(node); }

}  // namespace orrery::workload
