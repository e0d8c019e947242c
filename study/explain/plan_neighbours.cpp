// SPDX-License-Identifier: MIT
// Neighbours in the keys that searches vary.
#include <array>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "study/explain/neighbour_job.h"

namespace orrery::study {
namespace {

using enum PlanKey;
using workload::ScheduleKind;

// Adds what changes of degrees entail: sequence parallelism is of tensor parallelism, ZeRO of replicas, virtual stages
// of a pipeline, and as many replicas as share the experts divide those that there are.
Plan consistent(Plan plan, const workload::TrainingSpec& training) {
  const std::int64_t columns = training.parallel.expert_tensor == 1 ? plan[kTensor] : 1;
  if (plan[kTensor] == 1) plan[kSequence] = 0;
  if (plan[kData] * plan[kContext] == 1) plan[kZero] = 0;
  if (plan[kPipeline] == 1) {
    plan[kVirtualStages] = 1;
    plan[kSchedule] = static_cast<std::int64_t>(ScheduleKind::kOneForwardOneBackward);
  }
  plan[kExpert] = std::gcd(plan[kExpert], plan[kData] * plan[kContext] * columns);
  return plan;
}

bool has_tokens_for(const NeighbourJob& job, std::int64_t context) {
  constexpr std::int64_t kLeastTokens = 1024;  // of a sequence on a rank, as searches have it
  return job.transformer() != nullptr && job.transformer()->sequence / context >= kLeastTokens;
}

// Ranks move from one degree to another, half of one for twice the other.
void degrees(NeighbourJob& job) {
  if (job.training().parallel.exchange == workload::ExchangeKind::kParameterServer) return;
  constexpr std::array kDegrees = {kTensor, kPipeline, kContext, kData};
  for (const PlanKey from : kDegrees)
    for (const PlanKey to : kDegrees) {
      Plan plan = job.plan();
      const bool exists = to == kData || job.transformer() != nullptr;
      if (from == to || !exists || plan[from] == 1) continue;
      plan[to] *= 2;
      if (to == kContext && !has_tokens_for(job, plan[to])) continue;
      const std::string_view name_from = name_of(from), name_to = name_of(to);
      if (plan[from] % 2 != 0) {
        job.refuse(fmt::format("{} {}", name_to, plan[to]),
                   fmt::format("{} {} cannot be halved", name_from, plan[from]));
        continue;
      }
      plan[from] /= 2;
      const Plan whole = consistent(plan, job.training());
      std::string name = fmt::format("{} {}, {} {}", name_to, plan[to], name_from, plan[from]);
      if (whole[kExpert] != plan[kExpert]) name += fmt::format(", expert {}", whole[kExpert]);
      job.add(std::move(name), whole);
    }
}

// Experts that more or fewer ranks share, and experts that tensor parallelism splits or not.
void experts(NeighbourJob& job) {
  if (job.transformer() == nullptr || job.transformer()->experts == 0) return;
  for (const std::int64_t doubled : {job.plan()[kExpert] * 4, job.plan()[kExpert]}) {  // twice as many, half
    Plan plan = job.plan();
    if (doubled % 2 != 0 || job.transformer()->experts % (doubled / 2) != 0) continue;
    plan[kExpert] = doubled / 2;
    job.add(fmt::format("expert {}", plan[kExpert]), plan);
  }
  if (job.plan()[kTensor] == 1) return;
  const bool is_split = job.training().parallel.expert_tensor != 1;
  job.add(is_split ? "experts whole on a rank" : "experts split by tensor parallelism",
          {fmt::format("workload.parallel.expert_tensor={}", is_split ? 1 : 0)});
}

// Half and twice of it, and with it twice and half as many; one that was chosen is the largest that fits.
void micro_batch(NeighbourJob& job) {
  const auto add = [&](std::int64_t size) {
    Plan plan = job.plan();
    plan[kMicro] = size;
    job.add(fmt::format("micro-batch {}", size), plan);
  };
  if (job.plan()[kMicro] % 2 == 0) add(job.plan()[kMicro] / 2);
  if (!job.training().chooses_micro_batch) add(job.plan()[kMicro] * 2);
}

// All that flush: without flushes another training would be done.
void schedule(NeighbourJob& job) {
  if (job.plan()[kPipeline] == 1) return;
  for (std::size_t i = 0; i < workload::kScheduleKindCount; ++i) {
    const auto kind = static_cast<ScheduleKind>(i);
    Plan plan = job.plan();
    plan[kSchedule] = static_cast<std::int64_t>(kind);
    plan[kVirtualStages] = 1;
    const bool is_other = plan[kSchedule] != job.plan()[kSchedule];  // interleaved is 1F1B with virtual stages
    if (is_other && kind != ScheduleKind::kPipedream && kind != ScheduleKind::kInterleaved)
      job.add(fmt::format("schedule {}", workload::name_of(kind)), plan);
  }
}

// Numbers of chunks among which a stage's layers divide.
void virtual_stages(NeighbourJob& job) {
  constexpr std::int64_t kMost = 16;
  const std::int64_t stages = job.plan()[kPipeline];
  if (stages == 1 || job.transformer() == nullptr || job.transformer()->layers % stages != 0) return;
  for (std::int64_t chunks = 1; chunks <= kMost; ++chunks) {
    if (job.transformer()->layers / stages % chunks != 0) continue;
    Plan plan = job.plan();
    plan[kSchedule] = static_cast<std::int64_t>(ScheduleKind::kOneForwardOneBackward);
    plan[kVirtualStages] = chunks;
    if (chunks > 1 || job.training().virtual_stages > 1) job.add(fmt::format("virtual stages {}", chunks), plan);
  }
}

void zero(NeighbourJob& job) {
  if (job.training().parallel.replicas() == 1) return;
  if (job.training().parallel.exchange == workload::ExchangeKind::kParameterServer) return;
  for (std::int64_t stage = 0; stage <= 3; ++stage) {
    Plan plan = job.plan();
    plan[kZero] = stage;
    if (stage != job.plan()[kZero]) job.add(fmt::format("ZeRO {}", stage), plan);
  }
}

void sequence(NeighbourJob& job) {
  if (job.transformer() == nullptr || job.plan()[kTensor] == 1) return;
  Plan plan = job.plan();
  plan[kSequence] = 1 - plan[kSequence];
  job.add(plan[kSequence] == 1 ? "sequence parallelism" : "no sequence parallelism", plan);
}

void recompute(NeighbourJob& job) {
  if (job.transformer() == nullptr) return;
  for (const auto other : {workload::Recompute::kNone, workload::Recompute::kSelective, workload::Recompute::kFull}) {
    Plan plan = job.plan();
    plan[kRecompute] = static_cast<std::int64_t>(other);
    if (other != job.training().recompute)
      job.add(fmt::format("recompute {}", value_text(kRecompute, plan[kRecompute])), plan);
  }
}

void context_kind(NeighbourJob& job) {
  if (job.plan()[kContext] == 1) return;
  for (const auto other :
       {workload::ContextKind::kRing, workload::ContextKind::kAllGather, workload::ContextKind::kAllToAll}) {
    Plan plan = job.plan();
    plan[kContextKind] = static_cast<std::int64_t>(other);
    if (other != job.training().parallel.context_kind)
      job.add(fmt::format("context {}", value_text(kContextKind, plan[kContextKind])), plan);
  }
}

constexpr NeighbourKind kPlanKinds[] = {
    {"degrees", degrees, true},
    {"experts' ranks", experts, true},
    {"micro-batch", micro_batch, true},
    {"schedule", schedule, true},
    {"virtual stages", virtual_stages, true},
    {"ZeRO", zero, true},
    {"sequence parallelism", sequence, true},
    {"recomputation", recompute, true},
    {"context exchange", context_kind, true},
};

}  // namespace

std::span<const NeighbourKind> kinds_of_plans() { return kPlanKinds; }

}  // namespace orrery::study
