// SPDX-License-Identifier: MIT
#include "workload/training/spec/hugging_face.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/training/spec/hugging_face_keys.h"
#include "workload/training/spec/hugging_face_types.h"
#include "workload/training/spec/transformer_config.h"

namespace orrery::workload {
namespace {

using namespace transformer_sizes;

// Keys that this file reads besides those of sizes.
constexpr std::array<std::string_view, 25> kTraits = {"_name_or_path",
                                                      "hidden_act",
                                                      "hidden_activation",
                                                      "activation_function",
                                                      "attention_bias",
                                                      "mlp_bias",
                                                      "use_bias",
                                                      "tie_word_embeddings",
                                                      "mlp_only_layers",
                                                      "mlp_layer_types",
                                                      "sliding_window",
                                                      "use_sliding_window",
                                                      "max_window_layers",
                                                      "layer_types",
                                                      "sliding_window_pattern",
                                                      "attention_chunk_size",
                                                      "index_topk",
                                                      "index_n_heads",
                                                      "index_head_dim",
                                                      "use_qk_norm",
                                                      "qk_layernorm",
                                                      "qk_norm",
                                                      "use_parallel_residual",
                                                      "parallel_attn",
                                                      "text_config"};

std::vector<std::string_view> read_keys() {
  std::vector<std::string_view> keys(kTraits.begin(), kTraits.end());
  for (const auto sizes : {translated_sizes(), latent_sizes()})
    for (const TranslatedSize& size : sizes) keys.insert(keys.end(), size.names.begin(), size.names.end());
  keys.insert(keys.end(), kSharedWidths.begin(), kSharedWidths.end());
  return keys;
}

// The first of `names` that has a value.
const ConfigEntry* first_of(const ConfigValue& contents, std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    if (const ConfigEntry* entry = value_of(contents, name)) return entry;
  return nullptr;
}

class Translation {
 public:
  Translation(const ConfigValue& contents, const HuggingFaceType& type, const std::string& path,
              Diagnostics& diagnostics)
      : contents_(contents), type_(type), path_(path), diagnostics_(diagnostics) {
    model_ = {ConfigValue::Kind::kMap, contents.where, {}, {}, {}};
  }

  TranslatedModel model() && {
    for (const HuggingFaceKeys keys : {type_.sizes, type_.heads, type_.experts})
      for (const std::string_view key : keys) require(key);
    add_name();
    for (const TranslatedSize& size : translated_sizes()) add_size(size);
    if (type_.attention == KeysAndValues::kLatent && !is_own("latent_attention")) add_latent();
    add_traits();
    add_shared_expert();
    if (type_.experts.empty()) drop_of_dense();
    refuse_mixed_layers();
    for (const std::string& key : own_model_keys())
      if (const ConfigEntry* own = contents_.find(key)) replace(*own);
    tell_sequence();
    add_windows();
    add_small_parts();
    return {std::move(model_), std::move(left_out_)};
  }

 private:
  void add(std::string_view key, std::string text, const Location& where) {
    model_.entries.push_back({std::string(key), where, {ConfigValue::Kind::kScalar, where, std::move(text), {}, {}}});
  }
  void add(std::string_view key, bool flag, std::string_view from) {
    const ConfigEntry* entry = value_of(contents_, from);
    add(key, flag ? "true" : "false", entry == nullptr ? contents_.where : entry->where);
  }

  // True if a key of Orrery's own stands in place of Hugging Face's.
  bool is_own(std::string_view key) const { return contents_.find(key) != nullptr; }

  // Entry that gives the size, with a value; null if there is none.
  const ConfigEntry* entry_of(const TranslatedSize& size) const {
    if (const ConfigEntry* entry = first_of(contents_, size.names)) return entry;
    // Llama 4 has a width for dense layers apart from that of experts.
    const bool has_width_of_dense = value_of(contents_, "intermediate_size_mlp") != nullptr;
    return size.key == "expert_hidden" && has_width_of_dense ? value_of(contents_, "intermediate_size") : nullptr;
  }

  // The key of a model here that `name` becomes.
  static std::string_view own_key(std::string_view name) {
    const auto has = [&](const TranslatedSize& size) {
      return std::ranges::find(size.names, name) != size.names.end();
    };
    const auto sizes = translated_sizes();
    const auto size = std::ranges::find_if(sizes, has);
    if (size != sizes.end()) return size->key;
    const bool is_shared = std::ranges::find(kSharedWidths, name) != kSharedWidths.end();
    return is_shared ? "shared_experts" : "latent_attention";
  }

