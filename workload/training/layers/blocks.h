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
  // An all-to-all, of the result just computed or of what is computed next.
  void exchange(std::string name, GroupFamily family, std::int64_t group_size, Bytes bytes, bool of_result);
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
  LayerKind kind;                // of the layer; of the model's first layer in what is none
  std::int64_t micro_batch = 1;  // sequences
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;  // ranks that share an expert
  bool sequence_parallel = false;
  ContextKind context_kind = ContextKind::kRing;
  ContextBalance context_balance = ContextBalance::kZigzag;
  std::int64_t by_heads = 1;  // context-parallel ranks that exchange heads
  std::int64_t ring = 1;      // and those that pass keys and values round
  ExpertSpec dispatching;
  double expert_load = 1;  // tokens that come to this rank's experts, over the mean of all ranks if none is dropped
  double sent_load = 1;    // tokens that this rank sends to experts, likewise
  AttentionKind attention = AttentionKind::kFlash;
  bool dropout = false;
  Recompute recompute = Recompute::kNone;
  KeptResults keep{};  // under full recomputation
  bool recompute_all = true;
  SelectiveKind selective = SelectiveKind::kScores;
  std::optional<Bytes> loss;  // memory of a logit
  LossSpec chunked;
  bool attention_copy = false;  // as Footprint has them
  Bytes weight_gradient{0};
  RouterWeights router_weights = RouterWeights::kResults;
  const LoraSpec* lora = nullptr;  // weights are frozen but for its adapters
  Recipe recipe;
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
  std::int64_t heads() const { return kind.attention.heads / tensor; }
  // At least one: with more ranks than heads of keys and values, ranks have copies.
  std::int64_t kv_heads() const {
    const std::int64_t all = kind.attention.kv_heads;
    return all < tensor ? 1 : all / tensor;
  }
  // Share of the vocabulary, padded so that all ranks have the same.
  std::int64_t vocab() const { return (model->vocab + tensor - 1) / tensor; }
  // True if selective recomputation makes the scores of attention again.
  bool makes_scores_again() const { return recompute == Recompute::kSelective && selective == SelectiveKind::kScores; }
  bool casts() const { return is_of_products_only(precision); }
  // True if some of an operand's products takes it cast: as a product's input, or as the gradient of its result.
  bool casts(Product product, ProductStage stage) const { return casts() && recipe.casts(product, stage); }
  // True if the backward pass finds a product's input as it was cast.
  bool saves_cast(Product product) const {
    return recipe.saved && casts(product, ProductStage::kWeightGradient) && casts(product, ProductStage::kForward);
  }
  // Size of so many values of a product's input, as the backward pass finds them.
  Bytes saved_values(Product product, std::int64_t values) const {
    return saves_cast(product) ? recipe.size_of_values(values) : Bytes(values * width());
  }
  // A product's input of all the rank's tokens, or of its own, kept for the backward pass.
  Bytes saved_input(Product product) const {
    return saved_values(product, (sequence_parallel ? own_tokens() : tokens()) * model->hidden);
  }
  // Bytes of an all-gather of operands in the tensor group: activations of the rank's own tokens.
  Bytes gathered_operands(Product product, ProductStage stage) const {
    return recipe.gathers && casts(product, stage) ? recipe.size_of_values(own_tokens() * model->hidden)
                                                   : own_activations();
  }
  // Activations of all the rank's tokens, and of its own.
  Bytes activations() const { return Bytes(tokens() * model->hidden * width()); }
  Bytes own_activations() const { return Bytes(own_tokens() * model->hidden * width()); }
};

LayerShape layer_shape(const TrainingSpec& training, double expert_load);
// The same where no product is in low precision: of the embedding, of the head, and of layers that a recipe leaves out.
LayerShape in_bf16(LayerShape shape);

// Values of a vector that goes with every layer's norm, and of the norms of layers with two.
std::int64_t norm_parameters(const TransformerSpec& model);

struct BlockProgram {
  std::vector<Action> forward;
  std::vector<Action> again;  // of LayerShape::modules, before the backward pass
  std::vector<Action> backward;
  ParameterCount parameters;
  std::int64_t frozen = 0;
  Bytes saved{0};
  Bytes saved_scores{0};  // of `saved`: what selective recomputation does without
  Bytes saved_again{0};   // of `saved`: what is there after `again`
  Bytes exchanged{0};     // buffers of context-parallel ranks while the core is computed
};

BlockProgram attention_block(const LayerShape& shape);
BlockProgram linear_attention_block(const LayerShape& shape);
BlockProgram perceptron_block(const LayerShape& shape);
BlockProgram expert_block(const LayerShape& shape);
// `copies_table`: the embedding's, which otherwise the head or the embedding on this rank has.
BlockProgram prediction_block(const LayerShape& shape, bool copies_table);

// Functions that blocks share. A linear layer of weights k x n on m tokens:
Gemm linear(const LayerShape& shape, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1,
            Product product = Product::kOther);
Gemm input_gradient(const Gemm& forward);
Gemm weight_gradient(const LayerShape& shape, const Gemm& forward);
// Weight gradients of several products, one behind the other.
std::vector<Operator> weight_gradients_of(const LayerShape& shape, const std::vector<Gemm>& products);
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
// `product`: the first of the pass, whose operand is gathered.
void begin_forward(const LayerShape& shape, const std::string& name, Product product, ActionList& forward);
void end_forward(const LayerShape& shape, const std::string& name, ActionList& forward);
void begin_backward(const LayerShape& shape, const std::string& name, Product product, ActionList& backward);
// `weights`: gradients of the products by columns, which the collective of the input gradient can run beside.
void end_backward(const LayerShape& shape, const std::string& name, const std::vector<Operator>& weights,
                  ParameterCount finishes, ActionList& backward);
// The collectives of those: of what products take, and of what they give.
void gather_operands(const LayerShape& shape, const std::string& name, Product product, ProductStage stage,
                     ActionList& actions);
void sum_results(const LayerShape& shape, const std::string& name, ActionList& actions);
// The element-wise part of those: the norm, and the sum with bias and dropout.
void add_norm(const LayerShape& shape, ActionList& forward);
void add_residual(const LayerShape& shape, ActionList& forward);
void add_norm_backward(const LayerShape& shape, ActionList& backward);
void add_residual_backward(const LayerShape& shape, ActionList& backward);

// True if the action computes products or attention.
bool has_product(const Action& action);
// Actions behind the operands of a pass's last product, if it is `product`, make a result that no backward pass needs.
void drop_result(Product product, std::vector<Action>& actions);

// Norm of the block, computed again if the modules say so; without it `kept`, what the block's products keep of it.
void add_norm_again(const LayerShape& shape, Bytes kept, ActionList& again, BlockProgram& block);

// Bytes that a norm before a block and the dropout behind it keep for the backward pass.
Bytes saved_around(const LayerShape& shape);

}  // namespace orrery::workload
