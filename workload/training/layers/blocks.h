// SPDX-License-Identifier: MIT
// The blocks that a transformer layer is made of. Each adds its forward and its backward pass; the backward passes of a
// layer's blocks are put together in reverse order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/precision.h"
#include "core/units.h"
#include "workload/training/layers/layer_program.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// Time of weight gradients: with the gradients of the inputs; apart from them, during the collective of the input
// gradient just added; or apart, so that a schedule can put them off.
enum class WeightGradients : std::uint8_t { kInline, kBeside, kApart };

// Puts the actions of a layer's pass together: operators gather in one Compute until something is communicated.
class ActionList {
 public:
  // Starts a compute node of this name; later operators belong to it.
  void compute(std::string name);
  void add(const Operator& op);
  void add(const std::vector<Operator>& operators);
  // The host waits for what was added so far.
  void synchronise();
  // Weight gradients whose parameters are complete with them.
  void weight_gradient(const std::string& name, const std::vector<Operator>& operators, ParameterCount finishes,
                       WeightGradients place);
  // None of a group of one, nor of no bytes.
  void collective(std::string name, GroupFamily family, std::int64_t group_size, CollectiveKind kind, Bytes bytes);
  // Gathers the result just computed, in the tensor group.
  void gather_result(std::string name, std::int64_t group_size, Bytes bytes);
  void ring(RingExchange exchange);
  // Computed while the collective just before it runs.
  void beside_collective(std::string name, const std::vector<Operator>& operators);

  std::vector<Action> take() &&;

 private:
  void close();

  std::vector<Action> actions_;
  Compute open_;
};

// Share of one rank in a transformer layer for one micro-batch, in numbers that the blocks of a layer share.
struct LayerShape {
  const TransformerSpec* model = nullptr;
  std::int64_t micro_batch = 1;  // sequences
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;  // ranks that share an expert
  bool sequence_parallel = false;
  ContextKind context_kind = ContextKind::kRing;
  ExpertSpec dispatching;
  double expert_load = 1;  // tokens that come to this rank's experts, over the mean of all ranks
  AttentionKind attention = AttentionKind::kFlash;
  bool dropout = false;
  Recompute recompute = Recompute::kNone;
  KeptResults keep{};  // under full recomputation
  bool recompute_all = true;
  SelectiveKind selective = SelectiveKind::kScores;
  std::optional<Bytes> loss;    // memory of a logit
  bool attention_copy = false;  // as Footprint has them
  Bytes weight_gradient{0};
  RouterWeights router_weights = RouterWeights::kResults;
  const LoraSpec* lora = nullptr;  // weights are frozen but for its adapters
  Fp8Casts fp8;
  std::int64_t router = 0;   // kernels that choose experts and put tokens in order
  bool reads_sizes = false;  // the host reads how many tokens each expert gets
  Bytes accumulated{0};      // traffic of a weight's gradient that its product adds up; none: kernels of their own do
  std::int64_t pieces = 1;   // that tensor-parallel communication and products beside it are cut into
  RecomputeModules modules;
  // kBeside: of the products that a collective of the input gradient follows; the others' inline.
  WeightGradients weight_gradients = WeightGradients::kInline;
  Precision precision = Precision::kBf16;  // of products with weights