  void require(std::string_view name) {
    const std::string_view key = own_key(name);
    const ConfigEntry* entry = contents_.find(name);
    if (is_own(key) || value_of(contents_, name) != nullptr || (entry != nullptr && may_be_null(name))) return;
    const auto sizes = translated_sizes();
    const auto size = std::ranges::find(sizes, key, &TranslatedSize::key);
    if (size != sizes.end() && entry_of(*size) != nullptr) return;
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
    if (size.key == "expert_interval" && entry->value.kind == ConfigValue::Kind::kList)
      return add_dense_beginning(*entry);
    if (number_of(*entry, range)) add(size.key, entry->value.scalar, entry->where);
  }

  // A list that says of each layer whether it has experts (1, "sparse"): dense ones stand first, or it is no rule.
  void add_dense_beginning(const ConfigEntry& list) {
    const auto is_sparse = [](const ConfigValue& item) { return item.scalar == "1" || item.scalar == "sparse"; };
    const auto& items = list.value.items;
    const auto first = std::ranges::find_if(items, is_sparse);
    if (!std::all_of(first, items.end(), is_sparse))
      return diagnostics_.error(list.where, fmt::format("'{}' mixes dense layers and layers with experts", list.key),
                                "here the first `dense_layers` are dense; write the model in the keys of docs/jobs.md");
    if (!is_own("dense_layers")) {
      std::erase_if(model_.entries, [](const ConfigEntry& entry) { return entry.key == "dense_layers"; });
      add("dense_layers", fmt::format("{}", std::distance(items.begin(), first)), list.where);
    }
  }

  void add_latent() {
    ConfigEntry latent{"latent_attention", contents_.where, {ConfigValue::Kind::kMap, contents_.where, {}, {}, {}}};
    for (const TranslatedSize& size : latent_sizes())
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
    const bool says_tied = value_of(contents_, "tie_word_embeddings") != nullptr || is_own("tied_embeddings");
    if (type_named(type_.type) == nullptr && !says_tied)
      left_out_.push_back({LeftOutKind::kTied, "tie_word_embeddings", contents_.where});
  }

