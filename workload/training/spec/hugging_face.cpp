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
#include "workload/training/spec/transformer_config.h"

namespace orrery::workload {
namespace {

using namespace transformer_sizes;

enum class KeysAndValues : std::uint8_t { kHeads, kLatent };

// Keys without which transformers would take a default of the type's own, which is another model.
using Keys = std::span<const std::string_view>;
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
// Of them, those that may be null, which has a meaning: as many as heads, not compressed, none.
constexpr std::array<std::string_view, 3> kNullable = {"num_key_value_heads", "q_lora_rank", "n_shared_experts"};

// What a model_type says without a key, and what its keys are where they differ from one another by type.
struct ModelType {
  std::string_view type;
  bool gated = true;
  std::string_view position = "rotary";
  bool biases = false;  // where no key says so
  bool tied = false;    // likewise
  KeysAndValues attention = KeysAndValues::kHeads;
  bool embedding_norm = false;
  Keys sizes = kUsualSizes;
  Keys heads = {};    // that attention needs as well
  Keys experts = {};  // empty: it may be dense
};

constexpr std::array<ModelType, 24> kModelTypes = {{
    {.type = "bloom",
     .gated = false,
     .position = "alibi",
     .biases = true,
     .tied = true,
     .embedding_norm = true,
     .sizes = kSizesOfBloom},
    {.type = "deepseek_v2", .attention = KeysAndValues::kLatent, .heads = kLatent, .experts = kRoutedExperts},
    {.type = "deepseek_v3", .attention = KeysAndValues::kLatent, .heads = kLatent, .experts = kRoutedExperts},
    {.type = "gemma", .tied = true, .heads = kGrouped},
    {.type = "gemma2", .tied = true, .heads = kGrouped},
    {.type = "gemma3_text", .tied = true, .heads = kGrouped},
    {.type = "gpt2", .gated = false, .position = "learned", .biases = true, .tied = true, .sizes = kSizesOfGpt2},
    {.type = "gpt_neox", .gated = false, .biases = true},
    {.type = "gpt_oss", .biases = true, .heads = kGrouped, .experts = kLocalExperts},
    {.type = "granite"},
    {.type = "kimi_k2", .attention = KeysAndValues::kLatent, .heads = kLatent, .experts = kRoutedExperts},
    {.type = "llama"},
    {.type = "mistral", .heads = Keys(kGrouped).first(1)},
    {.type = "mixtral", .heads = Keys(kGrouped).first(1), .experts = kLocalExperts},
    {.type = "nemotron", .gated = false},
    {.type = "olmo"},
    {.type = "olmo2"},
    {.type = "opt", .gated = false, .position = "learned", .biases = true, .tied = true, .sizes = kSizesOfOpt},
    {.type = "phi3"},
    {.type = "qwen2", .heads = Keys(kGrouped).first(1)},
    {.type = "qwen2_moe", .heads = Keys(kGrouped).first(1), .experts = kExpertsOfQwen},
    {.type = "qwen3", .heads = kGrouped},
    {.type = "qwen3_moe", .heads = Keys(kGrouped).first(1), .experts = Keys(kExpertsOfQwen).first(3)},
    {.type = "starcoder2", .gated = false, .biases = true, .tied = true, .heads = Keys(kGrouped).first(1)},
}};

// A size here, the keys that may say it there, of which the first that has a value does, and what it may be.
struct TranslatedSize {
  std::string_view key;
  std::initializer_list<std::string_view> names;
  Range range;
};
const std::array<TranslatedSize, 17> kTranslatedSizes = {{
    {"hidden", {"hidden_size", "n_embd", "n_embed"}, kLayerWidth},
    {"layers", {"num_hidden_layers", "n_layer"}, kLayers},
    {"heads", {"num_attention_heads", "n_head"}, kHeads},
    {"kv_heads", {"num_key_value_heads"}, kHeads},
    {"head_size", {"head_dim"}, kLayerWidth},
    {"ffn_hidden", {"intermediate_size", "ffn_dim", "n_inner"}, kInner},
    {"vocab", {"vocab_size"}, kVocab},
    {"sequence", {"max_position_embeddings", "n_positions", "seq_length"}, kSequence},
    {"experts", {"n_routed_experts", "num_experts", "num_local_experts"}, kExperts},
    {"experts_per_token", {"num_experts_per_tok"}, kExperts},
    {"expert_hidden", {"moe_intermediate_size"}, {0, kInner.most}},
    {"shared_experts", {"n_shared_experts"}, kExperts},
    {"dense_layers", {"first_k_dense_replace"}, {0, kLayers.most}},
    {"expert_interval", {"moe_layer_freq", "decoder_sparse_step"}, {1, kLayers.most}},
    {"expert_groups", {"n_group"}, kExpertGroups},
    {"groups_per_token", {"topk_group"}, kExpertGroups},
    {"mtp_layers", {"num_nextn_predict_layers"}, kPredictionModules},
}};
const std::array<TranslatedSize, 5> kLatentSizes = {{
    {"query_rank", {"q_lora_rank"}, {0, kLayerWidth.most}},
    {"key_value_rank", {"kv_lora_rank"}, kLayerWidth},
    {"head", {"qk_nope_head_dim"}, kLayerWidth},
    {"rotary_head", {"qk_rope_head_dim"}, kLayerWidth},
    {"value_head", {"v_head_dim"}, kLayerWidth},
}};
constexpr std::string_view kSharedWidth = "shared_expert_intermediate_size";

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

// As messages show it.
std::string text_of(const ConfigValue& value) {
  return value.kind == ConfigValue::Kind::kScalar ? fmt::format("'{}'", printable(value.scalar, 40))
                                                  : std::string(kind_name(value.kind));
}

class Translation {
 public:
  Translation(const ConfigValue& contents, const ModelType& type, const std::string& path, Diagnostics& diagnostics)
      : contents_(contents), type_(type), path_(path), diagnostics_(diagnostics) {
    model_ = {ConfigValue::Kind::kMap, contents.where, {}, {}, {}};
  }

