// SPDX-License-Identifier: MIT
#include "workload/training/spec/transformer_config.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "workload/training/spec/layer_kinds_config.h"
#include "workload/training/spec/mixer_sizes.h"

namespace orrery::workload {
namespace {

using namespace transformer_sizes;

// FLOPs of one sequence in one layer or in the head, so that micro-batches of several fit 64 bits as well.
constexpr Int128 kMostWork = Int128{1} << 58;

// Names of the keys in config.json of Hugging Face and in Megatron's arguments.
constexpr std::array<Section::OtherName, 36> kOtherNames = {{
    {"hidden_size", "hidden"},
    {"n_embd", "hidden"},
    {"d_model", "hidden"},
    {"num_hidden_layers", "layers"},
    {"num_layers", "layers"},
    {"n_layer", "layers"},
    {"num_attention_heads", "heads"},
    {"n_head", "heads"},
    {"num_key_value_heads", "kv_heads"},
    {"num_query_groups", "kv_heads"},
    {"head_dim", "head_size"},
    {"kv_channels", "head_size"},
    {"intermediate_size", "ffn_hidden"},
    {"ffn_hidden_size", "ffn_hidden"},
    {"n_inner", "ffn_hidden"},
    {"vocab_size", "vocab"},
    {"max_position_embeddings", "sequence"},
    {"n_positions", "sequence"},
    {"seq_length", "sequence"},
    {"tie_word_embeddings", "tied_embeddings"},
    {"attention_bias", "biases"},
    {"mlp_bias", "biases"},
    {"hidden_act", "gated_mlp"},
    {"rope_theta", "position"},
    {"num_local_experts", "experts"},
    {"n_routed_experts", "experts"},
    {"num_experts_per_tok", "experts_per_token"},
    {"moe_intermediate_size", "expert_hidden"},
    {"n_shared_experts", "shared_experts"},
    {"first_k_dense_replace", "dense_layers"},
    {"n_group", "expert_groups"},
    {"topk_group", "groups_per_token"},
    {"moe_layer_freq", "expert_interval"},
    {"interleave_moe_layer_step", "expert_interval"},
    {"num_nextn_predict_layers", "mtp_layers"},
    {"mtp_num_layers", "mtp_layers"},
}};

void read_attention(Section& section, TransformerSpec& model) {
  section.needs("heads", model.heads, kHeads, "number of attention heads");
  model.kv_heads = model.heads;
  section.accepts("kv_heads", model.kv_heads, kHeads,
                  "number of heads of keys and values (grouped-query attention); without it, as many as `heads`");
  section.accepts("head_size", model.head_size, kLayerWidth,
                  "size of an attention head; without it, `hidden` / `heads`");
  section.takes("causal", model.causal, "whether attention is causal: a token sees only the tokens before it");
  section.takes("position", model.position, {"learned", "rotary", "alibi", "none"},
                "position encoding; learned: a table of parameters");
  section.know("attention");
  section.when(section.has("attention"), [&] {
    section.takes("attention", model.attention.emplace(), {"flash", "plain"},
                  "attention kernel; flash: flash attention, plain: the scores go through memory",
                  "as the software has it");
  });
}

void read_patches(Section& section, TransformerSpec& model) {
  section.section("patches", "vision transformer: images are cut into patches, which are the tokens, and classified",
                  [&](Section& s) {
                    ImagePatches patches;
                    s.needs("size", patches.size, {1, 1024}, "pixels of a patch's side");
                    s.takes("channels", patches.channels, {1, 1024}, "values of a pixel");
                    s.needs("classes", patches.classes, kLayerWidth, "number of classes");
                    model.patches = patches;
                  });
  if (!model.patches) return;
  if (section.has("vocab")) section.error("vocab", "'vocab' means nothing beside 'patches'", "leave it out");
  if (section.has("tied_embeddings"))
    section.error("tied_embeddings", "'tied_embeddings' means nothing beside 'patches'", "leave it out");
  model.tied_embeddings = false;
}

void read_experts(Section& section, TransformerSpec& model) {
  section.takes("experts", model.experts, kExperts, "number of experts in a layer; 0: all layers are dense");
  section.takes("experts_per_token", model.experts_per_token, kExperts, "number of experts that a token is routed to");
  model.expert_hidden = model.ffn_hidden;
  section.accepts("expert_hidden", model.expert_hidden, kInner, "inner width of an expert; without it, `ffn_hidden`");
  section.takes("shared_experts", model.shared_experts, kExperts, "number of shared experts, which every token passes");
  section.takes("dense_layers", model.dense_layers, {0, kLayers.most}, "number of first layers that are dense");
  section.takes("expert_interval", model.expert_interval, {1, kLayers.most},
                "every how many layers behind the first dense ones one has experts: the last of each so many");
  section.takes("expert_groups", model.expert_groups, kExpertGroups,
                "number of groups of experts, which follow one another, for routing that is limited to some groups");
  section.takes(
      "groups_per_token", model.groups_per_token, kExpertGroups,
      "number of `expert_groups` whose experts a token may be routed to. With a group on each node: of nodes");
}

void check_experts(Section& section, const TransformerSpec& model) {
  if (model.experts == 0) {
    const auto is_given = [&](std::string_view key, std::string_view fallback) {
      return section.has(key) && (fallback.empty() || section.value(key)->scalar != fallback);
    };
    for (const auto& [key, fallback] : {std::pair("experts_per_token", "0"),
                                        {"expert_hidden", ""},
                                        {"shared_experts", "0"},
                                        {"dense_layers", "0"},
                                        {"expert_interval", "1"},
                                        {"expert_groups", "1"},
                                        {"groups_per_token", "1"}})
      if (is_given(key, fallback))
        section.error(key, fmt::format("'{}' has no meaning without experts", key),
                      "give experts, how many there are in a layer");
    return;
  }
  if (model.experts_per_token == 0)
    section.error("experts_per_token", "no expert is used: experts_per_token is 0",
                  fmt::format("between 1 and the {} experts", model.experts));
  if (model.experts_per_token > model.experts)
    section.error("experts_per_token",
                  fmt::format("{} experts per token, but a layer has {}", model.experts_per_token, model.experts),
                  fmt::format("at most {}", model.experts));
  if (!model.kinds.empty() && model.expert_layers() == 0)
    section.error("experts", "no layer has experts, by the kinds of layers and by dense_layers and expert_interval",
                  "feed_forward: experts in one of the kinds, or experts: 0");
  else if (model.dense_layers >= model.layers)
    section.error("dense_layers", fmt::format("all {} layers are dense, so that none has experts", model.layers),
                  fmt::format("at most {}, or experts: 0", model.layers - 1));
  else if (model.expert_layers() == 0)
    section.error("expert_interval", fmt::format("none of {} layers has experts", model.layers - model.dense_layers),
                  fmt::format("at most {}", model.layers - model.dense_layers));
  if (model.experts % model.expert_groups != 0)
    section.error("expert_groups",
                  fmt::format("{} experts do not divide into {} groups", model.experts, model.expert_groups),
                  fmt::format("expert_groups divides experts: {}", divisors_near(model.experts, model.expert_groups)));
  else if (model.groups_per_token > model.expert_groups ||
           model.groups_per_token * (model.experts / model.expert_groups) < model.experts_per_token)
    section.error("groups_per_token",
                  fmt::format("{} experts of a token cannot come from {} of {} groups of {}", model.experts_per_token,
                              model.groups_per_token, model.expert_groups, model.experts / model.expert_groups),
                  fmt::format("at most {}, with as many experts as a token is routed to", model.expert_groups));
}

// The FLOPs of training on one sequence in what mixes tokens: attention takes 2 products forward and 5 backward, and a
// scan takes a state and chunks of tokens.
Int128 mixing_work(const TransformerSpec& model, const LayerKind& kind) {
  const Int128 tokens = model.sequence;
  const Int128 keys = kind.mixer == MixerKind::kAttention ? tokens : kind.linear.chunk + kind.linear.key_size;
  Int128 values = kind.attention.heads * (kind.attention.key_size() + kind.attention.value_size());
  if (kind.attention.indexer) values += kind.attention.indexer->heads * kind.attention.indexer->head;
  if (kind.mixer != MixerKind::kAttention) values = 4 * (kind.linear.convolved() + kind.linear.value_heads);
  Int128 weights = 0;
  for (const WeightMatrix& matrix : mixer_sizes(model, kind).products)
    weights += Int128{matrix.inputs} * matrix.outputs;
  return std::max(7 * tokens * keys * values, 6 * tokens * weights);
}

// The FLOPs of training on one sequence in the layer or head that has most of them.
Int128 most_work(const TransformerSpec& model) {
  const Int128 query = model.key_size() + model.value_size();
  const Int128 tokens = model.sequence;
  const Int128 attention = 7 * tokens * tokens * model.heads * query;  // forward 2 products, backward 5
  const Int128 inner =
      std::max(model.ffn_hidden, model.experts > 0 ? model.expert_hidden * model.experts_per_token : std::int64_t{0});
  const Int128 linear = 6 * tokens * model.hidden * (3 * inner + 4 * model.heads * query);
  const Int128 head = 6 * tokens * model.hidden * model.vocab;
  const Int128 images = model.patches ? 6 * tokens * model.hidden * model.patches->values() : 0;
  Int128 most = std::max({attention, linear, head, images});
  for (const LayerKind& kind : model.kinds) most = std::max(most, mixing_work(model, kind));
  return most;
}

void check_size(Section& section, const TransformerSpec& model) {
  constexpr std::int64_t kMostLayerParameters = 1'000'000'000'000'000;
  const std::int64_t parameters = parameter_count(model);
  if (parameters > kMostLayerParameters)
    section.error("layers", fmt::format("the sizes make {:.1e} parameters", static_cast<double>(parameters)),
                  "at most 10^15: reduce layers, hidden or experts");
  const Int128 work = most_work(model);
  if (work > kMostWork)
    section.error("sequence",
                  fmt::format("one sequence takes {:.1e} FLOPs in a single layer", static_cast<double>(work)),
                  fmt::format("at most {:.1e}: reduce sequence or hidden", static_cast<double>(kMostWork)));
}

}  // namespace

std::string divisors_near(std::int64_t number, std::int64_t near) {
  const auto divides = [&](std::int64_t n) { return number % n == 0; };
  std::int64_t below = std::min(near, number);
  while (!divides(below)) --below;
  std::int64_t above = std::min(near, number);
  while (!divides(above)) ++above;
  return below == above ? fmt::format("{}", below) : fmt::format("{} or {}", below, above);
}

TransformerSpec read_transformer(Section& section) {
  TransformerSpec model;
  section.translate(kOtherNames);
  section.needs("hidden", model.hidden, kLayerWidth, "hidden size: values of a token between layers");
  section.needs("layers", model.layers, kLayers, "number of transformer layers");
  read_attention(section, model);
  model.ffn_hidden = 4 * model.hidden;
  section.accepts("ffn_hidden", model.ffn_hidden, kInner, "inner width of the MLP; without it, 4 * `hidden`");
  section.takes("gated_mlp", model.gated_mlp, "whether the MLP is gated (SwiGLU): three GEMMs instead of two");
  section.know("vocab");
  section.when(!section.has("patches"), [&] {
    section.needs("vocab", model.vocab, kVocab,
                  "vocabulary size, including padding; 0: the model has neither embedding nor head");
  });
  section.needs("sequence", model.sequence, kSequence, "sequence length in tokens");
  section.accepts(
      "predictions", model.predictions, kSequence,
      "number of tokens in a sequence for which the head computes scores (masked language models); without it, all "
      "tokens");
  section.takes(
      "mtp_layers", model.mtp_layers, kPredictionModules,
      "number of modules of multi-token prediction behind the head (DeepSeek-V3): each a projection, a layer, "
      "with experts if the model has any, and the head once more");
  section.know("tied_embeddings");
  section.when(!section.has("patches"), [&] {
    section.takes("tied_embeddings", model.tied_embeddings, "whether the head shares the embedding's table");
  });
  section.takes("biases", model.biases, "whether linear layers and norms have biases");
  read_patches(section, model);
  section.takes("embedding_norm", model.embedding_norm, "whether a norm follows the embedding");
  read_experts(section, model);
  read_attention_shape(section, model);
  const bool is_sound = section.sound();
  if (is_sound) check_attention(section, model, model);
  read_kinds(section, model);
  if (!is_sound) return model;
  if (model.predictions > model.sequence)
    section.error("predictions",
                  fmt::format("{} predictions in a sequence of {} tokens", model.predictions, model.sequence),
                  fmt::format("at most {}", model.sequence));
  if (model.mtp_layers > 0 && (model.vocab == 0 || model.predictions > 0 || !model.causal))
    section.error("mtp_layers", "a module predicts tokens behind those of the head, and this model predicts none",
                  "mtp_layers: 0");
  check_experts(section, model);
  if (section.sound()) check_size(section, model);
  return model;
}

}  // namespace orrery::workload
