// SPDX-License-Identifier: MIT
// The search for plans: that none is missing, that the best are the best, that it may be stopped.
#include "study/search/search.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/in_parallel.h"
#include "experiment/plans/bound.h"
#include "experiment/runs/run.h"
#include "study/search/sizes.h"
#include "tests/shipped_files.h"
#include "tests/study/search/small_jobs.h"

using namespace orrery;
using namespace orrery::study;
using Catch::Matchers::Contains;

namespace {

std::string file_of(const JobText& job) { return file_of(job, "search_test"); }

Search search_plans(const SearchRequest& request, const ConfigFiles& files, PointsOptions options = {}) {
  Points points(std::move(options));
  return search_plans(request, points, files);
}

// Plans of 32 and of 16 devices.
const JobText kFourNodes{"dgx-h100", 4, 128};
const JobText kGrouped{"dgx-h100", 2, 96,
                       "{layers: 10, hidden: 2048, heads: 16, kv_heads: 4, vocab: 50000, sequence: 4096}"};
const JobText kExperts{"dgx-a100", 2, 64, kSmallExperts};

}  // namespace

// 5 micro-batches on 4 stages go round as one group, 9 as 5 and 4; 8 need none; what the job asks for stays if it goes.

TEST_CASE("plans that leave devices of each node idle, so that groups of experts stay inside nodes, are found") {
  JobText job{"gb200-nvl72", 2, 1152,
              "{layers: 2, hidden: 256, heads: 8, vocab: 512, sequence: 64, experts: 64, experts_per_token: 2, "
              "expert_hidden: 256}"};
  SearchRequest request;
  for (const auto& [key, value] :
       {std::pair(PlanKey::kPipeline, 1), std::pair(PlanKey::kTensor, 1), std::pair(PlanKey::kContext, 1),
        std::pair(PlanKey::kExpert, 64), std::pair(PlanKey::kZero, 1), std::pair(PlanKey::kMicro, 1)})
    request.ranges[static_cast<std::size_t>(key)] = {value};
  request.ranges[static_cast<std::size_t>(PlanKey::kRecompute)] = {0};
  // 144 ranks do not divide among groups of 64 experts; 64 of each node do.
  request.file = file_of(job);
  const Search search = search_plans(request, kFiles);
  CHECK(search.packed);
  REQUIRE(search.simulated == 1);
  const FoundPlan& best = search.found.front();
  CHECK(best.plan[PlanKey::kData] == 128);
  CHECK(best.bound <= *best.time);
  CHECK_THAT(search_text(search), Contains("plans use all devices, or as many of each node as groups fill"));
  // The experiment's own plan is such a one, and is compared.
  job.more = "  parallel: {data: 128, expert: 64, zero: 1}\n";
  request.file = file_of(job);
  const Search compared = search_plans(request, kFiles);
  REQUIRE(compared.given);
  CHECK(compared.given->plan[PlanKey::kData] == 128);
  // Ranks one behind the other have their groups over two nodes.
  job.more = "placement: dense\n";
  request.file = file_of(job);
  CHECK_THROWS_AS(search_plans(request, kFiles), InputError);
}

TEST_CASE("a plan as settings is the same plan") {
  for (const JobText& job : {JobText{}, JobText{"dgx-a100", 2, 64,
                                                "{layers: 6, hidden: 1024, heads: 16, vocab: 32000, "
                                                "sequence: 2048}"}}) {
    const std::string file = file_of(job);
    experiment::Experiment experiment = read(file);
    const workload::TrainingSpec base = training_of(experiment);
    const std::vector<Plan> plans = sound_plans(experiment);
    for (std::size_t i = 0; i < plans.size(); i += plans.size() / 12 + 1) {
      const std::vector<std::string> settings = settings_of(base, plans[i]);
      CAPTURE(fmt::format("{}", fmt::join(settings, " ")));
      Diagnostics diagnostics;
      const experiment::Experiment other = experiment::load_experiment(file, settings, kFiles, diagnostics);
      CHECK(plan_of(training_of(other)) == plans[i]);
      const experiment::Run run = experiment::run_experiment(other, true, diagnostics);
      CHECK(report::iteration_time(run.result) == time_of(experiment, with_plan(base, plans[i])));
    }
  }
}

