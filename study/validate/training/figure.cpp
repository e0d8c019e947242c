#include "study/validate/training/figure.h"

#include "core/assert.h"
#include "workload/training/layers/model_layers.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, kTrainingFigureCount> kNames = {"time",
                                                                       "tokens_per_s_per_gpu",
                                                                       "samples_per_s",
                                                                       "samples_per_s_per_gpu",
                                                                       "hardware_tflops_per_gpu",
                                                                       "model_tflops_per_gpu"};

}  // namespace

std::string_view name_of(TrainingFigure figure) { return kNames[static_cast<std::size_t>(figure)]; }

std::vector<std::string> training_figure_names() { return {kNames.begin(), kNames.end()}; }

double hardware_flops(const TransformerSpec& model, std::int64_t global_batch) {
  const auto s = static_cast<double>(model.sequence);
  const auto l = static_cast<double>(model.layers);
  const auto h = static_cast<double>(model.hidden);
  const auto vocabulary = static_cast<double>(model.vocab);
  return 96 * static_cast<double>(global_batch) * s * l * h * h * (1 + s / (6 * h) + vocabulary / (16 * l * h));
}

double iteration_seconds(TrainingFigure figure, double published, const TrainingSpec& training) {
  const auto gpus = static_cast<double>(training.parallel.workers());
  switch (figure) {
    case TrainingFigure::kTime:
      return published;
    case TrainingFigure::kTokensPerGpu:
      return static_cast<double>(tokens_per_step(training)) / (gpus * published);
    case TrainingFigure::kSamples:
      return static_cast<double>(training.global_batch) / published;
    case TrainingFigure::kSamplesPerGpu:
      return static_cast<double>(training.global_batch) / (gpus * published);
    case TrainingFigure::kHardwareTflops:
      ORRERY_ASSERT(training.transformer() != nullptr);
      return hardware_flops(*training.transformer(), training.global_batch) / (gpus * published * 1e12);
    case TrainingFigure::kModelTflops:
      break;
  }
  return model_flops(training) / (gpus * published * 1e12);
}

}  // namespace orrery
