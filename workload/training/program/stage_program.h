// SPDX-License-Identifier: MIT
// Program of the ranks of one pipeline stage in a training step: one execution graph, in which communicators, peers and
// tags are local numbers, so that all of them share it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "workload/graph/execution_graph.h"
#include "workload/graph/node_labels.h"
#include "workload/training/layers/layer_program.h"
#include "workload/training/program/pass_marks.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// Kinds of peers that a stage sends to or receives from. Stages are a circle: the last one's next is the first
// (interleaved).
enum class PeerKind : std::uint8_t { kNextStage, kPreviousStage, kNextContext, kPreviousContext, kServer };

struct Peer {
  PeerKind kind = PeerKind::kNextStage;
  std::uint32_t server = 0;  // kServer: which

  auto operator<=>(const Peer&) const = default;
};

// Activations come when a node starts and go when one ends.
struct MemoryChange {
  std::uint32_t number = 0;  // of the node: ExecutionGraph::number()
  bool at_end = false;
  std::int64_t bytes = 0;  // negative: given back
};

// An update of weights whose gradients were computed with those of an earlier time. Nodes by ExecutionGraph::number().
struct WeightUpdate {
  std::optional<std::uint32_t> read;  // when it starts the weights are read; none: before the job
  std::uint32_t update = 0;
};

struct StageProgram {
  ExecutionGraph graph;
  NodeLabels labels;
  std::vector<GroupFamily> communicators;  // by communicator slot
  std::vector<Peer> peers;                 // by peer slot
  std::vector<std::int64_t> tags;          // by transfer index; empty: all zero
  std::vector<MemoryChange> memory;        // in the order of the computation
  std::vector<NodeId> iteration_starts;    // as in a Job
  std::uint32_t initial_nodes = 0;         // likewise
  std::vector<WeightUpdate> updates;       // of weights that others may have updated meanwhile
  ProgramMarks marks;
};

// A layer of a stage. Layers that are alike share the pricing.
struct StageLayer {
  const LayerProgram* layer = nullptr;  // outlives the building
  std::int64_t number = -1;             // of the transformer layer; none of others
  // The same where a pass runs beside another, whose dispatch has multiprocessors of its own; null: no other.
  const LayerProgram* beside_another = nullptr;
  bool is_offloaded = false;  // its activations go to the host's memory between its passes
};

// True if a pass of this kind performs an action of a layer; `splits` as in Pass.
inline bool is_in_pass(const Action& action, PassKind kind, bool splits) {
  return (!splits && kind != PassKind::kWeight) || is_weight_gradient(action) == (kind == PassKind::kWeight);
}

// Sizes of the groups that the stage's ranks are in, by GroupFamily; what has one member is not done.
using GroupSizes = std::array<std::int64_t, kGroupFamilyCount>;

struct StageRequest {
  const TrainingSpec* training = nullptr;
  std::uint32_t stage = 0;
  std::vector<std::vector<StageLayer>> chunks;  // the layers of each virtual stage
  GroupSizes group_sizes{};
  Bytes boundary;                 // of a micro-batch's activations between two stages, as one rank sends them
  bool gathers_boundary = false;  // and the tensor group gathers them
  std::int64_t tied = 0;          // parameters that the first and the last stage both hold
  Bytes tables;                   // embedding tables that no exchange and no optimizer touches
  bool in_pieces = false;         // tensor-parallel products are cut into pieces
  Bytes buffer;                   // that stays: Footprint::buffer
  Bytes mask;                     // of a micro-batch's queries and keys, a byte each
  Bytes logits;                   // of a micro-batch, where the stage has the head
  Bytes head;                     // weights of the head, the same
  bool repeats = false;           // passes that are like one before them are repetitions of it
};

// Gradients of a pass are exchanged as soon as they are there where replicas share them, else those of the last.
bool exchanges_in(const Pass& pass, const TrainingSpec& training);

// Parameters of all the stage's layers: the trained and the frozen ones.
ParameterCount parameters_of(const StageRequest& request);
std::int64_t frozen_of(const StageRequest& request);

StageProgram stage_program(const StageRequest& request, const OperatorTimes& times);

}  // namespace orrery::workload
