// SPDX-License-Identifier: MIT
#include "workload/import/job_assembler.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "workload/traces/dependency_check.h"

namespace orrery::workload {
namespace {

// The slot of `value`; a new one where it has none yet.
template <class Value>
std::uint32_t slot_of(Value value, std::map<Value, std::uint32_t>& slots, IdList<Value>& values) {
  const auto [entry, is_new] = slots.try_emplace(value, static_cast<std::uint32_t>(values.size()));
  if (is_new) values.push_back(value);
  return entry->second;
}

}  // namespace

NodeId RankAssembler::add(const GraphNode& node, std::string name) {
  nodes_.push_back(node);
  names_.push_back(std::move(name));
  return NodeId{static_cast<std::uint32_t>(nodes_.size() - 1)};
}

NodeId RankAssembler::add_collective(GraphNode node, std::string name, GroupId group, std::int64_t root) {
  node.slot = slot_of(group, communicator_slots_, binding_.communicators);
  details_.roots.push_back(root);
  return add(node, std::move(name));
}

NodeId RankAssembler::add_transfer(GraphNode node, std::string name, RankId peer, std::int64_t tag) {
  node.slot = slot_of(peer, peer_slots_, binding_.peers);
  details_.tags.push_back(tag);
  return add(node, std::move(name));
}

std::vector<NodeId> RankAssembler::cycle() const {
  std::vector<Edge> edges = edges_;
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<std::uint32_t> offsets(nodes_.size() + 1, 0);
  std::vector<std::uint32_t> waiting(nodes_.size(), 0);
  std::vector<NodeId> successors;
  for (const Edge& edge : edges) {
    ++offsets[index_of(edge.before) + 1];
    ++waiting[index_of(edge.after)];
    successors.push_back(edge.after);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) offsets[i + 1] += offsets[i];
  const std::vector<NodeId> reachable = canonical_order(offsets, successors, waiting);
  if (reachable.size() == nodes_.size()) return {};
  return short_cycle(nodes_.size(), edges, reachable);
}

JobAssembler::JobAssembler(std::uint32_t ranks) {
  Communicator world{"world", {}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) world.members.push_back(RankId{rank});
  job_.communicators.push_back(std::move(world));
}

GroupId JobAssembler::add_communicator(std::string name, std::span<const std::uint32_t> members) {
  Communicator communicator{std::move(name), {}};
  for (const std::uint32_t member : members) communicator.members.push_back(RankId{member});
  job_.communicators.push_back(std::move(communicator));
  return GroupId{static_cast<std::uint32_t>(job_.communicators.size() - 1)};
}

void JobAssembler::add_ranks(RankAssembler rank, const std::string& source, std::uint32_t count) {
  std::vector<RankBinding>& ranks = job_.ranks.list();
  ranks.insert(ranks.end(), count, keep(std::move(rank), source));
}

RankBinding JobAssembler::keep(RankAssembler rank, const std::string& source) {
  if (rank.size() == 0) rank.add({}, "idle");
  GraphBuilder builder;
  builder.reserve(rank.nodes_.size(), rank.edges_.size());
  for (const GraphNode& node : rank.nodes_) builder.add(node);
  for (const Edge& edge : rank.edges_) builder.depend(edge.after, edge.before);

  std::vector<NodeLabel> labels;
  labels.reserve(rank.names_.size());
  for (std::size_t i = 0; i < rank.names_.size(); ++i) labels.push_back({i, rank.names_[i]});

  RankBinding binding = std::move(rank.binding_);
  RankDetails details = std::move(rank.details_);
  if (std::ranges::all_of(details.tags, [](std::int64_t tag) { return tag == 0; })) details.tags.clear();
  if (std::ranges::all_of(details.roots, [](std::int64_t root) { return root < 0; })) details.roots.clear();
  details.source = source;
  binding.shared_details = std::make_shared<RankDetails>(std::move(details));
  binding.graph = graphs_.intern(std::move(builder).build());
  binding.labels = labels_.intern(NodeLabels(labels));
  return binding;
}

Job JobAssembler::finish() {
  ORRERY_ASSERT(job_.ranks.size() == ranks());
  job_.graphs = graphs_.take();
  job_.labels = labels_.take();
  return std::move(job_);
}

}  // namespace orrery::workload
