// SPDX-License-Identifier: MIT
// Bubbles of a job's pipeline, and what makes them smaller.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/number_text.h"
#include "core/error.h"
#include "report/figures.h"
#include "report/table.h"
#include "study/explain/explain.h"

namespace orrery::study {
namespace {

// "7 / 391 = 1.8 %": (p - 1) / (v m + p - 1).
std::string ideal_text(const ExplainedPipeline& pipeline) {
  if (!pipeline.ideal_bubble) return {};
  const std::int64_t others = pipeline.stages - 1;
  return fmt::format("; with even stages and nothing else (p - 1) / ({}m + p - 1) = {} / {} = {}",
                     pipeline.virtual_stages > 1 ? "v " : "", others,
                     pipeline.virtual_stages * pipeline.micro_batches + others, percent(*pipeline.ideal_bubble));
}

constexpr std::array<std::string_view, 3> kRemedies = {"virtual stages", "schedule", "micro-batch"};

bool has_large_bubbles(const Explanation& explanation) {
  return explanation.pipeline && explanation.base.bubble.value_or(0) >= report::kLargeBubble;
}

// Change of a kind with which the job is fastest, of those that were simulated and leave smaller bubbles.
const Variant* best_of(std::string_view kind, const Explanation& explanation) {
  for (const Variant& one : explanation.changes)  // in order
    if (one.kind == kind && one.ran() && one.fits() && one.bubble && *one.bubble < *explanation.base.bubble)
      return &one;
  return nullptr;
}

}  // namespace

std::optional<ExplainedPipeline> pipeline_of(const workload::TrainingSpec& training) {
  using workload::ScheduleKind;
  if (training.parallel.pipeline() == 1) return std::nullopt;
  ExplainedPipeline pipeline{training.parallel.pipeline(), training.virtual_stages, training.micro_batches(), {}};
  const ScheduleKind kind = training.schedule;
  const bool is_known = kind == ScheduleKind::kGpipe || kind == ScheduleKind::kOneForwardOneBackward ||
                        kind == ScheduleKind::kInterleaved;
  if (!is_known || training.overlap_passes) return pipeline;
  const auto others = static_cast<double>(pipeline.stages - 1);
  pipeline.ideal_bubble = others / (static_cast<double>(pipeline.virtual_stages * pipeline.micro_batches) + others);
  return pipeline;
}

bool compares_bubbles(const Variant& variant, const Explanation& explanation) {
  return has_large_bubbles(explanation) && std::ranges::find(kRemedies, variant.kind) != kRemedies.end();
}

std::string pipeline_text(const Explanation& explanation) {
  const Variant& base = explanation.base;
  if (!has_large_bubbles(explanation)) return {};
  std::string text = report::wrapped(fmt::format("ranks idle {} of the time for the pipeline{}", percent(base.bubble),
                                                 ideal_text(*explanation.pipeline)),
                                     {.first = "", .next = "  "});
  std::vector<std::string> remedies;
  for (const std::string_view kind : kRemedies)
    if (const Variant* one = best_of(kind, explanation)) {
      const double saved = 1 - seconds(one->time) / seconds(base.time);
      remedies.push_back(fmt::format("{} with {} ({} {})", percent(one->bubble), one->name,
                                     saved < 0 ? "costs" : "saves", percent(std::abs(saved))));
    }
  if (remedies.empty()) return text + "  no virtual stages, schedule or micro-batch beside its own makes it faster\n";
  return text + report::wrapped(fmt::format("they idle {}", fmt::join(remedies, ", ")));
}

}  // namespace orrery::study
