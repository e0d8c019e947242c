// SPDX-License-Identifier: MIT
#include "study/calibrate/steps/step_split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/in_parallel.h"
#include "report/parts.h"
#include "report/table.h"
#include "study/calibrate/steps.h"

namespace orrery::study {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Parts of a step that a profile and a simulation both have. A rank's kernels of NCCL wait for other ranks, so that a
// profile cannot tell exchange from waiting, nor a pipeline's bubble from either.
enum class StepPart : std::uint8_t { kProducts, kAttention, kOther, kCopies, kExchange, kHost, kIdle };
constexpr std::array<std::string_view, 7> kPartNames = {
    "products", "attention", "other kernels", "copies", "exchange and waiting for ranks", "host", "idle"};
using Parts = std::array<double, kPartNames.size()>;

double& at(Parts& parts, StepPart part) { return parts[static_cast<std::size_t>(part)]; }

StepPart part_of(report::PartKind kind, const std::string& family) {
  switch (kind) {
    case report::PartKind::kHost:
      return StepPart::kHost;
    case report::PartKind::kMemory:
      return StepPart::kCopies;
    case report::PartKind::kCommunication:
      return family == report::kOffload                                  ? StepPart::kCopies
             : family == report::kInput || family == report::kCheckpoint ? StepPart::kHost
                                                                         : StepPart::kExchange;
    case report::PartKind::kWait:
    case report::PartKind::kBubble:
      return StepPart::kExchange;
    case report::PartKind::kIdle:
      return StepPart::kIdle;
    default:
      return StepPart::kOther;
  }
}

// Computing is shared out among the kinds of kernels as these take time alone.
Parts predicted_parts(const report::Result& result) {
  Parts parts{};
  double computing = 0;
  for (const report::Part& part : report::mean_parts(result)) {
    const bool is_computing = part.kind == report::PartKind::kCompute || part.kind == report::PartKind::kSlowed;
    (is_computing ? computing : at(parts, part_of(part.kind, part.family))) += part.seconds;
  }
  Parts kernels{};
  if (result.training)
    for (const report::KernelFigures& kernel : result.training->kernels)
      at(kernels, kernel.kind == "matrix product" ? StepPart::kProducts
                  : kernel.kind == "attention"    ? StepPart::kAttention
                                                  : StepPart::kOther) += kernel.seconds;
  const double all = std::accumulate(kernels.begin(), kernels.end(), 0.0);
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] += all > 0                                           ? computing * kernels[i] / all
                : i == static_cast<std::size_t>(StepPart::kOther) ? computing
                                                                  : 0;
  return parts;
}

Parts measured_parts(const ProfiledTime& profile) {
  Parts parts{};
  at(parts, StepPart::kProducts) = profile.of(ProfiledKind::kProduct);
  at(parts, StepPart::kAttention) = profile.of(ProfiledKind::kAttention);
  at(parts, StepPart::kOther) = profile.of(ProfiledKind::kOther);
  at(parts, StepPart::kCopies) = profile.of(ProfiledKind::kCopy);
  at(parts, StepPart::kExchange) = profile.of(ProfiledKind::kExchange);
  at(parts, StepPart::kHost) = profile.of(ProfiledKind::kHost);
  at(parts, StepPart::kIdle) = profile.of(ProfiledKind::kIdle);
  return parts;
}

// "+1.2 ms"; "-" where a column does not know the part.
report::Cell difference(double measured, double predicted) {
  const double more = measured - predicted;
  return std::isnan(more) ? "-" : report::Cell::difference(Duration(std::llround(more * 1e12)));
}

}  // namespace

std::vector<TimePart> parts_of_step(const experiment::Run& run, double measured, const ProfiledTime* profile) {
  const double whole = seconds(report::iteration_time(run.result));
  const Parts predicted = predicted_parts(run.result);
  const Parts known = profile == nullptr ? Parts{} : measured_parts(*profile);
  std::vector<TimePart> parts;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (predicted[i] > 0 || known[i] > 0)
      parts.push_back({std::string(kPartNames[i]), predicted[i], profile == nullptr ? kUnknown : known[i],
                       profile == nullptr ? "" : "profile"});
  const double listed = std::accumulate(predicted.begin(), predicted.end(), 0.0);
  // Without a profile it is all of what was measured beyond what is predicted.
  const double rest = measured - (profile == nullptr ? whole : profile->total());
  parts.push_back({profile == nullptr ? "not explained" : "not in the profile", whole - listed, rest,
                   profile == nullptr ? "" : "the rest"});
  if (std::abs(parts.back().predicted) < 1e-9 * whole) parts.back().predicted = 0;
  return parts;
}

std::string parts_text(std::span<const TimePart> parts) {
  if (parts.empty()) return {};
  constexpr std::size_t kWidest = 30;
  report::Table table({"part of the step"}, {"predicted", "measured", "difference"}, {""});
  table.read_across();
  double predicted = 0, measured = 0;
  bool by_part = false;
  for (const TimePart& part : parts) {
    predicted += std::isnan(part.predicted) ? 0 : part.predicted;
    by_part = by_part || (!std::isnan(part.measured) && &part != &parts.back());
    table.row({part.name.substr(0, kWidest), report::Cell::time(part.predicted), report::Cell::time(part.measured),
               difference(part.measured, part.predicted), part.because.substr(0, 24)});
  }
  for (const TimePart& part : parts) measured += std::isnan(part.measured) ? 0 : part.measured;
  if (!by_part) measured += predicted;  // what is not explained is what comes on top
  table.row({"all", report::Cell::time(predicted), report::Cell::time(measured), difference(measured, predicted), ""});
  return table.text();
}

std::optional<double> explaining_factor(const StepModel& model, std::size_t step, double measured,
                                        std::size_t constant) {
  constexpr double kFarthest = 16;
  constexpr int kHalvings = 12;
  const StepConstant& one = model.constants()[constant];
  std::vector<double> factors(model.constants().size(), 1);
  const auto time_with = [&](double factor) {
    factors[constant] = factor;
    return model.seconds(step, factors);
  };
  double low = std::log(std::max(one.least, 1 / kFarthest)), high = std::log(std::min(one.most, kFarthest));
  const double at_low = time_with(std::exp(low)) - measured, at_high = time_with(std::exp(high)) - measured;
  if (at_low * at_high > 0) return std::nullopt;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    const bool as_low = (time_with(std::exp(middle)) - measured) * at_low > 0;
    (as_low ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

std::vector<StepExplanation> explanations(const StepModel& model, std::size_t step, double measured) {
  std::vector<StepExplanation> found(model.constants().size());
  in_parallel(found.size(), hardware_threads(), [&](std::size_t constant) {
    found[constant] = {constant, explaining_factor(model, step, measured, constant)};
  });
  const auto distance = [&](const StepExplanation& one) {
    return one.factor ? std::abs(std::log(*one.factor)) / model.constants()[one.constant].spread
                      : std::numeric_limits<double>::infinity();
  };
  std::ranges::stable_sort(found, {}, distance);
  return found;
}

}  // namespace orrery::study
