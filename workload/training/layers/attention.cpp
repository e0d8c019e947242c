// SPDX-License-Identifier: MIT
// Self-attention: queries, keys and values by columns, the core head by head, the projection by rows.
#include <algorithm>
#include <utility>

#include "workload/training/layers/context.h"

namespace orrery::workload {
namespace {

// Operands of the core: `queries` of the rank against `keys`, head by head.
struct Core {
  std::int64_t batch = 0;  // sequences times heads
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head = 0;  // of queries and keys, and of values, or the larger of both sizes
  bool causal = true;
  std::int64_t window = 0;  // keys that a query sees; 0: all
  std::int64_t group = 1;   // heads that share keys and values which are read once
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
  CoreValues core;                // that context-parallel ranks exchange
  std::int64_t rotated = 0;       // values per token that a rotary position turns
  std::int64_t saved_values = 0;  // per token, kept between the products
  std::int64_t normalised = 0;    // values per token of queries and keys with a norm
  std::int64_t gate = 0;          // values per token that gate the result
  std::int64_t head = 0;
};

Projections plain_projections(const LayerShape& shape) {
  const TransformerSpec& model = *shape.model;
  const AttentionSpec& own = shape.kind.attention;
  const std::int64_t m = shape.tokens(), results = shape.heads() * own.value_size();
  const std::int64_t queries = shape.heads() * own.key_size(), keys = shape.kv_heads() * own.key_size();
  const std::int64_t pairs = keys + shape.kv_heads() * own.value_size();
  Projections p;
  p.gate = own.output_gate ? results : 0;
  p.inputs = {linear(shape, m, queries + p.gate + pairs, model.hidden, 1, Product::kQkv)};
  p.output = linear(shape, m, model.hidden, results, 1, Product::kProjection);
  const std::int64_t biases = model.biases ? p.inputs[0].n + model.hidden : 0;
  p.weights = p.inputs[0].n * model.hidden + results * model.hidden + biases;
  p.core = {queries, pairs, shape.kv_heads(), results};
  p.rotated = queries + keys;
  p.saved_values = queries + pairs + results;
  if (own.head_norms) {
    p.weights += 2 * own.head_size;
    p.normalised = queries + keys;
  }
  // Inputs of norms are kept beside their results, and a gate beside what it gated.
  p.saved_values += p.normalised + 2 * p.gate;
  p.head = std::max(own.key_size(), own.value_size());  // kernels pad the smaller
  return p;
}

Projections latent_projections(const LayerShape& shape) {
  const LatentAttention& latent = *shape.kind.attention.latent;
  const std::int64_t m = shape.tokens(), heads = shape.heads(), hidden = shape.model->hidden;
  const std::int64_t key = latent.head + latent.rotary_head;
  Projections p;
  const auto on_every_rank = [&](std::int64_t columns) {
    Gemm product = linear(shape, m, columns, hidden, 1, Product::kQkv);
    product.split = WeightSplit::kNone;
    return product;
  };
  if (latent.query_rank > 0) p.inputs.push_back(on_every_rank(latent.query_rank));
  p.inputs.push_back(
      linear(shape, m, heads * key, latent.query_rank > 0 ? latent.query_rank : hidden, 1, Product::kQkv));
  p.inputs.push_back(on_every_rank(latent.key_value_rank + latent.rotary_head));
  p.inputs.push_back(
      linear(shape, m, heads * (latent.head + latent.value_head), latent.key_value_rank, 1, Product::kQkv));
  p.output = linear(shape, m, hidden, heads * latent.value_head, 1, Product::kProjection);
  for (const Gemm& product : p.inputs) p.weights += product.n * product.k;
  p.weights += p.output.n * p.output.k + latent.query_rank + latent.key_value_rank;  // with the norms of both ranks
  p.core = {heads * key, heads * (key + latent.value_head), heads, heads * latent.value_head};
  p.rotated = heads * latent.rotary_head + latent.rotary_head;
  p.saved_values = heads * (2 * key + 2 * latent.value_head) + latent.query_rank + latent.key_value_rank;
  p.head = std::max(key, latent.value_head);  // kernels pad the smaller
  return p;
}

// Products of an indexer, which all ranks of a tensor group compute whole: their sum over heads is one choice for all.
// Attention over the keys that it chooses is that of the compressed keys and values, which all heads share: products of
// queries with the up-projection's weights take as much as those of keys would (DeepSeek-V3.2-Exp, model.py).
void add_indexer(const LayerShape& shape, Projections& p) {
  const Indexer& own = *shape.kind.attention.indexer;
  const LatentAttention& latent = *shape.kind.attention.latent;
  const std::int64_t m = shape.tokens(), hidden = shape.model->hidden, queries = own.heads * own.head;
  const std::vector<Gemm> products = {linear(shape, m, queries, latent.query_rank), linear(shape, m, own.head, hidden),
                                      linear(shape, m, own.heads, hidden)};
  for (const Gemm& product : products) p.weights += product.n * product.k;
  p.weights += 2 * own.head;
  p.inputs.insert(p.inputs.begin() + 2, products.begin(), products.end());
  p.saved_values += queries + own.head + own.heads;
  p.head = latent.key_value_rank + latent.rotary_head;
}

// Sinks are a score for each head of the rank.
Projections projections_of(const LayerShape& shape) {
  Projections p = shape.kind.attention.latent ? latent_projections(shape) : plain_projections(shape);
  if (shape.kind.attention.sinks) p.weights += shape.heads();
  if (shape.kind.attention.indexer) add_indexer(shape, p);
  return p;
}

// Reads and writes of the softmax over scores, with a mask byte of dropout.
std::int64_t softmax_bytes(const LayerShape& shape) {
  return 2 * shape.width() + (shape.dropout ? 2 * shape.width() + 1 : 0);
}

FlashAttention flash_attention(const LayerShape& shape, const Core& core, bool backward) {
  FlashAttention attention{core.batch, core.queries, core.keys, core.head, core.causal, backward, shape.activation()};
  attention.window = core.window < core.keys ? core.window : 0;
  attention.group = core.group;
  return attention;
}

std::vector<Operator> core_forward(const LayerShape& shape, const Core& core) {
  const Precision precision = shape.activation();
  if (shape.attention == AttentionKind::kFlash) return {flash_attention(shape, core, false)};
  return {core_product(core, core.queries, core.keys, core.head, precision),
          element_wise(ElementWiseKind::kSoftmax, core.scores(), softmax_bytes(shape)),
          core_product(core, core.queries, core.head, core.keys, precision)};
}

// Selective recomputation makes the scores again first.
std::vector<Operator> core_backward(const LayerShape& shape, const Core& core) {
  const Precision precision = shape.activation();
  if (shape.attention == AttentionKind::kFlash) return {flash_attention(shape, core, true)};
  const std::int64_t dropout = shape.dropout ? 2 * shape.width() + 1 : 0;
  std::vector<Operator> operators;
  if (shape.makes_scores_again()) operators = core_forward(shape, core);
  const std::vector<Operator> gradients = {
      core_product(core, core.keys, core.head, core.queries, precision),  // of the values
      core_product(core, core.queries, core.keys, core.head, precision),  // of the probabilities
      element_wise(ElementWiseKind::kSoftmax, core.scores(), 3 * shape.width() + dropout),
      core_product(core, core.queries, core.head, core.keys, precision),   // of the queries
      core_product(core, core.keys, core.head, core.queries, precision)};  // of the keys
  operators.insert(operators.end(), gradients.begin(), gradients.end());
  return operators;
}

// A part of the core, which counts half under a causal mask. Chunks are sequences of their own.
Core core_over(const LayerShape& shape, const Projections& p, const CorePart& part) {
  const AttentionSpec& own = shape.kind.attention;
  const std::int64_t pieces = own.chunk > 0 && own.chunk < part.keys ? part.keys / own.chunk : 1;
  Core core{part.batch * pieces, part.queries / pieces, part.keys / pieces, p.head, part.causal};
  core.window = own.indexer ? own.indexer->keys : own.window;
  if (own.indexer) core.group = shape.heads();
  return core;
}

// Turning and reordering queries, keys and values.
std::vector<Operator> layout(const LayerShape& shape, const Projections& p) {
  std::vector<Operator> operators;
  if (shape.kind.attention.position == PositionKind::kRotary)
    operators.push_back(element_wise(ElementWiseKind::kRotary, shape.tokens() * p.rotated, 2 * shape.width()));
  operators.push_back(element_wise(ElementWiseKind::kCopy, shape.tokens() * p.output.k, 2 * shape.width()));
  return operators;
}

// Norms of queries and keys before the core, and the gate behind it.
void add_norms(const LayerShape& shape, const Projections& p, bool backward, ActionList& actions) {
  if (p.normalised == 0) return;
  actions.add(element_wise(ElementWiseKind::kNorm, shape.tokens() * p.normalised, (backward ? 3 : 2) * shape.width()));
}

// Reads the result and the gate and writes their product; backward it reads both and a gradient and writes two.
void add_gate(const LayerShape& shape, const Projections& p, bool backward, ActionList& actions) {
  if (p.gate == 0) return;
  actions.add(element_wise(ElementWiseKind::kActivation, shape.tokens() * p.gate, (backward ? 5 : 3) * shape.width()));
}

// Scores of the indexer's heads for all keys before a query, in fp8 where products are; their weighted sum over heads
// in fp32, and the choice of the best. Its gradients come from the keys chosen alone.
void add_choice(const LayerShape& shape, bool backward, ActionList& actions) {
  if (!shape.kind.attention.indexer) return;
  const Indexer& own = *shape.kind.attention.indexer;
  const std::int64_t sequence = shape.model->sequence, seen = (sequence + 1) / 2;
  const std::int64_t rows = shape.rank_sequence() * own.heads, chosen = std::min(own.keys, sequence);
  if (backward) {
    actions.add(Gemm{rows, own.head, chosen, shape.micro_batch, shape.activation()});
    actions.add(Gemm{chosen, own.head, rows, shape.micro_batch, shape.activation()});
    return;
  }
  Gemm scores{rows, seen, own.head, shape.micro_batch, shape.casts() ? Precision::kFp8 : shape.activation()};
  scores.stored_c = shape.rank_sequence() * seen;
  scores.result = Bytes(4);
  actions.add(scores);
  actions.add(element_wise(ElementWiseKind::kSoftmax, shape.micro_batch * scores.stored_c, 4));
}

void add_core(const LayerShape& shape, const Projections& p, bool backward, ActionList& actions) {
  const auto operators_of = [&](const CorePart& part) {
    const Core core = core_over(shape, p, part);
    return backward ? core_backward(shape, core) : core_forward(shape, core);
  };
  add_core_exchanged(shape, p.core, backward, operators_of, actions);
}

Core core_of_rank(const LayerShape& shape, const Projections& p) {
  return core_over(
      shape, p, {shape.micro_batch * shape.heads(), shape.rank_sequence(), shape.model->sequence, shape.model->causal});
}

// Flash attention's own: the sum of exponentials for every query, and another copy of the result where the projection
// does not take it as flash attention writes it.
Bytes kept_of_flash(const LayerShape& shape, const Projections& p) {
  const Core whole = core_of_rank(shape, p);
  const bool copies = shape.attention_copy && !shape.saves_cast(Product::kProjection);
  return Bytes(4 * whole.batch * whole.queries + (copies ? shape.tokens() * p.output.k * shape.width() : 0));
}

// Korthikanti et al. 2022, section 4.1: the products' input, queries, keys, values and the core's result; the scores'
// softmax, and with dropout its result and mask. Flash attention keeps a sum for every query instead, and where it does
// not write its result as the projection takes it, that twice.
void save_for_backward(const LayerShape& shape, const Projections& p, BlockProgram& block) {
  const std::int64_t width = shape.width();
  // The projection takes what the core has kept already, unless it takes another copy or one in fp8.
  const std::int64_t result = shape.tokens() * p.output.k;
  block.saved = saved_around(shape) + shape.saved_input(Product::kQkv) + Bytes(shape.tokens() * p.saved_values * width);
  if (shape.saves_cast(Product::kProjection)) block.saved += shape.saved_values(Product::kProjection, result);
  const Core whole = core_of_rank(shape, p);
  if (shape.attention == AttentionKind::kPlain)
    block.saved_scores = Bytes(whole.scores() * (width + (shape.dropout ? width + 1 : 0)));
  else
    block.saved += kept_of_flash(shape, p);
  // The numbers of the keys that an indexer chose.
  if (shape.kind.attention.indexer)
    block.saved += Bytes(4 * shape.tokens() * std::min(shape.model->sequence, shape.kind.attention.indexer->keys));
  block.saved += block.saved_scores + saved_copies(shape, p.core);
  block.exchanged = exchange_buffers(shape, p.core);
}

void add_up_projection_again(const LayerShape& shape, const Projections& p, ActionList& again, BlockProgram& block) {
  if (!shape.modules.up_projection || !shape.kind.attention.latent) return;
  const LatentAttention& latent = *shape.kind.attention.latent;
  if (latent.query_rank > 0) again.add(p.inputs[1]);
  again.add(p.inputs.back());
  again.add(layout(shape, p));
  const std::int64_t keys = latent.head + latent.rotary_head;
  block.saved_again += Bytes(shape.tokens() * shape.heads() *
                             ((latent.query_rank > 0 ? 2 : 1) * keys + latent.value_head) * shape.width());
}

// The core's result stays, which the projection takes; what the core keeps for itself goes.
void add_core_again(const LayerShape& shape, const Projections& p, ActionList& again, BlockProgram& block) {
  const bool is_flash = shape.attention == AttentionKind::kFlash;
  if (!shape.modules.core || (!is_flash && shape.makes_scores_again())) return;
  add_core(shape, p, false, again);
  block.saved_again += is_flash ? kept_of_flash(shape, p) : block.saved_scores;
}

// Moves what `recompute_modules` names to recomputation, so that its results need not be saved.
std::vector<Action> compute_again(const LayerShape& shape, const Projections& p, BlockProgram& block) {
  ActionList again;
  again.compute("attention");
  add_norm_again(shape, shape.saved_input(Product::kQkv), again, block);
  add_up_projection_again(shape, p, again, block);
  add_core_again(shape, p, again, block);
  return std::move(again).take();
}

}  // namespace

BlockProgram attention_block(const LayerShape& shape) {
  const std::string name = "attention";
  const Projections p = projections_of(shape);
  BlockProgram block;
  std::vector<Gemm> products = p.inputs;
  products.push_back(p.output);
  const Trained weights_of = trained_of(shape, p.weights + norm_parameters(*shape.model), products);
  block.parameters.dense = weights_of.trained;
  block.frozen = weights_of.frozen;

  ActionList forward;
  begin_forward(shape, name, Product::kQkv, forward);
  for (const Gemm& product : p.inputs) forward.add(forward_of(shape, product));
  add_norms(shape, p, false, forward);
  forward.add(layout(shape, p));
  add_choice(shape, false, forward);
  add_core(shape, p, false, forward);
  add_gate(shape, p, false, forward);
  forward.add(forward_of(shape, p.output));
  end_forward(shape, name, forward);
  block.forward = std::move(forward).take();

  ActionList backward;
  begin_backward(shape, name, Product::kProjection, backward);
  backward.add(input_gradient_of(shape, p.output));
  std::vector<Operator> weights = weight_gradients_of(shape, p.inputs);
  if (shape.weight_gradients == WeightGradients::kApart)
    weights = weight_gradients_of(shape, products);
  else
    backward.add(weight_gradient_of(shape, p.output));
  add_gate(shape, p, true, backward);
  add_core(shape, p, true, backward);
  add_choice(shape, true, backward);
  // The gradient of a sink is a sum over the queries of its head.
  if (shape.kind.attention.sinks) backward.add(element_wise(ElementWiseKind::kAdd, shape.tokens() * shape.heads(), 4));
  // The scores' backward pass moves its gradients twice, in and out of the order of heads.
  backward.add(layout(shape, p));
  backward.add(element_wise(ElementWiseKind::kCopy, shape.tokens() * p.output.k, 2 * shape.width()));
  add_norms(shape, p, true, backward);
  for (auto product = p.inputs.rbegin(); product != p.inputs.rend(); ++product)
    backward.add(input_gradient_of(shape, *product));
  end_backward(shape, name, weights, block.parameters, backward);
  block.backward = std::move(backward).take();

  save_for_backward(shape, p, block);
  block.again = compute_again(shape, p, block);
  return block;
}

}  // namespace orrery::workload
