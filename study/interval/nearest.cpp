// SPDX-License-Identifier: MIT
#include "study/interval/nearest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/error.h"

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

// "bf16", "megatron-2025", "sequence 2048": what differs beside the plan.
std::vector<std::string> differences(const RunKind& kind, const JobShape& shape, const MeasuredError& run) {
  std::vector<std::string> others;
  if (kind.precision != run.kind.precision) others.push_back(run.kind.precision);
  for (std::size_t i = 1; i < kind.words.size(); ++i)
    if (kind.words[i] != run.kind.words[i]) others.push_back(run.kind.words[i]);
  if (shape.sequence != run.run->shape.sequence) others.push_back(fmt::format("sequence {}", run.run->shape.sequence));
  if (shape.parameters != run.run->shape.parameters)
    others.push_back(fmt::format("{} parameters", large_count(static_cast<double>(run.run->shape.parameters))));
  return others;
}

}  // namespace

std::optional<double> distance_of(const RunKind& kind, const JobShape& shape, const RunKind& other_kind,
                                  const JobShape& other) {
  if (other_kind.words.front() != kind.words.front()) return std::nullopt;
  double halves = doublings(kind.devices, other_kind.devices) + doublings(shape.sequence, other.sequence);
  for (std::size_t i = 0; i < kShapeDegrees.size(); ++i)
    if (kShapeDegrees[i] != "data") halves += doublings(shape.degrees[i], other.degrees[i]);
  double distance = doublings(shape.parameters, other.parameters) + halves / 2;
  for (std::size_t i = 1; i < kind.words.size(); ++i)
    if (kind.words[i] != other_kind.words[i]) distance += i + 1 < kind.words.size() ? 2 : 0.5;
  if (kind.precision != other_kind.precision) distance += 1;
  if (shape.device != other.device) distance += 0.5;
  return distance;
}

std::optional<double> distance_of(const RunKind& kind, const JobShape& shape, const MeasuredError& run) {
  return run.run ? distance_of(kind, shape, run.kind, run.run->shape) : std::nullopt;
}

std::optional<report::NearestRun> nearest_run(const RunKind& kind, const JobShape& shape,
                                              std::span<const MeasuredError> errors,
                                              std::span<const std::string> untold) {
  const MeasuredError* nearest = nullptr;
  double least = kFarthestRun;
  for (const MeasuredError& one : errors)
    if (const auto distance = distance_of(kind, shape, one);
        distance && (*distance < least || (nearest == nullptr && *distance == least))) {
      nearest = &one;
      least = *distance;
    }
  if (nearest == nullptr) return std::nullopt;
  return report::NearestRun{nearest->run->name,
                            nearest->family,
                            plan_text(nearest->kind, nearest->run->shape),
                            Duration(std::llround(nearest->run->measured * 1e12)),
                            1 / (1 + nearest->error) - 1,
                            differences(kind, shape, *nearest),
                            {untold.begin(), untold.end()}};
}

std::string measured_fit_text(const RunKind& kind, const JobShape& shape, std::span<const MeasuredError> errors) {
  const auto needs_as_much = [&](const MeasuredError& one) {
    if (!one.run || one.kind.words.front() != kind.words.front() || one.kind.precision != kind.precision) return false;
    const JobShape& other = one.run->shape;
    return other.device == shape.device && other.parameters == shape.parameters && other.degrees == shape.degrees &&
           other.sequence >= shape.sequence && other.batch >= shape.batch;
  };
  const auto run = std::ranges::find_if(errors, needs_as_much);
  if (run == errors.end()) return {};
  return fmt::format("a measured run of its model, plan and device fit: {} of {} on {}; offload is not modelled",
                     printable(run->run->name, 60), printable(run->family, 40), plan_text(run->kind, run->run->shape));
}

}  // namespace orrery::study
