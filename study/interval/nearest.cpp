// SPDX-License-Identifier: MIT
#include "study/interval/nearest.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace orrery::study {
namespace {

double doublings(std::int64_t one, std::int64_t other) {
  if (one < 1 || other < 1) return one == other ? 0 : 1;
  return std::abs(std::log2(static_cast<double>(one) / static_cast<double>(other)));
}

// "512 h100-sxm, tensor 4, pipeline 4, data 32, batch 1024".
std::string plan_text(const RunKind& kind, const JobShape& shape) {
  std::string text = fmt::format("{} {}", kind.devices, shape.device);
  for (std::size_t i = 0; i < kShapeDegrees.size(); ++i)
    if (shape.degrees[i] > 1) text += fmt::format(", {} {}", kShapeDegrees[i], shape.degrees[i]);
  return text + fmt::format(", batch {}", shape.batch);
}

}  // namespace

std::optional<double> distance_of(const RunKind& kind, const JobShape& shape, const MeasuredError& run) {
  if (!run.run || run.kind.words.front() != kind.words.front()) return std::nullopt;
  const JobShape& other = run.run->shape;
  double halves = doublings(kind.devices, run.kind.devices) + doublings(shape.sequence, other.sequence);
  for (std::size_t i = 0; i < kShapeDegrees.size(); ++i)
    if (kShapeDegrees[i] != "data") halves += doublings(shape.degrees[i], other.degrees[i]);
  double distance = doublings(shape.parameters, other.parameters) + halves / 2;
  for (std::size_t i = 1; i < kind.words.size(); ++i)
    if (kind.words[i] != run.kind.words[i]) distance += i + 1 < kind.words.size() ? 2 : 0.5;
  if (kind.precision != run.kind.precision) distance += 1;
  if (shape.device != other.device) distance += 0.5;
  return distance;
}

std::optional<report::NearestRun> nearest_run(const RunKind& kind, const JobShape& shape,
                                              std::span<const MeasuredError> errors) {
  const MeasuredError* nearest = nullptr;
  double least = kFarthestRun;
  for (const MeasuredError& one : errors)
    if (const auto distance = distance_of(kind, shape, one);
        distance && (*distance < least || (nearest == nullptr && *distance == least))) {
      nearest = &one;
      least = *distance;
    }
  if (nearest == nullptr) return std::nullopt;
  return report::NearestRun{nearest->run->name, nearest->family, plan_text(nearest->kind, nearest->run->shape),
                            Duration(std::llround(nearest->run->measured * 1e12)), 1 / (1 + nearest->error) - 1};
}

}  // namespace orrery::study
