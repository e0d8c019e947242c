// SPDX-License-Identifier: MIT
// Attention with a state in place of scores: gated DeltaNet, Kimi delta attention, Mamba-2. Products make queries,
// keys, values and gates by heads, a short convolution mixes neighbours, a scan takes the sequence chunk by chunk, and
// a product by rows takes its result, which has a norm and a gate. Ranks of a tensor group share the heads.
#include <algorithm>
#include <utility>
#include <vector>

#include "workload/training/layers/blocks.h"

namespace orrery::workload {
namespace {

// Sizes on the rank.
struct LinearSizes {
  std::vector<Gemm> inputs;  // from the layer's input
  std::vector<Gemm> gates;   // of low rank: from what the last of `inputs` makes
  Gemm output;
  std::int64_t weights = 0;     // with all vectors
  std::int64_t convolved = 0;   // values per token
  std::int64_t normalised = 0;  // queries and keys, per token
  std::int64_t values = 0;      // per token
  std::int64_t gated = 0;       // decays per token, in fp32
  std::vector<Gemm> products() const {
    std::vector<Gemm> all = inputs;
    all.insert(all.end(), gates.begin(), gates.end());
    all.push_back(output);
    return all;
  }
};

// Sizes of what mixer_sizes() has for the whole layer. First products of low rank are on every rank.
LinearSizes sizes_of(const LayerShape& shape) {
  const LinearAttention& own = shape.kind.linear;
  const MixerKind mixer = shape.kind.mixer;
  const std::int64_t tokens = shape.tokens(), hidden = shape.model->hidden;
  const std::int64_t heads = own.value_heads / shape.tensor, keys = own.keys() / shape.tensor;
  const auto input = [&](std::int64_t columns) { return linear(shape, tokens, columns, hidden, 1, Product::kQkv); };
  LinearSizes s;
  s.values = own.values() / shape.tensor;
  s.convolved = own.convolved() / shape.tensor;
  s.gated = heads;
  std::int64_t vectors = s.convolved * (own.convolution + (own.convolution_bias ? 1 : 0));
  if (mixer == MixerKind::kMamba2) {
    s.inputs = {input(2 * s.values + 2 * keys + heads)};
    vectors += 3 * heads + s.values;
  } else if (mixer == MixerKind::kGatedDelta) {
    s.inputs = {input(2 * keys + 2 * s.values), input(2 * heads)};
    vectors += 2 * heads + own.value_size;
    s.normalised = 2 * keys;
  } else {
    s.inputs = {input(2 * keys + s.values), input(heads), input(2 * own.gate_rank)};
    s.gates = {linear(shape, tokens, keys, own.gate_rank), linear(shape, tokens, s.values, own.gate_rank)};
    s.inputs.back().split = WeightSplit::kNone;
    for (Gemm& gate : s.gates) gate.split = WeightSplit::kColumns;
    vectors += keys + heads + own.value_size;
    s.normalised = 2 * keys;
    s.gated = keys;
  }
  s.output = linear(shape, tokens, hidden, s.values, 1, Product::kProjection);
  s.weights = vectors;
  for (const Gemm& product : s.products()) s.weights += product.n * product.k;
  return s;
}

// Products of the scan, each of all chunks and heads in one kernel: those that make the chunks' operands and states,
// which a backward pass makes again, and those that make the result.
struct ScanProducts {
  std::vector<Gemm> states;
  std::vector<Gemm> results;
};

// Chunked delta rule (arXiv 2406.06484, section 3; fla/ops/gated_delta_rule/chunk.py): products of keys with keys, the
// inverse of that triangle, keys and values times it, states; then queries with keys, with values and with the state.
// Mamba-2 (arXiv 2405.21060, section 6) has neither the inverse nor what is made with it, and B and C by groups.
ScanProducts scan_products(const LayerShape& shape) {
  const LinearAttention& own = shape.kind.linear;
  const std::int64_t chunk = std::min(own.chunk, shape.rank_sequence());
  const std::int64_t chunks = shape.micro_batch * ((shape.rank_sequence() + chunk - 1) / chunk);
  const std::int64_t of_values = chunks * (own.value_heads / shape.tensor);
  const std::int64_t of_keys = chunks * (own.key_heads / shape.tensor);
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
    return Gemm{m, n, k, batch, shape.activation()};
  };
  const std::int64_t key = own.key_size, value = own.value_size;
  ScanProducts scan;
  const bool has_delta = shape.kind.mixer != MixerKind::kMamba2;
  if (has_delta)
    scan.states = {product(chunk, chunk, key, of_values), product(chunk, chunk, chunk, of_values),
                   product(chunk, key, chunk, of_values), product(chunk, value, chunk, of_values),
                   product(chunk, value, key, of_values)};
  scan.states.push_back(product(key, value, chunk, of_values));
  scan.results = {product(chunk, chunk, key, has_delta ? of_values : of_keys), product(chunk, value, chunk, of_values),
                  product(chunk, value, key, of_values)};
  return scan;
}

// The scan's gradients are two products for each; operands of chunks are made again.
std::vector<Operator> scan_operators(const LayerShape& shape, bool backward) {
  const ScanProducts scan = scan_products(shape);
  std::vector<Operator> operators(scan.states.begin(), scan.states.end());
  if (!backward) {
    operators.insert(operators.end(), scan.results.begin(), scan.results.end());
    return operators;
  }
  for (const std::vector<Gemm>* products : {&scan.results, &scan.states})
    for (auto product = products->rbegin(); product != products->rend(); ++product) {
      operators.emplace_back(Gemm{product->m, product->k, product->n, product->batch, product->precision});
      operators.emplace_back(Gemm{product->k, product->n, product->m, product->batch, product->precision});
    }
  return operators;
}

// Convolution with its activation; norms of queries and keys; decays in fp32. Backward: gradient and input in, gradient
// out.
void add_before_scan(const LayerShape& shape, const LinearSizes& s, bool backward, ActionList& actions) {
  const std::int64_t moved = (backward ? 3 : 2) * shape.width(), tokens = shape.tokens();
  actions.add(element_wise(ElementWiseKind::kActivation, tokens * s.convolved, moved));
  if (s.normalised > 0) actions.add(element_wise(ElementWiseKind::kNorm, tokens * s.normalised, moved));
  actions.add(element_wise(ElementWiseKind::kCopy, tokens * s.gated, shape.width() + (backward ? 8 : 4)));
}

// Norm of the result under a gate.
void add_behind_scan(const LayerShape& shape, const LinearSizes& s, bool backward, ActionList& actions) {
  actions.add(element_wise(ElementWiseKind::kNorm, shape.tokens() * s.values, (backward ? 5 : 3) * shape.width()));
}

// Results of the products, the scan's operands, its result, and what the last product takes. Mamba-2's kernel makes the
// operands again from the products' results; the delta rule keeps the inverse of each chunk.
Bytes kept_of(const LayerShape& shape, const LinearSizes& s) {
  const LinearAttention& own = shape.kind.linear;
  std::int64_t values = 2 * s.values;
  for (const Gemm& product : s.inputs) values += product.n;
  for (const Gemm& product : s.gates) values += product.n;
  Bytes decays{0};
  if (shape.kind.mixer != MixerKind::kMamba2) {
    values += s.convolved + std::min(own.chunk, shape.rank_sequence()) * (own.value_heads / shape.tensor);
    decays = Bytes(4 * shape.tokens() * s.gated);
  }
  // The last product may keep another copy of its input, in fp8.
  const Bytes other = shape.saves_cast(Product::kProjection)
                          ? shape.saved_values(Product::kProjection, shape.tokens() * s.values)
                          : Bytes(0);
  return saved_around(shape) + shape.saved_input(Product::kQkv) + Bytes(shape.tokens() * values * shape.width()) +
         other + decays;
}

}  // namespace