// 6 layers on 4 stages, where embedding and head count as a layer each.

TEST_CASE("a value that was asked for and is of no plan is warned of, and a job without degrees is not compared") {
  SearchRequest request{file_of({}), {}};
  request.ranges[static_cast<std::size_t>(PlanKey::kTensor)] = {2, 32};
  request.budget = 1;
  const Search search = search_plans(request, kFiles);
  CHECK(std::ranges::any_of(search.warnings, [](const Problem& warning) {
    return warning.message == "no plan that fills the 16 devices a100-sxm-80gb has tensor 32";
  }));
  REQUIRE(search.given_refusal);
  CHECK(*search.given_refusal == "it has no degrees of parallelism for the 16 devices");
}

TEST_CASE("the best are those of simulating all, whatever the threads") {
  for (const JobText& job : {kFourNodes, kExperts}) {
    SearchRequest request{file_of(job), {}};
    request.best = 5;
    request.ranges[static_cast<std::size_t>(PlanKey::kZero)] = {0, 1};
    request.ranges[static_cast<std::size_t>(PlanKey::kContext)] = {1};
    request.ranges[static_cast<std::size_t>(PlanKey::kRecompute)] = {0};
    const Search some = search_plans(request, kFiles);
    CHECK(some.simulated < some.found.size());
    CHECK(some.proven() >= 5);
    CHECK(search_text(search_plans(request, kFiles, {.jobs = 2})) == search_text(some));
    request.simulates_all = true;
    const Search all = search_plans(request, kFiles);
    CHECK(all.simulated == all.found.size());
    CHECK(!all.next_bound());
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(all.found[i].time == some.found[i].time);
      CHECK(all.found[i].plan == some.found[i].plan);
    }
  }
}

// Jobs of which all plans are simulated, whatever schedules, devices and software they have.

TEST_CASE("the best of small jobs are those of simulating all, in the same order") {
  const std::string six = "{layers: 6, hidden: 768, heads: 12, vocab: 5000, sequence: 2048}";
  const std::vector<JobText> jobs = {
      {"dgx-a100", 1, 24, six, "  schedule: {kind: zero-bubble}\n"},
      {"dgx-1v", 1, 24, six, "  software: megatron-2021\n"},
      {"dgx-h100", 1, 32, kSmallExperts, "  iterations: 2\n"},
      {"dgx-a100", 1, 16, six, "  schedule: {kind: gpipe}\n  overlap: {gradients: true}\n"}};
  for (const JobText& job : jobs) {
    CAPTURE(job.cluster, job.model, job.more);
    SearchRequest request{file_of(job), {}};
    request.best = 8;
    request.ranges[static_cast<std::size_t>(PlanKey::kRecompute)] = {0};
    const Search some = search_plans(request, kFiles);
    request.simulates_all = true;
    const Search all = search_plans(request, kFiles);
    CHECK(some.bounds_hold);
    CHECK(some.simulated < all.simulated);
    REQUIRE(some.simulated >= 8);
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(all.found[i].time == some.found[i].time);
      CHECK(all.found[i].plan == some.found[i].plan);
    }
  }
}

TEST_CASE("a budget says how far off the best may be") {
  SearchRequest request{file_of(kFourNodes), {}};
  request.budget = 1;
  const Search search = search_plans(request, kFiles);
  CHECK(search.simulated == 1);
  CHECK_THAT(search_text(search), Contains("1 simulated; none of the others takes less than"));
}

