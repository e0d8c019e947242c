// SPDX-License-Identifier: MIT
// Check of a trace's dependencies: unknown ids, nodes that wait for themselves, cycles. Each kind of dependency is
// judged on its own and together, so that a message can say which choice would work.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "workload/graph/builder.h"
#include "workload/graph/findings.h"
#include "workload/graph/node_labels.h"
#include "workload/traces/load_job.h"

namespace orrery::workload {

// The node with an id; the ids ascend.
std::optional<NodeId> find_id(const NodeLabels& labels, std::uint64_t id);

// One dependency as the trace has it, by id.
struct TraceDependency {
  NodeId node;           // waits for ...
  std::uint64_t before;  // ... the node with this id, if there is one
  bool is_control = false;
};

// Problems of one choice of dependencies.
struct DependencyProblems {
  std::size_t unknown = 0;
  std::size_t on_itself = 0;
  std::size_t unreachable = 0;  // nodes on a cycle or behind one

  bool none() const { return unknown == 0 && on_itself == 0 && unreachable == 0; }
};

// Over nodes with ascending, distinct ids.
class DependencyCheck {
 public:
  DependencyCheck(const NodeLabels& labels, std::vector<TraceDependency> dependencies);

  DependencyProblems problems(Dependencies chosen) const;
  // Adds an error for each kind of problem of `chosen`, with examples, a short cycle and a hint.
  void report(Dependencies chosen, TraceReader reader, Findings& findings) const;
  // A warning where all dependencies are of the kind that is not chosen.
  void report_none_chosen(Dependencies chosen, TraceReader reader, Findings& findings) const;
  // One warning where the kinds not chosen have problems that are being ignored.
  void report_ignored(Dependencies chosen, Findings& findings) const;
  // The edges of `chosen`, ascending, each once. Unknown and self dependencies are left out.
  std::vector<Edge> edges(Dependencies chosen) const;

 private:
  struct Resolved {
    Edge edge;
    std::uint8_t kinds;  // bit set of kControlBit, kDataBit
  };

  static std::uint8_t bits(Dependencies chosen);
  std::vector<NodeId> reachable(std::span<const Edge> edges) const;
  bool has_any(Dependencies chosen) const;
  std::string hint(Dependencies chosen, TraceReader reader) const;
  // The dependencies of the cycle without each of which there is no cycle, the likeliest first; empty if there is none.
  std::string mending(std::span<const NodeId> cycle, std::span<const Edge> edges) const;
  std::string describe_cycle(std::span<const NodeId> cycle, std::uint8_t chosen_bits) const;
  std::string kinds_of(Edge edge, std::uint8_t chosen_bits) const;

  const NodeLabels& labels_;
  std::vector<TraceDependency> dependencies_;
  std::vector<Resolved> resolved_;  // ascending by edge, each edge once
  std::vector<TraceDependency> unknown_;
  std::vector<TraceDependency> on_itself_;
};

// A short cycle among `edges` (ascending): each node is followed by one that waits for it, and the first follows the
// last. `reachable` are the nodes on no cycle and behind none; at least one node must be missing from it.
std::vector<NodeId> short_cycle(std::size_t nodes, std::span<const Edge> edges, std::span<const NodeId> reachable);

}  // namespace orrery::workload
