// What of a transformer layer one rank has for one micro-batch, in numbers that the blocks of a layer share.
#pragma once

#include <cstdint>

#include "core/precision.h"
#include "core/units.h"
#include "workload/training/layers/action_list.h"
#include "workload/training/spec/training_spec.h"

namespace orrery {

struct LayerShape {
  const TransformerSpec* model = nullptr;
  std::int64_t micro_batch = 1;  // sequences
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  bool sequence_parallel = false;
  ContextKind context_kind = ContextKind::kRing;
  double expert_load = 1;  // tokens that come to this rank's experts, over the mean of all ranks
  AttentionKind attention = AttentionKind::kFlash;
  bool dropout = false;
  Recompute recompute = Recompute::kNone;
  SelectiveKind selective = SelectiveKind::kScores;
  // kBeside: of the products that a collective of the input gradient follows; the others' inline.
  WeightGradients weight_gradients = WeightGradients::kInline;
  Precision precision = Precision::kBf16;  // of products with weights

  WeightGradients other_weight_gradients() const {
    return weight_gradients == WeightGradients::kApart ? WeightGradients::kApart : WeightGradients::kInline;
  }
  // Of everything else: fp8 stops at the products with weights.
  Precision activation() const { return precision == Precision::kFp8 ? Precision::kBf16 : precision; }
  std::int64_t width() const { return size_of(activation()).count(); }
  std::int64_t rank_sequence() const { return model->sequence / context; }
  // Tokens whose layer this rank's tensor group computes, and those it computes norms of by itself.
  std::int64_t tokens() const { return micro_batch * rank_sequence(); }
  std::int64_t own_tokens() const { return sequence_parallel ? tokens() / tensor : tokens(); }
  std::int64_t heads() const { return model->heads / tensor; }
  // At least one: with more ranks than heads of keys and values, ranks have copies.
  std::int64_t kv_heads() const { return model->kv_heads < tensor ? 1 : model->kv_heads / tensor; }
  // Of the vocabulary, padded so that all ranks have the same.
  std::int64_t vocab() const { return (model->vocab + tensor - 1) / tensor; }
  // Activations of all the rank's tokens, and of its own.
  Bytes activations() const { return Bytes(tokens() * model->hidden * width()); }
  Bytes own_activations() const { return Bytes(own_tokens() * model->hidden * width()); }
};

LayerShape layer_shape(const TrainingSpec& training, double expert_load);

// Values of a vector that goes with every layer's norm, and of the norms of layers with two.
std::int64_t norm_parameters(const TransformerSpec& model);

}  // namespace orrery
