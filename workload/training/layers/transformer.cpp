// SPDX-License-Identifier: MIT
#include "workload/training/layers/model_layers.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <variant>

#include "core/assert.h"
#include "workload/training/layers/blocks.h"

namespace orrery::workload {
namespace {

void append(std::vector<Action>& to, std::vector<Action> actions) {
  std::ranges::move(actions, std::back_inserter(to));
}

// Keep `kept` bytes until the backward pass; the rest is working memory.
void keep(LayerProgram& layer, Bytes kept) {
  layer.working = std::max(Bytes(0), layer.saved - kept);
  layer.saved = kept;
}

// Recomputation when the results of attention, of sums over ranks and of every second product are kept.
struct Recomputed {
  std::vector<Action> again;
  Bytes bytes{0};  // that are kept
};

// Columns of results that software computes apart: queries, keys and values, and both halves of a gated perceptron.
std::vector<std::int64_t> parts_of(const Gemm& product, const LayerShape& shape) {
  const TransformerSpec& model = *shape.model;
  const AttentionSpec& own = shape.kind.attention;
  if (product.product == Product::kQkv && shape.kind.mixer == MixerKind::kAttention && !own.latent) {
    const std::int64_t keys = shape.kv_heads() * own.key_size(), values = shape.kv_heads() * own.value_size();
    return {product.n - keys - values, keys, values};
  }
  if (product.product == Product::kUp && model.gated_mlp) return {product.n / 2, product.n / 2};
  return {product.n};
}

// Choice of torchtitan's selective recomputation by operator: it keeps every second product.
class EverySecondProduct {
 public:
  explicit EverySecondProduct(const LayerShape& shape) : shape_(shape), width_(shape.width()) {}

  Recomputed of(const std::vector<Action>& forward) && {
    for (const Action& action : forward) {
      if (const auto* compute = std::get_if<Compute>(&action)) {
        Compute again = *compute;
        std::vector<Operator> operators;
        for (Operator& op : again.operators)
          if (!keep(op)) operators.push_back(op);
        again.operators = std::move(operators);
        if (!again.operators.empty()) kept_.again.emplace_back(std::move(again));
        continue;
      }
      if (const auto* collective = std::get_if<Collective>(&action)) {
        const bool scatters = collective->kind == CollectiveKind::kReduceScatter;
        if (collective->kind == CollectiveKind::kAllGather)
          kept_.again.push_back(action);
        else
          kept_.bytes += ceil_div(collective->bytes, scatters ? shape_.tensor : 1);
        continue;
      }
      for (Operator op : std::get<RingExchange>(action).own) keep(op);
    }
    return std::move(kept_);
  }

 private:
  // True if all of an operator's result is kept; of a part, the operator becomes what is computed again.
  bool keep(Operator& op) {
    if (const auto* attention = std::get_if<FlashAttention>(&op)) {
      kept_.bytes += Bytes(attention->batch * attention->queries * (attention->head_size * width_ + 4));
      return true;
    }
    auto* product = std::get_if<Gemm>(&op);
    if (product == nullptr || product->batch > 1) return false;
    std::int64_t again = 0;
    for (const std::int64_t columns : parts_of(*product, shape_))
      if (++products_ % 2 == 0) again += columns;
    kept_.bytes += Bytes(product->m * (product->n - again) * width_);
    product->n = again;
    return again == 0;
  }