TEST_CASE("plans are simulated by their bounds, the least first, which are as high as is known") {
  SearchRequest request{file_of(kFourNodes), {}};
  request.budget = 40;
  const Search search = search_plans(request, kFiles);
  REQUIRE(search.simulated == 40);
  const experiment::Experiment experiment = read(request.file);
  experiment::PlanBounds bounds(experiment);
  std::size_t raised = 0;
  Duration most{}, least = Duration::max();
  for (std::size_t i = 0; i < search.found.size(); ++i) {
    const FoundPlan& one = search.found[i];
    if (i < search.simulated)
      most = std::max(most, one.bound);
    else
      least = std::min(least, one.bound);
    if (!one.is_refined) continue;
    const workload::TrainingSpec training = with_plan(training_of(experiment), one.plan);
    const Duration rough = bounds.of(training, search.capacity).time;
    CHECK(one.bound == bounds.refined(training, rough));
    raised += one.bound > rough;
  }
  CHECK(most <= least);
  CHECK(raised > 0);
}

TEST_CASE("a search that is stopped has the best so far, and the experiment's own plan is in it") {
  JobText job = kFourNodes;
  job.more = "  parallel: {tensor: 2, pipeline: 2, data: 8}\n";
  SearchRequest request{file_of(job), {}};
  request.best = 3;
  const Search whole = search_plans(request, kFiles);
  CHECK(whole.is_complete);
  Duration before = Duration::max();
  bool was_complete = false;
  for (const int looks : {0, 1, 100, 3000, 30'000, 300'000, 100'000'000}) {
    int looked = 0;
    const Search search = search_plans(request, kFiles, {.is_stopped = [&] { return ++looked > looks; }});
    CAPTURE(looks);
    if (looks < 3) {
      CHECK(search.simulated == 0);
      CHECK_THAT(search_text(search), Contains("stopped before it was known which of them fit; none simulated"));
      continue;
    }
    REQUIRE(search.simulated > 0);
    REQUIRE(search.given);
    CHECK(*search.found.front().time <= std::min(before, *search.given->time));
    before = *search.found.front().time;
    const std::string text = search_text(search);
    if (search.is_complete) {
      CHECK(text == search_text(whole));
    } else {
      CHECK(!was_complete);
      CHECK_THAT(text, Contains("stopped "));
      CHECK(search_json(search)["stopped"] == true);
      CHECK(search.next_bound() <= whole.found.front().time);
    }
    was_complete = search.is_complete;
  }
  CHECK(was_complete);
}

TEST_CASE("within a budget the best is no worse than the experiment's own plan and what is next to it") {
  JobText job = kFourNodes;
  job.more = "  parallel: {tensor: 8, pipeline: 2, data: 2}\n";
  SearchRequest request{file_of(job), {}};
  request.budget = 2;
  const Search search = search_plans(request, kFiles);
  REQUIRE(search.given);
  CHECK(search.simulated == 3);
  const auto is_given = [&](const FoundPlan& one) { return one.plan == search.given->plan; };
  CHECK(std::ranges::count_if(search.found, is_given) == 1);
  CHECK(*search.found.front().time <= *search.given->time);
}

TEST_CASE("plans that cannot be are told by their reasons") {
  SearchRequest request{file_of(kGrouped), {}};
  request.ranges[static_cast<std::size_t>(PlanKey::kMicro)] = {1, 5};
  request.ranges[static_cast<std::size_t>(PlanKey::kContext)] = {1};
  request.budget = 1;
  CHECK_THAT(search_text(search_plans(request, kFiles)),
             Contains("infeasible (example)") && Contains("micro-batches of 5"));
  request.most_memory = 0.0001;
  CHECK_THROWS_WITH(search_plans(request, kFiles), Contains("plans fits"));
  request.most_memory = 1;
  request.ranges[static_cast<std::size_t>(PlanKey::kTensor)] = {3};
  CHECK_THROWS_WITH(search_plans(request, kFiles), Contains("no plan fills"));
}

