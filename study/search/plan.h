// SPDX-License-Identifier: MIT
// Plans of a training job: how it may be spread over a cluster, and all such ways that fill it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/training/spec/training_spec.h"

namespace orrery::study {

// Keys that a search varies. kVirtualStages above 1 is the interleaved schedule; kSequence is 0 or 1; kRecompute is a
// workload::Recompute, kOffload the percentage of the optimizer's states that hosts hold, kSchedule a
// workload::ScheduleKind, with 1F1B for interleaved, too, kContextKind a workload::ContextKind.
enum class PlanKey : std::uint8_t {
  kTensor,
  kPipeline,
  kVirtualStages,
  kContext,
  kData,
  kExpert,
  kZero,
  kSequence,
  kMicro,
  kRecompute,
  kOffload,
  kSchedule,
  kContextKind,
};
inline constexpr std::size_t kPlanKeyCount = 13;

std::string_view name_of(PlanKey key);  // "tensor", "virtual_stages", ...
std::string_view path_of(PlanKey key);  // in an experiment: "workload.parallel.tensor"
// True for 1F1B, with virtual stages or without, between which kVirtualStages chooses.
bool is_one_behind_the_other(workload::ScheduleKind kind);
// Key by its name, the end of its path in an experiment, or what it is called for short: "tp", "workload.batch.micro".
std::optional<PlanKey> plan_key_named(std::string_view name);
std::vector<std::string> plan_key_names();

struct Plan {
  std::array<std::int64_t, kPlanKeyCount> values{1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0};

  std::int64_t& operator[](PlanKey key) { return values[static_cast<std::size_t>(key)]; }
  std::int64_t operator[](PlanKey key) const { return values[static_cast<std::size_t>(key)]; }
  std::int64_t ranks() const {
    return (*this)[PlanKey::kTensor] * (*this)[PlanKey::kPipeline] * (*this)[PlanKey::kContext] *
           (*this)[PlanKey::kData];
  }
  auto operator<=>(const Plan&) const = default;
};

// "full" of kRecompute, "zb-v" of kSchedule, "true" of kSequence, else the number; and back, nothing where it is no
// value of the key.
std::string value_text(PlanKey key, std::int64_t value);
std::optional<std::int64_t> plan_value(PlanKey key, std::string_view text);
// True for keys whose values are words, not numbers or truths.
bool has_words(PlanKey key);

// Plan of a job as its experiment has it.
Plan plan_of(const workload::TrainingSpec& training);
// The job with another plan; what means nothing under it is dropped. Layers stay where they are if the stages do. Else
// they are spread evenly; where they cannot be, so that the first and the last one have a layer less, in place of the
// embedding and the head; where that does not go either, the ones in the middle have one more.
workload::TrainingSpec with_plan(const workload::TrainingSpec& base, const Plan& plan);
// The same as settings of the experiment (a.b=v).
std::vector<std::string> settings_of(const workload::TrainingSpec& base, const Plan& plan);

// Settings that reduce an experiment's plan to one rank; and those among them that are part of no plan and stay the
// experiment's own.
std::vector<std::string> settings_of_one_rank();
std::vector<std::string> settings_without_plan();

// Allowed values of the keys; empty: whatever makes sense.
using PlanRanges = std::array<std::vector<std::int64_t>, kPlanKeyCount>;

// All plans of as many ranks as there are devices, each once, that of the job among them: of what changes nothing
// (sequence parallelism without tensor parallelism, ZeRO of one replica) there is one. Degrees are divisors,
// micro-batches powers of two (any divisor where a model is no transformer), virtual stages at most 16 among which
// layers divide, schedules 1F1B (or what the job has; with one of the zero-bubble schedules all of these), ZeRO behind
// a pipeline at most 1 (or what the job has), context parallelism leaves a rank at least 1,024 tokens of a sequence, in
// the job's kind or by all-to-all where heads divide, and states are on hosts as the job has them, or all on devices,
// unless `ranges` have others. Not all of them pass check_training().
std::vector<Plan> all_plans(const workload::TrainingSpec& base, std::int64_t devices, const PlanRanges& ranges);

}  // namespace orrery::study
