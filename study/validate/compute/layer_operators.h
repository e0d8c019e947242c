// What the columns of measured layers (study/validate/compute/layer_csv.h) are as operators, and under which name errors are summed up.
#pragma once

#include <array>
#include <string_view>

#include "core/precision.h"
#include "study/validate/compute/layer_csv.h"
#include "workload/training/spec/operators.h"

namespace orrery {

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

inline constexpr std::array<LayerOperator, 9> kAllLayerOperators = {
    LayerOperator::kQkv,     LayerOperator::kAttentionOutput, LayerOperator::kMlpUp,
    LayerOperator::kMlpDown, LayerOperator::kEmbedding,       LayerOperator::kNorm,
    LayerOperator::kRotary,  LayerOperator::kActivation,      LayerOperator::kAdd};

std::string_view name_of(LayerOperator op);  // "qkv", "attention output", ...
bool is_product(LayerOperator op);
LayerOperator operator_of(LayerColumn column);

// What one tensor-parallel rank computes in that column. Every rank has at least one head of keys and values.
Operator layer_operator(const LayerSample& sample, LayerColumn column, Precision precision);

}  // namespace orrery