TEST_CASE("words of plans are words in JSON, too") {
  SearchRequest request;
  request.file = file_of(JobText{"dgx-a100", 1, 16});
  for (const auto& [key, value] :
       {std::pair(PlanKey::kTensor, 1), std::pair(PlanKey::kPipeline, 1), std::pair(PlanKey::kContext, 2),
        std::pair(PlanKey::kZero, 1), std::pair(PlanKey::kMicro, 1), std::pair(PlanKey::kRecompute, 2)})
    request.ranges[static_cast<std::size_t>(key)] = {value};
  request.ranges[static_cast<std::size_t>(PlanKey::kContextKind)] = {*plan_value(PlanKey::kContextKind, "all-to-all")};
  const nlohmann::ordered_json json = search_json(search_plans(request, kFiles));
  REQUIRE(!json["best"].empty());
  const nlohmann::ordered_json& plan = json["best"][0]["plan"];
  CHECK(plan["context_kind"] == "all-to-all");
  CHECK(plan["recompute"] == "full");
  CHECK(plan["schedule"] == "1f1b");
  CHECK(plan["sequence"] == false);
  CHECK(plan["context"] == 2);
}

// Hosts update states where it is known how fast, and where no products of matrices are among the update.

TEST_CASE("devices update the states of plans that hosts cannot update") {
  const auto check_updater = [](workload::TrainingSpec base, bool by_host) {
    Plan plan;
    plan[PlanKey::kData] = 8;
    plan[PlanKey::kOffload] = 100;
    const workload::TrainingSpec training = with_plan(base, plan);
    CHECK(training.offload.on_host == by_host);
    Diagnostics problems;
    workload::check_training(training, 8, problems);
    CHECK(!problems.has_errors());
    const std::vector<std::string> settings = settings_of(base, plan);
    CHECK(std::ranges::count(settings, "workload.offload.update=device") == (by_host ? 0 : 1));
    plan[PlanKey::kOffload] = 0;
    CHECK(with_plan(base, plan).offload.on_host);
  };
  const JobText job{"dgx-a100", 1, 16};
  workload::TrainingSpec base = training_of(read(file_of(job)));
  check_updater(base, true);
  base.offload.host.update.reset();
  check_updater(base, false);
  check_updater(training_of(read(file_of({job.cluster, job.nodes, job.batch, job.model, "  optimizer: muon\n"}))),
                false);
}

TEST_CASE("constraints leave the plans that meet them") {
  SearchRequest request{file_of(kFourNodes), {}};
  request.budget = 1;
  const std::size_t all = search_plans(request, kFiles).plans;
  request.where.emplace_back("tensor * context <= 2", Location{"--where"});
  request.where.emplace_back("recompute = none", Location{"--where"});
  const Search search = search_plans(request, kFiles);
  CHECK(search.plans < all);
  for (const FoundPlan& one : search.found) {
    CHECK(one.plan[PlanKey::kTensor] * one.plan[PlanKey::kContext] <= 2);
    CHECK(one.plan[PlanKey::kRecompute] == 0);
  }
  request.where.emplace_back("tensor > 2", Location{"--where"});
  CHECK_THROWS_WITH(
      search_plans(request, kFiles),
      Contains("no plan fills") && Contains(" with tensor * context <= 2 and recompute = none and tensor > 2"));
  request.where.emplace_back("tensr > 2", Location{"--where"});
  CHECK_THROWS_WITH(search_plans(request, kFiles), Contains("unknown name 'tensr'"));
}

TEST_CASE("how many plans are faster than the experiment's is known, or between what numbers") {
  JobText job = kFourNodes;
  job.more = "  parallel: {tensor: 4, pipeline: 2, data: 4}\n" + job.more;
  SearchRequest request{file_of(job), {}};
  request.best = 1;
  request.ranges[static_cast<std::size_t>(PlanKey::kContext)] = {1};
  request.ranges[static_cast<std::size_t>(PlanKey::kRecompute)] = {0};
  request.simulates_all = true;
  const Search all = search_plans(request, kFiles);
  REQUIRE(all.given);
  const auto faster = static_cast<std::size_t>(
      std::ranges::count_if(all.found, [&](const FoundPlan& one) { return *one.time < *all.given->time; }));
  CHECK(all.faster_than_given() == std::pair<std::size_t, std::size_t>(faster, 0));
  request.simulates_all = false;
  const auto [least, maybe] = search_plans(request, kFiles).faster_than_given();
  CHECK(least <= faster);
  CHECK(least + maybe >= faster);
  request.ranks_given = true;
  const Search ranked = search_plans(request, kFiles);
  CHECK(ranked.faster_than_given() == std::pair<std::size_t, std::size_t>(faster, 0));
  CHECK_THAT(search_text(ranked), Contains(fmt::format("{} plan", faster)));
}

