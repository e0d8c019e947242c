// SPDX-License-Identifier: MIT
// Search for replicas among ranks, communicators and links, done before anything is compared message by message:
// replicas are at nodes of one kind. The coarsest equitable partition is coarser than any other, so that it can be
// found on one of each kind in place of all (ColourRefinement), if the kinds are equitable themselves. They are: nodes
// are of one kind if their ranks run the same, are the same members of communicators over the same kinds of nodes, talk
// to peers at the same places of the same kinds of nodes, and their links carry the same in all calls.
//
// Kinds are found for the whole job, in use or not, where a library runs the collectives and one switch joins the nodes
// (Fabric::has_nodes_alike). Else, and where few nodes are of a kind, everything is the only one of its kind.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "system/folding/pairings.h"
#include "system/folding/patterns.h"
#include "system/plans/plans.h"
#include "workload/graph/job.h"

namespace orrery::system {

// Nodes of all digits of a job that repeats (system/plans/repeats.h) are of one kind, if what groups of all digits put
// on links is the same for each: then the ranks, nodes and groups of digit 0 are looked at alone.
struct ReplicasInput {
  const workload::Job& job;
  const network::Fabric& fabric;
  std::span<const DeviceId> placement;
  std::span<const std::uint64_t> own;  // tells ranks apart; empty: nothing does
  const CollectivePlans& plans;
  const Patterns& patterns;
  Pairings& pairings;
  bool are_wanted = true;  // else everything is the only one of its kind
};

// Links that follow one another.
struct LinkBlock {
  LinkId first{};
  std::uint32_t size = 1;
};

class Replicas {
 public:
  // Keeps no reference to what it is made from but the fabric.
  explicit Replicas(const ReplicasInput& input);

  bool any() const { return !kind_of_.empty(); }
  // Ranks that repeat; nothing, or all of a period are of one kind.
  const Repeats& repeats() const { return repeats_; }
  // Kinds of ranks are numbered in the order of their first ranks.
  std::uint32_t kinds() const { return static_cast<std::uint32_t>(first_rank_.size()); }
  std::uint32_t kind(RankId rank) const {
    return kind_of_.empty() ? index_of(rank) : kind_of_[repeats_.ranks.place(index_of(rank))];
  }
  RankId first_rank(std::uint32_t kind) const { return first_rank_[kind]; }
  std::uint32_t copies(std::uint32_t kind) const { return kind_of_.empty() ? 1 : copies_of_rank_[kind]; }
  // The first of its kind, which may be itself, and how many there are.
  GroupId first(GroupId group) const { return first_group_.empty() ? group : first_group_[index_of(group)]; }
  std::uint32_t copies(GroupId group) const { return first_group_.empty() ? 1 : copies_of_group_[index_of(group)]; }
  LinkId first(LinkId link) const;
  std::uint32_t copies(LinkId link) const;
  // The links of the first node of its kind that a link and those behind it, so many, are like. A node's links of one
  // part of the fabric lie side by side.
  LinkBlock block_of(LinkId link) const;
  // The first node of the kind of a node; of any().
  std::uint32_t first_node(std::uint32_t node) const { return first_node_[node]; }

 private:
  void find(const ReplicasInput& input, const Repeats& repeats);

  const network::Fabric& fabric_;
  Repeats repeats_;
  std::vector<std::uint32_t>
      kind_of_;  // by place of the rank in the period; like all others but the next empty where there are no replicas
  std::vector<RankId> first_rank_;              // by kind
  std::vector<std::uint32_t> copies_of_rank_;   // likewise
  std::vector<GroupId> first_group_;            // by communicator
  std::vector<std::uint32_t> copies_of_group_;  // likewise, of the first ones
  std::vector<std::uint32_t> first_node_;       // by node
  std::vector<std::uint32_t> copies_of_node_;   // likewise, of the first ones
};

}  // namespace orrery::system
