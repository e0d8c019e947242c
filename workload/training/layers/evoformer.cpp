// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <utility>

#include "core/assert.h"
#include "workload/training/layers/model_layers.h"

namespace orrery::workload {
namespace {

// A part of a block as it is written down: operators forward, and backward what follows from them.
class BlockPart {
 public:
  BlockPart(std::string name, Precision precision) : name_(std::move(name)), precision_(precision) {}

  // Weights and perhaps a bias. Backward: gradients of inputs and of weights.
  BlockPart& linear(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, bool bias) {
    forward_.emplace_back(Gemm{rows, outputs, inputs, 1, precision_});
    backward_.emplace_back(Gemm{rows, inputs, outputs, 1, precision_});
    weights_.emplace_back(Gemm{inputs, outputs, rows, 1, precision_});
    parameters_ += inputs * outputs + (bias ? outputs : 0);
    saved_ += rows * inputs;
    return *this;
  }
  // Product of two activations: both factors have a gradient.
  BlockPart& product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
    forward_.emplace_back(Gemm{m, n, k, batch, precision_});
    backward_.emplace_back(Gemm{m, k, n, batch, precision_});
    backward_.emplace_back(Gemm{k, n, m, batch, precision_});
    saved_ += batch * (m + n) * k;
    return *this;
  }
  // Adds reads and writes: so often each of `values` is read or written.
  BlockPart& moves(ElementWiseKind kind, std::int64_t values, std::int64_t forward, std::int64_t backward) {
    forward_.emplace_back(ElementWise{kind, size_of(precision_) * (values * forward)});
    backward_.emplace_back(ElementWise{kind, size_of(precision_) * (values * backward)});
    return *this;
  }
  BlockPart& norm(std::int64_t rows, std::int64_t channels) {
    parameters_ += 2 * channels;
    saved_ += rows * channels;
    return moves(ElementWiseKind::kNorm, rows * channels, 2, 3);
  }
  // Gates and sums of what goes round the part.
  BlockPart& gate(std::int64_t values) { return moves(ElementWiseKind::kActivation, values, 3, 5); }
  BlockPart& residual(std::int64_t values) { return moves(ElementWiseKind::kAdd, values, 3, 1); }

  void add_to(LayerProgram& layer) && {
    layer.parameters.dense += parameters_;
    layer.saved += size_of(precision_) * saved_;
    layer.forward.emplace_back(Compute{name_, std::move(forward_), false, {}});
    std::vector<Action> backward = {Compute{name_, std::move(backward_), false, {}},
                                    Compute{name_ + " weights", std::move(weights_), true, {parameters_, 0}}};
    layer.backward.insert(layer.backward.begin(), backward.begin(), backward.end());
  }

