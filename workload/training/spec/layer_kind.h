// SPDX-License-Identifier: MIT
// Kinds of layers that a transformer has: what mixes tokens (attention, linear attention, a state-space model, nothing)
// and what follows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace orrery::workload {

// kLearned: a table with a row for each position; kAlibi: a bias on the scores; kNone: no parameters.
enum class PositionKind : std::uint8_t { kLearned, kRotary, kAlibi, kNone };

// Attention over low-rank keys and values (DeepSeek-V2): queries are hidden -> query_rank -> heads, keys and values
// hidden -> key_value_rank -> heads, and rotary_head values of each key are shared by all heads.
struct LatentAttention {
  std::int64_t query_rank = 0;  // 0: queries are not compressed
  std::int64_t key_value_rank = 0;
  std::int64_t head = 0;         // values of a query and key head without the rotary ones
  std::int64_t rotary_head = 0;  // with a rotary position
  std::int64_t value_head = 0;

  bool operator==(const LatentAttention&) const = default;
};

// A lightning indexer (DeepSeek-V3.2): small heads score all keys in fp8, and attention sees the best of them. Queries
// of the indexer come from the compressed queries, one key and the weights of its heads from the layer's input.
struct Indexer {
  std::int64_t heads = 0;
  std::int64_t head = 0;  // values of a query and key of the indexer
  std::int64_t keys = 0;  // that attention sees

  bool operator==(const Indexer&) const = default;
};

struct AttentionSpec {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;    // fewer than heads: grouped queries
  std::int64_t head_size = 0;   // hidden / heads by default
  std::int64_t value_head = 0;  // values of a value head; 0: head_size
  std::int64_t window = 0;      // keys that a query sees, its own among them; 0: all
  std::int64_t chunk = 0;       // tokens of chunks across which no query sees; 0: the whole sequence is one
  bool sinks = false;           // a learned score per head beside those of the keys
  bool output_gate = false;     // the result is gated by as many values, which come with the queries
  bool head_norms = false;      // norms of queries and of keys, whose weights all heads share
  PositionKind position = PositionKind::kLearned;
  std::optional<LatentAttention> latent;
  std::optional<Indexer> indexer;

  // Sizes of a query and key head, and of a value head.
  std::int64_t key_size() const { return latent ? latent->head + latent->rotary_head : head_size; }
  std::int64_t value_size() const { return latent ? latent->value_head : value_head > 0 ? value_head : head_size; }

  bool operator==(const AttentionSpec&) const = default;
};

// kNone: a layer of a perceptron or of experts alone.
enum class MixerKind : std::uint8_t { kAttention, kGatedDelta, kKimiDelta, kMamba2, kNone };

// A state of `key_size` by `value_size` values for each head, which a token updates and reads: gated DeltaNet
// (Qwen3-Next), Kimi delta attention (a gate for each value of a key), Mamba-2 (keys and queries are B and C of
// `key_heads` groups, values are x).
struct LinearAttention {
  std::int64_t key_heads = 0;    // of queries and keys
  std::int64_t value_heads = 0;  // a multiple of key_heads
  std::int64_t key_size = 0;     // values of a query and key head; of Mamba-2 the size of the state
  std::int64_t value_size = 0;   // of a value head
  std::int64_t convolution = 4;  // tokens that a short convolution of queries, keys and values takes
  std::int64_t chunk = 64;       // tokens that the scan takes at a time
  std::int64_t gate_rank = 0;    // of kKimiDelta: its gates are products of low rank
  bool convolution_bias = false;

  std::int64_t keys() const { return key_heads * key_size; }
  std::int64_t values() const { return value_heads * value_size; }
  std::int64_t convolved() const { return 2 * keys() + values(); }

  bool operator==(const LinearAttention&) const = default;
};

// kByDepth: as dense_layers and expert_interval of the model say.
enum class FeedForward : std::uint8_t { kByDepth, kDense, kExperts, kNone };

struct LayerKind {
  std::string name;
  AttentionSpec attention;
  MixerKind mixer = MixerKind::kAttention;
  LinearAttention linear{};  // of other mixers than attention
  FeedForward feed_forward = FeedForward::kByDepth;

  bool operator==(const LayerKind&) const = default;
};

}  // namespace orrery::workload