BlockProgram linear_attention_block(const LayerShape& shape) {
  const std::string name = "linear attention";
  const LinearSizes s = sizes_of(shape);
  std::vector<Gemm> by_columns = s.inputs;
  by_columns.insert(by_columns.end(), s.gates.begin(), s.gates.end());
  BlockProgram block;
  const Trained weights_of = trained_of(shape, s.weights + norm_parameters(*shape.model), s.products());
  block.parameters.dense = weights_of.trained;
  block.frozen = weights_of.frozen;

  ActionList forward;
  begin_forward(shape, name, Product::kQkv, forward);
  for (const Gemm& product : by_columns) forward.add(forward_of(shape, product));
  add_before_scan(shape, s, false, forward);
  forward.add(scan_operators(shape, false));
  add_behind_scan(shape, s, false, forward);
  forward.add(forward_of(shape, s.output));
  end_forward(shape, name, forward);
  block.forward = std::move(forward).take();

  ActionList backward;
  begin_backward(shape, name, Product::kProjection, backward);
  backward.add(input_gradient_of(shape, s.output));
  std::vector<Operator> weights = weight_gradients_of(shape, by_columns);
  if (shape.weight_gradients == WeightGradients::kApart)
    weights = weight_gradients_of(shape, s.products());
  else
    backward.add(weight_gradient_of(shape, s.output));
  add_behind_scan(shape, s, true, backward);
  backward.add(scan_operators(shape, true));
  add_before_scan(shape, s, true, backward);
  for (auto product = by_columns.rbegin(); product != by_columns.rend(); ++product)
    backward.add(input_gradient_of(shape, *product));
  end_backward(shape, name, weights, block.parameters, backward);
  block.backward = std::move(backward).take();

  block.saved = kept_of(shape, s);
  ActionList again;
  again.compute("attention");
  add_norm_again(shape, shape.saved_input(Product::kQkv), again, block);
  block.again = std::move(again).take();
  return block;
}

}  // namespace orrery::workload
