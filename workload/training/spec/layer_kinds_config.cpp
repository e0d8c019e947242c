// SPDX-License-Identifier: MIT
#include "workload/training/spec/layer_kinds_config.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/training/spec/mixer_sizes.h"
#include "workload/training/spec/transformer_config.h"

namespace orrery::workload {
namespace {

using namespace transformer_sizes;

void read_latent(Section& section, AttentionSpec& attention) {
  section.section("latent_attention", "multi-head latent attention: low-rank keys and values (DeepSeek-V2)",
                  [&](Section& s) {
                    LatentAttention latent;
                    s.takes("query_rank", latent.query_rank, {0, kLayerWidth.most},
                            "rank of compressed queries; 0: queries are not compressed");
                    s.needs("key_value_rank", latent.key_value_rank, kLayerWidth, "rank of compressed keys and values");
                    s.needs("head", latent.head, kLayerWidth, "size of a query and key head without its rotary part");
                    s.takes("rotary_head", latent.rotary_head, {0, kLayerWidth.most},
                            "size of the rotary part of a key, which all heads share");
                    s.needs("value_head", latent.value_head, kLayerWidth, "size of a value head");
                    attention.latent = latent;
                  });
}

void read_indexer(Section& section, AttentionSpec& attention) {
  section.section("indexer",
                  "sparse attention: small heads score all keys, and attention sees the best of them (DeepSeek-V3.2)",
                  [&](Section& s) {
                    Indexer indexer;
                    s.needs("heads", indexer.heads, kHeads, "number of heads of the indexer");
                    s.needs("head", indexer.head, kLayerWidth, "size of a head of the indexer");
                    s.needs("keys", indexer.keys, kSequence, "number of keys that attention sees of a sequence");
                    attention.indexer = indexer;
                  });
}

void check_latent(Section& section, const AttentionSpec& attention) {
  if (attention.kv_heads != attention.heads)
    section.error("kv_heads", "latent attention has a key and a value for every head", "leave kv_heads out");
  if (section.has("head_size"))
    section.error("head_size", "latent attention has sizes of its own",
                  "leave head_size out; latent_attention.head and value_head say it");
  for (const auto& [key, is_given] : {std::pair("value_head", attention.value_head > 0),
                                      {"output_gate", attention.output_gate},
                                      {"head_norms", attention.head_norms}})
    if (is_given)
      section.error(key, fmt::format("'{}' means nothing beside latent attention", key),
                    "leave it out: latent attention has norms, and sizes of its own");
  const bool rotary = attention.position == PositionKind::kRotary;
  if (rotary && attention.latent->rotary_head == 0)
    section.error("latent_attention", "a rotary position, but no rotary values in the keys",
                  "give latent_attention.rotary_head, 64 in DeepSeek-V3");
  if (!rotary && attention.latent->rotary_head > 0)
    section.error("latent_attention", "rotary_head has no meaning without a rotary position",
                  "write position: rotary, or leave rotary_head out");
}

// Limits of what a query sees that do not go together.
void check_sight(Section& section, const TransformerSpec& model, const AttentionSpec& attention) {
  for (const auto& [key, limit] : {std::pair("window", attention.window), {"chunk", attention.chunk}})
    if (limit >= model.sequence)
      section.idle(key, fmt::format("a sequence has {} tokens, no more than the {}", model.sequence, key),
                   "take a longer workload.model.sequence", IdleWarning::kNone);
  if (attention.chunk > 0 && model.sequence % chunk_of(attention, model.sequence) != 0)
    section.error(
        "chunk",
        fmt::format("a sequence of {} tokens does not divide into chunks of {}", model.sequence, attention.chunk),
        "a sequence that is a multiple of the chunk, or shorter");
  if (!attention.indexer) return;
  if (!attention.latent || attention.latent->query_rank == 0)
    section.error("indexer", "an indexer takes the compressed queries of latent attention, and there are none",
                  "give latent_attention.query_rank, 1536 in DeepSeek-V3.2");
  if (attention.window > 0 || attention.chunk > 0)
    section.error("indexer", "an indexer chooses among all keys, and a window or chunk leaves some out",
                  "leave out the window or chunk, or the indexer");
  if (!model.causal)
    section.error("indexer", "an indexer chooses among the tokens before a query, and the model is not causal",
                  "causal: true, or leave the indexer out");
}

// Sizes of a mixer that is no attention.
void read_linear(Section& section, MixerKind mixer, LinearAttention& linear) {
  section.needs("key_heads", linear.key_heads, kHeads,
                "linear attention: number of heads of queries and keys; Mamba-2: of groups of B and C");
  section.needs("value_heads", linear.value_heads, kHeads,
                "linear attention: number of heads of values, a multiple of `key_heads`");
  section.needs("key_size", linear.key_size, kLayerWidth,
                "linear attention: size of a query and key head; Mamba-2: size of the state");
  section.needs("value_size", linear.value_size, kLayerWidth,
                "linear attention: size of a value head; Mamba-2: size of a head");
  section.accepts("convolution", linear.convolution, {1, 1024},
                  "linear attention: number of tokens that the short convolution takes; without it, 4");
  section.accepts("convolution_bias", linear.convolution_bias,
                  "linear attention: whether the short convolution has biases; without it, it has none");
  section.accepts("scan_chunk", linear.chunk, {1, 1 << 16},
                  "linear attention: number of tokens that the scan takes at a time; without it, 64");
  section.when(mixer == MixerKind::kKimiDelta, [&] {
    section.needs("gate_rank", linear.gate_rank, kLayerWidth,
                  "linear attention of kind kimi-delta: rank of the products that make its gates");
  });
  if (section.sound() && linear.value_heads % linear.key_heads != 0)
    section.error(
        "value_heads",
        fmt::format("{} value_heads are not a multiple of {} key_heads", linear.value_heads, linear.key_heads),
        fmt::format("key_heads divides value_heads: {}", divisors_near(linear.value_heads, linear.key_heads)));
}

void read_own_attention(Section& section, const TransformerSpec& model, AttentionSpec& attention) {
  const bool shared = attention.kv_heads == attention.heads;
  section.accepts("heads", attention.heads, kHeads, "number of attention heads in layers of this kind");
  if (shared) attention.kv_heads = attention.heads;
  section.accepts("kv_heads", attention.kv_heads, kHeads, "number of heads of keys and values in layers of this kind");
  section.accepts("head_size", attention.head_size, kLayerWidth, "size of an attention head in layers of this kind");
  if (const auto position =
          Choice("position", "position encoding in layers of this kind", Names{"learned", "rotary", "alibi", "none"})
              .maybe(section))
    attention.position = static_cast<PositionKind>(*position);
  read_attention_shape(section, attention);
  if (section.sound()) check_attention(section, model, attention);
}

LayerKind read_kind(Section& section, std::string name, const TransformerSpec& model) {
  LayerKind kind{std::move(name), model};
  section.takes("mixer", kind.mixer, {"attention", "gated-delta", "kimi-delta", "mamba2", "none"},
                "what mixes tokens in layers of this kind; gated-delta: gated DeltaNet (Qwen3-Next), kimi-delta: Kimi "
                "delta attention, mamba2: Mamba-2, none: a layer of an MLP or of experts alone");
  section.takes("feed_forward", kind.feed_forward, {"by-depth", "dense", "experts", "none"},
                "what follows in layers of this kind; by-depth: as dense_layers and expert_interval say, dense: an "
                "MLP, none: nothing");
  const bool is_linear = kind.mixer != MixerKind::kAttention && kind.mixer != MixerKind::kNone;
  section.when(kind.mixer == MixerKind::kAttention, [&] { read_own_attention(section, model, kind.attention); });
  section.when(is_linear, [&] { read_linear(section, kind.mixer, kind.linear); });
  if (kind.mixer == MixerKind::kNone && kind.feed_forward == FeedForward::kNone)
    section.error("feed_forward", "a layer of nothing: neither a mixer nor what follows it",
                  "feed_forward: dense, or a mixer");
  if (kind.feed_forward == FeedForward::kExperts && model.experts == 0)
    section.error("feed_forward", "experts in layers of this kind, but the model has none",
                  "give experts, how many there are in a layer");
  return kind;
}

// One entry of a pattern: "full" or "3 linear".
struct Stretch {
  std::int64_t count = 1;
  std::string_view name;
};

Stretch stretch_of(std::string_view word) {
  const std::size_t blank = word.find(' ');
  if (blank == std::string_view::npos) return {1, word};
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + blank, count);
  if (error != std::errc{} || end != word.data() + blank) return {1, word};
  const std::size_t name = word.find_first_not_of(' ', blank);
  return {count, name == std::string_view::npos ? std::string_view{} : word.substr(name)};
}

std::string kind_names(const TransformerSpec& model) {
  std::vector<std::string> names;
  for (const LayerKind& kind : model.kinds) names.push_back(printable(kind.name, 40));
  return fmt::format("{}", fmt::join(names, ", "));
}

// Adds the kind `name` so many times; false if there is none, or no number of layers.
bool add_stretch(const Stretch& stretch, TransformerSpec& model) {
  const auto kind = std::ranges::find(model.kinds, stretch.name, &LayerKind::name);
  if (kind == model.kinds.end() || stretch.count < 1 || stretch.count > kLayers.most) return false;
  model.pattern.insert(model.pattern.end(), static_cast<std::size_t>(stretch.count),
                       static_cast<std::size_t>(kind - model.kinds.begin()));
  return true;
}

void read_pattern(Section& section, TransformerSpec& model) {
  const std::vector<std::string> words = section.words(
      "pattern",
      "kinds of the layers from the first one on, over and over: names of `kinds`, each with a number before it where "
      "several follow one another. Example: `[3 linear, full]`. Or a word of letters where kinds have such names");
  if (!section.sound()) return;
  if (model.kinds.empty() && !words.empty())
    return section.error("pattern", "'pattern' names kinds of layers, and there are none", "give kinds beside it");
  if (!model.kinds.empty() && words.empty())
    return section.error("kinds", "'kinds' without a pattern: no layer is of any of them",
                         "give pattern, the kinds of the layers in their order");
  for (const std::string& word : words) {
    if (add_stretch(stretch_of(word), model)) continue;
    const bool letters = words.size() == 1 && std::ranges::all_of(word, [&](const char& letter) {
                           return add_stretch({1, std::string_view(&letter, 1)}, model);
                         });
    if (letters) continue;
    return section.error("pattern", fmt::format("'{}' is no kind of layer", printable(word, 60)),
                         fmt::format("names of kinds, each with a number before it or without: {}", kind_names(model)));
  }
  const auto layers = static_cast<std::size_t>(model.layers);
  if (model.pattern.size() > layers)
    return section.error("pattern",
                         fmt::format("a pattern of {} layers, and the model has {}", model.pattern.size(), layers),
                         fmt::format("at most {} layers; it is repeated until all have a kind", layers));
  for (std::size_t i = 0; i < model.kinds.size(); ++i)
    if (std::ranges::find(model.pattern, i) == model.pattern.end())
      section.error("kinds", fmt::format("no layer is of kind '{}'", printable(model.kinds[i].name, 40)),
                    "name it in pattern, or leave it out");
}

// Layers that see all keys among those with a window: the last of each so many.
void read_interval(Section& section, TransformerSpec& model) {
  std::int64_t interval = 0;
  section.accepts("window_interval", interval, {2, kLayers.most},
                  "every how many layers one sees all keys, the last of each so many, and the others what `window` or "
                  "`chunk` say; without it, all layers have the window or chunk");
  if (interval == 0 || !section.sound()) return;
  if (model.window == 0 && model.chunk == 0)
    return section.error("window_interval", "'window_interval' has no meaning without a window or chunk",
                         "give window or chunk, or leave it out");
  if (!model.kinds.empty())
    return section.error("window_interval", "'window_interval' and 'kinds' both say which layers see all keys",
                         "leave window_interval out, and name a kind without a window in pattern");
  LayerKind windowed{"windowed", model}, full{"full", model};
  full.attention.window = full.attention.chunk = 0;
  model.kinds = {std::move(windowed), std::move(full)};
  model.pattern.assign(static_cast<std::size_t>(std::min(interval, model.layers)), 0);
  if (interval <= model.layers) model.pattern.back() = 1;
}

}  // namespace