  const LayerShape& shape_;
  std::int64_t width_;
  std::int64_t products_ = 0;
  Recomputed kept_;
};

// True if the result of an operator is kept; adds its bytes.
bool is_kept(const Operator& op, const LayerShape& shape, Bytes& bytes) {
  const auto keeps = [&](Kept kept) { return shape.keep[static_cast<std::size_t>(kept)]; };
  if (const auto* attention = std::get_if<FlashAttention>(&op)) {
    if (!keeps(Kept::kAttention)) return false;
    bytes += Bytes(attention->batch * attention->queries * (attention->head_size * shape.width() + 4));
    return true;
  }
  if (const auto* moved = std::get_if<ElementWise>(&op))
    return (moved->kind == ElementWiseKind::kNorm && keeps(Kept::kNorm)) ||
           (moved->kind == ElementWiseKind::kActivation && keeps(Kept::kActivation));
  constexpr std::array<Kept, 5> kOf = {Kept::kNorm, Kept::kQkv, Kept::kProjection, Kept::kUp, Kept::kDown};
  const auto& product = std::get<Gemm>(op);
  if (product.product == Product::kOther || !keeps(kOf[static_cast<std::size_t>(product.product)])) return false;
  bytes += Bytes(product.batch * product.m * product.n * shape.width());
  return true;
}

// True if the action reads a table whose parts are spread over ranks.
bool is_lookup(const Action& action) {
  const auto* compute = std::get_if<Compute>(&action);
  if (compute == nullptr || compute->operators.empty()) return false;
  const auto* moved = std::get_if<ElementWise>(&compute->operators.back());
  return moved != nullptr && moved->kind == ElementWiseKind::kEmbedding;
}

// Role of the last product of a layer, which makes its result: of a perceptron, or of attention where none follows.
Product last_product(const std::vector<Action>& forward) {
  Product last = Product::kOther;
  for (const Action& action : forward)
    if (const auto* compute = std::get_if<Compute>(&action))
      for (const Operator& op : compute->operators)
        if (const auto* gemm = std::get_if<Gemm>(&op)) last = gemm->product;
  return last;
}

// True if context-parallel ranks exchange a result of attention that is kept, or gather keys and values for it alone:
// the backward pass gathers them itself.
bool is_of_kept_core(const Action& action, const LayerShape& shape) {
  const auto* collective = std::get_if<Collective>(&action);
  if (collective == nullptr || !shape.keep[static_cast<std::size_t>(Kept::kAttention)]) return false;
  if (shape.attention != AttentionKind::kFlash) return false;
  if (collective->kind == CollectiveKind::kAllGather) return collective->family == GroupFamily::kContext;
  const bool is_by_heads =
      collective->family == GroupFamily::kContext || collective->family == GroupFamily::kContextInner;
  return is_by_heads && collective->of_result;
}

// Part of a forward pass that is computed again. Collectives of the tensor group go with the products they are of: what
// is gathered is taken by what comes next, what is summed up was made by what came before.
Recomputed without_kept(const std::vector<Action>& forward, const LayerShape& shape) {
  Recomputed result;
  std::vector<Action> actions;
  for (const Action& action : forward) {
    const auto* ring = std::get_if<RingExchange>(&action);
    if (ring != nullptr && is_kept(ring->own.front(), shape, result.bytes)) continue;
    actions.push_back(action);
    if (auto* compute = std::get_if<Compute>(&actions.back()))
      std::erase_if(compute->operators, [&](const Operator& op) { return is_kept(op, shape, result.bytes); });
  }
  if (!shape.recompute_all) drop_result(last_product(forward), actions);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const auto* compute = std::get_if<Compute>(&actions[i]);
    if (compute != nullptr && compute->operators.empty()) continue;
    const auto* collective = std::get_if<Collective>(&actions[i]);
    if (is_of_kept_core(actions[i], shape)) continue;
    if (collective != nullptr && collective->family == GroupFamily::kTensor) {
      const std::size_t of = collective->kind == CollectiveKind::kAllGather && !collective->of_result ? i + 1 : i - 1;
      if (of >= actions.size() || (!has_product(actions[of]) && !is_lookup(actions[of]))) continue;
    }
    result.again.push_back(actions[i]);
  }
  return result;
}

// Transformer Engine's userbuffers, which pass pieces on, are of the GPUs of a node.
constexpr std::int64_t kMostPieces = 8;

// A product of `parts` of its rows' pieces.
std::vector<Operator> pieces_of(const Gemm& product, std::int64_t pieces, std::int64_t parts) {
  Gemm piece = product;
  piece.m = (product.m + pieces - 1) / pieces;
  return std::vector<Operator>(static_cast<std::size_t>(parts), piece);
}

bool is_cast(const Operator& op) {
  const auto* moved = std::get_if<ElementWise>(&op);
  return moved != nullptr && moved->kind == ElementWiseKind::kCast;
}

bool is_of_tensor(const Action* action, CollectiveKind kind) {
  const auto* collective = action == nullptr ? nullptr : std::get_if<Collective>(action);
  return collective != nullptr && collective->family == GroupFamily::kTensor && collective->kind == kind;
}

// Cuts products beside which tensor-parallel communication runs: of what is gathered a rank has a piece of its own, so
// that all pieces but the last are computed while others come; and of what is summed up all pieces but the first are
// computed while those before them go round. In between either takes as long as the slower.
std::vector<Action> in_pieces(std::vector<Action> actions, std::int64_t pieces) {
  if (pieces < 2) return actions;
  std::vector<Action> cut;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    Action& action = actions[i];
    auto* compute = std::get_if<Compute>(&action);
    if (compute == nullptr || compute->operators.empty()) {
      cut.push_back(std::move(action));
      continue;
    }
    std::vector<Operator>& operators = compute->operators;
    const auto first = std::ranges::find_if_not(operators, is_cast);
    if (is_of_tensor(cut.empty() ? nullptr : &cut.back(), CollectiveKind::kAllGather) && first != operators.end() &&
        std::holds_alternative<Gemm>(*first)) {
      std::get<Collective>(cut.back()).beside_next = true;
      const Gemm product = std::get<Gemm>(*first);
      Compute head{compute->name, std::vector<Operator>(operators.begin(), first)};
      head.of_varying_sizes = compute->of_varying_sizes;
      const std::vector<Operator> most = pieces_of(product, pieces, pieces - 1);
      head.operators.insert(head.operators.end(), most.begin(), most.end());
      cut.emplace_back(std::move(head));
      operators.erase(operators.begin(), std::next(first));
      operators.insert(operators.begin(), pieces_of(product, pieces, 1).front());
    }
    const bool sums = i + 1 < actions.size() && is_of_tensor(&actions[i + 1], CollectiveKind::kReduceScatter);
    const auto* behind = i + 2 < actions.size() ? std::get_if<Compute>(&actions[i + 2]) : nullptr;
    const bool weights_beside = behind != nullptr && behind->beside_collective;
    const auto* last = std::get_if<Gemm>(&operators.back());
    if (!sums || weights_beside || last == nullptr) {
      cut.push_back(std::move(action));
      continue;
    }
    const Gemm product = *last;
    operators.back() = pieces_of(product, pieces, 1).front();
    Compute tail{compute->name, pieces_of(product, pieces, pieces - 1)};
    tail.of_varying_sizes = compute->of_varying_sizes;
    tail.synchronises = std::exchange(compute->synchronises, false);
    std::swap(tail.finishes, compute->finishes);
    cut.push_back(std::move(action));
    std::get<Collective>(actions[++i]).beside_next = true;
    cut.push_back(std::move(actions[i]));
    cut.emplace_back(std::move(tail));
  }
  return cut;
}

}  // namespace

