// SPDX-License-Identifier: MIT
#include "workload/training/spec/hugging_face_types.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/training/spec/hugging_face_keys.h"
#include "workload/training/spec/transformer_config.h"

namespace orrery::workload {
namespace {

using namespace transformer_sizes;

// Keys without which transformers would take a default of the type's own, which is another model.
using Keys = HuggingFaceKeys;
constexpr std::array<std::string_view, 6> kUsualSizes = {"hidden_size",         "num_hidden_layers",
                                                         "num_attention_heads", "intermediate_size",
                                                         "vocab_size",          "max_position_embeddings"};
constexpr std::array<std::string_view, 5> kSizesOfBloom = {"n_embed", "n_layer", "n_head", "vocab_size", "seq_length"};
constexpr std::array<std::string_view, 5> kSizesOfGpt2 = {"n_embd", "n_layer", "n_head", "vocab_size", "n_positions"};
constexpr std::array<std::string_view, 6> kSizesOfOpt = {"hidden_size", "num_hidden_layers", "num_attention_heads",
                                                         "ffn_dim",     "vocab_size",        "max_position_embeddings"};
constexpr std::array<std::string_view, 2> kGrouped = {"num_key_value_heads", "head_dim"};
constexpr std::array<std::string_view, 5> kLatent = {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim",
                                                     "qk_rope_head_dim", "v_head_dim"};
constexpr std::array<std::string_view, 2> kLocalExperts = {"num_local_experts", "num_experts_per_tok"};
constexpr std::array<std::string_view, 4> kExpertsOfQwen = {"num_experts", "num_experts_per_tok",
                                                            "moe_intermediate_size", "shared_expert_intermediate_size"};
constexpr std::array<std::string_view, 5> kRoutedExperts = {
    "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_shared_experts", "first_k_dense_replace"};
constexpr std::array<std::string_view, 3> kNullable = {"num_key_value_heads", "q_lora_rank", "n_shared_experts"};

// The gate of an MLP follows from no key. Windows: transformers' modelling files, where `sliding_window` has an effect.
const std::vector<HuggingFaceType> kTypes = {
    {.type = "bloom",
     .gated = false,
     .position = "alibi",
     .biases = true,
     .tied = true,
     .embedding_norm = true,
     .sizes = kSizesOfBloom},
    {.type = "deepseek_v2",
     .attention = KeysAndValues::kLatent,
     .sizes = kUsualSizes,
     .heads = kLatent,
     .experts = kRoutedExperts},
    {.type = "deepseek_v3",
     .attention = KeysAndValues::kLatent,
     .sizes = kUsualSizes,
     .heads = kLatent,
     .experts = kRoutedExperts},
    {.type = "gemma", .tied = true, .sizes = kUsualSizes, .heads = kGrouped},
    {.type = "gemma2",
     .tied = true,
     .windows = Windows::kAllButEvery,
     .full_every = 2,
     .sizes = kUsualSizes,
     .heads = kGrouped},
    {.type = "gemma3_text",
     .tied = true,
     .windows = Windows::kAllButEvery,
     .full_every = 6,
     .sizes = kUsualSizes,
     .heads = kGrouped},
    {.type = "gpt2", .gated = false, .position = "learned", .biases = true, .tied = true, .sizes = kSizesOfGpt2},
    {.type = "gpt_neox", .gated = false, .biases = true, .sizes = kUsualSizes},
    {.type = "gpt_oss",
     .biases = true,
     .windows = Windows::kAllButEvery,
     .full_every = 2,
     .sizes = kUsualSizes,
     .heads = kGrouped,
     .experts = kLocalExperts},
    {.type = "granite", .sizes = kUsualSizes},
    {.type = "kimi_k2",
     .attention = KeysAndValues::kLatent,
     .sizes = kUsualSizes,
     .heads = kLatent,
     .experts = kRoutedExperts},
    {.type = "llama", .sizes = kUsualSizes},
    {.type = "llama4_text",
     .shared_experts = 1,
     .windows = Windows::kAllButEvery,
     .full_every = 4,
     .sizes = kUsualSizes,
     .heads = kGrouped,
     .experts = kLocalExperts},
    {.type = "mistral", .sizes = kUsualSizes, .heads = Keys(kGrouped).first(1)},
    {.type = "mixtral", .sizes = kUsualSizes, .heads = Keys(kGrouped).first(1), .experts = kLocalExperts},
    {.type = "nemotron", .gated = false, .sizes = kUsualSizes},
    {.type = "olmo", .sizes = kUsualSizes},
    {.type = "olmo2", .sizes = kUsualSizes},
    {.type = "opt", .gated = false, .position = "learned", .biases = true, .tied = true, .sizes = kSizesOfOpt},
    {.type = "phi3", .sizes = kUsualSizes},
    {.type = "qwen2", .windows = Windows::kWhereUsed, .sizes = kUsualSizes, .heads = Keys(kGrouped).first(1)},
    {.type = "qwen2_moe",
     .windows = Windows::kWhereUsed,
     .sizes = kUsualSizes,
     .heads = Keys(kGrouped).first(1),
     .experts = kExpertsOfQwen},
    {.type = "qwen3", .windows = Windows::kWhereUsed, .sizes = kUsualSizes, .heads = kGrouped},
    {.type = "qwen3_moe",
     .windows = Windows::kWhereUsed,
     .sizes = kUsualSizes,
     .heads = Keys(kGrouped).first(1),
     .experts = Keys(kExpertsOfQwen).first(3)},
    {.type = "starcoder2",
     .gated = false,
     .biases = true,
     .tied = true,
     .sizes = kUsualSizes,
     .heads = Keys(kGrouped).first(1)},
};

const std::array<TranslatedSize, 17> kTranslatedSizes = {{
    {"hidden", {"hidden_size", "n_embd", "n_embed"}, kLayerWidth},
    {"layers", {"num_hidden_layers", "n_layer"}, kLayers},
    {"heads", {"num_attention_heads", "n_head"}, kHeads},
    {"kv_heads", {"num_key_value_heads"}, kHeads},
    {"head_size", {"head_dim"}, kLayerWidth},
    {"ffn_hidden", {"intermediate_size_mlp", "intermediate_size", "ffn_dim", "n_inner"}, kInner},
    {"vocab", {"vocab_size"}, kVocab},
    {"sequence", {"max_position_embeddings", "n_positions", "seq_length"}, kSequence},
    {"experts", {"n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"}, kExperts},
    {"experts_per_token", {"num_experts_per_tok", "moe_k", "moe_topk", "moe_top_k", "num_experts_per_token"}, kExperts},
    {"expert_hidden", {"moe_intermediate_size"}, {0, kInner.most}},
    {"shared_experts",
     {"n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"},
     kExperts},
    {"dense_layers", {"first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"}, {0, kLayers.most}},
    {"expert_interval",
     {"moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"},
     {1, kLayers.most}},
    {"expert_groups", {"n_group"}, kExpertGroups},
    {"groups_per_token", {"topk_group"}, kExpertGroups},
    {"mtp_layers", {"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers"}, kPredictionModules},
}};
const std::array<TranslatedSize, 5> kLatentSizes = {{
    {"query_rank", {"q_lora_rank"}, {0, kLayerWidth.most}},
    {"key_value_rank", {"kv_lora_rank"}, kLayerWidth},
    {"head", {"qk_nope_head_dim"}, kLayerWidth},
    {"rotary_head", {"qk_rope_head_dim"}, kLayerWidth},
    {"value_head", {"v_head_dim"}, kLayerWidth},
}};

// True if the activation gates a third product, false if it stands between two. Nothing: it is used both ways.
std::optional<bool> is_gated(const ConfigValue& contents) {
  for (const char* key : {"hidden_act", "hidden_activation", "activation_function"}) {
    const ConfigEntry* entry = value_of(contents, key);
    if (entry == nullptr) continue;
    const std::string& word = entry->value.scalar;
    for (const char* gate : {"silu", "swish", "swiglu", "swigluoai", "geglu"})
      if (word == gate) return true;
    for (const char* plain : {"relu", "relu2", "xielu", "gelu_new", "gelu_fast", "quick_gelu"})
      if (word == plain) return false;
    return std::nullopt;
  }
  return std::nullopt;
}

bool has_any(const ConfigValue& contents, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return value_of(contents, key) != nullptr; });
}

