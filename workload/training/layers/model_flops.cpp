// SPDX-License-Identifier: MIT
#include "workload/training/layers/model_layers.h"

namespace orrery::workload {
namespace {

double as_real(std::int64_t count) { return static_cast<double>(count); }

// Weights of products that one token passes in a layer.
double weights_passed(const TransformerSpec& model, bool has_experts) {
  const double hidden = as_real(model.hidden), heads = as_real(model.heads);
  double attention = hidden * as_real(model.head_size) * (2 * heads + 2 * as_real(model.kv_heads));
  if (model.latent) {
    const LatentAttention& latent = *model.latent;
    const double key = as_real(latent.head + latent.rotary_head), value = as_real(latent.value_head);
    const double query_rank = as_real(latent.query_rank), pair_rank = as_real(latent.key_value_rank);
    attention = latent.query_rank > 0 ? hidden * query_rank + query_rank * heads * key : hidden * heads * key;
    attention += hidden * (pair_rank + as_real(latent.rotary_head));
    attention += pair_rank * heads * (as_real(latent.head) + value) + heads * value * hidden;
  }
  const double products = model.gated_mlp ? 3 : 2;
  if (!has_experts) return attention + products * hidden * as_real(model.ffn_hidden);
  const double experts = as_real(model.experts_per_token + model.shared_experts);
  return attention + experts * products * hidden * as_real(model.expert_hidden) + hidden * as_real(model.experts);
}

double flops_per_token(const TransformerSpec& model, bool causal_flops) {
  double weights = as_real(model.vocab) * as_real(model.hidden) * as_real(model.predicted()) / as_real(model.sequence);
  if (model.patches)
    weights = as_real(model.hidden) *
              (as_real(model.patches->values() * (model.sequence - 1)) + as_real(model.patches->classes)) /
              as_real(model.sequence);
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    weights += weights_passed(model, model.has_experts(layer));
  const double modules = as_real(model.mtp_layers), hidden = as_real(model.hidden);
  weights += modules * (weights_passed(model, model.experts > 0) + hidden * (2 * hidden + as_real(model.vocab)));
  double head_values = 2 * as_real(model.head_size);
  if (model.latent) head_values = as_real(model.latent->head + model.latent->rotary_head + model.latent->value_head);
  const double scores =
      6 * as_real((model.layers + model.mtp_layers) * model.heads) * head_values * as_real(model.sequence);
  return 6 * weights + (causal_flops && model.causal ? scores / 2 : scores);
}

// Products forward and backward of one sample, as the layers have them.
double flops_of_layers(const std::vector<LayerProgram>& layers) {
  double sum = 0;
  const auto add = [&](const std::vector<Action>& actions, std::int64_t times) {
    for (const Action& action : actions)
      if (const auto* compute = std::get_if<Compute>(&action))
        for (const Operator& op : compute->operators) sum += as_real(flops_of(op).count()) * as_real(times);
  };
  for (const LayerProgram& layer : layers) {
    add(layer.forward, layer.repeat);
    add(layer.backward, layer.repeat);
  }
  return sum;
}

}  // namespace

double model_flops(const TrainingSpec& training) {
  const double batch = as_real(training.global_batch);
  if (const TransformerSpec* model = training.transformer())
    return batch * as_real(model->sequence) * flops_per_token(*model, training.causal_flops);
  return batch * flops_of_layers(sample_layers(training, 1, 1));
}

std::vector<LayerProgram> sample_layers(const TrainingSpec& training, std::int64_t batch, std::int64_t ranks) {
  if (const auto* dlrm = std::get_if<DlrmSpec>(&training.model.sizes))
    return dlrm_layers(*dlrm, batch, ranks, training.precision);
  if (const auto* recurrent = std::get_if<RecurrentSpec>(&training.model.sizes))
    return recurrent_layers(*recurrent, batch, training.precision);
  if (const auto* evoformer = std::get_if<EvoformerSpec>(&training.model.sizes))
    return evoformer_layers(*evoformer, batch, training.precision, training.recompute == Recompute::kFull);
  return convolutional_layers(std::get<ConvolutionalSpec>(training.model.sizes), batch, training.precision,
                              convolution_kernels(training.software, training.precision));
}

std::int64_t tokens_per_step(const TrainingSpec& training) {
  const TransformerSpec* model = training.transformer();
  return training.global_batch * (model == nullptr ? 1 : model->sequence);
}

}  // namespace orrery::workload
