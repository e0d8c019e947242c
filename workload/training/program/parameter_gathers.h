// SPDX-License-Identifier: MIT
// When a stage gathers the parameters of which its replicas hold a share each, beside the computation: before every
// pass through a layer (ZeRO 3, FSDP), or bucket by bucket before the first pass of an iteration, where the optimizer
// has updated a share each (ZeRO 1 and 2).
//
// Buckets are gathered as in Megatron-Core (schedules.py and param_and_grad_buffer.py): without interleaving the next
// one is gathered while the first layer of a bucket is computed. With interleaving every stage gathers its first two
// chunks before its first pass, and chunk c when stage s has come to pass (c - 1) p - s of p stages, which is at about
// the same time on all of them (`align_param_gather`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/program_writer.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// One layer in one pass of one micro-batch.
struct StageUnit {
  Pass pass;
  const StageLayer* layer = nullptr;  // none where a stage has no layers
  std::size_t at = 0;                 // of the layers of its pass, in their order
  bool first = false;                 // of its pass
  bool last = false;
  // 1, 2: of the first or the second of two passes that run side by side; 0: alone.
  std::uint32_t lane = 0;
  std::optional<std::array<Pass, 2>> opens{};   // both passes, in their order, where this is the first layer of them
  std::optional<std::array<Pass, 2>> closes{};  // likewise, the last one
};

// Layer by layer, as a rank of the stage runs them in one iteration.
std::vector<StageUnit> units_of_iteration(const StageRequest& request);

class ParameterGathers {
 public:
  // All outlive it.
  ParameterGathers(const TrainingSpec& training, std::uint32_t stage, const ExchangeGroups& groups,
                   ProgramWriter& writer);

  // The iteration runs `units` in this order. They outlive it.
  void begin_iteration(std::span<const StageUnit> units);
  // Before anything of a unit.
  void before(std::size_t unit);
  // When the forward pass `number` of the iteration has received its input.
  void before_forward_pass(std::uint32_t number);
  // Takes the nodes that a unit's layer waits for.
  ProgramWriter::Nodes take(std::size_t unit);
  // When the optimizer has updated a share each, of all the stage's parameters, and no later pass gathers them.
  void after_optimizer(const ParameterCount& parameters);

  // True if updated parameters arrive during the next iteration's passes rather than right after the optimizer.
  static bool is_overlapped(const TrainingSpec& training);

 private:
  // The parameters of some layers that follow one another in a pass, from the first unit on.
  struct Bucket {
    std::size_t first = 0;
    ParameterCount parameters;
    bool is_gathered = false;
  };

  bool is_aligned() const;
  void cut_buckets();
  void gather_chunk(std::uint32_t chunk);
  void gather(Bucket& bucket);
  void gather_layer(std::size_t unit);
  void gather(std::size_t unit, const ParameterCount& parameters);
  // All-gathers that bring all of them together: the group, and the bytes that a rank has.
  std::vector<std::pair<GroupFamily, Bytes>> calls_for(const ParameterCount& parameters) const;

  const TrainingSpec& training_;
  const std::uint32_t stage_;
  const ExchangeGroups& groups_;
  ProgramWriter& writer_;
  std::span<const StageUnit> units_;
  std::vector<Bucket> buckets_;                           // in the order of their first units, none over two chunks
  std::size_t next_ = 0;                                  // bucket that no unit has come to
  std::map<std::size_t, ProgramWriter::Nodes> gathered_;  // by unit, for those to come
};

// "layer 3 ", or "" of what is no transformer layer.
std::string prefix_of(const StageLayer& layer);

}  // namespace orrery::workload
