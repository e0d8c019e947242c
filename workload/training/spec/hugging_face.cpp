// SPDX-License-Identifier: MIT
#include "workload/training/spec/hugging_face.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery::workload {
namespace {

enum class KeysAndValues : std::uint8_t { kHeads, kLatent };

// What a model_type says without a key, and what its keys are where they differ from one another by type.
struct ModelType {
  std::string_view type;
  bool gated = true;
  std::string_view position = "rotary";
  bool biases = false;  // where no key says so
  bool tied = false;    // likewise
  KeysAndValues attention = KeysAndValues::kHeads;
  bool embedding_norm = false;
};

constexpr std::array<ModelType, 24> kModelTypes = {{
    {"bloom", false, "alibi", true, true, KeysAndValues::kHeads, true},
    {"deepseek_v2", true, "rotary", false, false, KeysAndValues::kLatent},
    {"deepseek_v3", true, "rotary", false, false, KeysAndValues::kLatent},
    {"gemma", true, "rotary", false, true},
    {"gemma2", true, "rotary", false, true},
    {"gemma3_text", true, "rotary", false, true},
    {"gpt2", false, "learned", true, true},
    {"gpt_neox", false, "rotary", true, false},
    {"gpt_oss", true, "rotary", true, false},
    {"granite"},
    {"kimi_k2", true, "rotary", false, false, KeysAndValues::kLatent},
    {"llama"},
    {"mistral"},
    {"mixtral"},
    {"nemotron", false},
    {"olmo"},
    {"olmo2"},
    {"opt", false, "learned", true, true},
    {"phi3"},
    {"qwen2"},
    {"qwen2_moe"},
    {"qwen3"},
    {"qwen3_moe"},
    {"starcoder2", false, "rotary", true, true},
}};

// A size here, and the keys that may say it there: the first that has a value does.
struct TranslatedSize {
  std::string_view key;
  std::initializer_list<std::string_view> names;
};
const std::array<TranslatedSize, 14> kTranslatedSizes = {{
    {"hidden", {"hidden_size", "n_embd", "n_embed"}},
    {"layers", {"num_hidden_layers", "n_layer"}},
    {"heads", {"num_attention_heads", "n_head"}},
    {"kv_heads", {"num_key_value_heads"}},
    {"head_size", {"head_dim"}},
    {"ffn_hidden", {"intermediate_size", "ffn_dim", "n_inner"}},
    {"vocab", {"vocab_size"}},
    {"sequence", {"max_position_embeddings", "n_positions", "seq_length"}},
    {"experts", {"n_routed_experts", "num_experts", "num_local_experts"}},
    {"experts_per_token", {"num_experts_per_tok"}},
    {"expert_hidden", {"moe_intermediate_size"}},
    {"shared_experts", {"n_shared_experts"}},
    {"dense_layers", {"first_k_dense_replace"}},
    {"expert_interval", {"moe_layer_freq", "decoder_sparse_step"}},
}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTranslatedNumbers = {
    {{"expert_groups", "n_group"}, {"groups_per_token", "topk_group"}, {"mtp_layers", "num_nextn_predict_layers"}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kLatentSizes = {{
    {"query_rank", "q_lora_rank"},
    {"key_value_rank", "kv_lora_rank"},
    {"head", "qk_nope_head_dim"},
    {"rotary_head", "qk_rope_head_dim"},
    {"value_head", "v_head_dim"},
}};

// Keys of a model here that may stand beside those of Hugging Face.
constexpr std::array<std::string_view, 28> kOwnModelKeys = {"attention",
                                                            "biases",
                                                            "causal",
                                                            "dense_layers",
                                                            "embedding_norm",
                                                            "expert_groups",
                                                            "expert_hidden",
                                                            "expert_interval",
                                                            "experts",
                                                            "experts_per_token",
                                                            "ffn_hidden",
                                                            "gated_mlp",
                                                            "groups_per_token",
                                                            "head_size",
                                                            "heads",
                                                            "hidden",
                                                            "kv_heads",
                                                            "latent_attention",
                                                            "layers",
                                                            "mtp_layers",
                                                            "name",
                                                            "parameters",
                                                            "position",
                                                            "predictions",
                                                            "sequence",
                                                            "shared_experts",
                                                            "tied_embeddings",
                                                            "vocab"};

const ConfigEntry* value_of(const ConfigValue& contents, std::string_view key) {
  const ConfigEntry* entry = contents.find(key);
  return entry == nullptr || entry->value.kind == ConfigValue::Kind::kNull ? nullptr : entry;
}

std::optional<std::int64_t> number_of(const ConfigValue& contents, std::string_view key) {
  const ConfigEntry* entry = value_of(contents, key);
  return entry == nullptr ? std::nullopt : parse_whole_number(entry->value.scalar);
}

bool flag_of(const ConfigValue& contents, std::string_view key, bool otherwise) {
  const ConfigEntry* entry = value_of(contents, key);
  return entry == nullptr ? otherwise : parse_boolean(entry->value.scalar).value_or(otherwise);
}

class Translation {
 public:
  Translation(const ConfigValue& contents, const ModelType& type, Diagnostics& diagnostics)
      : contents_(contents), type_(type), diagnostics_(diagnostics) {
    model_ = {ConfigValue::Kind::kMap, contents.where, {}, {}, {}};
  }

  ConfigValue model() && {
    add_name();
    for (const TranslatedSize& size : kTranslatedSizes) add_size(size);
    for (const auto& [key, name] : kTranslatedNumbers)
      if (const ConfigEntry* entry = value_of(contents_, name)) add(key, entry->value.scalar, entry->where);
    if (type_.attention == KeysAndValues::kLatent) add_latent();
    add_traits();
    add_shared_expert();
    drop_of_dense();
    refuse_mixed_layers();
    for (const std::string_view key : kOwnModelKeys)
      if (const ConfigEntry* own = contents_.find(key)) replace(*own);
    tell_sequence();
    return std::move(model_);
  }

 private:
  void add(std::string_view key, std::string text, const Location& where) {
    model_.entries.push_back({std::string(key), where, {ConfigValue::Kind::kScalar, where, std::move(text), {}, {}}});
  }
  void add(std::string_view key, bool flag, std::string_view from) {
    const ConfigEntry* entry = value_of(contents_, from);
    add(key, flag ? "true" : "false", entry == nullptr ? contents_.where : entry->where);
  }

  // "meta-llama/Meta-Llama-3-8B" without its owner.
  void add_name() {
    const ConfigEntry* path = value_of(contents_, "_name_or_path");
    const std::string name =
        path == nullptr ? std::string() : path->value.scalar.substr(path->value.scalar.rfind('/') + 1);
    add("name", name.empty() ? std::string(type_.type) : name, path == nullptr ? contents_.where : path->where);
  }

  void add_size(const TranslatedSize& size) {
    if (type_.attention == KeysAndValues::kLatent && (size.key == "kv_heads" || size.key == "head_size")) return;
    for (const std::string_view name : size.names)
      if (const ConfigEntry* entry = value_of(contents_, name)) return add(size.key, entry->value.scalar, entry->where);
  }

  void add_latent() {
    ConfigEntry latent{"latent_attention", contents_.where, {ConfigValue::Kind::kMap, contents_.where, {}, {}, {}}};
    for (const auto& [key, name] : kLatentSizes)
      if (const ConfigEntry* entry = value_of(contents_, name))
        latent.value.entries.push_back({std::string(key), entry->where, entry->value});
    model_.entries.push_back(std::move(latent));
  }

  void add_traits() {
    add("gated_mlp", type_.gated, "hidden_act");
    add("position", std::string(type_.position), contents_.where);
    const bool has_biases = flag_of(contents_, "attention_bias", type_.biases) ||
                            flag_of(contents_, "mlp_bias", type_.biases) || flag_of(contents_, "use_bias", false);
    add("biases", has_biases, "attention_bias");
    add("tied_embeddings", flag_of(contents_, "tie_word_embeddings", type_.tied), "tie_word_embeddings");
    if (type_.embedding_norm) add("embedding_norm", true, "model_type");
  }

  // One wide expert that every token passes is as many as it is wide in experts.
  void add_shared_expert() {
    const auto shared = number_of(contents_, "shared_expert_intermediate_size");
    const auto each = number_of(contents_, "moe_intermediate_size");
    if (!shared || *shared == 0 || !each || *each <= 0) return;
    const ConfigEntry& entry = *contents_.find("shared_expert_intermediate_size");
    if (*shared % *each == 0) return add("shared_experts", fmt::format("{}", *shared / *each), entry.where);
    diagnostics_.error(entry.where,
                       fmt::format("a shared expert of width {} is no multiple of an expert's {}", *shared, *each),
                       "write the model in the keys of docs/jobs.md");
  }

  // Dense models of a family that may have experts say so by leaving their number out, or by 0 or 1.
  void drop_of_dense() {
    const ConfigEntry* experts = model_.find("experts");
    if (experts != nullptr && parse_whole_number(experts->value.scalar).value_or(2) > 1) return;
    std::erase_if(model_.entries, [](const ConfigEntry& entry) {
      constexpr std::array<std::string_view, 8> kOfExperts = {"experts",        "experts_per_token", "expert_hidden",
                                                              "shared_experts", "dense_layers",      "expert_interval",
                                                              "expert_groups",  "groups_per_token"};
      return std::ranges::find(kOfExperts, entry.key) != kOfExperts.end();
    });
  }

  // Layers that are listed one by one are no rule.
  void refuse_mixed_layers() {
    const ConfigEntry* dense = value_of(contents_, "mlp_only_layers");
    if (dense == nullptr || dense->value.items.empty()) return;
    diagnostics_.error(dense->where, "dense layers are listed one by one in 'mlp_only_layers'",
                       "here the first `dense_layers` are dense; write the model in the keys of docs/jobs.md");
  }

  void replace(const ConfigEntry& own) {
    std::erase_if(model_.entries, [&](const ConfigEntry& entry) { return entry.key == own.key; });
    model_.entries.push_back(own);
  }

  // The longest sequence that positions are for is rarely the one of training.
  void tell_sequence() {
    if (contents_.find("sequence") != nullptr) return;
    const ConfigEntry* sequence = model_.find("sequence");
    if (sequence == nullptr) return;
    diagnostics_.warning(sequence->where,
                         fmt::format("sequences of {} tokens, the longest of the model: training may take shorter ones",
                                     printable(sequence->value.scalar, 40)),
                         "--set workload.model.sequence=4096");
  }

  const ConfigValue& contents_;
  const ModelType& type_;
  Diagnostics& diagnostics_;
  ConfigValue model_;
};

}  // namespace

bool is_hugging_face(const ConfigValue& contents) {
  return contents.find("model_type") != nullptr || contents.find("architectures") != nullptr;
}

ConfigValue from_hugging_face(const ConfigValue& contents, Diagnostics& diagnostics) {
  // The language model of one that also sees has a map of its own.
  if (const ConfigEntry* text = value_of(contents, "text_config"); text != nullptr && is_hugging_face(text->value)) {
    diagnostics.warning(text->where, "only the language model is taken, from 'text_config'", "");
    ConfigValue own = text->value;
    for (const std::string_view key : kOwnModelKeys)
      if (const ConfigEntry* entry = contents.find(key); entry != nullptr && own.find(key) == nullptr)
        own.entries.push_back(*entry);
    return from_hugging_face(own, diagnostics);
  }
  std::vector<std::string> types;
  for (const ModelType& known : kModelTypes) types.emplace_back(known.type);
  const ConfigEntry* type = value_of(contents, "model_type");
  if (type == nullptr) {
    diagnostics.error(contents.where, "a config.json without 'model_type'",
                      fmt::format("it says which architecture this is: {}", fmt::join(types, ", ")));
    return {ConfigValue::Kind::kMap, contents.where, {}, {}, {}};
  }
  const auto family = std::ranges::find(kModelTypes, type->value.scalar, &ModelType::type);
  if (family == kModelTypes.end()) {
    diagnostics.error(type->where, fmt::format("unknown architecture '{}'", printable(type->value.scalar, 40)),
                      fmt::format("known: {}; write others in the keys of docs/jobs.md", fmt::join(types, ", ")));
    return {ConfigValue::Kind::kMap, contents.where, {}, {}, {}};
  }
  return Translation(contents, *family, diagnostics).model();
}

}  // namespace orrery::workload
