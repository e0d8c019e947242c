// SPDX-License-Identifier: MIT
// The layer tables of ASTRA-sim 1.0 and of SimAI as they stand in the file: a header line with the parallelism, the
// number of layers, and one line of 12 fields for each layer.
//
// Fields mean the same in both, but for sizes of all-gathers (workload/import/layers/layers.h) and for the groups that
// SimAI names in its communications, as in ALLTOALL_EP.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective_kind.h"
#include "core/error.h"
#include "core/units.h"

namespace orrery::workload {

enum class TextDialect : std::uint8_t { kAstra, kSimai };

enum class TextParallelism : std::uint8_t {
  kMicro,
  kData,
  kModel,
  kHybridDataModel,
  kHybridModelData,
  kHybridDlrm,
  kHybridDlrmEnhanced,
  kHybridTransformer,
  kHybridTransformerRecompute,
  kHybridCustomized,
  kDistributedInference,
};

// The state machines of ASTRA-sim 1.0's workload layer, which workload/import/layers/schedule.cpp writes.
enum class LayerOrder : std::uint8_t { kMicro, kData, kHybrid, kDlrm, kTransformer, kForward };

// Groups of ranks: all; or consecutive ranks are model-parallel, or data-parallel, and the other groups lie across.
enum class GroupsOfLayers : std::uint8_t { kWorld, kModelConsecutive, kDataConsecutive };

struct ParallelismRules {
  TextParallelism parallelism;
  std::string_view name;  // as in the file
  LayerOrder order;
  GroupsOfLayers groups;
  bool activations;  // whether forward passes and input gradients communicate
  bool weights;      // whether weight gradients do
  bool of_layers;    // may be that of a layer of HYBRID_CUSTOMIZED

  bool has_model_groups() const { return groups != GroupsOfLayers::kWorld; }
};

const ParallelismRules& rules_of(TextParallelism parallelism);
inline std::string_view name_of(TextParallelism parallelism) { return rules_of(parallelism).name; }

// The ranks a communication is among, where the file says so (SimAI's suffixes); kUsual: the pass decides.
enum class TextGroup : std::uint8_t { kUsual, kTensor, kData, kExpert, kExpertData };

struct TextCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  TextGroup group = TextGroup::kUsual;
  Bytes bytes{};           // in the convention of the file; once planned: of the rank's own input buffer
  std::uint32_t slot = 0;  // communicator, once planned
};

// One pass of a layer.
struct TextPass {
  Duration compute{};            // zero: none
  std::optional<TextCall> call;  // none: NONE; once planned: only what is really performed
};

enum class LayerPass : std::uint8_t { kForward, kInputGradient, kWeightGradient, kRecomputed };

// "input gradient", as nodes are named.
std::string_view name_of(LayerPass pass);

struct TextLayer {
  std::string name;
  int line = 0;
  std::array<TextPass, 3> passes;                  // in the order of LayerPass
  Duration update{};                               // after each of its communications; zero: none
  std::optional<TextParallelism> parallelism;      // HYBRID_CUSTOMIZED: of this layer
  std::optional<std::uint32_t> recomputes_from{};  // before its input gradients, the layers from here to it again

  const TextPass& pass(LayerPass pass) const {  // kRecomputed is the forward pass again
    return passes[pass == LayerPass::kRecomputed ? 0 : static_cast<std::size_t>(pass)];
  }
};

// A whole number of the header, and where it stands.
struct TextNumber {
  std::uint32_t value = 0;
  Location where;
};

struct TextHeader {
  TextParallelism parallelism = TextParallelism::kData;
  Location where;
  std::optional<TextNumber> last_bottom_layer;  // HYBRID_DLRM*
  std::optional<TextNumber> model_parallel;     // model_parallel_NPU_group
  std::vector<TextNumber> checkpoints;          // layers from 0
  std::vector<TextNumber> recomputation_starts;
  // Keys of SimAI's header.
  std::optional<TextNumber> expert_parallel;
  std::optional<TextNumber> pipeline_parallel;
  std::optional<TextNumber> virtual_pipeline;
  std::optional<TextNumber> micro_batches;
  std::optional<TextNumber> ranks;  // all_gpus
  Bytes pipeline_message{};         // pp_comm
};

struct TextWorkload {
  TextHeader header;
  std::vector<TextLayer> layers;
};

// All that is wrong goes to `diagnostics` with line and column, after 100 errors with a last one that says so; what is
// returned is only meant to be used when there are none.
TextWorkload read_text_workload(const std::string& file, std::string_view text, TextDialect dialect,
                                Diagnostics& diagnostics);

}  // namespace orrery::workload