// The sizes without which keys are not the shape of a transformer; those that a model here has, `own`, stand for them.
std::vector<std::string> missing_sizes(const ConfigValue& contents, bool has_experts) {
  std::vector<std::string> missing;
  for (const auto& [name, own] : {std::pair("hidden_size", "hidden"),
                                  {"num_hidden_layers", "layers"},
                                  {"num_attention_heads", "heads"},
                                  {"intermediate_size", "ffn_hidden"},
                                  {"vocab_size", "vocab"},
                                  {"max_position_embeddings", "sequence"}}) {
    const bool by_experts =
        own == std::string_view("ffn_hidden") && has_experts && has_any(contents, {"moe_intermediate_size"});
    if (!has_any(contents, {name, own}) && !by_experts) missing.emplace_back(name);
  }
  if (has_experts && !has_any(contents, {"num_experts_per_tok", "moe_k", "moe_topk", "moe_top_k",
                                         "num_experts_per_token", "experts_per_token"}))
    missing.emplace_back("num_experts_per_tok");
  return missing;
}

bool has_experts(const ConfigValue& contents) {
  const auto sizes = translated_sizes();
  const auto size = std::ranges::find(sizes, "experts", &TranslatedSize::key);
  for (const std::string_view name : size->names)
    if (const ConfigEntry* entry = value_of(contents, name))
      return parse_whole_number(entry->value.scalar).value_or(2) > 1;
  return value_of(contents, "experts") != nullptr;
}

}  // namespace

