// SPDX-License-Identifier: MIT
#include "workload/training/model_files/hugging_face.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/training/model_files/hugging_face_keys.h"
#include "workload/training/model_files/hugging_face_types.h"
#include "workload/training/model_files/key_reader.h"

namespace orrery::workload {
namespace {

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

// The longest sequence that positions are for is rarely the one of training.
void tell_sequence(const ConfigValue& contents, const ConfigValue& model, const std::string& path,
                   Diagnostics& diagnostics) {
  if (contents.find("sequence") != nullptr) return;
  const ConfigEntry* sequence = model.find("sequence");
  const auto tokens = sequence == nullptr ? std::nullopt : parse_whole_number(sequence->value.scalar);
  if (!tokens) return;
  constexpr std::int64_t kUsual = 4096;
  const std::int64_t shorter = *tokens > kUsual ? kUsual : std::max<std::int64_t>(1, *tokens / 2);
  diagnostics.warning(sequence->where,
                      fmt::format("sequences of {} tokens, the longest of the model: training may take shorter ones",
                                  printable(sequence->value.scalar, 40)),
                      path.empty() || path.find('[') != std::string::npos
                          ? fmt::format("write \"sequence\": {} beside model_type", shorter)
                          : fmt::format("--set {}.sequence={}", path, shorter));
}

// Keys of Orrery win over those that were translated.
void replace_by_own(const ConfigValue& contents, ConfigValue& model) {
  for (const std::string& key : own_model_keys())
    if (const ConfigEntry* own = contents.find(key)) {
      std::erase_if(model.entries, [&](const ConfigEntry& entry) { return entry.key == key; });
      model.entries.push_back(*own);
    }
}

// The sizes without which keys are not the shape of a transformer; those that a model here has stand for them.
std::vector<std::string> missing_sizes(KeyReader& keys) {
  std::vector<std::string> missing;
  const auto check = [&](KeyNames names, std::string_view name) {
    if (!keys.has(names)) missing.emplace_back(name);
  };
  check({"hidden_size", "d_model", "n_embd", "n_embed", "hidden"}, "hidden_size");
  check({"num_hidden_layers", "n_layer", "n_layers", "num_layers", "layers"}, "num_hidden_layers");
  check({"num_attention_heads", "n_head", "n_heads", "heads"}, "num_attention_heads");
  check({"intermediate_size", "moe_intermediate_size", "ffn_hidden", "ffn_hidden_size", "ffn_config.ffn_hidden_size",
         "shared_intermediate_size"},
        "intermediate_size");
  check({"vocab_size", "padded_vocab_size", "vocab"}, "vocab_size");
  check({"max_position_embeddings", "max_seq_len", "n_positions", "seq_length", "model_max_length", "sequence"},
        "max_position_embeddings");
  return missing;
}

// A type of an unknown name is read by its keys, if they are all of a transformer's: said so as a warning, as `model`
// says what it was taken for.
bool has_sizes_of_unknown(KeyReader& keys, const std::string& who, const Location& where, Diagnostics& diagnostics) {
  const std::vector<std::string> missing = missing_sizes(keys);
  if (missing.empty()) return true;
  diagnostics.error(where,
                    fmt::format("{}, and its keys are not all of a transformer's: {} {} missing", who,
                                fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are"),
                    "write it by the keys of config.json of llama or deepseek_v3, or in those of docs/jobs.md");
  return false;
}

void tell_unknown_type(const ConfigValue& model, const std::string& who, const Location& where,
                       Diagnostics& diagnostics) {
  const ConfigEntry* gated = model.find("gated_mlp");
  const ConfigEntry* position = model.find("position");
  diagnostics.warning(
      where,
      fmt::format("{}: read by its keys as a transformer with {} attention, {} MLP{} and {} positions", who,
                  model.find("latent_attention") != nullptr ? "latent"
                  : model.find("kv_heads") != nullptr       ? "grouped-query"
                                                            : "multi-head",
                  gated != nullptr && gated->value.scalar == "true" ? "a gated" : "an ungated",
                  model.find("experts") != nullptr ? ", experts" : "",
                  position == nullptr ? "rotary" : position->value.scalar),
      "hold the parameters of `orrery model show` against the published number");
}

// An error for a key that a known type needs, without which transformers would take a default of its own.
void check_needed(const ModelType& type, const ConfigValue& contents, Diagnostics& diagnostics) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kOwn = {
      {{"num_key_value_heads", "kv_heads"},
       {"head_dim", "head_size"},
       {"num_local_experts", "experts"},
       {"num_experts", "experts"},
       {"n_routed_experts", "experts"},
       {"num_experts_per_tok", "experts_per_token"},
       {"moe_intermediate_size", "expert_hidden"},
       {"n_shared_experts", "shared_experts"},
       {"first_k_dense_replace", "dense_layers"},
       {"q_lora_rank", "latent_attention"},
       {"kv_lora_rank", "latent_attention"},
       {"qk_nope_head_dim", "latent_attention"},
       {"qk_rope_head_dim", "latent_attention"},
       {"v_head_dim", "latent_attention"}}};
  constexpr std::array<std::string_view, 3> kMayBeNull = {"num_key_value_heads", "q_lora_rank", "n_shared_experts"};
  for (const std::string& key : needed_keys(type)) {
    const auto own = std::ranges::find(kOwn, key, [](const auto& pair) { return pair.first; });
    if (own != kOwn.end() && contents.find(own->second) != nullptr) continue;
    const ConfigEntry* entry = contents.find(key);
    const bool may_be_null = std::ranges::find(kMayBeNull, key) != kMayBeNull.end();
    if (value_of(contents, key) != nullptr || (entry != nullptr && may_be_null)) continue;
    diagnostics.error(
        entry == nullptr ? contents.where : entry->where,
        fmt::format("'{}' {}", key, entry == nullptr ? "is missing" : "is null"),
        fmt::format("without it, a model of type {} is another one; copy it from the model's config.json", type.name));
  }
}

TranslatedModel decoder_of(const ConfigValue& contents, const std::string& path, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  TranslatedModel none{{ConfigValue::Kind::kMap, contents.where, {}, {}, {}}, {}};
  const ConfigEntry* name = value_of(contents, "model_type");
  if (name != nullptr && name->value.kind != ConfigValue::Kind::kScalar) {
    diagnostics.error(name->where, fmt::format("unknown architecture {}", text_of(name->value)),
                      "a name, such as \"llama\"");
    return none;
  }
  refuse_foreign_parts(contents, diagnostics);
  if (diagnostics.error_count() > errors) return none;
  const std::string text = name == nullptr ? std::string() : name->value.scalar;
  const ModelType* known = type_named(text);
  const Location where = name == nullptr ? contents.where : name->where;
  const std::string who = text.empty() ? std::string("a config.json without 'model_type'")
                                       : fmt::format("unknown architecture '{}'", printable(text, 40));
  KeyReader keys(contents, known == nullptr ? none.contents : implied_entries(*known, where), diagnostics);
  if (known == nullptr && !has_sizes_of_unknown(keys, who, where, diagnostics)) return none;
  if (known != nullptr) check_needed(*known, contents, diagnostics);
  if (diagnostics.error_count() > errors) return none;
  const bool needs_experts = known != nullptr && known->needs.find("experts") != std::string_view::npos;
  TranslatedModel model = read_decoder(keys, {text.empty() ? "model" : text, known != nullptr, needs_experts});
  if (known == nullptr) tell_unknown_type(model.contents, who, where, diagnostics);
  if (diagnostics.error_count() > errors) return none;
  replace_by_own(contents, model.contents);
  tell_sequence(contents, model.contents, path, diagnostics);
  refuse_unplaced_mixers(keys, diagnostics);
  if (diagnostics.error_count() == errors) refuse_unknown_keys(keys, diagnostics);
  return model;
}

// True if an entry is the map of another model beside this one.
bool is_tower(const ConfigEntry& entry) {
  return entry.value.kind == ConfigValue::Kind::kMap && !entry.value.entries.empty() &&
         entry.key.ends_with("_config") && entry.key != "quantization_config" && entry.key != "compression_config";
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
  ConfigValue rest{ConfigValue::Kind::kMap, contents.where, {}, {}, {}};
  const std::size_t others = model.left_out.size();
  for (const ConfigEntry& entry : contents.entries)
    if (&entry != &language && is_tower(entry))
      model.left_out.push_back({LeftOutKind::kTower, entry.key, entry.where, parameters_of_tower(entry.value)});
    else if (entry.value.kind == ConfigValue::Kind::kScalar && own.find(entry.key) == nullptr)
      rest.entries.push_back(entry);
  tell_keys_beside(KeyReader(rest, {}, diagnostics), rest, diagnostics);
  if (model.left_out.size() == others)
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
  if (const ConfigEntry* language = language_model(contents))
    return language_model_of(contents, *language, path, diagnostics);
  ConfigValue own = flattened(contents);
  std::erase_if(own.entries, is_tower);
  TranslatedModel model = decoder_of(own, path, diagnostics);
  for (const ConfigEntry& entry : contents.entries)
    if (is_tower(entry) && !is_map_of_parts(entry.key))
      model.left_out.push_back({LeftOutKind::kTower, entry.key, entry.where, parameters_of_tower(entry.value)});
  return model;
}

}  // namespace orrery::workload