TEST_CASE("sizes of a cluster are ordered by what is best") {
  JobText job = kFourNodes;
  job.more = "  tokens: 1e12\n  price: 2\n" + job.more;
  SearchRequest request{file_of(job), {}};
  request.best = 1;
  request.ranges[static_cast<std::size_t>(PlanKey::kContext)] = {1};
  request.ranges[static_cast<std::size_t>(PlanKey::kRecompute)] = {0};
  const std::vector<std::int64_t> nodes = {1, 2};
  Points points;
  const auto by_time = search_sizes(request, nodes, Objective::kTime, points, kFiles);
  REQUIRE(by_time.size() == 2);
  CHECK(by_time[0].nodes == 2);
  CHECK(*by_time[0].search->found.front().time < *by_time[1].search->found.front().time);
  for (const Objective objective : {Objective::kTokens, Objective::kCost}) {
    const auto sizes = search_sizes(request, nodes, objective, points, kFiles);
    CHECK(report::number_of(sizes[0].search->found.front().values, "tokens_per_s_per_gpu") >=
          report::number_of(sizes[1].search->found.front().values, "tokens_per_s_per_gpu"));
  }
  CHECK_THAT(sizes_text(by_time), Contains("device-hours") && Contains("of 2 nodes: "));
  CHECK(sizes_json(by_time)["sizes"].size() == 2);
}

TEST_CASE("sizes of a cluster without a plan come last") {
  SearchRequest request{file_of(kFourNodes), {}};
  request.budget = 1;
  request.ranges[static_cast<std::size_t>(PlanKey::kTensor)] = {16};
  const std::vector<std::int64_t> nodes = {1, 2};
  Points points;
  const auto sizes = search_sizes(request, nodes, Objective::kTime, points, kFiles);
  REQUIRE(sizes.size() == 2);
  CHECK(sizes[0].nodes == 2);
  CHECK(sizes[0].has_best());
  CHECK_FALSE(sizes[1].search);
}

TEST_CASE("a plan of the experiment that does not fit says so before its time") {
  SearchRequest request{file_of(kFourNodes), {}};
  request.best = 2;
  Search search = search_plans(request, kFiles);
  REQUIRE((search.found.size() > 1 && search.found[1].time));
  search.given = search.found[1];
  search.given_refusal.reset();
  search.given->memory = search.capacity;
  CHECK_THAT(search_text(search), Contains(" than the best; ") && !Contains("does not fit"));
  search.given->memory += Bytes(1);
  CHECK_THAT(search_text(search), Contains(" does not fit: it needs "));
}

TEST_CASE("a plan of the experiment that cannot be on its cluster is told, and the others are searched") {
  JobText job = kFourNodes;
  job.more = "  parallel: {tensor: 3, data: 4}\n" + job.more;
  SearchRequest request{file_of(job), {}};
  request.budget = 1;
  const Search search = search_plans(request, kFiles);
  REQUIRE(search.given_refusal);
  CHECK_THAT(search_text(search), Contains("the plan of the experiment is not compared: "));
  // What is told of the best is of the experiment as it is, whatever else its own plan has.
  job.more = "  parallel: {pipeline: 2, data: 3}\n  pipeline_layers: [2, 6]\n" + std::string();
  const SearchRequest uneven{file_of(job), {}, {}, {}, 1, 1};
  const Search found = search_plans(uneven, kFiles);
  REQUIRE(found.given_refusal);
  Diagnostics diagnostics;
  const auto again = experiment::load_experiment(uneven.file, found.settings.front(), kFiles, diagnostics);
  CHECK(plan_of(training_of(again)) == found.found.front().plan);
  CHECK(report::iteration_time(experiment::run_experiment(again, true, diagnostics).result) ==
        found.found.front().time);
  job.batch = 0;
  CHECK_THROWS_WITH(search_plans({file_of(job), {}}, kFiles), Contains("batch"));
}