  WeightGradients other_weight_gradients() const {
    return weight_gradients == WeightGradients::kApart ? WeightGradients::kApart : WeightGradients::kInline;
  }
  // Precision of everything else: fp8 and int8 stop at the products with weights.
  Precision activation() const { return is_of_products_only(precision) ? Precision::kBf16 : precision; }
  std::int64_t width() const { return size_of(activation()).count(); }
  std::int64_t rank_sequence() const { return model->sequence / context; }
  // Tokens whose layer this rank's tensor group computes, and those it computes norms of by itself.
  std::int64_t tokens() const { return micro_batch * rank_sequence(); }
  std::int64_t own_tokens() const { return sequence_parallel ? tokens() / tensor : tokens(); }
  std::int64_t heads() const { return model->heads / tensor; }
  // At least one: with more ranks than heads of keys and values, ranks have copies.
  std::int64_t kv_heads() const { return model->kv_heads < tensor ? 1 : model->kv_heads / tensor; }
  // Share of the vocabulary, padded so that all ranks have the same.
  std::int64_t vocab() const { return (model->vocab + tensor - 1) / tensor; }
  bool computes_fp8() const { return is_of_products_only(precision); }
  // Bytes of a value of a product's input, as the backward pass finds it.
  std::int64_t saved_width() const { return computes_fp8() && fp8.saved ? 1 : width(); }
  // A product's input of all the rank's tokens, or of its own, kept for the backward pass.
  Bytes saved_input() const {
    return Bytes((sequence_parallel ? own_tokens() : tokens()) * model->hidden * saved_width());
  }
  // Bytes of an all-gather of operands in the tensor group: activations of the rank's own tokens.
  Bytes gathered_operands() const {
    return computes_fp8() && fp8.gathers ? Bytes(own_tokens() * model->hidden) : own_activations();
  }
  // Activations of all the rank's tokens, and of its own.
  Bytes activations() const { return Bytes(tokens() * model->hidden * width()); }
  Bytes own_activations() const { return Bytes(own_tokens() * model->hidden * width()); }
};

LayerShape layer_shape(const TrainingSpec& training, double expert_load);

// Values of a vector that goes with every layer's norm, and of the norms of layers with two.
std::int64_t norm_parameters(const TransformerSpec& model);

struct BlockProgram {
  std::string name;  // of what is computed again
  std::vector<Action> forward;
  std::vector<Action> backward;
  ParameterCount parameters;
  std::int64_t frozen = 0;
  Bytes saved{0};
  Bytes saved_scores{0};        // of `saved`: what selective recomputation does without
  std::vector<Operator> again;  // of LayerShape::modules, and what they do without
  Bytes saved_again{0};
};

BlockProgram attention_block(const LayerShape& shape);
BlockProgram perceptron_block(const LayerShape& shape);
BlockProgram expert_block(const LayerShape& shape);
// `copies_table`: the embedding's, which otherwise the head or the embedding on this rank has.
BlockProgram prediction_block(const LayerShape& shape, bool copies_table);

// Functions that blocks share. A linear layer of weights k x n on m tokens:
Gemm linear(const LayerShape& shape, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1,
            Product product = Product::kOther);
Gemm input_gradient(const Gemm& forward);
Gemm weight_gradient(const LayerShape& shape, const Gemm& forward);
// Operators of a linear layer with the casts of its operands and its adapters, and the gradients of its input and of
// its trained weights.
std::vector<Operator> forward_of(const LayerShape& shape, const Gemm& product);
std::vector<Operator> input_gradient_of(const LayerShape& shape, const Gemm& product);
std::vector<Operator> weight_gradient_of(const LayerShape& shape, const Gemm& product);
// Trained and frozen parts of `weights` and of the products with them: all is trained, or only the adapters are.
struct Trained {
  std::int64_t trained = 0, frozen = 0;
};
Trained trained_of(const LayerShape& shape, std::int64_t weights, const std::vector<Gemm>& products);
// Element-wise work on all of `elements`, `bytes_each`.
ElementWise element_wise(ElementWiseKind kind, std::int64_t elements, std::int64_t bytes_each);

// Surroundings of the products that tensor parallelism splits: the norm before them and the residual sum behind, on the
// rank's own tokens, and the collectives on the way.
void begin_forward(const LayerShape& shape, const std::string& name, ActionList& forward);
void end_forward(const LayerShape& shape, const std::string& name, ActionList& forward);
void begin_backward(const LayerShape& shape, const std::string& name, ActionList& backward);
// `weights`: gradients of the products by columns, which the collective of the input gradient can run beside.
void end_backward(const LayerShape& shape, const std::string& name, const std::vector<Operator>& weights,
                  ParameterCount finishes, ActionList& backward);
// The element-wise part of those: the norm, and the sum with bias and dropout.
void add_norm(const LayerShape& shape, ActionList& forward);
void add_residual(const LayerShape& shape, ActionList& forward);
void add_norm_backward(const LayerShape& shape, ActionList& backward);
void add_residual_backward(const LayerShape& shape, ActionList& backward);

// Bytes that a norm before a block and the dropout behind it keep for the backward pass.
Bytes saved_around(const LayerShape& shape);

}  // namespace orrery::workload