std::int64_t norm_parameters(const TransformerSpec& model) { return model.hidden * (model.biases ? 2 : 1); }

LayerShape layer_shape(const TrainingSpec& training, double expert_load) {
  const TransformerSpec* model = training.transformer();
  ORRERY_ASSERT(model != nullptr);
  LayerShape shape;
  shape.model = model;
  shape.kind = model->kind_of(0);
  shape.micro_batch = training.micro_batch;
  shape.tensor = training.parallel.tensor();
  shape.context = training.parallel.context();
  shape.expert = training.parallel.expert;
  shape.expert_tensor = shape.tensor / training.parallel.expert_columns();
  shape.sequence_parallel = training.parallel.sequence && shape.tensor > 1;
  shape.context_kind = training.parallel.context_kind;
  shape.context_balance = training.parallel.context_balance;
  shape.by_heads = training.parallel.context_by_heads();
  shape.ring = training.parallel.context_ring();
  shape.dispatching = training.experts;
  shape.expert_load = expert_load;
  shape.attention = attention_of(training);
  shape.dropout = training.software.dropout;
  shape.recompute = training.recompute;
  shape.keep = training.keep;
  shape.recompute_all = training.software.recompute_all;
  shape.selective = training.software.selective;
  shape.loss = training.software.footprint.loss;
  shape.chunked = training.loss;
  shape.attention_copy = training.software.footprint.attention_copy;
  shape.router_weights = training.software.footprint.router_weights;
  shape.weight_gradient = training.software.footprint.weight_gradient;
  if (training.lora) shape.lora = &*training.lora;
  shape.recipe = training.recipe_of_casts();
  shape.router = training.software.host.router;
  // A host that launches no kernel by itself is never waited for, nor does it wait.
  shape.reads_sizes = training.software.host.reads_sizes && training.software.host.launch_alone() > Duration::zero();
  if (training.software.accumulation.count() == 0) shape.accumulated = size_of(training.software.gradients) * 2;
  const bool in_pieces = training.software.overlap_tensor == TensorOverlap::kPieces && shape.sequence_parallel;
  if (in_pieces && shape.tensor <= kMostPieces) shape.pieces = shape.tensor;
  shape.modules = training.recompute_modules;
  const bool apart = splits_all(training.schedule) || training.overlaps();
  shape.weight_gradients = apart                                                      ? WeightGradients::kApart
                           : training.software.overlap_tensor == TensorOverlap::kNone ? WeightGradients::kInline
                                                                                      : WeightGradients::kBeside;
  shape.precision = training.precision;
  return shape;
}