void read_attention_shape(Section& section, AttentionSpec& attention) {
  section.accepts("value_head", attention.value_head, kLayerWidth,
                  "size of a head of values where it differs from that of queries and keys; without it, `head_size`");
  section.accepts("window", attention.window, {0, kSequence.most},
                  "sliding window: number of keys that a query sees, its own among them; 0, or without it: all");
  section.accepts("chunk", attention.chunk, {0, kSequence.most},
                  "number of tokens in a chunk, beyond which no query sees (Llama 4); 0, or without it: the sequence");
  section.accepts("sinks", attention.sinks,
                  "whether each head has a learned score beside those of the keys (gpt-oss); without it, it has none");
  section.accepts("output_gate", attention.output_gate,
                  "whether attention's result is gated by as many values, which come with the queries (Qwen3-Next)");
  section.accepts("head_norms", attention.head_norms,
                  "whether queries and keys are normalised head by head, with weights that heads share (Qwen3)");
  read_latent(section, attention);
  read_indexer(section, attention);
}

void check_attention(Section& section, const TransformerSpec& model, AttentionSpec& attention) {
  if (attention.heads % attention.kv_heads != 0)
    section.error("kv_heads",
                  fmt::format("{} heads cannot share {} kv_heads evenly", attention.heads, attention.kv_heads),
                  fmt::format("kv_heads divides heads: {}", divisors_near(attention.heads, attention.kv_heads)));
  if (!attention.latent && attention.head_size == 0 && model.hidden % attention.heads != 0)
    section.error("heads", fmt::format("hidden {} is not a multiple of {} heads", model.hidden, attention.heads),
                  model.hidden < attention.heads
                      ? fmt::format("at most {} heads, or give head_size", model.hidden)
                      : fmt::format("{} heads, or give head_size", divisors_near(model.hidden, attention.heads)));
  if (attention.latent) check_latent(section, attention);
  check_sight(section, model, attention);
  if (attention.head_size == 0) attention.head_size = std::max<std::int64_t>(1, model.hidden / attention.heads);
}

void read_kinds(Section& section, TransformerSpec& model) {
  section.map("kinds", "name", "kinds of layers that differ: each has what it does not give from the model",
              [&](const ConfigEntry& entry, Section& s) { model.kinds.push_back(read_kind(s, entry.key, model)); });
  read_pattern(section, model);
  read_interval(section, model);
}

}  // namespace orrery::workload
