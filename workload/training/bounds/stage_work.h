// SPDX-License-Identifier: MIT
// Least work of one rank of a pipeline stage in an iteration, from its layers alone: what it computes, what waits for
// what, and what it has to exchange.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/collective_kind.h"
#include "core/units.h"
#include "workload/training/bounds/least_time.h"
#include "workload/training/layers/layer_program.h"
#include "workload/training/pipeline/phases.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/program/stage_requests.h"

namespace orrery::workload {

// Least time of a collective of a family, for the bytes of a rank's input buffer, in the groups of one stage.
using StageCollective = std::function<Duration(GroupFamily family, CollectiveKind kind, Bytes bytes)>;

// Least time of some actions: `computing` on the device, in line or overlapped; `exposed`, while the device has nothing
// to compute; `in_line`, of actions that wait for one another; `calling`, of a communicator of each family, whose calls
// wait for one another.
struct LeastWork {
  Duration computing{};
  Duration beside{};  // of these, not in line
  Duration exposed{};
  Duration in_line{};
  std::array<Duration, kGroupFamilyCount> calling{};
  bool computes_in_line = false;

  void call(GroupFamily family, Duration time, std::int64_t times = 1);
  void add(const LeastWork& other, std::int64_t times = 1);
};

// Work of layers, each kind of pass over each kind of layer once.
class LayerWork {
 public:
  explicit LayerWork(const StageCollective& collectives) : collectives_(collectives) {}

  // Least work of a pass over a layer, as the stage's program has it.
  const LeastWork& of(const LayerProgram& layer, PassKind kind, bool splits);

 private:
  void add(LeastWork& work, const std::vector<Action>& actions, PassKind kind, bool splits) const;

  const StageCollective& collectives_;
  std::map<std::tuple<const LayerProgram*, PassKind, bool>, LeastWork> known_;
};

// One pass over a chunk.
struct PassWork {
  LeastWork all;
  Duration left{};  // that the device may still compute when the pass is through in line; all if nothing is in line
};
// `in_pair`: it runs beside another.
PassWork pass_work(const std::vector<StageLayer>& chunk, const PassStep& step, bool in_pair, LayerWork& layers);

struct StageWork {
  LeastWork all;               // of the passes of an iteration
  Duration forward{};          // in line, of a micro-batch through the first chunk
  Duration backward{};         // likewise
  Duration exchange{};         // behind all passes: of gradients that do not go beside the backward pass
  Duration exchange_beside{};  // behind the last pass in line: what of the last exchange is left then, at least
  Duration update{};           // behind that: of the optimizer, and what follows it
  Duration left{};             // that the device may still compute when its last pass is through in line
  bool ends_backward = false;  // its last pass is the backward one of the last micro-batch through the first chunk

  Duration end() const { return saturating_add(std::max(exchange, exchange_beside), update); }
};

// Work of the stages of one pipeline, once for neighbours that are alike.
class PipelineWork {
 public:
  // The first three outlive it.
  PipelineWork(const StageRequests& requests, const OperatorTimes& times, const PipelineRanks& ranks,
               const LeastCollective& collectives);
  PipelineWork(const PipelineWork&) = delete;
  PipelineWork& operator=(const PipelineWork&) = delete;

  std::size_t stages() const { return stages_.size(); }
  const StageRequest& request(std::size_t stage) const;
  const StageWork& of(std::size_t stage) const { return stages_[stage]; }
  PassWork pass(std::size_t stage, const PassStep& step, bool in_pair) {
    return pass_work(request(stage).chunks[step.chunk], step, in_pair, groups_of(stage).layers);
  }
  const StageCollective& collectives(std::size_t stage) { return groups_of(stage).collectives; }

 private:
  // Facts that stages share whose groups lie alike.
  struct Groups {
    explicit Groups(StageCollective all) : collectives(std::move(all)) {}

    const StageCollective collectives;
    LayerWork layers{collectives};
  };
  Groups& groups_of(std::size_t stage) { return groups_.at(ranks_.groups[stage]); }
  bool is_like_before(std::size_t stage) const;

  const StageRequests& requests_;
  const PipelineRanks& ranks_;
  std::map<std::uint32_t, Groups> groups_;  // by number
  std::vector<StageWork> stages_;
};

}  // namespace orrery::workload
