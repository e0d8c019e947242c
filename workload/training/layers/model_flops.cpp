// SPDX-License-Identifier: MIT
#include "workload/training/layers/model_layers.h"
#include "workload/training/spec/transformer_flops.h"

namespace orrery::workload {
namespace {

double as_real(std::int64_t count) { return static_cast<double>(count); }

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
