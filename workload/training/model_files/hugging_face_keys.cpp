// SPDX-License-Identifier: MIT
#include "workload/training/model_files/hugging_face_keys.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/config/key_path.h"
#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "workload/training/spec/transformer_config.h"

namespace orrery::workload {
namespace {

// Keys that change neither times nor memory: names, the checkpoint's format, generation, the loss's weights, routing by
// which number of experts does not change, factors on single values, how weights begin. Each has a space on both sides.
constexpr std::string_view kWithoutEffect =
    " _attn_implementation add_bos_token add_eos_token apply_query_key_layer_scaling "
    "apply_residual_connection_post_layernorm architectures attention_multiplier attention_output_multiplier "
    "attention_probs attention_projection_layout attention_softmax_in_fp32 attention_value_scale "
    "attn_config.attn_pdrop attn_config.attn_type attn_config.clip_qkv attn_config.model_type "
    "attn_config.rope_theta attn_implementation attn_logit_cap attn_logit_softcap attn_logit_softcapping "
    "attn_multiplier attn_output_multiplier attn_pdrop attn_scale attn_scale_tokens attn_temperature_len "
    "attn_temperature_tuning auto_map aux_loss_alpha bad_words_ids begin_suppress_tokens bias_update_speed "
    "bos_token cache_implementation chat_template chunk_size_feed_forward cla_share_factor clip_qkv cls_token "
    "compression_config cross_attention_hidden_size dim_model_base diversity_penalty do_layer_norm_before "
    "do_sample dtype early_stopping emb_pdrop embd_dropout embd_pdrop embedding_dropout embedding_multiplier "
    "embedding_multiplier_scale embedding_scale enable_moe enable_router_logits encoder_no_repeat_ngram_size "
    "eos_token ep_size expand expert_capacity_factor exponential_decay_length_penalty ffn_config.model_type "
    "ffn_config.moe_jitter_eps ffn_config.moe_loss_weight ffn_config.moe_normalize_expert_weights "
    "ffn_config.uniform_expert_assignment final_logit_softcap final_logit_softcapping finetuning_task flash_attn "
    "floor_scale fp32_residual_connection fuse_cross_entropy fuse_norm fuse_swiglu gradient_checkpointing "
    "hidden_dropout hybrid_attention_types id2label im_start_token init_device init_method initial_context_length "
    "initializer_cutoff_factor input_jitter_noise is_causal is_decoder keys_to_ignore_at_inference label2id "
    "language_model_only layerdrop layernorm_compute_fp32 layernorm_num_groups length_penalty logit_scale "
    "logits_scale logits_scaling logits_softcap mamba_expand mamba_hidden_act mamba_proj_bias mamba_rms_norm "
    "mamba_ssm_dtype max_length min_length mla_use_nope model_parallel_size model_type moe_aux_loss_lambda "
    "moe_capacity moe_dense_act_output_scale moe_drop_tokens moe_gate moe_gate_act moe_group_capacity_factor "
    "moe_grouped_gemm moe_layer_type moe_permute_fusion moe_random_routing_dropped_token moe_renormalize "
    "moe_router_activation_func moe_router_bias moe_router_bias_func moe_router_dtype "
    "moe_router_enable_expert_bias moe_router_enable_shared_expert moe_router_load_balancing_type "
    "moe_router_scaling_factor moe_router_topk_scaling_factor moe_shared_expert_overlap moe_token_dispatcher_type "
    "moe_use_aux_free mrope_interleaved mrope_section mtp_loss_scaling_factor mtp_transformer_layers "
    "mtp_use_dedicated_embeddings multiplier_scale mup_enabled mup_width_scale n_ctx no_repeat_ngram_size "
    "no_rope_layer_interval no_rope_layers nope_layers norm_expert_weight norm_head norm_softmax "
    "norm_softmax_only norm_topk norm_topk_prob norm_type normalization_function num_beam_groups num_beams "
    "num_logits_to_keep num_media_embeds num_return_sequences order_of_interleaved_layers org_vocab_size "
    "original_max_position_embeddings output_attentions output_hidden_states output_multiplier_scale "
    "output_router_logits output_scale output_scores pad_token pad_vocab_size_multiple partial_rotary_factor "
    "pool_type post_layer_norm prefix pretraining_tp problem_type pruned_heads qk_head_dim qk_norm_type "
    "quant_method quantization_config query_pre_attn_scalar remove_invalid_values reorder_and_upcast_attn "
    "repetition_penalty rescale_every rescale_prenorm_residual resid_pdrop residual_in_fp32 residual_multiplier "
    "residual_scale return_dict return_dict_in_generate rms_norm_add_unit_offset rmsnorm_eps rolling_window "
    "rope_interleaved rope_type rotary_emb_base rotary_emb_fraction rotary_pct routed_scaling "
    "routed_scaling_factor router_aux_loss router_aux_loss_weight router_dtype router_jitter_noise "
    "router_logit_softcapping router_scaling_factor scale_attn_by_inverse_layer_idx scale_attn_weights "
    "scale_depth scale_emb score_func score_function scoring_func scoring_function sep_token seq_aux "
    "shared_moe_mode sliding_window_strategy suppress_tokens swiglu_limit task_specific_params temperature "
    "temperature_tuning tf_legacy_loss tie_encoder_decoder time_step_floor time_step_limit time_step_max "
    "time_step_min tokenizer_class top_k top_p topk_method torch_dtype torchscript transformers_version typical_p "
    "unk_token use_bfloat16 use_cache use_cache_kernel use_cache_quantization use_dynamic_ntk use_expert_bias "
    "use_flash_attention_2 use_flash_attn use_grouped_topk use_logn_attn use_mamba_kernels use_mixed_mlp_moe "
    "use_mla use_mrope use_mtp use_norm use_return_dict use_rmsnorm use_rope use_rotary_pos_emb use_routing_bias "
    "xdrope yarn_factor ";
constexpr auto kBeginningsWithoutEffect =
    std::to_array<std::string_view>({"_", "rope_", "rotary_", "summary_", "no_rope_", "time_step_", "quantization",
                                     "aux_loss", "router_aux_", "output_"});
constexpr auto kEndsWithoutEffect = std::to_array<std::string_view>(
    {"_token_id", "_token_ids", "_token_index", "_dropout",       "_pdrop",      "_dropout_prob", "_eps",
     "_epsilon",  "_range",     "_std",         "_coef",          "_loss_alpha", "_loss_weight",  "_softcapping",
     "_softcap",  "_noise",     "_multiplier",  "_tuning",        "_theta",      "_init_method",  "_multipliers",
     "_dtype",    "_token",     "_init_scale",  "_scaling_factor"});

// Parts that no key here stands for, without which the answer would be another model's.
struct ForeignPart {
  std::string_view key;  // the first characters of one that ends with '*'
  std::string_view part;
  bool none_if_one = false;  // 1, for each layer, says that it is not there
};
constexpr auto kForeignParts = std::to_array<ForeignPart>({
    {"attn_type_list", "lightning attention", true},
    {"layer_group_size", "lightning attention", true},
    {"full_attn_alpha_factor", "lightning attention"},
    {"layernorm_full_attention_alpha", "lightning attention"},
    {"linear_attn_alpha_factor", "lightning attention"},
    {"mamba_d_ssm", "state-space layers beside attention in one layer"},
    {"mamba_dt_rank", "state-space layers of Mamba-1"},
    {"attn_layer_period", "state-space layers of Mamba-1"},
    {"hybrid_layer_ids", "state-space layers with shared attention"},
    {"state_size", "state-space layers of Mamba-1"},
    {"ssm_cfg", "state-space layers"},
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
    {"altup_num_inputs", "several residual streams", true},
    {"hc_mult", "several residual streams", true},
    {"hidden_size_per_layer_input", "an embedding for each layer"},
    {"vocab_size_per_layer_input", "an embedding for each layer"},
    {"num_kv_shared_layers", "layers that share keys and values"},
    {"use_cla", "layers that share keys and values"},
    {"block_configs", "layers of different sizes"},
    {"num_attention_groups", "multi-matrix factorisation attention"},
    {"zero_expert_num", "experts without weights"},
    {"moe_latent_size", "experts between projections of lower rank"},
    {"ngram_vocab_size_ratio", "embeddings of several tokens"},
    {"attention_other_setting", "attention of several sizes"},
    {"compress_ratios", "attention to compressed keys"},
    {"moba_*", "attention to blocks of keys"},
    {"sparse_attention_config", "attention to blocks of keys"},
    {"sparse_config", "attention to blocks of keys"},
});
// Keys of linear attention and state-space layers, without effect where no layer is one.
constexpr auto kOfOtherMixers = std::to_array<std::string_view>(
    {"linear_*", "mamba_*", "ssm_*", "conv_kernel", "n_groups", "chunk_size", "use_conv_bias"});

bool says_one(const ConfigValue& value) {
  return value.scalar == "1" || (value.kind == ConfigValue::Kind::kList && std::ranges::all_of(value.items, says_one));
}

bool matches(std::string_view key, std::string_view pattern) {
  return pattern.ends_with('*') ? key.starts_with(pattern.substr(0, pattern.size() - 1)) : key == pattern;
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
  const bool is_word = key.find(' ') == std::string_view::npos;
  return (is_word && kWithoutEffect.find(fmt::format(" {} ", key)) != std::string_view::npos) ||
         std::ranges::any_of(kBeginningsWithoutEffect, [&](std::string_view word) { return key.starts_with(word); }) ||
         std::ranges::any_of(kEndsWithoutEffect, [&](std::string_view word) { return key.ends_with(word); });
}

bool is_foreign(std::string_view key) {
  return std::ranges::any_of(kForeignParts, [&](const ForeignPart& part) { return matches(key, part.key); });
}

// A factor changes single values, neither sizes nor layers.
bool is_factor(const ConfigValue& value) {
  if (value.kind != ConfigValue::Kind::kScalar || parse_whole_number(value.scalar)) return false;
  const std::string_view digits = std::string_view(value.scalar).substr(value.scalar.starts_with('-') ? 1 : 0);
  return !digits.empty() && digits.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
         digits.find_first_of("0123456789") == 0;
}

// The keys that are neither read nor known to change nothing.
std::vector<const ConfigEntry*> unknown_entries(const KeyReader& keys, const ConfigValue& contents) {
  std::vector<const ConfigEntry*> unknown;
  for (const ConfigEntry& entry : contents.entries) {
    const bool is_known = keys.was_read(entry.key) || is_without_effect(entry.key) || is_foreign(entry.key) ||
                          std::ranges::find(own_model_keys(), entry.key) != own_model_keys().end();
    if (!is_known && !says_none(entry.value) && !is_factor(entry.value)) unknown.push_back(&entry);
  }
  return unknown;
}

std::string list_of(const std::vector<const ConfigEntry*>& entries) {
  constexpr std::size_t kMostNamed = 20;
  std::vector<std::string> names;
  for (const ConfigEntry* entry : entries)
    if (names.size() < kMostNamed) names.push_back(printable(entry->key, 60));
  const std::string more = entries.size() > kMostNamed ? fmt::format(", and {} more", entries.size() - kMostNamed) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
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

void refuse_foreign_parts(const ConfigValue& contents, Diagnostics& diagnostics) {
  if (lists_attention_only(contents)) return;
  for (const ConfigEntry& entry : contents.entries)
    for (const ForeignPart& part : kForeignParts) {
      if (!matches(entry.key, part.key) || says_none(entry.value) || (part.none_if_one && says_one(entry.value)))
        continue;
      return diagnostics.error(entry.where,
                               fmt::format("'{}' stands for {}, which Orrery does not model", entry.key, part.part),
                               "without that part it would be another model; leave the key out to take it as that, or "
                               "write the model in the "
                               "keys of docs/jobs.md");
    }
}

void refuse_unplaced_mixers(const KeyReader& keys, Diagnostics& diagnostics) {
  if (lists_attention_only(keys.contents())) return;
  for (const ConfigEntry& entry : keys.contents().entries)
    for (const std::string_view pattern : kOfOtherMixers)
      if (matches(entry.key, pattern) && entry.value.kind == ConfigValue::Kind::kScalar &&
          parse_whole_number(entry.value.scalar).value_or(0) > 0 && !keys.was_read(entry.key) &&
          !is_without_effect(entry.key))
        return diagnostics.error(
            entry.where,
            fmt::format("'{}' stands for {}, and no key says which layers are such", entry.key,
                        entry.key.starts_with("linear_") ? "linear attention" : "state-space layers"),
            "write \"layer_types\": a list with linear_attention, mamba or full_attention for each layer");
}

void refuse_unknown_keys(const KeyReader& keys, Diagnostics& diagnostics) {
  std::vector<const ConfigEntry*> unknown = unknown_entries(keys, keys.contents());
  if (lists_attention_only(keys.contents()))
    std::erase_if(unknown, [](const ConfigEntry* entry) {
      return std::ranges::any_of(kOfOtherMixers, [&](std::string_view word) { return matches(entry->key, word); });
    });
  if (unknown.empty()) return;
  std::vector<std::string> known = keys.read_keys(), meant;
  known.insert(known.end(), own_model_keys().begin(), own_model_keys().end());
  for (const ConfigEntry* entry : unknown)
    if (const std::string near = nearest_name(entry->key, known); !near.empty())
      meant.push_back(fmt::format("'{}' for '{}'", near, printable(entry->key, 60)));
  const std::string slips = meant.empty() ? "" : fmt::format("did you mean {}? Else ", fmt::join(meant, ", "));
  diagnostics.error(
      unknown.front()->where, fmt::format("not read, and not known to change nothing: {}", list_of(unknown)),
      slips + "leave out what changes neither sizes nor layers, and write the rest in the keys of docs/jobs.md");
}

void tell_keys_beside(const KeyReader& keys, const ConfigValue& contents, Diagnostics& diagnostics) {
  const std::vector<const ConfigEntry*> unknown = unknown_entries(keys, contents);
  if (unknown.empty()) return;
  diagnostics.warning(unknown.front()->where,
                      fmt::format("beside the language model, and not read: {}", list_of(unknown)));
}

}  // namespace orrery::workload
