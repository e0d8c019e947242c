// SPDX-License-Identifier: MIT
// Plans of a job: which there are, what each has of the job, and their settings.
#include "study/search/plan.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "tests/study/search/small_jobs.h"

using namespace orrery;
using namespace orrery::study;

namespace {

experiment::Experiment read_job(const JobText& job) { return read(file_of(job, "plan_test")); }

}  // namespace

TEST_CASE("plans fill the cluster, each once, and what the ranges ask for") {
  const experiment::Experiment experiment = read_job({});
  const std::vector<Plan> plans = all_plans(training_of(experiment), 16, {});
  CHECK(std::set<Plan>(plans.begin(), plans.end()).size() == plans.size());
  for (const Plan& plan : plans) {
    CHECK(plan[PlanKey::kTensor] * plan[PlanKey::kPipeline] * plan[PlanKey::kContext] * plan[PlanKey::kData] == 16);
    CHECK((plan[PlanKey::kTensor] > 1 || plan[PlanKey::kSequence] == 0));
    CHECK((plan[PlanKey::kPipeline] > 1 || plan[PlanKey::kVirtualStages] == 1));
    CHECK(plan[PlanKey::kOffload] == 0);  // as the job has it
  }
  PlanRanges ranges;
  ranges[static_cast<std::size_t>(PlanKey::kTensor)] = {2, 3};
  ranges[static_cast<std::size_t>(PlanKey::kMicro)] = {1, 3};
  const std::vector<Plan> some = all_plans(training_of(experiment), 16, ranges);
  CHECK(!some.empty());
  for (const Plan& plan : some) {
    CHECK(plan[PlanKey::kTensor] == 2);
    CHECK((plan[PlanKey::kMicro] == 3 || std::ranges::find(plans, plan) != plans.end()));
  }
}

TEST_CASE("plans of a model with windows gather keys, and send heads where these divide: a ring is refused") {
  const JobText job{"dgx-a100", 2, 64,
                    "{layers: 8, hidden: 1024, heads: 4, vocab: 32000, sequence: 16384, window: 1024}"};
  const experiment::Experiment experiment = read_job(job);
  std::set<std::pair<std::int64_t, std::string>> kinds;
  for (const Plan& plan : sound_plans(experiment))
    if (plan[PlanKey::kContext] > 1 && plan[PlanKey::kTensor] == 1)
      kinds.emplace(plan[PlanKey::kContext], value_text(PlanKey::kContextKind, plan[PlanKey::kContextKind]));
  // 4 heads: all-to-all of 2 and 4 ranks; 16,384 tokens leave each of 16 ranks 1,024.
  CHECK(kinds == std::set<std::pair<std::int64_t, std::string>>{{2, "all-gather"},
                                                                {2, "all-to-all"},
                                                                {4, "all-gather"},
                                                                {4, "all-to-all"},
                                                                {8, "all-gather"},
                                                                {16, "all-gather"}});
}

TEST_CASE("plans have other schedules where they are asked for, or where the job has one without a bubble") {
  const experiment::Experiment experiment = read_job({});
  workload::TrainingSpec base = training_of(experiment);
  const auto schedules_of = [&](const PlanRanges& ranges) {
    std::set<std::string> names;
    for (const Plan& plan : all_plans(base, 16, ranges))
      if (plan[PlanKey::kPipeline] > 1) names.insert(std::string(workload::name_of(with_plan(base, plan).schedule)));
    return names;
  };
  CHECK(schedules_of({}) == std::set<std::string>{"1f1b", "1f1b-interleaved"});
  PlanRanges ranges;
  ranges[static_cast<std::size_t>(PlanKey::kSchedule)] = {*plan_value(PlanKey::kSchedule, "zb-v"),
                                                          *plan_value(PlanKey::kSchedule, "gpipe")};
  CHECK(schedules_of(ranges) == std::set<std::string>{"gpipe", "zb-v"});
  base.schedule = workload::ScheduleKind::kZeroBubbleH2;
  base.virtual_stages = 1;
  CHECK(schedules_of({}) == std::set<std::string>{"1f1b", "1f1b-interleaved", "zb-h2", "zb-v", "zero-bubble"});
}

TEST_CASE("interleaved plans take the shortest group that keeps the pipeline full") {
  const experiment::Experiment experiment = read_job({});
  workload::TrainingSpec base = training_of(experiment);
  const auto group_of = [&](std::int64_t batch, std::int64_t own) {
    base.global_batch = batch;
    base.schedule_group = own;
    Plan plan;
    plan[PlanKey::kPipeline] = 4;
    plan[PlanKey::kVirtualStages] = 2;
    return with_plan(base, plan).schedule_group;
  };
  CHECK(group_of(5, 0) == 5);
  CHECK(group_of(9, 0) == 5);
  CHECK(group_of(8, 0) == 0);
  CHECK(group_of(8, 8) == 8);
  CHECK(group_of(3, 0) == 0);  // none: such a plan is refused
}

