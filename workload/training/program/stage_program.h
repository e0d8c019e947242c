// SPDX-License-Identifier: MIT
// Program of the ranks of one pipeline stage in a training step: one execution graph, in which communicators, peers and
// tags are local numbers, so that all of them share it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
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

// Part of the activations of a chunk: of a whole pass (pass_memory), or of one layer of a pass beside another
// (layer_memory).
struct MemoryPart {
  std::uint32_t chunk = 0;
  PassKind kind = PassKind::kForward;
  bool splits = false;
  bool is_given = false;                 // given back rather than taken
  std::optional<std::uint32_t> layer{};  // in the order of the pass; none: of all layers

  auto operator<=>(const MemoryPart&) const = default;
};

// Changes of a rank's memory in the order of its computation. Programs of one form share where they are.
class MemoryCourse {
 public:
  struct Place {
    std::uint32_t number = 0;
    bool at_end = false;
    std::uint32_t amount = 0;
  };
  class Iterator {
   public:
    using value_type = MemoryChange;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(const MemoryCourse& course, std::size_t at) : course_(&course), at_(at) {}
    MemoryChange operator*() const { return (*course_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {*course_, at_++}; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const MemoryCourse* course_ = nullptr;
    std::size_t at_ = 0;
  };

  MemoryCourse() = default;
  // `amounts`: by Place::amount, in bytes.
  MemoryCourse(std::vector<Place> places, std::vector<std::int64_t> amounts)
      : places_(std::make_shared<const std::vector<Place>>(std::move(places))), amounts_(std::move(amounts)) {}
  // The same places with other amounts.
  MemoryCourse with(std::vector<std::int64_t> amounts) const {
    MemoryCourse other = *this;
    other.amounts_ = std::move(amounts);
    return other;
  }

  std::size_t size() const { return places_ == nullptr ? 0 : places_->size(); }
  MemoryChange operator[](std::size_t at) const {
    const Place& place = (*places_)[at];
    return {place.number, place.at_end, place.at_end ? -amounts_[place.amount] : amounts_[place.amount]};
  }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }
  std::span<const std::int64_t> amounts() const { return amounts_; }

 private:
  std::shared_ptr<const std::vector<Place>> places_;
  std::vector<std::int64_t> amounts_;
};

// An update of weights whose gradients were computed with those of an earlier time. Nodes by ExecutionGraph::number().
struct WeightUpdate {
  std::optional<std::uint32_t> read;  // when it starts the weights are read; none: before the job
  std::uint32_t update = 0;
};

// A node that performs an action of a layer.
struct ActionNode {
  const LayerProgram* layer = nullptr;
  LayerPart part = LayerPart::kForward;
  std::size_t action = 0;  // of actions_of(*layer, part)
  NodeId node{};
};

struct StageProgram {
  ExecutionGraph graph;
  NodeLabels labels;
  std::vector<GroupFamily> communicators;  // by communicator slot
  std::vector<Peer> peers;                 // by peer slot
  std::vector<std::int64_t> tags;          // by transfer index; empty: all zero
  MemoryCourse memory;
  std::vector<NodeId> iteration_starts;  // as in a Job
  std::uint32_t initial_nodes = 0;       // likewise
  std::vector<WeightUpdate> updates;     // of weights that others may have updated meanwhile
  ProgramMarks marks;
  // Sources of the amounts that depend on a layer's costs and sizes (workload/training/program/other_amounts.h).
  std::vector<ActionNode> actions;                    // each action of each layer program once
  std::vector<std::vector<MemoryPart>> memory_parts;  // by amount of `memory`: their sum
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
