// SPDX-License-Identifier: MIT
#include "workload/training/model_files/decoder_parts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/training/model_files/layer_list.h"
#include "workload/training/spec/transformer_config.h"

namespace orrery::workload {
namespace {

using namespace transformer_sizes;

constexpr Range kFromZero{0, kInner.most};

// A size here, and the keys that may say it there.
struct Size {
  std::string_view key;
  std::array<std::string_view, 6> names;
  Range range;
};
constexpr std::array<Size, 4> kShape = {{
    {"hidden", {"hidden_size", "n_embd", "n_embed", "d_model"}, kLayerWidth},
    {"layers", {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, kLayers},
    {"vocab", {"vocab_size", "padded_vocab_size"}, kVocab},
    {"sequence",
     {"max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "max_sequence_length", "model_max_length"},
     kSequence},
}};
constexpr std::array<Size, 4> kHeadSizes = {{
    {"heads", {"num_attention_heads", "n_head", "n_heads"}, kHeads},
    {"kv_heads", {"num_key_value_heads", "attn_config.kv_n_heads", "multi_query_group_num"}, kHeads},
    {"head_size", {"head_dim", "attention_head_dim", "kv_channels"}, kLayerWidth},
    {"value_head", {"v_head_dim"}, kLayerWidth},
}};
constexpr std::array<Size, 5> kLatentSizes = {{
    {"query_rank", {"q_lora_rank"}, {0, kLayerWidth.most}},
    {"key_value_rank", {"kv_lora_rank"}, kLayerWidth},
    {"head", {"qk_nope_head_dim"}, kLayerWidth},
    {"rotary_head", {"qk_rope_head_dim"}, kLayerWidth},
    {"value_head", {"v_head_dim"}, kLayerWidth},
}};
constexpr std::array<Size, 3> kIndexerSizes = {{
    {"heads", {"index_n_heads"}, kHeads},
    {"head", {"index_head_dim"}, kLayerWidth},
    {"keys", {"index_topk"}, kSequence},
}};
// `intermediate_size_mlp` is Llama 4's for dense layers, whose `intermediate_size` is that of experts.
constexpr Size kFeedForward = {"ffn_hidden",
                               {"intermediate_size_mlp", "intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size",
                                "ffn_config.ffn_hidden_size"},
                               kInner};
constexpr std::array<Size, 3> kExpertSizes = {{
    {"experts",
     {"n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts", "ffn_config.moe_num_experts"},
     kExperts},
    {"experts_per_token",
     {"num_experts_per_tok", "moe_k", "moe_topk", "moe_top_k", "num_experts_per_token", "ffn_config.moe_top_k"},
     {1, kExperts.most}},
    {"expert_hidden", {"moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"}, kInner},
}};
constexpr Size kSharedExperts = {
    "shared_experts",
    {"n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"},
    kExperts};
constexpr std::array<Size, 2> kGroups = {{
    {"expert_groups", {"n_group", "num_expert_group"}, kExpertGroups},
    {"groups_per_token", {"topk_group"}, kExpertGroups},
}};
constexpr Size kPrediction = {
    "mtp_layers",
    {"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers", "num_mtp_layers"},
    kPredictionModules};

constexpr std::array<std::string_view, 4> kSharedWidths = {"shared_expert_intermediate_size",
                                                           "shared_intermediate_size",
                                                           "moe_shared_expert_intermediate_size", "share_expert_dim"};

constexpr std::array<std::string_view, 5> kActivations = {"hidden_act", "hidden_activation", "activation_function",
                                                          "mlp_hidden_act", "ffn_config.ffn_act_fn.name"};

constexpr std::array<std::string_view, 3> kSideBySide = {"use_parallel_residual", "use_parallel_block",
                                                         "parallel_attn"};

class Decoder {
 public:
  Decoder(KeyReader& keys, const TypeName& type) : keys_(keys), type_(type) {
    model_ = {ConfigValue::Kind::kMap, keys.contents().where, {}, {}, {}};
  }

  TranslatedModel read() && {
    add_name();
    for (const Size& size : kShape) add_needed(size);
    read_attention();
    read_feed_forward();
    read_experts();
    read_layers_of();
    add(kPrediction);
    read_small_parts();
    return {std::move(model_), std::move(left_out_)};
  }

 private:
  // True if a key of Orrery's own stands in place of Hugging Face's.
  bool is_own(std::string_view key) const { return keys_.contents().find(key) != nullptr; }

  void put(std::string_view key, std::string text, const Location& where) {
    model_.entries.push_back({std::string(key), where, {ConfigValue::Kind::kScalar, where, std::move(text), {}, {}}});
  }
  void put(std::string_view key, bool flag, const Location& where) {
    put(key, std::string(flag ? "true" : "false"), where);
  }

  // Adds a size to `map`; nothing where no key says it.
  std::optional<std::int64_t> add(const Size& size, ConfigValue& map) {
    const ConfigEntry* entry = keys_.value(KeyNames(size.names));
    if (entry == nullptr || (&map == &model_ && is_own(size.key))) return std::nullopt;
    const auto number = keys_.number_of(*entry, size.range);
    if (number)
      map.entries.push_back({std::string(size.key),
                             entry->where,
                             {ConfigValue::Kind::kScalar, entry->where, fmt::format("{}", *number), {}, {}}});
    return number;
  }
  std::optional<std::int64_t> add(const Size& size) { return add(size, model_); }

  void tell_missing(std::string_view key) {
    const bool is_null = keys_.is_written(key);
    keys_.error(
        keys_.where(key), fmt::format("'{}' {}", key, is_null ? "is null" : "is missing"),
        fmt::format("without it, a model of type {} is another one; copy it from the model's config.json", type_.text));
  }

  void add_needed(const Size& size) {
    if (is_own(size.key)) return keys_.know(KeyNames(size.names));
    if (!keys_.has(KeyNames(size.names))) return tell_missing(size.names.front());
    add(size);
  }

  // The number of the model as it is translated, or of its own key.
  std::int64_t number(std::string_view key, std::int64_t otherwise) const {
    const ConfigEntry* entry = value_of(keys_.contents(), key);
    if (entry == nullptr) entry = value_of(model_, key);
    const bool is_scalar = entry != nullptr && entry->value.kind == ConfigValue::Kind::kScalar;
    return is_scalar ? parse_whole_number(entry->value.scalar).value_or(otherwise) : otherwise;
  }

  // "meta-llama/Meta-Llama-3-8B" without its owner.
  void add_name() {
    const ConfigEntry* path = keys_.value({"_name_or_path"});
    if (path != nullptr && path->value.kind != ConfigValue::Kind::kScalar)
      keys_.error(path->value.where, fmt::format("_name_or_path: {} is not a name", text_of(path->value)));
    const std::string name =
        path == nullptr ? std::string() : path->value.scalar.substr(path->value.scalar.rfind('/') + 1);
    put("name", name.empty() ? type_.text : name, path == nullptr ? keys_.contents().where : path->where);
  }

  void read_latent() {
    const Location where = keys_.where("kv_lora_rank");
    ConfigEntry latent{"latent_attention", where, {ConfigValue::Kind::kMap, where, {}, {}, {}}};
    for (const Size& size : kLatentSizes) add(size, latent.value);
    model_.entries.push_back(std::move(latent));
    keys_.know({"num_key_value_heads", "head_dim"});
    if (!keys_.has({"index_topk"})) return;
    const Location at = keys_.where("index_topk");
    ConfigEntry indexer{"indexer", at, {ConfigValue::Kind::kMap, at, {}, {}, {}}};
    for (const Size& size : kIndexerSizes)
      if (!add(size, indexer.value)) tell_missing(size.names.front());
    model_.entries.push_back(std::move(indexer));
  }

  // The same biases everywhere are the model's; those of attention alone are left out.
  void read_biases() {
    const bool all = keys_.flag({"use_bias", "add_bias_linear"}, false);
    const ConfigEntry* entry = keys_.value({"attention_bias", "qkv_bias", "add_qkv_bias", "use_qkv_bias"});
    const bool of_attention = keys_.flag({"attention_bias", "qkv_bias", "add_qkv_bias", "use_qkv_bias"}, false);
    const bool of_mlp = keys_.flag({"mlp_bias"}, false);
    keys_.know({"attention_out_bias", "lm_head_bias"});
    put("biases", all || (of_attention && of_mlp), keys_.where("attention_bias"));
    if (!all && of_attention != of_mlp && !is_own("biases"))
      left_out_.push_back({of_attention ? LeftOutKind::kAttentionBiases : LeftOutKind::kMlpBiases,
                           of_mlp ? "mlp_bias" : entry->key, keys_.where(of_mlp ? "mlp_bias" : entry->key)});
  }

  void read_attention() {
    add_needed(kHeadSizes[0]);
    if (keys_.has({"kv_lora_rank"}) && !is_own("latent_attention"))
      read_latent();
    else
      for (const Size& size : std::span(kHeadSizes).subspan(1)) add(size);
    read_biases();
    if (!is_own("head_norms") && keys_.flag({"use_qk_norm", "qk_layernorm", "qk_norm", "use_qk_layernorm"}, false) &&
        model_.find("latent_attention") == nullptr)
      put("head_norms", true, keys_.where("use_qk_norm"));
    if (keys_.flag({"attn_output_gate"}, false)) put("output_gate", true, keys_.where("attn_output_gate"));
    if (keys_.flag({"sinks"}, false)) put("sinks", true, keys_.where("model_type"));
    read_position();
  }

  void read_position() {
    std::string position = keys_.word({"position"});
    const std::string kind = keys_.word({"position_embedding_type"});
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords = {{{"rope", "rotary"},
                                                                                      {"rotary", "rotary"},
                                                                                      {"nope", "none"},
                                                                                      {"alibi", "alibi"},
                                                                                      {"absolute", "learned"},
                                                                                      {"learned_absolute", "learned"}}};
    if (keys_.flag({"alibi"}, false)) position = "alibi";
    for (const auto& [theirs, ours] : kWords)
      if (kind == theirs) position = ours;
    // A latent key has a part for positions, whether they are rotated or not.
    if (model_.find("latent_attention") != nullptr) position = "rotary";
    put("position", position.empty() ? "rotary" : position, keys_.where("position_embedding_type"));
  }

  // Three products where the activation is a gate's, two where it stands alone; some are used both ways.
  void read_feed_forward() {
    for (const char* key : {"hidden_act", "hidden_activation", "activation_function"}) keys_.word({key});
    const std::string word = keys_.word(KeyNames(kActivations));
    constexpr std::array<std::string_view, 5> kGates = {"silu", "swish", "swiglu", "swigluoai", "geglu"};
    constexpr std::array<std::string_view, 6> kPlain = {"relu",     "relu2",     "xielu",
                                                        "gelu_new", "gelu_fast", "quick_gelu"};
    const bool is_gate = std::ranges::find(kGates, word) != kGates.end();
    const bool is_plain = std::ranges::find(kPlain, word) != kPlain.end();
    if (!type_.is_known && !is_gate && !is_plain && !keys_.has({"gated_mlp"}))
      keys_.error(keys_.where("model_type"),
                  fmt::format("{}, and its activation does not say whether the MLP is gated",
                              type_.text.empty() ? "a config.json without 'model_type'"
                                                 : fmt::format("unknown architecture '{}'", printable(type_.text, 40))),
                  "write \"gated_mlp\": true (three products, as in Llama) or false beside it");
    put("gated_mlp", keys_.flag({"gated_mlp", "use_gated_activation"}, !is_plain), keys_.where("hidden_act"));
    // The width of dense layers; where all layers have experts, it may be theirs, or missing.
    add(kFeedForward);
    if (keys_.has(KeyNames(kFeedForward.names)) || is_own("ffn_hidden")) return;
    if (const ConfigEntry* shared = keys_.value(KeyNames(kSharedWidths)); shared != nullptr && !has_experts()) {
      if (const auto width = keys_.number_of(*shared, kInner))
        put("ffn_hidden", fmt::format("{}", *width), shared->where);
    } else if (!keys_.has({"moe_intermediate_size", "n_embed", "n_embd"})) {
      tell_missing(kFeedForward.names[1]);
    }
  }

  bool has_experts() {
    if (is_own("experts")) return number("experts", 0) > 0;
    const ConfigEntry* entry = keys_.value(KeyNames(kExpertSizes[0].names));
    if (entry == nullptr) return false;
    return keys_.number_of(*entry, {type_.needs_experts ? 1 : 0, kExperts.most}).value_or(0) > 1;
  }

  void know_expert_keys() {
    for (const Size& size : kExpertSizes) keys_.know(KeyNames(size.names));
    for (const Size& size : kGroups) keys_.know(KeyNames(size.names));
    keys_.know(KeyNames(kSharedExperts.names));
    keys_.know(KeyNames(kSharedWidths));
    keys_.know({"first_k_dense_replace", "num_dense_layers", "moe_layer_start_index", "moe_layer_end_index",
                "moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval",
                "expert_layer_period", "expert_layer_offset", "mlp_only_layers", "mlp_layer_types", "moe_layers",
                "moe_layers_enum", "residual_moe"});
  }

  void read_experts() {
    const bool any = has_experts();
    know_expert_keys();
    if (!any) return;
    for (const Size& size : kExpertSizes) add(size);
    for (const Size& size : kGroups) add(size);
    if (model_.find("experts_per_token") == nullptr && !is_own("experts_per_token"))
      tell_missing(kExpertSizes[1].names.front());
    // Llama 4 has a width for dense layers apart from that of experts.
    if (keys_.has({"intermediate_size_mlp"}) && model_.find("expert_hidden") == nullptr && !is_own("expert_hidden"))
      add({"expert_hidden", {"intermediate_size"}, kInner});
    if (model_.find("ffn_hidden") == nullptr && !is_own("ffn_hidden") && number("expert_hidden", 0) > 0)
      put("ffn_hidden", fmt::format("{}", number("expert_hidden", 0)), keys_.where("moe_intermediate_size"));
    read_shared_experts();
  }

  // One wide expert that every token passes is as many as it is wide in experts.
  void read_shared_experts() {
    if (is_own("shared_experts")) return;
    const ConfigEntry* width = keys_.value(KeyNames(kSharedWidths));
    const std::int64_t each = number("expert_hidden", number("ffn_hidden", 0));
    const auto wide = width == nullptr ? std::nullopt : keys_.number_of(*width, kFromZero);
    if (wide && *wide > 0) return add_shared(width->where, *wide, each);
    if (keys_.flag({"residual_moe"}, false))
      return add_shared(keys_.where("residual_moe"), number("ffn_hidden", 0), each);
    add(kSharedExperts);
  }

  void add_shared(const Location& where, std::int64_t wide, std::int64_t each) {
    if (each > 0 && wide % each == 0) return put("shared_experts", fmt::format("{}", wide / each), where);
    keys_.error(where, fmt::format("a shared expert of width {} is no multiple of an expert's {}", wide, each),
                "write the model in the keys of docs/jobs.md");
  }

  void read_layers_of() {
    const std::int64_t count = number("layers", 0);
    if (count < 1 || count > kLayers.most || is_own("kinds")) return;
    auto layers = read_layers(keys_, count);
    if (!layers) return;
    if (number("experts", 0) > 0) place_experts(*layers);
    const bool windows_are_own = is_own("window") || is_own("chunk") || is_own("window_interval");
    if (!windows_are_own) add_layers(keys_, *layers, model_);
  }

  // Layers with experts by the model's rule, or else one by one.
  void place_experts(std::vector<LayerParts>& layers) {
    if (is_own("dense_layers") || is_own("expert_interval")) return;
    const auto are_by_rule = [](const LayerParts& layer) { return layer.tail == Tail::kUsual; };
    if (!std::ranges::all_of(layers, are_by_rule)) return;
    const auto has_experts = read_expert_layers(keys_, std::ssize(layers));
    if (!has_experts) return;
    if (const auto rule = rule_of(*has_experts)) {
      put("dense_layers", fmt::format("{}", rule->dense), keys_.where("first_k_dense_replace"));
      put("expert_interval", fmt::format("{}", rule->interval), keys_.where("moe_layer_freq"));
      return;
    }
    for (std::size_t i = 0; i < layers.size(); ++i) layers[i].tail = (*has_experts)[i] ? Tail::kExperts : Tail::kDense;
  }

  void read_small_parts() {
    const bool says_tied = keys_.has({"tie_word_embeddings"}) || is_own("tied_embeddings");
    put("tied_embeddings", keys_.flag({"tie_word_embeddings", "use_embedding_sharing"}, false),
        keys_.where("tie_word_embeddings"));
    if (!type_.is_known && !says_tied)
      left_out_.push_back({LeftOutKind::kTied, "tie_word_embeddings", keys_.contents().where});
    if (keys_.flag({"embedding_norm"}, false)) put("embedding_norm", true, keys_.where("model_type"));
    if (const ConfigEntry* key = keys_.value(KeyNames(kSideBySide)); keys_.flag(KeyNames(kSideBySide), false))
      left_out_.push_back({LeftOutKind::kSideBySide, key->key, key->where});
    if (keys_.flag({"post_norms"}, false))
      left_out_.push_back({LeftOutKind::kPostNorms, "model_type", keys_.where("model_type")});
  }

  KeyReader& keys_;
  const TypeName& type_;
  ConfigValue model_;
  std::vector<LeftOut> left_out_;
};

}  // namespace

TranslatedModel read_decoder(KeyReader& keys, const TypeName& type) { return Decoder(keys, type).read(); }

}  // namespace orrery::workload
