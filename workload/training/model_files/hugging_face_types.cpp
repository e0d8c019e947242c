// SPDX-License-Identifier: MIT
#include "workload/training/model_files/hugging_face_types.h"

#include <algorithm>
#include <array>

namespace orrery::workload {
namespace {

// Keys without which transformers would take a default of the type's own, which is another model.
constexpr std::string_view kGrouped = "num_key_value_heads";
constexpr std::string_view kGroupedHead = "num_key_value_heads head_dim";
constexpr std::string_view kGroupedExperts = "num_key_value_heads num_local_experts num_experts_per_tok";
constexpr std::string_view kQwenExperts = "num_key_value_heads num_experts num_experts_per_tok moe_intermediate_size";
constexpr std::string_view kLatentExperts =
    "q_lora_rank kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim n_routed_experts num_experts_per_tok "
    "moe_intermediate_size n_shared_experts first_k_dense_replace intermediate_size";

// Names in alphabetical order. Sources: the configuration and modelling files of transformers, or of the model's own
// repository, where the name is in no key. gated_mlp: three products (unless it is false), not two. qk_norm: norms of
// queries and keys. qkv_bias: queries, keys and values alone have biases. post_norms: norms behind attention and MLP,
// too.
constexpr std::array<ModelType, 67> kTypes = {{
    {"apertus", "gated_mlp=false qk_norm=true", kGrouped},
    {"arcee", "gated_mlp=false", kGrouped},
    {"bailing_moe", {}, kGrouped},
    {"bailing_moe_v2", {}, kGrouped},
    {"bloom",
     "gated_mlp=false position=alibi attention_bias=true mlp_bias=true tie_word_embeddings=true embedding_norm=true",
     "n_embed n_layer seq_length"},
    {"chatglm", {}, {}},
    {"cohere", "tie_word_embeddings=true use_parallel_residual=true", {}},
    {"cohere2", "tie_word_embeddings=true use_parallel_residual=true sliding_window_pattern=4", kGrouped},
    {"dbrx", {}, {}},
    {"deepseek_v2", {}, kLatentExperts},
    {"deepseek_v3", {}, kLatentExperts},
    {"deepseek_v32", {}, kLatentExperts},
    {"dots1", "qk_norm=true", kGrouped},
    {"ernie4_5", {}, kGrouped},
    {"ernie4_5_moe", {}, kGrouped},
    {"exaone4", "qk_norm=true", kGrouped},
    {"gemma", "tie_word_embeddings=true", kGroupedHead},
    {"gemma2", "tie_word_embeddings=true post_norms=true sliding_window_pattern=2", kGroupedHead},
    {"gemma3_text",
     "tie_word_embeddings=true qk_norm=true post_norms=true sliding_window_pattern=6 "
     "num_attention_heads=8 num_key_value_heads=4 head_dim=256 vocab_size=262208 max_position_embeddings=131072",
     {}},
    {"glm", {}, kGrouped},
    {"glm4", "post_norms=true", kGrouped},
    {"glm4_moe", {}, kGrouped},
    {"gpt2", "gated_mlp=false position=learned attention_bias=true mlp_bias=true tie_word_embeddings=true",
     "n_embd n_layer n_head n_positions"},
    {"gpt_neox", "gated_mlp=false attention_bias=true mlp_bias=true use_parallel_residual=true", {}},
    {"gpt_oss", "attention_bias=true mlp_bias=true sinks=true sliding_window_pattern=2",
     "num_key_value_heads num_local_experts num_experts_per_tok head_dim"},
    {"granite", {}, {}},
    {"granitemoe", {}, kGroupedExperts},
    {"granitemoehybrid", {}, {}},
    {"grok-1", {}, {}},
    {"hunyuan_v1_dense", {}, kGrouped},
    {"hunyuan_v1_moe", {}, kGrouped},
    {"internlm2", {}, kGrouped},
    {"internlm3", {}, kGrouped},
    {"kimi_k2", {}, kLatentExperts},
    {"kimi_linear", {}, {}},
    {"llama", {}, {}},
    {"llama4_text", "num_shared_experts=1 sliding_window_pattern=4",
     "num_key_value_heads num_local_experts num_experts_per_tok head_dim"},
    {"mimo", "qkv_bias=true", kGrouped},
    {"mimo_v2_flash", {}, kGrouped},
    {"minimax_m2", {}, kGroupedExperts},
    {"ministral", {}, kGrouped},
    {"ministral3", {}, kGrouped},
    {"mistral", {}, kGrouped},
    {"mixtral", {}, kGroupedExperts},
    {"nemotron", "gated_mlp=false", {}},
    {"nemotron_h", "gated_mlp=false", kGrouped},
    {"olmo", {}, {}},
    {"olmo2", "qk_norm=true", {}},
    {"olmo3", "qk_norm=true", {}},
    {"olmoe", "qk_norm=true", {}},
    {"opt", "gated_mlp=false position=learned attention_bias=true mlp_bias=true tie_word_embeddings=true", "ffn_dim"},
    {"phi3", {}, {}},
    {"phimoe", {}, kGroupedExperts},
    {"qwen2", "qkv_bias=true use_sliding_window=false", kGrouped},
    {"qwen2_5_vl_text", "qkv_bias=true use_sliding_window=false", kGrouped},
    {"qwen2_moe", "qkv_bias=true use_sliding_window=false",
     "num_key_value_heads num_experts num_experts_per_tok moe_intermediate_size shared_expert_intermediate_size"},
    {"qwen2_vl_text", "qkv_bias=true use_sliding_window=false", kGrouped},
    {"qwen3", "qk_norm=true use_sliding_window=false", kGroupedHead},
    {"qwen3_5_moe_text", "qk_norm=true attn_output_gate=true", kQwenExperts},
    {"qwen3_5_text", "qk_norm=true attn_output_gate=true", kGrouped},
    {"qwen3_moe", "qk_norm=true use_sliding_window=false", kQwenExperts},
    {"qwen3_next", "qk_norm=true attn_output_gate=true", kQwenExperts},
    {"qwen3_vl_moe_text", "qk_norm=true", kQwenExperts},
    {"qwen3_vl_text", "qk_norm=true", kGroupedHead},
    {"seed_oss", {}, kGrouped},
    {"smollm3", {}, kGrouped},
    {"starcoder2", "gated_mlp=false attention_bias=true mlp_bias=true tie_word_embeddings=true", kGrouped},
}};

// Calls `take` for each word of a text.
template <class Take>
void for_each_word(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

const ModelType* type_named(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &ModelType::name);
  return found == kTypes.end() ? nullptr : &*found;
}

ConfigValue implied_entries(const ModelType& type, const Location& where) {
  ConfigValue implied{ConfigValue::Kind::kMap, where, {}, {}, {}};
  for_each_word(type.implied, [&](std::string_view word) {
    const std::size_t equals = word.find('=');
    const ConfigValue value{ConfigValue::Kind::kScalar, where, std::string(word.substr(equals + 1)), {}, {}};
    implied.entries.push_back({std::string(word.substr(0, equals)), where, value});
  });
  return implied;
}

std::vector<std::string> needed_keys(const ModelType& type) {
  std::vector<std::string> keys;
  for_each_word(type.needs, [&](std::string_view word) { keys.emplace_back(word); });
  return keys;
}

}  // namespace orrery::workload