namespace {

std::vector<BlockProgram> blocks_of_layer(const LayerShape& shape, FeedForward second) {
  std::vector<BlockProgram> blocks;
  if (shape.kind.mixer != MixerKind::kNone) {
    const bool is_attention = shape.kind.mixer == MixerKind::kAttention;
    blocks.push_back(is_attention ? attention_block(shape) : linear_attention_block(shape));
  }
  if (second != FeedForward::kNone)
    blocks.push_back(second == FeedForward::kExperts ? expert_block(shape) : perceptron_block(shape));
  return blocks;
}

// Weights of the layer's largest product, of all experts of the rank.
std::int64_t largest_weights(const std::vector<Action>& forward) {
  std::int64_t most = 0;
  for (const Action& action : forward)
    if (const auto* compute = std::get_if<Compute>(&action))
      for (const Operator& op : compute->operators)
        if (const auto* gemm = std::get_if<Gemm>(&op); gemm != nullptr && gemm->product != Product::kOther)
          most = std::max(most, gemm->batch * gemm->n * gemm->k);
  return most;
}

LayerProgram layer_of(const LayerShape& shape, std::vector<BlockProgram> blocks) {
  LayerProgram layer;
  layer.name = "layer";
  for (BlockProgram& block : blocks) {
    layer.parameters += block.parameters;
    layer.frozen += block.frozen;
    layer.saved += block.saved - block.saved_again;
    layer.working += block.saved_again + block.exchanged;
    if (shape.makes_scores_again()) {
      layer.saved -= block.saved_scores;
      layer.working += block.saved_scores;
    }
    append(layer.forward, std::move(block.forward));
  }
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    append(layer.backward, std::move(block->backward));
    append(layer.recompute, std::move(block->again));
  }
  if (shape.recompute == Recompute::kSelective && shape.selective == SelectiveKind::kOperators) {
    Recomputed kept = EverySecondProduct(shape).of(layer.forward);
    layer.recompute = std::move(kept.again);
    keep(layer, shape.own_activations() + kept.bytes);
  }
  if (shape.recompute == Recompute::kFull) {
    Recomputed kept = without_kept(layer.forward, shape);
    layer.recompute = std::move(kept.again);
    keep(layer, shape.own_activations() + kept.bytes);
  }
  if (shape.lora == nullptr) layer.summed = shape.weight_gradient * largest_weights(layer.forward);
  layer.working += layer.summed;
  for (std::vector<Action>* actions : {&layer.forward, &layer.recompute, &layer.backward})
    *actions = in_pieces(std::move(*actions), shape.pieces);
  return layer;
}

}  // namespace

LayerProgram transformer_layer(const LayerShape& shape, FeedForward second) {
  return layer_of(shape, blocks_of_layer(shape, second));
}

LayerProgram prediction_layer(const LayerShape& shape, bool copies_table) {
  std::vector<BlockProgram> blocks = blocks_of_layer(shape, shape.model->feed_forward(shape.model->layers));
  blocks.insert(blocks.begin(), prediction_block(shape, copies_table));
  return layer_of(shape, std::move(blocks));
}

}  // namespace orrery::workload
