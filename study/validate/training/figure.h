// What is published of a training run, and the time of an iteration that follows from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workload/training/spec/training_spec.h"

namespace orrery {

enum class TrainingFigure : std::uint8_t {
  kTime,            // of an iteration, in seconds
  kTokensPerGpu,    // a second
  kSamples,         // a second, of all GPUs together
  kSamplesPerGpu,   // a second
  kHardwareTflops,  // 10^12 FLOPs a second and GPU, by SC'21's formula, which counts recomputation of everything
  kModelTflops,     // 10^12 FLOPs a second and GPU, by model_flops()
};

inline constexpr std::size_t kTrainingFigureCount = 6;

// "time", "tokens_per_s_per_gpu", ...
std::string_view name_of(TrainingFigure figure);
std::vector<std::string> training_figure_names();

// FLOPs of a step, as Narayanan et al. (SC'21, equation 3) count them: 96 B s l h^2 (1 + s/6h + V/16lh).
double hardware_flops(const TransformerSpec& model, std::int64_t global_batch);

// Seconds of an iteration of which `published` is said. kHardwareTflops is of transformers only.
double iteration_seconds(TrainingFigure figure, double published, const TrainingSpec& training);

}  // namespace orrery