TEST_CASE("settings name what a plan drops of the job, and nothing that it keeps") {
  const auto count = [](const workload::TrainingSpec& base, const Plan& plan, const std::string& setting) {
    return std::ranges::count(settings_of(base, plan), setting);
  };
  workload::TrainingSpec experts = training_of(read_job({"dgx-a100", 2, 64, kSmallExperts}));
  experts.experts.overlap_shared = true;
  Plan plan;
  plan[PlanKey::kExpert] = 8;
  CHECK(count(experts, plan, "workload.experts.overlap_shared=false") == 0);
  plan[PlanKey::kExpert] = 1;
  CHECK(count(experts, plan, "workload.experts.overlap_shared=false") == 1);

  workload::TrainingSpec modules = training_of(read_job({}));
  modules.recompute_modules.norm = true;
  plan = {};
  CHECK(count(modules, plan, "workload.recompute_modules=[]") == 0);
  plan[PlanKey::kRecompute] = *plan_value(PlanKey::kRecompute, "full");
  CHECK(count(modules, plan, "workload.recompute_modules=[]") == 1);
  // Attention that selective recomputation computes again already.
  modules.recompute_modules = {};
  modules.recompute_modules.core = true;
  modules.software.selective = workload::SelectiveKind::kScores;
  plan[PlanKey::kRecompute] = *plan_value(PlanKey::kRecompute, "selective");
  modules.software.attention = workload::AttentionKind::kPlain;
  CHECK_FALSE(with_plan(modules, plan).recompute_modules.core);
  modules.software.attention = workload::AttentionKind::kFlash;
  CHECK(with_plan(modules, plan).recompute_modules.core);

  workload::TrainingSpec grouped = training_of(read_job({}));
  plan = {};
  plan[PlanKey::kPipeline] = 4;
  plan[PlanKey::kVirtualStages] = 2;
  grouped.global_batch = 5;
  CHECK(count(grouped, plan, "workload.schedule.group=5") == 1);
  grouped.global_batch = 8;
  CHECK(count(grouped, plan, "workload.schedule.group=0") == 0);
  grouped.schedule_group = 8;  // no group of 5 micro-batches
  CHECK(count(grouped, plan, "workload.schedule.group=8") == 0);
  grouped.global_batch = 5;
  CHECK(count(grouped, plan, "workload.schedule.group=5") == 1);
}

TEST_CASE("plans shard states among fewer ranks where these divide the replicas and hold the experts") {
  workload::TrainingSpec base = training_of(read_job({"dgx-a100", 2, 64, kSmallExperts}));
  base.parallel.shard = 4;
  const auto shard_of = [&](std::int64_t data, std::int64_t expert, std::int64_t zero) {
    Plan plan;
    plan[PlanKey::kData] = data;
    plan[PlanKey::kExpert] = expert;
    plan[PlanKey::kZero] = zero;
    return with_plan(base, plan).parallel.shard;
  };
  CHECK(shard_of(16, 4, 1) == 4);
  CHECK(shard_of(16, 8, 1) == 0);
  CHECK(shard_of(6, 1, 1) == 0);
  CHECK(shard_of(16, 1, 0) == 0);  // nothing is sharded
}

TEST_CASE("layers that do not divide among stages leave room for the embedding and the head") {
  const auto base_of = [](int layers) {
    return training_of(
        read_job({"dgx-a100", 2, 64,
                  fmt::format("{{layers: {}, hidden: 1024, heads: 16, vocab: 32000, sequence: 2048}}", layers)}));
  };
  const workload::TrainingSpec base = base_of(6);
  std::set<std::int64_t> virtual_stages;  // of two stages: they have 6 layers of 4 or 6 chunks
  for (const Plan& each : all_plans(base, 16, {}))
    if (each[PlanKey::kPipeline] == 2) virtual_stages.insert(each[PlanKey::kVirtualStages]);
  CHECK(virtual_stages == std::set<std::int64_t>{1, 2, 3});
  Plan plan;
  plan[PlanKey::kPipeline] = 4;
  CHECK(with_plan(base, plan).pipeline_layers == std::vector<std::int64_t>{1, 2, 2, 1});
  CHECK(with_plan(base_of(7), plan).pipeline_layers == std::vector<std::int64_t>{2, 2, 2, 1});  // 9 do not divide
  plan[PlanKey::kPipeline] = 3;
  CHECK(with_plan(base, plan).pipeline_layers.empty());
  plan[PlanKey::kPipeline] = 8;  // a stage without layers is refused elsewhere
  CHECK(with_plan(base, plan).pipeline_layers.empty());
}

TEST_CASE(
    "plans have every micro-batch that is a power of two, up to the batch of a replica, and both kinds of sequence") {
  const experiment::Experiment experiment = read_job({});
  std::set<std::int64_t> micro, sequence;
  for (const Plan& plan : all_plans(training_of(experiment), 16, {})) {
    if (plan[PlanKey::kData] == 8) micro.insert(plan[PlanKey::kMicro]);
    if (plan[PlanKey::kTensor] == 2) sequence.insert(plan[PlanKey::kSequence]);
  }
  CHECK(micro == std::set<std::int64_t>{1, 2, 4, 8});
  CHECK(sequence == std::set<std::int64_t>{0, 1});
  CHECK_FALSE(plan_value(PlanKey::kSchedule, "1f2b"));
  CHECK(plan_value(PlanKey::kZero, "3") == 3);
  CHECK_FALSE(plan_value(PlanKey::kZero, "4"));
}

TEST_CASE("a pipeline stage has at most sixteen parts, however many layers there are") {
  const auto experiment =
      read_job({"dgx-a100", 2, 64, "{layers: 72, hidden: 1024, heads: 16, vocab: 32000, sequence: 2048}"});
  std::set<std::int64_t> virtual_stages;  // of two stages of 36 layers
  for (const Plan& each : all_plans(training_of(experiment), 16, {}))
    if (each[PlanKey::kPipeline] == 2) virtual_stages.insert(each[PlanKey::kVirtualStages]);
  CHECK(virtual_stages == std::set<std::int64_t>{1, 2, 3, 4, 6, 9, 12});
}