  ConfigValue model() && {
    for (const Keys keys : {type_.sizes, type_.heads, type_.experts})
      for (const std::string_view key : keys) require(key);
    add_name();
    for (const TranslatedSize& size : kTranslatedSizes) add_size(size);
    if (type_.attention == KeysAndValues::kLatent && !is_own("latent_attention")) add_latent();
    add_traits();
    add_shared_expert();
    if (type_.experts.empty()) drop_of_dense();
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

  // Whether a key of a model here says it in place of Hugging Face's.
  bool is_own(std::string_view key) const { return contents_.find(key) != nullptr; }

  // What says the size: an entry with a value, or nothing.
  const ConfigEntry* entry_of(const TranslatedSize& size) const {
    for (const std::string_view name : size.names)
      if (const ConfigEntry* entry = value_of(contents_, name)) return entry;
    return nullptr;
  }

  // The key of a model here that `name` becomes.
  static std::string_view own_key(std::string_view name) {
    const auto has = [&](const TranslatedSize& size) {
      return std::ranges::find(size.names, name) != size.names.end();
    };
    const auto size = std::ranges::find_if(kTranslatedSizes, has);
    if (size != kTranslatedSizes.end()) return size->key;
    return name == kSharedWidth ? "shared_experts" : "latent_attention";
  }

  void require(std::string_view name) {
    const std::string_view key = own_key(name);
    const ConfigEntry* entry = contents_.find(name);
    const bool may_be_null = std::ranges::find(kNullable, name) != kNullable.end();
    if (is_own(key) || value_of(contents_, name) != nullptr || (entry != nullptr && may_be_null)) return;
    const auto size = std::ranges::find(kTranslatedSizes, key, &TranslatedSize::key);
    if (size != kTranslatedSizes.end() && entry_of(*size) != nullptr) return;
    diagnostics_.error(
        entry == nullptr ? contents_.where : entry->where,
        fmt::format("'{}' {}", name, entry == nullptr ? "is missing" : "is null"),
        fmt::format("without it, a model of type {} is another one; copy it from the model's config.json", type_.type));
  }

  // The whole number of `entry`; nothing after an error.
  std::optional<std::int64_t> number_of(const ConfigEntry& entry, Range range) {
    const bool is_scalar = entry.value.kind == ConfigValue::Kind::kScalar;
    const auto number = is_scalar ? parse_whole_number(entry.value.scalar) : std::nullopt;
    if (number && *number >= range.least && *number <= range.most) return number;
    const std::string what = number ? fmt::format("{} is out of range; expected {}", *number, to_text(range))
                                    : text_of(entry.value) + " is not a whole number";
    diagnostics_.error(entry.value.where, fmt::format("{}: {}", entry.key, what));
    return std::nullopt;
  }

  bool flag_of(std::string_view key, bool otherwise) {
    const ConfigEntry* entry = value_of(contents_, key);
    if (entry == nullptr) return otherwise;
    const auto flag =
        entry->value.kind == ConfigValue::Kind::kScalar ? parse_boolean(entry->value.scalar) : std::nullopt;
    if (!flag)
      diagnostics_.error(entry->value.where,
                         fmt::format("{}: {} is neither true nor false", key, text_of(entry->value)));
    return flag.value_or(otherwise);
  }

  // Nothing here follows from it but that it is a word.
  void check_word(std::string_view key) {
    const ConfigEntry* entry = value_of(contents_, key);
    if (entry == nullptr) return;
    const std::string& text = entry->value.scalar;
    if (entry->value.kind == ConfigValue::Kind::kScalar && !parse_share(text).value && !parse_boolean(text)) return;
    diagnostics_.error(entry->value.where, fmt::format("{}: {} is not a name", key, text_of(entry->value)),
                       "such as \"silu\"");
  }

  // "meta-llama/Meta-Llama-3-8B" without its owner.
  void add_name() {
    const ConfigEntry* path = value_of(contents_, "_name_or_path");
    if (path != nullptr && path->value.kind != ConfigValue::Kind::kScalar)
      diagnostics_.error(path->value.where, fmt::format("_name_or_path: {} is not a name", text_of(path->value)));
    const std::string name =
        path == nullptr ? std::string() : path->value.scalar.substr(path->value.scalar.rfind('/') + 1);
    add("name", name.empty() ? std::string(type_.type) : name, path == nullptr ? contents_.where : path->where);
  }

  void add_size(const TranslatedSize& size) {
    if (is_own(size.key)) return;
    if (type_.attention == KeysAndValues::kLatent && (size.key == "kv_heads" || size.key == "head_size")) return;
    const ConfigEntry* entry = entry_of(size);
    if (entry == nullptr) return;
    constexpr std::array<std::string_view, 3> kOfEachExpert = {"experts", "experts_per_token", "expert_hidden"};
    Range range = size.range;
    if (!type_.experts.empty() && std::ranges::find(kOfEachExpert, size.key) != kOfEachExpert.end()) range.least = 1;
    if (number_of(*entry, range)) add(size.key, entry->value.scalar, entry->where);
  }

  void add_latent() {
    ConfigEntry latent{"latent_attention", contents_.where, {ConfigValue::Kind::kMap, contents_.where, {}, {}, {}}};
    for (const TranslatedSize& size : kLatentSizes)
      if (const ConfigEntry* entry = entry_of(size); entry != nullptr && number_of(*entry, size.range))
        latent.value.entries.push_back({std::string(size.key), entry->where, entry->value});
    model_.entries.push_back(std::move(latent));
  }

  void add_traits() {
    for (const char* key : {"hidden_act", "activation_function", "hidden_activation"}) check_word(key);
    add("gated_mlp", type_.gated, "hidden_act");
    add("position", std::string(type_.position), contents_.where);
    const bool of_attention = flag_of("attention_bias", type_.biases), of_mlp = flag_of("mlp_bias", type_.biases);
    add("biases", flag_of("use_bias", false) || of_attention || of_mlp, "attention_bias");
    add("tied_embeddings", flag_of("tie_word_embeddings", type_.tied), "tie_word_embeddings");
    if (type_.embedding_norm) add("embedding_norm", true, "model_type");
  }

  // One wide expert that every token passes is as many as it is wide in experts.
  void add_shared_expert() {
    const ConfigEntry* entry = value_of(contents_, kSharedWidth);
    const ConfigEntry* of_experts = model_.find("expert_hidden");
    if (entry == nullptr || is_own("shared_experts")) return;
    const auto shared = number_of(*entry, {0, kInner.most});
    const std::int64_t each = of_experts == nullptr ? 0 : parse_whole_number(of_experts->value.scalar).value_or(0);
    if (!shared || *shared == 0 || each <= 0) return;
    if (*shared % each == 0) return add("shared_experts", fmt::format("{}", *shared / each), entry->where);
    diagnostics_.error(entry->where,
                       fmt::format("a shared expert of width {} is no multiple of an expert's {}", *shared, each),
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
    if (dense == nullptr) return;
    if (dense->value.kind != ConfigValue::Kind::kList)
      return diagnostics_.error(dense->value.where,
                                fmt::format("mlp_only_layers: {} is not a list", text_of(dense->value)));
    if (dense->value.items.empty()) return;
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
    const auto tokens = sequence == nullptr ? std::nullopt : parse_whole_number(sequence->value.scalar);
    if (!tokens) return;
    constexpr std::int64_t kUsual = 4096;
    const std::int64_t shorter = *tokens > kUsual ? kUsual : std::max<std::int64_t>(1, *tokens / 2);
    diagnostics_.warning(sequence->where,
                         fmt::format("sequences of {} tokens, the longest of the model: training may take shorter ones",
                                     printable(sequence->value.scalar, 40)),
                         path_.empty() || path_.find('[') != std::string::npos
                             ? fmt::format("write \"sequence\": {} beside model_type", shorter)
                             : fmt::format("--set {}.sequence={}", path_, shorter));
  }

  const ConfigValue& contents_;
  const ModelType& type_;
  const std::string& path_;
  Diagnostics& diagnostics_;
  ConfigValue model_;
};

}  // namespace

bool is_hugging_face(const ConfigValue& contents) {
  return contents.find("model_type") != nullptr || contents.find("architectures") != nullptr;
}

ConfigValue from_hugging_face(const ConfigValue& contents, const std::string& path, Diagnostics& diagnostics) {
  // The language model of one that also sees has a map of its own.
  if (const ConfigEntry* text = value_of(contents, "text_config"); text != nullptr && is_hugging_face(text->value)) {
    diagnostics.warning(text->where, "only the language model is taken, from 'text_config'", "");
    ConfigValue own = text->value;
    for (const std::string_view key : kOwnModelKeys)
      if (const ConfigEntry* entry = contents.find(key); entry != nullptr && own.find(key) == nullptr)
        own.entries.push_back(*entry);
    return from_hugging_face(own, path, diagnostics);
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
    diagnostics.error(type->where, fmt::format("unknown architecture {}", text_of(type->value)),
                      fmt::format("known: {}; write others in the keys of docs/jobs.md", fmt::join(types, ", ")));
    return {ConfigValue::Kind::kMap, contents.where, {}, {}, {}};
  }
  return Translation(contents, *family, path, diagnostics).model();
}

}  // namespace orrery::workload
