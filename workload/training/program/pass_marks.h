// SPDX-License-Identifier: MIT
// Marks of a training program that say which pass of which micro-batch each of its nodes belongs to, and which layer.
//
// A pass holds what it computes, with the exchanges inside its layers (tensor, context, experts), the recomputation
// before a backward pass, the messages that bring its input and take its result away, the copies of its activations,
// the gathers of its layers' parameters, and the exchange of the gradients that it completes. Everything before and
// behind the passes of an iteration belongs to none: input, gradients exchanged at the end, optimizer, checkpoint.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "workload/training/pipeline/schedule.h"

namespace orrery::workload {

// Part of a node in its pass. kInLine: what comes next in the pass waits for it. kBeside: messages between stages,
// copies, gathers of parameters and exchanges of gradients, which may begin before the pass and end behind it.
// kPutOff: weight gradients that the rest of the pass does not wait for.
enum class PassRole : std::uint8_t { kInLine, kBeside, kPutOff };

// Holds from one node on until the next mark; by ExecutionGraph::number(), so that repetitions have marks, too.
struct PassMark {
  std::uint32_t number = 0;
  std::uint32_t iteration = 0;
  std::optional<Pass> pass;  // none: the node belongs to no pass
};

// Marks by node: repetitions have those of their stretch.
struct LayerMark {
  NodeId node{};
  std::int64_t layer = -1;  // number of the transformer layer; -1: of none
  PassRole role = PassRole::kInLine;
};

// Marks of one program, ascending. Nodes before the first one belong to no pass and to no layer.
struct ProgramMarks {
  std::uint32_t stage = 0;  // whose program it is; of pipelines both ways, counted from the nearer end
  std::vector<PassMark> passes;
  std::vector<LayerMark> layers;

  // The mark that holds at a node; null before the first one. `latest`: where to look first, such as the answer for the
  // node before; may be null.
  const PassMark* pass_at(std::uint32_t number, const PassMark* latest = nullptr) const {
    return last_of(passes, number, &PassMark::number, latest);
  }
  const LayerMark* layer_at(NodeId node, const LayerMark* latest = nullptr) const {
    return last_of(layers, node, &LayerMark::node, latest);
  }

 private:
  template <class Mark, class Key>
  static const Mark* last_of(const std::vector<Mark>& marks, Key key, Key Mark::*of, const Mark* latest) {
    if (latest != nullptr && latest->*of <= key && (latest == &marks.back() || key < (latest + 1)->*of)) return latest;
    const auto behind = std::ranges::upper_bound(marks, key, {}, of);
    return behind == marks.begin() ? nullptr : &*(behind - 1);
  }
};

// A job's pipeline as its ranks run it.
struct PipelineFacts {
  PipelineShape shape;        // `micro_batches` of a chunk, of one iteration
  bool both_ways = false;     // ranks i and n - 1 - i of n have the same program, and micro-batches of their own
  std::vector<RankId> ranks;  // of the first replica, by place in the pipeline

  // Place in its pipeline of any rank that is no server.
  std::uint32_t place_of(RankId rank) const {
    if (ranks.size() < 2) return 0;
    const std::uint32_t stride = index_of(ranks[1]) - index_of(ranks[0]);
    return (index_of(rank) - index_of(ranks[0])) / stride % static_cast<std::uint32_t>(ranks.size());
  }
  // Number of the virtual stage, in the order in which a micro-batch goes through them.
  std::uint32_t virtual_stage(std::uint32_t stage, std::uint32_t chunk) const {
    if (is_v_shaped(shape.kind)) return chunk == 0 ? stage : 2 * shape.stages - 1 - stage;
    return chunk * shape.stages + stage;
  }
  std::uint32_t virtual_stages() const { return shape.stages * shape.virtual_stages; }
};

}  // namespace orrery::workload
