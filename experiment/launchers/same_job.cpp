// SPDX-License-Identifier: MIT
#include "experiment/launchers/same_job.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "workload/training/program/gradient_synchronisation.h"

namespace orrery::experiment {
namespace {

using workload::AttentionSpec;
using workload::LayerKind;
using workload::Recompute;
using workload::TrainingSpec;
using workload::TransformerSpec;

bool same_layers(const TrainingSpec& a, const TrainingSpec& b) { return a.layers_of_stages() == b.layers_of_stages(); }

// Kernels that are computed again: of plain attention the scores, by either key.
bool same_recomputation(const TrainingSpec& a, const TrainingSpec& b) {
  const auto plain = [](const TrainingSpec& job) {
    return workload::attention_of(job) == workload::AttentionKind::kPlain;
  };
  const auto kept = [&](const TrainingSpec& job) {
    const bool is_idle = job.recompute == Recompute::kSelective && !plain(job) &&
                         job.software.selective == workload::SelectiveKind::kScores;
    return is_idle ? Recompute::kNone : job.recompute;
  };
  return a.recompute_modules == b.recompute_modules && kept(a) == kept(b);
}

bool same_casts(const TrainingSpec& a, const TrainingSpec& b) {
  const auto casts = [](const TrainingSpec& job) {
    workload::Recipe recipe = job.recipe_of_casts();
    recipe.name.clear();
    return recipe;
  };
  return !is_of_products_only(a.precision) || casts(a) == casts(b);
}

bool same_optimizer(const TrainingSpec& a, const TrainingSpec& b) {
  workload::OptimizerSpec one = a.optimizer, other = b.optimizer;
  one.name = other.name = {};
  return one == other;
}

bool same_dispatch(const TrainingSpec& a, const TrainingSpec& b) { return a.experts.dispatch == b.experts.dispatch; }

auto sizes_of(const AttentionSpec& attention) {
  return std::tuple(attention.heads, attention.kv_heads, attention.key_size(), attention.value_size(), attention.window,
                    attention.chunk, attention.sinks, attention.output_gate, attention.head_norms, attention.position);
}

auto sizes_of(const LayerKind& kind) {
  return std::tuple(kind.mixer, kind.linear.key_heads, kind.linear.value_heads, kind.linear.key_size,
                    kind.linear.value_size, kind.linear.convolution, kind.linear.chunk, kind.linear.gate_rank,
                    kind.linear.convolution_bias);
}

// Layers one by one: what mixes tokens in them and what follows.
bool same_model_layers(const TrainingSpec& a, const TrainingSpec& b) {
  const TransformerSpec &one = *a.transformer(), &other = *b.transformer();
  if (one.layers != other.layers) return false;
  for (std::int64_t layer = 0; layer < one.layers; ++layer) {
    const LayerKind left = one.kind_of(layer), right = other.kind_of(layer);
    const bool mixes = left.mixer == workload::MixerKind::kAttention;
    if (sizes_of(left) != sizes_of(right) || one.feed_forward(layer) != other.feed_forward(layer)) return false;
    if (mixes && sizes_of(left.attention) != sizes_of(right.attention)) return false;
  }
  return true;
}

bool same_base_attention(const TrainingSpec& a, const TrainingSpec& b) {
  return sizes_of(*a.transformer()) == sizes_of(*b.transformer());
}

bool same_replicas(const TrainingSpec& a, const TrainingSpec& b) { return a.parallel.data() == b.parallel.data(); }

// Shards of states: one replica of a model has them whole, whatever the stage.
bool same_sharding(const TrainingSpec& a, const TrainingSpec& b) {
  const auto is_whole = [](const TrainingSpec& job) { return job.parallel.replicas() == 1; };
  return a.parallel.zero == b.parallel.zero || (is_whole(a) && is_whole(b));
}

bool same_attention_kernel(const TrainingSpec& a, const TrainingSpec& b) {
  return workload::attention_of(a) == workload::attention_of(b);
}

bool same_buckets(const TrainingSpec& a, const TrainingSpec& b) {
  return workload::bucket_parameters(a) == workload::bucket_parameters(b);
}

bool same_batch(const TrainingSpec& a, const TrainingSpec& b) {
  return a.global_batch == b.global_batch && a.micro_batch == b.micro_batch;
}

// Sizes that a model may leave to their defaults.
template <auto Member>
bool same_size(const TrainingSpec& a, const TrainingSpec& b) {
  return a.transformer()->*Member == b.transformer()->*Member;
}

struct Meaning {
  std::string_view key;  // and all below it
  bool (*same)(const TrainingSpec&, const TrainingSpec&);
};
constexpr std::array kMeanings = std::to_array<Meaning>({
    {"workload.pipeline_layers", same_layers},
    {"workload.parallel.data", same_replicas},
    {"workload.parallel.zero", same_sharding},
    {"workload.batch", same_batch},
    {"workload.overlap.bucket", same_buckets},
    {"workload.software.overlap.bucket", same_buckets},
    {"workload.software.overlap.bucket_of_replica", same_buckets},
    {"workload.recompute", same_recomputation},
    {"workload.recompute_modules", same_recomputation},
    {"workload.recipe", same_casts},
    {"workload.software.fp8", same_casts},
    {"workload.optimizer", same_optimizer},
    {"workload.experts.dispatch", same_dispatch},
    {"workload.model.attention", same_attention_kernel},
    {"workload.software.attention", same_attention_kernel},
    {"workload.model.kinds", same_model_layers},
    {"workload.model.pattern", same_model_layers},
    {"workload.model.dense_layers", same_model_layers},
    {"workload.model.expert_interval", same_model_layers},
    {"workload.model.window", same_model_layers},
    {"workload.model.window_interval", same_model_layers},
    {"workload.model.kv_heads", same_base_attention},
    {"workload.model.head_size", same_base_attention},
    {"workload.model.value_head", same_base_attention},
    {"workload.model.sinks", same_model_layers},
    {"workload.model.output_gate", same_model_layers},
    {"workload.model.head_norms", same_model_layers},
    {"workload.model.chunk", same_model_layers},
    {"workload.model.ffn_hidden", same_size<&TransformerSpec::ffn_hidden>},
    {"workload.model.expert_hidden", same_size<&TransformerSpec::expert_hidden>},
    {"workload.model.predictions", same_size<&TransformerSpec::predictions>},
});

}  // namespace

bool means_the_same(const TrainingSpec& one, const TrainingSpec& other, std::string_view key) {
  return std::ranges::any_of(kMeanings, [&](const Meaning& meaning) {
    const bool is_of_it = key == meaning.key || (key.starts_with(meaning.key) && key[meaning.key.size()] == '.');
    return is_of_it && meaning.same(one, other);
  });
}

}  // namespace orrery::experiment