 private:
  std::string name_;
  Precision precision_;
  std::vector<Operator> forward_;
  std::vector<Operator> backward_;
  std::vector<Operator> weights_;
  std::int64_t parameters_ = 0;
  std::int64_t saved_ = 0;  // values
};

// Attention of `lines` lines of `length` cells among themselves, with gates; `bias` heads of pairs are added to scores.
struct LineAttention {
  std::string name;
  std::int64_t lines = 0;
  std::int64_t length = 0;
  std::int64_t channels = 0;
  std::int64_t heads = 0;
  std::int64_t head = 0;
  bool is_global = false;  // one query for a line, one key and value for all heads
};

BlockPart attention(const LineAttention& line, Precision precision) {
  const std::int64_t cells = line.lines * line.length, values = line.heads * line.head;
  const std::int64_t queries = line.is_global ? 1 : line.length, pairs = line.is_global ? line.head : values;
  const std::int64_t scores = line.lines * line.heads * queries * line.length;
  BlockPart part(line.name, precision);
  part.norm(cells, line.channels)
      .linear(line.is_global ? line.lines : cells, line.channels, values, false)
      .linear(cells, line.channels, pairs, false)
      .linear(cells, line.channels, pairs, false)
      .linear(cells, line.channels, values, true)
      .product(line.lines * line.heads, queries, line.length, line.head)
      .moves(ElementWiseKind::kSoftmax, scores, 3, 3)
      .product(line.lines * line.heads, queries, line.head, line.length)
      .gate(cells * values)
      .linear(cells, values, line.channels, true)
      .residual(cells * line.channels);
  return part;
}

BlockPart transition(std::string name, std::int64_t cells, std::int64_t channels, Precision precision) {
  BlockPart part(std::move(name), precision);
  part.norm(cells, channels)
      .linear(cells, channels, 4 * channels, true)
      .moves(ElementWiseKind::kActivation, cells * 4 * channels, 2, 3)
      .linear(cells, 4 * channels, channels, true)
      .residual(cells * channels);
  return part;
}

// Every pair of residues from all sequences.
BlockPart outer_product(const EvoformerSpec& model, const EvoformerStack& stack, std::int64_t batch,
                        Precision precision) {
  const std::int64_t cells = batch * stack.sequences * model.residues, side = model.residues * model.outer;
  const std::int64_t pairs = batch * model.residues * model.residues;
  BlockPart part("outer product", precision);
  part.norm(cells, stack.channels)
      .linear(cells, stack.channels, model.outer, true)
      .linear(cells, stack.channels, model.outer, true)
      .product(batch, side, side, stack.sequences)
      .linear(pairs, model.outer * model.outer, model.pair, true)
      .residual(pairs * model.pair);
  return part;
}

// Every pair from all pairs of either residue with a third.
BlockPart triangle_update(const EvoformerSpec& model, std::int64_t batch, Precision precision) {
  const std::int64_t residues = model.residues, pairs = batch * residues * residues;
  BlockPart part("triangle update", precision);
  part.norm(pairs, model.pair);
  for (int i = 0; i < 4; ++i) part.linear(pairs, model.pair, model.triangle, true);  // two factors and their gates
  part.gate(2 * pairs * model.triangle)
      .product(batch * model.triangle, residues, residues, residues)
      .norm(pairs, model.triangle)
      .linear(pairs, model.triangle, model.pair, true)
      .linear(pairs, model.pair, model.pair, true)
      .gate(pairs * model.pair)
      .residual(pairs * model.pair);
  return part;
}

LayerProgram block(const EvoformerSpec& model, const EvoformerStack& stack, std::int64_t batch, Precision precision,
                   bool recomputes) {
  const std::int64_t residues = model.residues, cells = batch * stack.sequences * residues;
  const std::int64_t pairs = batch * residues * residues;
  LayerProgram layer;
  layer.name = "block";
  layer.repeat = stack.blocks;
  BlockPart rows = attention(
      {"row attention", batch * stack.sequences, residues, stack.channels, stack.heads, stack.head, false}, precision);
  rows.norm(pairs, model.pair).linear(pairs, model.pair, stack.heads, false);  // what pairs add to the scores
  std::move(rows).add_to(layer);
  attention(
      {"column attention", batch * residues, stack.sequences, stack.channels, stack.heads, stack.head, stack.global},
      precision)
      .add_to(layer);
  transition("alignment transition", cells, stack.channels, precision).add_to(layer);
  outer_product(model, stack, batch, precision).add_to(layer);
  for (int i = 0; i < 2; ++i) triangle_update(model, batch, precision).add_to(layer);
  for (int i = 0; i < 2; ++i) {
    BlockPart triangle = attention(
        {"triangle attention", batch * residues, residues, model.pair, model.pair_heads, model.pair_head, false},
        precision);
    triangle.linear(pairs, model.pair, model.pair_heads, false);
    std::move(triangle).add_to(layer);
  }
  transition("pair transition", pairs, model.pair, precision).add_to(layer);
  if (recomputes) {
    const Bytes kept = size_of(precision) * (cells * stack.channels + pairs * model.pair);
    layer.recompute = layer.forward;
    layer.working = layer.saved - kept;
    layer.saved = kept;
  }
  return layer;
}

}  // namespace

std::vector<LayerProgram> evoformer_layers(const EvoformerSpec& model, std::int64_t batch, Precision precision,
                                           bool recomputes) {
  ORRERY_ASSERT(batch > 0 && batch <= (1 << 18));
  std::vector<LayerProgram> blocks;
  for (const EvoformerStack& stack : model.stacks) blocks.push_back(block(model, stack, batch, precision, recomputes));
  std::vector<LayerProgram> layers;
  for (std::int64_t pass = 0; pass < model.recycles; ++pass)
    for (const LayerProgram& layer : blocks) {
      LayerProgram recycled;
      recycled.name = "recycled block";
      recycled.repeat = layer.repeat;
      recycled.forward = layer.forward;
      layers.push_back(std::move(recycled));
    }
  std::move(blocks.begin(), blocks.end(), std::back_inserter(layers));
  return layers;
}

}  // namespace orrery::workload