std::span<const TranslatedSize> translated_sizes() { return kTranslatedSizes; }
std::span<const TranslatedSize> latent_sizes() { return kLatentSizes; }

bool may_be_null(std::string_view key) { return std::ranges::find(kNullable, key) != kNullable.end(); }

const HuggingFaceType* type_named(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &HuggingFaceType::type);
  return found == kTypes.end() ? nullptr : &*found;
}

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const HuggingFaceType& known : kTypes) names.push_back(known.type);
  return names;
}

HuggingFaceType type_by_keys(const ConfigValue& contents, const std::string& name, Diagnostics& diagnostics) {
  HuggingFaceType type{.type = name.empty() ? "model" : name, .windows = Windows::kAll};
  const ConfigEntry* named = contents.find("model_type");
  const Location where = named == nullptr ? contents.where : named->where;
  const std::string who = name.empty() ? std::string("a config.json without 'model_type'")
                                       : fmt::format("unknown architecture '{}'", printable(name, 40));
  const bool experts = has_experts(contents);
  if (const std::vector<std::string> missing = missing_sizes(contents, experts); !missing.empty()) {
    diagnostics.error(
        where,
        fmt::format("{}, and its keys are not all of a transformer's: {} {} missing", who, fmt::join(missing, ", "),
                    missing.size() == 1 ? "is" : "are"),
        fmt::format("known by name: {}; write others in the keys of docs/jobs.md", fmt::join(type_names(), ", ")));
    return type;
  }
  const std::optional<bool> gated = is_gated(contents);
  if (!gated && !has_any(contents, {"gated_mlp"}))
    diagnostics.error(where, fmt::format("{}, and its activation does not say whether the MLP is gated", who),
                      "write \"gated_mlp\": true (three products, as in Llama) or false beside it");
  type.gated = gated.value_or(true);
  if (has_any(contents, {"kv_lora_rank"})) type.attention = KeysAndValues::kLatent, type.heads = kLatent;
  if (has_any(contents, {"use_sliding_window"})) type.windows = Windows::kWhereUsed;
  diagnostics.warning(
      where,
      fmt::format("{}: read by its keys as a transformer with {} attention, {} MLP{} and rotary positions", who,
                  type.attention == KeysAndValues::kLatent                 ? "latent"
                  : has_any(contents, {"num_key_value_heads", "kv_heads"}) ? "grouped-query"
                                                                           : "multi-head",
                  type.gated ? "a gated" : "an ungated", experts ? ", experts" : ""),
      "hold the parameters of `orrery model show` against the published number");
  return type;
}

}  // namespace orrery::workload
