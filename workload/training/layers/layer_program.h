// SPDX-License-Identifier: MIT
// Computation and communication of one rank for one layer and one micro-batch, forward and backward: the part of a
// training step that no schedule, bucket or pipeline touches. A stage program
// (workload/training/program/stage_program.h) strings these together, once price() has worked out what their operators
// cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/collective_kind.h"
#include "core/units.h"
#include "workload/graph/execution_graph.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/software.h"

namespace orrery::workload {

// Families of groups that a rank communicates in. kData: ranks with the same share of the parameters (data times
// context parallel), of which kShard divide a copy and kReplicate have the same share (hybrid sharding); kExpertData,
// kExpertShard, kExpertReplicate: the same for experts. kContextInner: context-parallel ranks that exchange heads,
// where they are not all of a sequence's.
enum class GroupFamily : std::uint8_t {
  kTensor,
  kContext,
  kExpert,
  kData,
  kShard,
  kReplicate,
  kExpertData,
  kExpertShard,
  kExpertReplicate,
  kEmbedding,
  kWorld,
  kContextInner,
};

inline constexpr std::size_t kGroupFamilyCount = 12;

std::string_view name_of(GroupFamily family);  // "tensor", "context", ...

// Parameters that a rank holds, as numbers of them: experts are exchanged in groups of their own.
struct ParameterCount {
  std::int64_t dense = 0;
  std::int64_t expert = 0;

  ParameterCount operator+(const ParameterCount& other) const { return {dense + other.dense, expert + other.expert}; }
  ParameterCount& operator+=(const ParameterCount& other) { return *this = *this + other; }
  std::int64_t total() const { return dense + expert; }
  bool operator==(const ParameterCount&) const = default;
};

// Cost of kernels one after the other, with what the host does for them.
struct Cost {
  Duration time{};
  Flops flops;
  Bytes bytes;
  HostWork host{};
  Duration processor_bound{};       // of `time`: of kernels that need multiprocessors, rather than memory bandwidth
  bool has_own_processors = false;  // that calls beside it leave alone

  // A device that follows its host begins a kernel when the one before is done and the host has launched it.
  Cost operator+(const Cost& other) const {
    const HostWork both{saturating_add(host.launches, other.host.launches),
                        std::max(saturating_add(host.span, other.time), saturating_add(host.launches, other.host.span)),
                        host.synchronises || other.host.synchronises};
    return {saturating_add(time, other.time),
            flops + other.flops,
            bytes + other.bytes,
            both,
            saturating_add(processor_bound, other.processor_bound),
            has_own_processors || other.has_own_processors};
  }
  bool operator==(const Cost&) const = default;
};

// Kernels one after the other.
struct Compute {
  std::string name;  // "attention", without the layer or the direction
  std::vector<Operator> operators;
  bool weight_gradient = false;    // nothing of this pass waits for it but the exchange of gradients
  ParameterCount finishes{};       // backward: whose gradients are complete with it
  bool beside_collective = false;  // runs while the collective just before it does
  bool synchronises = false;       // the host waits for its end: it reads a result
  bool of_varying_sizes = false;   // those of its operators differ from pass to pass, so that no graph holds them
  Cost cost{};                     // once priced: of these, and of adding up the gradients it finishes
};

// Waits for what is before it, and what is behind it waits for it.
struct Collective {
  std::string name;
  GroupFamily family = GroupFamily::kTensor;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;               // of the rank's own input buffer, as in ExecutionGraph
  bool beside_next = false;  // the next Compute runs while it does, and what is behind that waits for both
  bool of_result = false;    // of what was computed before it, not for what is computed next
};

// Passes blocks round the context-parallel group: `blocks` computations, and beside each but the last a message to the
// next rank of the group, which the next computation waits for. Gradients go round as well, each on as soon as a rank
// has added its part, until they are back where the block came from.
struct RingExchange {
  std::string name;
  std::int64_t blocks = 1;
  std::vector<Operator> own;        // of the rank's own block, the first
  std::vector<Operator> operators;  // of each other one
  Bytes bytes;                      // of one message
  bool has_gradients = false;       // of as many bytes
  Cost own_cost{}, cost{};          // once priced
};

using Action = std::variant<Compute, Collective, RingExchange>;

// True for a weight gradient, which may come in a pass of its own (PassKind::kWeight).
inline bool is_weight_gradient(const Action& action) {
  const auto* compute = std::get_if<Compute>(&action);
  return compute != nullptr && compute->weight_gradient;
}

struct LayerProgram {
  std::string name;         // "embedding", "layer", "head"
  std::int64_t repeat = 1;  // how many of it follow one another
  std::vector<Action> forward;
  std::vector<Action> recompute;  // before backward
  std::vector<Action> backward;
  ParameterCount parameters;  // that are trained
  std::int64_t frozen = 0;    // and those that are not
  Bytes saved{0};             // activations kept from the forward to the backward pass
  Bytes working{0};           // more than that while a pass runs
  Bytes summed{0};            // of it, what a weight gradient holds until it is added up
};

// Parts of a layer's program.
enum class LayerPart : std::uint8_t { kForward, kRecompute, kBackward };

inline const std::vector<Action>& actions_of(const LayerProgram& layer, LayerPart part) {
  return part == LayerPart::kForward ? layer.forward : part == LayerPart::kRecompute ? layer.recompute : layer.backward;
}

// `taken`: multiprocessors that kernels leave to those of dispatch all the time, so that what computing bounds takes
// longer in proportion. `host`: who launches them, one kernel after the other, and pieces of a product in one call of
// the framework; null: nobody takes time for it.
Cost cost_of(const std::vector<Operator>& operators, const OperatorTimes& times, const HostSpec* host = nullptr,
             std::int64_t taken = 0);

// The layer with its costs on the software: with the memory traffic of adding up gradients, where no GEMM does it.
// `taken` as in cost_of().
LayerProgram price(LayerProgram layer, const SoftwareSpec& software, const OperatorTimes& times,
                   std::int64_t taken = 0);

}  // namespace orrery::workload
