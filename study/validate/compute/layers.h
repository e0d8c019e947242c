// SPDX-License-Identifier: MIT
// Measured times of the operators of a transformer layer as CSV: a row is a model, a number of tokens and of
// tensor-parallel ranks; a column of times is an operator. The columns are those of configs/validation/compute/*.csv.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/precision.h"
#include "core/units.h"
#include "workload/training/spec/operators.h"

namespace orrery::study {

enum class LayerColumn : std::uint8_t {
  kEmbedding,
  kInputNorm,
  kAttentionPreProjection,
  kRotary,
  kAttentionPostProjection,
  kPostAttentionNorm,
  kMlpUp,
  kActivation,
  kMlpDown,
  kAdd,
};

inline constexpr std::size_t kLayerColumnCount = 10;

struct LayerSample {
  int line = 0;
  std::string gpu;  // as the file calls it; empty without that column
  Location gpu_at;
  std::string model;
  std::int64_t heads = 1;
  std::int64_t key_value_heads = 1;
  std::int64_t hidden = 1;  // divisible by heads
  std::int64_t feed_forward = 1;
  bool gated = false;  // the first product of the MLP makes twice feed_forward
  std::int64_t tokens = 1;
  std::int64_t tensor_parallel = 1;                              // divides heads
  std::array<std::optional<Duration>, kLayerColumnCount> times;  // by LayerColumn; nothing where the row is blank
};

// Lines that start with '#' are comments. The columns gpu, model and vocab may be left out, and columns of times, but
// for one. Problems go to `diagnostics`, with line and column of `name`; rows that have one are left out.
std::vector<LayerSample> read_layer_csv(std::string_view text, const std::string& name, Diagnostics& diagnostics);

// Under which name errors are summed up.
enum class LayerOperator : std::uint8_t {
  kQkv,
  kAttentionOutput,
  kMlpUp,
  kMlpDown,
  kEmbedding,
  kNorm,
  kRotary,
  kActivation,
  kAdd,
};

inline constexpr std::size_t kLayerOperatorCount = 9;

std::string_view name_of(LayerOperator op);  // "qkv", "attention output", ...
bool is_product(LayerOperator op);
LayerOperator operator_of(LayerColumn column);

// Operator of one tensor-parallel rank in that column. Every rank has at least one head of keys and values.
workload::Operator layer_operator(const LayerSample& sample, LayerColumn column, Precision precision);

}  // namespace orrery::study
