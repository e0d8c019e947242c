// SPDX-License-Identifier: MIT
// The layer tables of ASTRA-sim 1.0 and of SimAI as they stand in the file: a header line with the parallelism, the
// number of layers, and one line of 12 fields for each layer.
//
// What a field means is the same in both, but for sizes of all-gathers (see the importers,
// workload/import/layers/astra_text.h and workload/import/layers/simai.h) and for the groups that SimAI names in its
// communications, as in ALLTOALL_EP.
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

// "MICRO", "DATA", ..., as in the file.
std::string_view name_of(TextParallelism parallelism);
std::optional<TextParallelism> text_parallelism_named(std::string_view name);

// The ranks a communication is among, where the file says so (SimAI's suffixes); kUsual: the pass decides.
enum class TextGroup : std::uint8_t { kUsual, kTensor, kData, kExpert, kExpertData };

// One of the three passes of a layer.
struct TextPass {
  Duration compute{};
  std::optional<CollectiveKind> collective;  // none: NONE
  TextGroup group = TextGroup::kUsual;
  Bytes size{};  // in the convention of the file
};

struct TextLayer {
  std::string name;
  int line = 0;
  TextPass forward;
  TextPass input_gradient;
  TextPass weight_gradient;
  Duration update{};                           // after each of its communications
  std::optional<TextParallelism> parallelism;  // HYBRID_CUSTOMIZED: of this layer
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
  // Of SimAI.
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
