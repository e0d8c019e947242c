#include "study/validate/compute/layer_operators.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, kAllLayerOperators.size()> kNames = {
    "qkv", "attention output", "mlp up", "mlp down", "embedding", "norm", "rotary", "activation", "add"};

// Per tensor-parallel rank.
struct RankShape {
  explicit RankShape(const LayerSample& sample)
      : head_size(sample.hidden / sample.heads),
        queries(sample.heads / sample.tensor_parallel * head_size),
        keys(std::max<std::int64_t>(1, sample.key_value_heads / sample.tensor_parallel) * head_size),
        feed_forward((sample.feed_forward + sample.tensor_parallel - 1) / sample.tensor_parallel) {}

  std::int64_t head_size;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t feed_forward;
};

}  // namespace

std::string_view name_of(LayerOperator op) { return kNames[static_cast<std::size_t>(op)]; }

bool is_product(LayerOperator op) { return op <= LayerOperator::kMlpDown; }

LayerOperator operator_of(LayerColumn column) {
  constexpr std::array<LayerOperator, kLayerColumnCount> kOperators = {
      LayerOperator::kEmbedding,       LayerOperator::kNorm, LayerOperator::kQkv,   LayerOperator::kRotary,
      LayerOperator::kAttentionOutput, LayerOperator::kNorm, LayerOperator::kMlpUp, LayerOperator::kActivation,
      LayerOperator::kMlpDown,         LayerOperator::kAdd};
  return kOperators[static_cast<std::size_t>(column)];
}

Operator layer_operator(const LayerSample& sample, LayerColumn column, Precision precision) {
  const RankShape rank(sample);
  const std::int64_t tokens = sample.tokens;
  const std::int64_t hidden = sample.hidden;
  const std::int64_t up = sample.gated ? 2 * rank.feed_forward : rank.feed_forward;
  const auto product = [&](std::int64_t n, std::int64_t k) { return Gemm{tokens, n, k, 1, precision}; };
  // `numbers` read and written, each once, for every token.
  const auto element_wise = [&](ElementWiseKind kind, std::int64_t numbers) {
    return ElementWise{kind, size_of(precision) * (tokens * numbers)};
  };
  switch (column) {
    case LayerColumn::kEmbedding:
      return element_wise(ElementWiseKind::kEmbedding, 2 * hidden);
    case LayerColumn::kInputNorm:
    case LayerColumn::kPostAttentionNorm:
      return element_wise(ElementWiseKind::kNorm, 2 * hidden);
    case LayerColumn::kAttentionPreProjection:
      return product(rank.queries + 2 * rank.keys, hidden);
    case LayerColumn::kRotary:
      return element_wise(ElementWiseKind::kRotary, 2 * (rank.queries + rank.keys));
    case LayerColumn::kAttentionPostProjection:
      return product(hidden, rank.queries);
    case LayerColumn::kMlpUp:
      return product(up, hidden);
    case LayerColumn::kActivation:
      return element_wise(ElementWiseKind::kActivation, up + rank.feed_forward);
    case LayerColumn::kMlpDown:
      return product(hidden, rank.feed_forward);
    case LayerColumn::kAdd:
      return element_wise(ElementWiseKind::kAdd, 3 * hidden);
  }
  ORRERY_ASSERT(false);
}

}  // namespace orrery
