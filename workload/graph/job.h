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
#include "workload/graph/node_labels.h"

namespace orrery::workload {

// A group of ranks that call collectives together.
struct Communicator {
  std::string name;             // as the groups file has it; "world" for GroupId 0; of several jobs "a.world"
  std::vector<RankId> members;  // in the order of the groups file, each once
  // By dimension of the fabric, whether its calls run over it; not over those that are left out. None: over all. Along
  // the others the members are groups of their own (system/plans/involved_dimensions.h).
  std::optional<std::vector<bool>> involved{};
  std::string source{};    // where the list of members stands, "groups.json:3"; may be empty
  bool is_defined = true;  // false: nothing lists the members, they are the ranks that call (of inspected traces only)
  // Its all-to-alls take tokens to experts and back by this library (of kCopies).
  std::optional<TokenExchange> exchange{};
  std::size_t job_prefix = 0;  // characters of the name that say which of several jobs: 2 of "a.world"

  // Position of `rank` among the members, if it is one.
  std::optional<std::uint32_t> position_of(RankId rank) const;
};

// Details of a rank's binding that ranks of generated jobs lack or share.
struct RankDetails {
  std::vector<std::int64_t> tags{};   // by transfer index; empty: all zero
  std::vector<std::int64_t> roots{};  // by collective index: global rank, or -1 for "the first member"; empty: all -1
  std::string source{};               // the trace file; may be empty for generated jobs
};

// One rank's meaning of its graph's local numbers.
struct RankBinding {
  std::uint32_t graph = 0;                        // into Job::graphs
  std::uint32_t labels = 0;                       // into Job::labels
  std::vector<GroupId> communicators;             // by communicator slot
  std::vector<RankId> peers;                      // by peer slot
  std::shared_ptr<RankDetails> shared_details{};  // may be null: none; read by the functions below

  const RankDetails& details() const;
  // Details of this binding alone, copied if others share them.
  RankDetails& own_details();
  const std::vector<std::int64_t>& tags() const { return details().tags; }
  const std::vector<std::int64_t>& roots() const { return details().roots; }
  std::int64_t tag(std::uint32_t transfer_index) const { return tags().empty() ? 0 : tags()[transfer_index]; }
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
  std::vector<RankBinding> ranks;           // by RankId; their number is the world size
  std::vector<Communicator> communicators;  // by GroupId; 0 is the world, of several jobs that of the first
  std::vector<GraphFacts> known_facts;      // by graph; empty: nothing is known of any. Read by facts() below
  std::vector<Problem> warnings;

  // Facts of a graph, of which nothing may be known. The index is checked.
  const GraphFacts& facts(std::uint32_t graph) const;

  const ExecutionGraph& graph(RankId rank) const { return graphs[ranks[index_of(rank)].graph]; }
  const NodeLabels& labels_of(RankId rank) const { return labels[ranks[index_of(rank)].labels]; }
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
