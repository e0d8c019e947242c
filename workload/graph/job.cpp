// SPDX-License-Identifier: MIT
#include "workload/graph/job.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery::workload {

GroupId Job::communicator(RankId rank, NodeId collective) const {
  return ranks.communicator(index_of(rank), graph(rank).communicator_slot(collective));
}

RankId Job::peer(RankId rank, NodeId transfer) const {
  return ranks.peer(index_of(rank), graph(rank).peer_slot(transfer));
}

std::int64_t Job::tag(RankId rank, NodeId transfer) const {
  const std::vector<std::int64_t>& tags = ranks.details(index_of(rank)).tags;
  return tags.empty() ? 0 : tags[graph(rank).transfer_index(transfer)];
}

const GraphFacts& Job::facts(std::uint32_t graph) const {
  static const GraphFacts nothing;
  if (known_facts.empty()) return nothing;
  ORRERY_ASSERT(known_facts.size() == graphs.size() && graph < graphs.size());
  return known_facts[graph];
}

std::string_view Job::peer_family(RankId rank, NodeId transfer) const {
  const std::vector<std::string>& families = facts(ranks.graph(index_of(rank))).peer_families;
  return families.empty() ? "p2p" : std::string_view(families[graph(rank).peer_slot(transfer)]);
}

std::uint32_t Job::root(RankId rank, NodeId collective) const {
  const std::vector<std::int64_t>& roots = ranks.details(index_of(rank)).roots;
  if (roots.empty()) return 0;
  const std::int64_t root = roots[graph(rank).collective_index(collective)];
  if (root < 0) return 0;
  const Communicator& group = communicators[index_of(communicator(rank, collective))];
  return group.position_of(RankId(static_cast<std::uint32_t>(root))).value_or(0);
}

std::string Job::describe(RankId rank, NodeId node) const { return labels_of(rank).describe(node); }

namespace {

RankBinding shifted(RankBinding binding, const Job& whole, std::uint32_t first_rank) {
  binding.graph += static_cast<std::uint32_t>(whole.graphs.size());
  binding.labels += static_cast<std::uint32_t>(whole.labels.size());
  for (GroupId& group : binding.communicators)
    group = GroupId(index_of(group) + static_cast<std::uint32_t>(whole.communicators.size()));
  for (RankId& peer : binding.peers) peer = RankId(index_of(peer) + first_rank);
  if (binding.roots().empty()) return binding;
  for (std::int64_t& root : binding.own_details().roots)
    if (root >= 0) root += first_rank;
  return binding;
}

}  // namespace

void append(Job& whole, const Job& job, std::string_view name) {
  const auto first_rank = static_cast<std::uint32_t>(whole.ranks.size());
  const auto first_group = static_cast<std::uint32_t>(whole.communicators.size());
  for (const RankBinding& binding : job.ranks) whole.ranks.push_back(shifted(binding, whole, first_rank));
  for (std::uint32_t graph = 0; graph < job.graphs.size(); ++graph) whole.known_facts.push_back(job.facts(graph));
  for (Communicator group : job.communicators) {
    group.name = fmt::format("{}.{}", name, group.name);
    group.job_prefix = name.size() + 1;
    group.members = group.members.shifted(first_rank);
    if (group.shifted_from) group.shifted_from = GroupId(index_of(*group.shifted_from) + first_group);
    whole.communicators.push_back(std::move(group));
  }
  whole.graphs.insert(whole.graphs.end(), job.graphs.begin(), job.graphs.end());
  whole.labels.insert(whole.labels.end(), job.labels.begin(), job.labels.end());
  whole.warnings.insert(whole.warnings.end(), job.warnings.begin(), job.warnings.end());
}

}  // namespace orrery::workload