  // One wide expert that every token passes is as many as it is wide in experts.
  void add_shared_expert() {
    if (is_own("shared_experts") || model_.find("shared_experts") != nullptr) return;
    const ConfigEntry* entry = first_of(contents_, kSharedWidths);
    const ConfigEntry* of_experts = model_.find("expert_hidden");
    if (of_experts == nullptr) of_experts = model_.find("ffn_hidden");
    if (entry == nullptr && type_.shared_experts > 0)
      return add("shared_experts", fmt::format("{}", type_.shared_experts), contents_.where);
    if (entry == nullptr) return;
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
    if (const ConfigEntry* types = value_of(contents_, "mlp_layer_types");
        types != nullptr && types->value.kind == ConfigValue::Kind::kList && model_.find("experts") != nullptr)
      add_dense_beginning(*types);
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

  // A whole number of the model as it is translated, or of a key; `otherwise` where there is none.
  std::int64_t number(const ConfigValue& map, std::string_view key, std::int64_t otherwise) const {
    const ConfigEntry* entry = value_of(map, key);
    const bool is_scalar = entry != nullptr && entry->value.kind == ConfigValue::Kind::kScalar;
    return is_scalar ? parse_whole_number(entry->value.scalar).value_or(otherwise) : otherwise;
  }

  // Number of the first `layers` layers that have this type in `layer_types`; nothing where it does not list them all.
  std::optional<std::int64_t> listed(std::string_view type, std::int64_t layers) {
    const ConfigEntry* types = value_of(contents_, "layer_types");
    if (types == nullptr || types->value.kind != ConfigValue::Kind::kList) return std::nullopt;
    const auto& items = types->value.items;
    if (std::ssize(items) < layers) return std::nullopt;
    return std::count_if(items.begin(), std::next(items.begin(), layers),
                         [&](const ConfigValue& item) { return item.scalar == type; });
  }

  // Layers are of attention, whole or in windows.
  void check_layer_types(std::int64_t layers) {
    const ConfigEntry* types = value_of(contents_, "layer_types");
    if (types == nullptr) return;
    if (types->value.kind != ConfigValue::Kind::kList)
      return diagnostics_.error(types->value.where,
                                fmt::format("layer_types: {} is not a list", text_of(types->value)));
    if (std::ssize(types->value.items) < layers)
      return diagnostics_.error(
          types->where, fmt::format("layer_types has the types of {} of {} layers", types->value.items.size(), layers));
    constexpr std::array<std::string_view, 4> kKnown = {"attention", "full_attention", "sliding_attention",
                                                        "chunked_attention"};
    for (const ConfigValue& item : types->value.items)
      if (std::ranges::find(kKnown, item.scalar) == kKnown.end())
        return diagnostics_.error(item.where,
                                  fmt::format("layer_types: Orrery does not model layers of {}", text_of(item)),
                                  "known: full_attention, sliding_attention, chunked_attention");
  }

  // Number of layers with windows where `layer_types` does not list them.
  std::int64_t windowed(std::int64_t layers) {
    const bool is_used = flag_of("use_sliding_window", type_.windows != Windows::kWhereUsed);
    if (!is_used) return 0;
    if (value_of(contents_, "use_sliding_window") != nullptr && value_of(contents_, "max_window_layers") != nullptr)
      return std::max<std::int64_t>(0, layers - number(contents_, "max_window_layers", 0));
    const ConfigEntry* pattern = value_of(contents_, "sliding_window_pattern");
    const bool is_word = pattern != nullptr && pattern->value.kind == ConfigValue::Kind::kScalar &&
                         !parse_whole_number(pattern->value.scalar) && !pattern->value.scalar.empty();
    if (is_word) {  // "LLLG": local, local, local, global, and again
      const std::string& word = pattern->value.scalar;
      std::int64_t local = 0;
      for (std::int64_t i = 0; i < layers; ++i) local += word[static_cast<std::size_t>(i) % word.size()] == 'L' ? 1 : 0;
      return local;
    }
    const std::int64_t every = number(contents_, "sliding_window_pattern", type_.full_every);
    return every > 0 ? layers - layers / every : layers;
  }

  // Layers whose tokens do not see the whole sequence.
  void add_windows() {
    const std::int64_t layers = number(model_, "layers", 0);
    check_layer_types(layers);
    for (const auto& [key, type] :
         {std::pair("sliding_window", "sliding_attention"), {"attention_chunk_size", "chunked_attention"}}) {
      const ConfigEntry* entry = value_of(contents_, key);
      if (entry == nullptr) continue;
      const auto span = number_of(*entry, {0, kSequence.most});
      const std::int64_t count = listed(type, layers).value_or(windowed(layers));
      if (span && *span > 0 && count > 0) left_out_.push_back({LeftOutKind::kWindow, key, entry->where, *span, count});
    }
    const ConfigEntry* selected = value_of(contents_, "index_topk");
    if (selected == nullptr) return;
    if (const auto span = number_of(*selected, {1, kSequence.most}))
      left_out_.push_back({LeftOutKind::kIndexer, "index_topk", selected->where, *span, layers,
                           number(contents_, "index_n_heads", 0) * number(contents_, "index_head_dim", 0)});
  }

  void add_small_parts() {
    for (const char* key : {"use_qk_norm", "qk_layernorm", "qk_norm"})
      if (flag_of(key, false)) left_out_.push_back({LeftOutKind::kHeadNorms, key, value_of(contents_, key)->where});
    for (const char* key : {"use_parallel_residual", "parallel_attn"})
      if (flag_of(key, false)) left_out_.push_back({LeftOutKind::kSideBySide, key, value_of(contents_, key)->where});
  }

  const ConfigValue& contents_;
  const HuggingFaceType& type_;
  const std::string& path_;
  Diagnostics& diagnostics_;
  ConfigValue model_;
  std::vector<LeftOut> left_out_;
};

// The map of the language model in a model that sees or hears, too.
const ConfigEntry* language_model(const ConfigValue& contents) {
  constexpr std::array<std::string_view, 5> kNames = {"text_config", "llm_config", "language_config", "thinker_config",
                                                      "text_model_config"};
  for (const std::string_view name : kNames)
    if (const ConfigEntry* entry = contents.find(name);
        entry != nullptr && entry->value.kind == ConfigValue::Kind::kMap && !entry->value.entries.empty())
      return entry;
  return nullptr;
}

// Roughly the parameters of a stack of transformer layers by its sizes: 4 h^2 of attention and 2 h f of the MLP for
// each layer; 0 where they are not there.
std::int64_t parameters_of_tower(const ConfigValue& map) {
  const auto number = [&](std::initializer_list<std::string_view> names) -> std::int64_t {
    for (const std::string_view name : names)
      if (const ConfigEntry* entry = value_of(map, name)) return parse_whole_number(entry->value.scalar).value_or(0);
    return 0;
  };
  constexpr std::int64_t kMostWidth = 1 << 20, kMostLayers = 100'000;
  const std::int64_t hidden = number({"hidden_size", "embed_dim", "d_model", "width"});
  const std::int64_t layers = number({"num_hidden_layers", "depth", "num_layers", "encoder_layers", "layers"});
  const std::int64_t inner = number({"intermediate_size", "encoder_ffn_dim"});
  if (hidden <= 0 || layers <= 0 || inner < 0 || hidden > kMostWidth || layers > kMostLayers || inner > kMostWidth)
    return 0;
  return layers * (4 * hidden * hidden + 2 * hidden * (inner > 0 ? inner : 4 * hidden));
}

// The language model out of one that sees or hears; what else there is goes to `left_out`.
TranslatedModel language_model_of(const ConfigValue& contents, const ConfigEntry& language, const std::string& path,
                                  Diagnostics& diagnostics) {
  ConfigValue own = language.value;
  const auto add = [&](std::string_view key) {
    if (const ConfigEntry* entry = contents.find(key); entry != nullptr && own.find(key) == nullptr)
      own.entries.push_back(*entry);
  };
  for (const std::string& key : own_model_keys()) add(key);
  for (const char* key : {"tie_word_embeddings", "model_type", "_name_or_path"}) add(key);
  TranslatedModel model = from_hugging_face(own, path, diagnostics);
  const std::vector<std::string_view> read = read_keys();
  ConfigValue rest{ConfigValue::Kind::kMap, contents.where, {}, {}, {}};
  bool has_tower = false;
  for (const ConfigEntry& entry : contents.entries) {
    if (&entry == &language) continue;
    if (entry.value.kind == ConfigValue::Kind::kMap && entry.key.ends_with("_config") &&
        entry.key != "quantization_config") {
      has_tower = true;
      model.left_out.push_back({LeftOutKind::kTower, entry.key, entry.where, parameters_of_tower(entry.value)});
    } else if (entry.value.kind == ConfigValue::Kind::kScalar) {
      rest.entries.push_back(entry);
    }
  }
  tell_unknown_keys(rest, read, diagnostics);
  if (!has_tower)
    diagnostics.warning(language.where, fmt::format("only the language model is taken, from '{}'", language.key), "");
  return model;
}

}  // namespace

bool is_hugging_face(const ConfigValue& contents) {
  if (contents.find("model_type") != nullptr || contents.find("architectures") != nullptr) return true;
  constexpr std::array<std::string_view, 5> kSizes = {"hidden_size", "num_hidden_layers", "num_attention_heads",
                                                      "vocab_size", "max_position_embeddings"};
  return language_model(contents) != nullptr ||
         std::ranges::all_of(kSizes, [&](std::string_view key) { return contents.find(key) != nullptr; });
}

TranslatedModel from_hugging_face(const ConfigValue& contents, const std::string& path, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  if (const ConfigEntry* language = language_model(contents))
    return language_model_of(contents, *language, path, diagnostics);
  const TranslatedModel none{{ConfigValue::Kind::kMap, contents.where, {}, {}, {}}, {}};
  const ConfigEntry* name = value_of(contents, "model_type");
  if (name != nullptr && name->value.kind != ConfigValue::Kind::kScalar) {
    diagnostics.error(name->where, fmt::format("unknown architecture {}", text_of(name->value)),
                      fmt::format("known: {}", fmt::join(type_names(), ", ")));
    return none;
  }
  refuse_other_layers(contents, diagnostics);
  if (diagnostics.error_count() > errors) return none;
  const HuggingFaceType* known = name == nullptr ? nullptr : type_named(name->value.scalar);
  const HuggingFaceType type =
      known != nullptr ? *known : type_by_keys(contents, name == nullptr ? "" : name->value.scalar, diagnostics);
  if (diagnostics.error_count() > errors) return none;
  TranslatedModel model = Translation(contents, type, path, diagnostics).model();
  tell_unknown_keys(contents, read_keys(), diagnostics);
  return model;
}

}  // namespace orrery::workload
