// SPDX-License-Identifier: MIT
// Self-attention: queries, keys and values by columns, the core head by head, the projection by rows.
#include <algorithm>
#include <utility>

#include "workload/training/layers/blocks.h"

namespace orrery::workload {
namespace {

// Operands of the core: `queries` of the rank against `keys`, head by head.
struct Core {
  std::int64_t batch = 0;  // sequences times heads
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head = 0;  // of queries and keys, and of values, or the larger of both sizes
  std::int64_t scores() const { return batch * queries * keys; }
};

// A product of the core, head by head: rows of queries, keys and values lie as the heads do, rows of scores as the
// keys.
Gemm core_product(const Core& core, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision) {
  const std::int64_t width = size_of(precision).count();
  const bool aligned = core.head * width % 16 == 0 && core.keys * width % 16 == 0;
  return {m, n, k, core.batch, precision, aligned};
}

// The products that make queries, keys and values, the one behind the core, and the sizes between.
struct Projections {
  std::vector<Gemm> inputs;
  Gemm output;
  std::int64_t weights = 0;       // of the rank, with biases
  std::int64_t ring_values = 0;   // keys and values per token, as context-parallel ranks pass them on
  std::int64_t rotated = 0;       // values per token that a rotary position turns
  std::int64_t saved_values = 0;  // per token, kept between the products
  std::int64_t head = 0;
};

Projections plain_projections(const LayerShape& shape) {
  const TransformerSpec& model = *shape.model;
  const std::int64_t m = shape.tokens(), head = model.head_size;
  const std::int64_t queries = shape.heads() * head, pairs = 2 * shape.kv_heads() * head;
  Projections p;
  p.inputs = {linear(shape, m, queries + pairs, model.hidden, 1, Product::kQkv)};
  p.output = linear(shape, m, model.hidden, queries, 1, Product::kProjection);
  const std::int64_t biases = model.biases ? queries + pairs + model.hidden : 0;
  p.weights = (queries + pairs) * model.hidden + queries * model.hidden + biases;
  p.ring_values = pairs;
  p.rotated = queries + pairs / 2;
  p.saved_values = queries + pairs + queries;
  p.head = head;
  return p;
}

Projections latent_projections(const LayerShape& shape) {
  const TransformerSpec& model = *shape.model;
  const LatentAttention& latent = *model.latent;
  const std::int64_t m = shape.tokens(), heads = shape.heads(), hidden = model.hidden;
  const std::int64_t key = latent.head + latent.rotary_head;
  Projections p;
  if (latent.query_rank > 0) p.inputs.push_back(linear(shape, m, latent.query_rank, hidden, 1, Product::kQkv));
  p.inputs.push_back(
      linear(shape, m, heads * key, latent.query_rank > 0 ? latent.query_rank : hidden, 1, Product::kQkv));
  p.inputs.push_back(linear(shape, m, latent.key_value_rank + latent.rotary_head, hidden, 1, Product::kQkv));
  p.inputs.push_back(
      linear(shape, m, heads * (latent.head + latent.value_head), latent.key_value_rank, 1, Product::kQkv));
  p.output = linear(shape, m, hidden, heads * latent.value_head, 1, Product::kProjection);
  for (const Gemm& product : p.inputs) p.weights += product.n * product.k;
  p.weights += p.output.n * p.output.k + latent.query_rank + latent.key_value_rank;  // with the norms of both ranks
  p.ring_values = heads * (key + latent.value_head);
  p.rotated = heads * latent.rotary_head + latent.rotary_head;
  p.saved_values = heads * (2 * key + 2 * latent.value_head) + latent.query_rank + latent.key_value_rank;
  p.head = std::max(key, latent.value_head);  // kernels pad the smaller
  return p;
}

// Reads and writes of the softmax over scores, with a mask byte of dropout.
std::int64_t softmax_bytes(const LayerShape& shape) {
  return 2 * shape.width() + (shape.dropout ? 2 * shape.width() + 1 : 0);
}

std::vector<Operator> core_forward(const LayerShape& shape, const Core& core) {
  const Precision precision = shape.activation();
  if (shape.attention == AttentionKind::kFlash)
    return {FlashAttention{core.batch, core.queries, core.keys, core.head, shape.model->causal, false, precision}};
  return {core_product(core, core.queries, core.keys, core.head, precision),
          element_wise(ElementWiseKind::kSoftmax, core.scores(), softmax_bytes(shape)),
          core_product(core, core.queries, core.head, core.keys, precision)};
}

// Selective recomputation makes the scores again first.
std::vector<Operator> core_backward(const LayerShape& shape, const Core& core) {
  const Precision precision = shape.activation();
  if (shape.attention == AttentionKind::kFlash)
    return {FlashAttention{core.batch, core.queries, core.keys, core.head, shape.model->causal, true, precision}};
  const std::int64_t dropout = shape.dropout ? 2 * shape.width() + 1 : 0;
  std::vector<Operator> operators;
  if (shape.recompute == Recompute::kSelective && shape.selective == SelectiveKind::kScores)
    operators = core_forward(shape, core);
  const std::vector<Operator> gradients = {
      core_product(core, core.keys, core.head, core.queries, precision),  // of the values
      core_product(core, core.queries, core.keys, core.head, precision),  // of the probabilities
      element_wise(ElementWiseKind::kSoftmax, core.scores(), 3 * shape.width() + dropout),
      core_product(core, core.queries, core.head, core.keys, precision),   // of the queries
      core_product(core, core.keys, core.head, core.queries, precision)};  // of the keys
  operators.insert(operators.end(), gradients.begin(), gradients.end());
  return operators;
}

// The core over the whole sequence, or over one of the blocks that pass round the ring; both count half under a causal
// mask, since ranks hold two pieces of the sequence, one from each end.
Core core_of(const LayerShape& shape, const Projections& p) {
  const bool is_ring = shape.context > 1 && shape.context_kind == ContextKind::kRing;
  const std::int64_t keys = is_ring ? shape.rank_sequence() : shape.model->sequence;
  return {shape.micro_batch * shape.heads(), shape.rank_sequence(), keys, p.head};
}

// Turning and reordering queries, keys and values.
std::vector<Operator> layout(const LayerShape& shape, const Projections& p) {
  std::vector<Operator> operators;
  if (shape.model->position == PositionKind::kRotary)
    operators.push_back(element_wise(ElementWiseKind::kRotary, shape.tokens() * p.rotated, 2 * shape.width()));
  operators.push_back(element_wise(ElementWiseKind::kCopy, shape.tokens() * p.output.k, 2 * shape.width()));
  return operators;
}

void add_core(const LayerShape& shape, const Projections& p, bool backward, ActionList& actions) {
  const std::vector<Operator> core =
      backward ? core_backward(shape, core_of(shape, p)) : core_forward(shape, core_of(shape, p));
  const Bytes block(shape.tokens() * p.ring_values * shape.width());
  if (shape.context == 1) return actions.add(core);
  const std::string name = "keys and values";
  if (shape.context_kind == ContextKind::kRing) return actions.ring({name, shape.context, core, block, backward});
  actions.collective(name + " gather", GroupFamily::kContext, shape.context, CollectiveKind::kAllGather, block);
  actions.add(core);
  if (backward)
    actions.collective(name + " gradients", GroupFamily::kContext, shape.context, CollectiveKind::kReduceScatter,
                       block * shape.context);
}

std::vector<Operator> weight_gradients_of(const LayerShape& shape, const std::vector<Gemm>& products) {
  std::vector<Operator> operators;
  for (const Gemm& product : products)
    for (const Operator& op : weight_gradient_of(shape, product)) operators.push_back(op);
  return operators;
}

// Korthikanti et al. 2022, section 4.1: the products' input, queries, keys, values and the core's result; the scores'
// softmax, and with dropout its result and mask. Flash attention keeps a sum for every query instead, and where it does
// not write its result as the projection takes it, that twice.
void save_for_backward(const LayerShape& shape, const Projections& p, BlockProgram& block) {
  const std::int64_t width = shape.width();
  // The projection takes what the core has kept already, unless it takes another copy or one in fp8.
  const std::int64_t result = shape.tokens() * p.output.k;
  const bool is_flash = shape.attention == AttentionKind::kFlash;
  block.saved = saved_around(shape) + shape.saved_input() + Bytes(shape.tokens() * p.saved_values * width);
  if (shape.saved_width() < width)
    block.saved += Bytes(result * shape.saved_width());
  else if (is_flash && shape.attention_copy)
    block.saved += Bytes(result * width);
  const Core whole{shape.micro_batch * shape.heads(), shape.rank_sequence(), shape.model->sequence, p.head};
  if (shape.attention == AttentionKind::kPlain)
    block.saved_scores = Bytes(whole.scores() * (width + (shape.dropout ? width + 1 : 0)));
  else
    block.saved += Bytes(4 * whole.batch * whole.queries);
  block.saved += block.saved_scores;
}

// Moves operators named in `recompute_modules` to recomputation, so that their results need not be saved.
void compute_again(const LayerShape& shape, const Projections& p, BlockProgram& block) {
  const std::int64_t width = shape.width();
  if (shape.modules.norm) {
    block.again.emplace_back(element_wise(ElementWiseKind::kNorm, shape.own_tokens() * shape.model->hidden, 2 * width));
    block.saved_again += shape.saved_input();
  }
  if (!shape.modules.up_projection) return;
  const LatentAttention& latent = *shape.model->latent;
  if (latent.query_rank > 0) block.again.emplace_back(p.inputs[1]);
  block.again.emplace_back(p.inputs.back());
  for (const Operator& op : layout(shape, p)) block.again.push_back(op);
  const std::int64_t keys = latent.head + latent.rotary_head;
  block.saved_again +=
      Bytes(shape.tokens() * shape.heads() * ((latent.query_rank > 0 ? 2 : 1) * keys + latent.value_head) * width);
}

}  // namespace

BlockProgram attention_block(const LayerShape& shape) {
  const std::string name = "attention";
  const Projections p = shape.model->latent ? latent_projections(shape) : plain_projections(shape);
  BlockProgram block;
  std::vector<Gemm> products = p.inputs;
  products.push_back(p.output);
  const Trained weights_of = trained_of(shape, p.weights + norm_parameters(*shape.model), products);
  block.parameters.dense = weights_of.trained;
  block.frozen = weights_of.frozen;

  ActionList forward;
  begin_forward(shape, name, forward);
  for (const Gemm& product : p.inputs) forward.add(forward_of(shape, product));
  forward.add(layout(shape, p));
  add_core(shape, p, false, forward);
  forward.add(forward_of(shape, p.output));
  end_forward(shape, name, forward);
  block.forward = std::move(forward).take();

  ActionList backward;
  begin_backward(shape, name, backward);
  backward.add(input_gradient_of(shape, p.output));
  std::vector<Operator> weights = weight_gradients_of(shape, p.inputs);
  if (shape.weight_gradients == WeightGradients::kApart)
    weights = weight_gradients_of(shape, products);
  else
    backward.add(weight_gradient_of(shape, p.output));
  add_core(shape, p, true, backward);
  // The scores' backward pass moves its gradients twice, in and out of the order of heads.
  backward.add(layout(shape, p));
  backward.add(element_wise(ElementWiseKind::kCopy, shape.tokens() * p.output.k, 2 * shape.width()));
  for (auto product = p.inputs.rbegin(); product != p.inputs.rend(); ++product)
    backward.add(input_gradient_of(shape, *product));
  end_backward(shape, name, weights, block.parameters, backward);
  block.backward = std::move(backward).take();

  save_for_backward(shape, p, block);
  compute_again(shape, p, block);
  return block;
}

}  // namespace orrery::workload
