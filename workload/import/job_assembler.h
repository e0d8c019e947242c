// SPDX-License-Identifier: MIT
// Puts a Job together out of what an importer finds in a file: nodes with names, communicators, peers and tags, rank by
// rank. Graphs and labels that are equal are kept once.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "workload/graph/builder.h"
#include "workload/graph/content_pool.h"
#include "workload/graph/execution_graph.h"
#include "workload/graph/graph_pool.h"
#include "workload/graph/job.h"
#include "workload/graph/node_labels.h"

namespace orrery::workload {

// The nodes of one rank in the order in which they are added, which is that of their NodeIds and trace ids.
class RankAssembler {
 public:
  NodeId add(const GraphNode& node, std::string name);
  // `root`: a global rank, or -1 for the first member.
  NodeId add_collective(GraphNode node, std::string name, GroupId group, std::int64_t root = -1);
  // `node` is a send or a receive.
  NodeId add_transfer(GraphNode node, std::string name, RankId peer, std::int64_t tag);
  // Both nodes have been added, and are two.
  void depend(NodeId after, NodeId before) { edges_.push_back({before, after}); }

  std::size_t size() const { return nodes_.size(); }
  std::span<const GroupId> communicators() const { return binding_.communicators; }  // by slot
  std::span<const RankId> peers() const { return binding_.peers; }                   // by slot
  const std::string& name(NodeId node) const { return names_[index_of(node)]; }
  // Nodes that wait for one another, each followed by one that waits for it, the last by the first; empty when there
  // are none.
  std::vector<NodeId> cycle() const;

 private:
  friend class JobAssembler;

  std::vector<GraphNode> nodes_;
  std::vector<std::string> names_;
  std::vector<Edge> edges_;
  std::map<GroupId, std::uint32_t> communicator_slots_;
  std::map<RankId, std::uint32_t> peer_slots_;
  RankBinding binding_;
  RankDetails details_;
};

class JobAssembler {
 public:
  explicit JobAssembler(std::uint32_t ranks);

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(job_.communicators[0].members.size()); }
  GroupId add_communicator(std::string name, std::span<const std::uint32_t> members);
  // The next rank, or the next several that are all alike; their nodes are on no cycle. A rank without nodes gets a
  // free one: a trace has at least one.
  void add_ranks(RankAssembler rank, const std::string& source, std::uint32_t count = 1);
  // Keeps the nodes of a rank for add_rank(), which gives it, or ranks that do the same among others, its place.
  RankBinding keep(RankAssembler rank, const std::string& source);
  void add_rank(RankBinding rank) { job_.ranks.push_back(std::move(rank)); }
  // All ranks have been added.
  Job finish();

 private:
  Job job_;
  GraphPool graphs_;
  ContentPool<NodeLabels> labels_;
};

}  // namespace orrery::workload
