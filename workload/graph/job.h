// SPDX-License-Identifier: MIT
// Job of all ranks: the distinct execution graphs, the global numbers for the local ones of each rank, and the
// communicators. Several jobs on one fabric are one Job, too, whose parts have nothing to do with one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/dispatch.h"
#include "core/error.h"
#include "core/ids.h"
#include "workload/graph/execution_graph.h"
#include "workload/graph/members.h"
#include "workload/graph/node_labels.h"
#include "workload/graph/rank_bindings.h"

namespace orrery::workload {

// A group of ranks that call collectives together.
struct Communicator {
  std::string name;  // as the groups file has it; "world" for GroupId 0; of several jobs "a.world"
  Members members;   // in the order of the groups file, each once
  // Dimensions of the fabric, true of those that the calls run over; they do not run over those left out. None: over
  // all. Along the others the members are groups of their own (system/plans/involved_dimensions.h).
  std::optional<std::vector<bool>> involved{};
  std::string source{};    // where the list of members stands, "groups.json:3"; may be empty
  bool is_defined = true;  // false: nothing lists the members, they are the ranks that call (of inspected traces only)
  // Its all-to-alls take tokens to experts and back by this library (of kCopies); shared by many.
  std::shared_ptr<const TokenExchange> exchange{};
  // The group of a job with a period (RankBindings) of whose members these are the same a number of digits further.
  std::optional<GroupId> shifted_from{};
  std::size_t job_prefix = 0;  // characters of the name that say which of several jobs: 2 of "a.world"

  // Position of `rank` among the members, if it is one.
  std::optional<std::uint32_t> position_of(RankId rank) const { return members.position_of(rank); }
};

// Facts that the generator of a job knows of a graph beside its nodes; for a trace there are none.
struct GraphFacts {
  std::vector<std::string> peer_families{};  // by peer slot: the name of that communication in reports; empty: "p2p"
  // First node of every iteration but the first, ascending; nodes of an iteration are numbered in one go.
  std::vector<NodeId> iteration_starts{};
  std::uint32_t initial_nodes = 0;  // number of first nodes that are of no iteration, but prepare the first one
  // Host and memory nodes bring input and take checkpoints away: they matter to a rank while it waits for them. Else
  // they are as good as computation.
  bool has_input_nodes = false;
};

struct Job {
  std::vector<ExecutionGraph> graphs;
  std::vector<NodeLabels> labels;
  RankBindings ranks;                       // by RankId; their number is the world size
  std::vector<Communicator> communicators;  // by GroupId; 0 is the world, of several jobs that of the first
  std::vector<GraphFacts> known_facts;      // by graph; empty: nothing is known of any. Read by facts() below
  std::vector<Problem> warnings;

  // Facts of a graph, of which nothing may be known. The index is checked.
  const GraphFacts& facts(std::uint32_t graph) const;

  const ExecutionGraph& graph(RankId rank) const { return graphs[ranks.graph(index_of(rank))]; }
  const NodeLabels& labels_of(RankId rank) const { return labels[ranks.labels(index_of(rank))]; }
  GroupId communicator(RankId rank, NodeId collective) const;
  RankId peer(RankId rank, NodeId transfer) const;
  std::int64_t tag(RankId rank, NodeId transfer) const;
  // Name of a send's or receive's family in reports: "pipeline", "p2p".
  std::string_view peer_family(RankId rank, NodeId transfer) const;
  // The root of a broadcast, reduce, gather or scatter, as a position among the communicator's members; 0 for the other
  // kinds and where the trace does not say.
  std::uint32_t root(RankId rank, NodeId collective) const;
  // `node 12 "aten::mm"`, for messages.
  std::string describe(RankId rank, NodeId node) const;
};

// Adds the ranks of `job` behind those of `whole`, with graphs, labels and communicators of their own, whose names
// begin with that of the job.
void append(Job& whole, const Job& job, std::string_view name);

}  // namespace orrery::workload
