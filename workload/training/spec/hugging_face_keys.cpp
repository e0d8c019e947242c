// SPDX-License-Identifier: MIT
#include "workload/training/spec/hugging_face_keys.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/config/key_names.h"
#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "workload/training/spec/transformer_config.h"

namespace orrery::workload {
namespace {

// Keys that change neither times nor memory: names, the checkpoint's format, generation, the loss's weights, factors on
// single values, how weights begin.
constexpr std::array<std::string_view, 77> kWithoutEffect = {"architectures",
                                                             "auto_map",
                                                             "model_type",
                                                             "torch_dtype",
                                                             "dtype",
                                                             "torchscript",
                                                             "transformers_version",
                                                             "use_cache",
                                                             "use_return_dict",
                                                             "return_dict",
                                                             "use_bfloat16",
                                                             "pretraining_tp",
                                                             "pruned_heads",
                                                             "chunk_size_feed_forward",
                                                             "tokenizer_class",
                                                             "prefix",
                                                             "quantization_config",
                                                             "compression_config",
                                                             "ep_size",
                                                             "do_sample",
                                                             "temperature",
                                                             "top_k",
                                                             "top_p",
                                                             "typical_p",
                                                             "num_beams",
                                                             "num_beam_groups",
                                                             "num_return_sequences",
                                                             "max_length",
                                                             "min_length",
                                                             "length_penalty",
                                                             "repetition_penalty",
                                                             "diversity_penalty",
                                                             "no_repeat_ngram_size",
                                                             "encoder_no_repeat_ngram_size",
                                                             "early_stopping",
                                                             "bad_words_ids",
                                                             "suppress_tokens",
                                                             "begin_suppress_tokens",
                                                             "output_attentions",
                                                             "output_hidden_states",
                                                             "output_scores",
                                                             "return_dict_in_generate",
                                                             "output_router_logits",
                                                             "remove_invalid_values",
                                                             "exponential_decay_length_penalty",
                                                             "id2label",
                                                             "label2id",
                                                             "problem_type",
                                                             "finetuning_task",
                                                             "task_specific_params",
                                                             "is_decoder",
                                                             "tie_encoder_decoder",
                                                             "cross_attention_hidden_size",
                                                             "tf_legacy_loss",
                                                             "seq_aux",
                                                             "norm_topk_prob",
                                                             "scoring_func",
                                                             "topk_method",
                                                             "routed_scaling_factor",
                                                             "query_pre_attn_scalar",
                                                             "scale_attn_weights",
                                                             "scale_attn_by_inverse_layer_idx",
                                                             "reorder_and_upcast_attn",
                                                             "logits_scaling",
                                                             "logit_scale",
                                                             "swiglu_limit",
                                                             "partial_rotary_factor",
                                                             "original_max_position_embeddings",
                                                             "initial_context_length",
                                                             "no_rope_layers",
                                                             "no_rope_layer_interval",
                                                             "apply_residual_connection_post_layernorm",
                                                             "do_layer_norm_before",
                                                             "layerdrop",
                                                             "n_ctx",
                                                             "qk_head_dim",
                                                             "floor_scale"};
constexpr std::array<std::string_view, 4> kBeginningsWithoutEffect = {"_", "rope_", "rotary_", "summary_"};
constexpr std::array<std::string_view, 19> kEndsWithoutEffect = {
    "_token_id", "_token_ids",  "_token_index", "_dropout", "_pdrop",      "_dropout_prob", "_eps",
    "_epsilon",  "_range",      "_std",         "_coef",    "_loss_alpha", "_loss_weight",  "_softcapping",
    "_noise",    "_multiplier", "_tuning",      "_theta",   "_init_method"};

// Parts that no key here stands for, without which the answer would be another model's.
struct ForeignPart {
  std::string_view key;  // the first characters of one that ends with '*'
  std::string_view part;
};
constexpr std::array<ForeignPart, 31> kForeignParts = {{
    {"linear_num_key_heads", "linear attention"},
    {"linear_num_value_heads", "linear attention"},
    {"linear_conv_kernel_dim", "linear attention"},
    {"linear_attn_config", "linear attention"},
    {"full_attention_interval", "linear attention"},
    {"attn_type_list", "linear attention"},
    {"layer_group_size", "linear attention"},
    {"mamba_*", "state-space layers"},
    {"ssm_*", "state-space layers"},
    {"state_size", "state-space layers"},
    {"hybrid_override_pattern", "state-space layers"},
    {"hybrid_layer_ids", "state-space layers"},
    {"attn_layer_period", "state-space layers"},
    {"attn_layer_indices", "state-space layers"},
    {"time_step_rank", "state-space layers"},
    {"lru_width", "recurrent layers"},
    {"block_types", "recurrent layers"},
    {"conv_L_cache", "convolutions between layers"},
    {"full_attn_idxs", "convolutions between layers"},
    {"cross_attention_layers", "layers that attend to another model"},
    {"is_encoder_decoder", "an encoder with a decoder"},
    {"add_cross_attention", "an encoder with a decoder"},
    {"encoder_layers", "an encoder with a decoder"},
    {"num_decoder_layers", "an encoder with a decoder"},
    {"type_vocab_size", "an encoder of BERT's kind"},
    {"altup_num_inputs", "several residual streams"},
    {"hc_mult", "several residual streams"},
    {"hidden_size_per_layer_input", "an embedding for each layer"},
    {"block_configs", "layers of different sizes"},
    {"num_attention_groups", "factorised attention"},
    {"zero_expert_num", "experts without weights"},
}};

bool matches(std::string_view key, std::string_view pattern) {
  return pattern.ends_with('*') ? key.starts_with(pattern.substr(0, pattern.size() - 1)) : key == pattern;
}

// A value that says that nothing of the kind is there.
bool says_none(const ConfigValue& value) {
  if (value.kind == ConfigValue::Kind::kNull) return true;
  if (value.kind == ConfigValue::Kind::kList) return value.items.empty();
  if (value.kind == ConfigValue::Kind::kMap) return value.entries.empty();
  return value.scalar == "0" || value.scalar == "false" || value.scalar == "False";
}

// True if every layer is listed and is one of attention: then the keys for other layers are not used.
bool lists_attention_only(const ConfigValue& contents) {
  const ConfigEntry* types = value_of(contents, "layer_types");
  constexpr std::array<std::string_view, 4> kAttention = {"attention", "full_attention", "sliding_attention",
                                                          "chunked_attention"};
  return types != nullptr && types->value.kind == ConfigValue::Kind::kList && !types->value.items.empty() &&
         std::ranges::all_of(types->value.items, [&](const ConfigValue& item) {
           return std::ranges::find(kAttention, item.scalar) != kAttention.end();
         });
}

bool is_without_effect(std::string_view key) {
  return std::ranges::find(kWithoutEffect, key) != kWithoutEffect.end() ||
         std::ranges::any_of(kBeginningsWithoutEffect, [&](std::string_view word) { return key.starts_with(word); }) ||
         std::ranges::any_of(kEndsWithoutEffect, [&](std::string_view word) { return key.ends_with(word); });
}

bool is_foreign(std::string_view key) {
  return std::ranges::any_of(kForeignParts, [&](const ForeignPart& part) { return matches(key, part.key); });
}

}  // namespace

const std::vector<std::string>& own_model_keys() {
  static const std::vector<std::string> keys = [] {
    const ConfigFiles no_files{{}};
    std::vector<std::string> names = key_names(no_files, [](Section& section) { read_transformer(section); });
    names.insert(names.end(), {"name", "parameters"});
    return names;
  }();
  return keys;
}

const ConfigEntry* value_of(const ConfigValue& contents, std::string_view key) {
  const ConfigEntry* entry = contents.find(key);
  return entry == nullptr || entry->value.kind == ConfigValue::Kind::kNull ? nullptr : entry;
}

std::string text_of(const ConfigValue& value) {
  return value.kind == ConfigValue::Kind::kScalar ? fmt::format("'{}'", printable(value.scalar, 40))
                                                  : std::string(kind_name(value.kind));
}

void refuse_other_layers(const ConfigValue& contents, Diagnostics& diagnostics) {
  if (lists_attention_only(contents)) return;
  for (const ConfigEntry& entry : contents.entries)
    for (const ForeignPart& part : kForeignParts) {
      // `full_attention_interval` of 1 means that every layer is one of attention; a single stream is none of several.
      const bool is_one = entry.value.kind == ConfigValue::Kind::kScalar && entry.value.scalar == "1";
      const bool may_be_one =
          part.key == "full_attention_interval" || part.key == "hc_mult" || part.key == "altup_num_inputs";
      if (!matches(entry.key, part.key) || says_none(entry.value) || (is_one && may_be_one)) continue;
      return diagnostics.error(
          entry.where, fmt::format("'{}' stands for {}, which Orrery does not model", entry.key, part.part),
          "a model of attention and MLPs alone would be another one; leave the key out to take it as "
          "that, or write the model in the keys of docs/jobs.md");
    }
}

void tell_unknown_keys(const ConfigValue& contents, std::span<const std::string_view> read, Diagnostics& diagnostics) {
  std::vector<std::string> known(read.begin(), read.end());
  known.insert(known.end(), own_model_keys().begin(), own_model_keys().end());
  std::vector<std::string> unknown, meant;
  const ConfigEntry* first = nullptr;
  for (const ConfigEntry& entry : contents.entries) {
    const bool is_read = std::ranges::find(known, entry.key) != known.end();
    if (is_read || is_without_effect(entry.key) || is_foreign(entry.key)) continue;
    if (first == nullptr) first = &entry;
    unknown.push_back(printable(entry.key, 60));
    if (const std::string near = nearest_name(entry.key, known); !near.empty())
      meant.push_back(fmt::format("'{}' for '{}'", near, unknown.back()));
  }
  if (first == nullptr) return;
  constexpr std::size_t kMostNamed = 20;
  const std::string more = unknown.size() > kMostNamed ? fmt::format(", and {} more", unknown.size() - kMostNamed) : "";
  unknown.resize(std::min(unknown.size(), kMostNamed));
  diagnostics.warning(first->where,
                      fmt::format("not read, and not known to change nothing: {}{}", fmt::join(unknown, ", "), more),
                      meant.empty() ? "what they stand for is not in the answer; the keys of docs/jobs.md can say it"
                                    : fmt::format("did you mean {}?", fmt::join(meant, ", ")));
}

}  // namespace orrery::workload
