// SPDX-License-Identifier: MIT
// The search for plans: that none is missing, that no bound is above the time, that the best are the best.
#include "study/search/search.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/in_parallel.h"
#include "experiment/run.h"
#include "study/search/bound.h"
#include "study/search/sizes.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;
using Catch::Matchers::Contains;

namespace {

// A model that no list has, with little of everything, so that its plans are simulated in no time.
struct JobText {
  std::string cluster = "dgx-a100";
  int nodes = 2;
  int batch = 64;
  std::string model = "{layers: 8, hidden: 1024, heads: 16, vocab: 32000, sequence: 2048}";
  std::string more = "";
};

std::string file_of(const JobText& job) {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "search_test";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "job.yaml").string();
  std::ofstream(file) << fmt::format("cluster: {}\nnodes: {}\nworkload:\n  model: {}\n  batch: {{global: {}}}\n{}",
                                     job.cluster, job.nodes, job.model, job.batch, job.more);
  return file;
}

experiment::Experiment read(const std::string& file) {
  Diagnostics diagnostics;
  return experiment::load_experiment(file, {}, kFiles, diagnostics);
}

const workload::TrainingSpec& training_of(const experiment::Experiment& experiment) {
  return *experiment.jobs.front().workload.training;
}

std::vector<Plan> sound_plans(const experiment::Experiment& experiment) {
  std::vector<Plan> plans;
  for (const Plan& plan : all_plans(training_of(experiment), experiment.fabric.device_count(), {})) {
    Diagnostics problems;
    workload::check_training(with_plan(training_of(experiment), plan), experiment.fabric.device_count(), problems);
    if (!problems.has_errors()) plans.push_back(plan);
  }
  return plans;
}

Duration time_of(experiment::Experiment& experiment, const workload::TrainingSpec& training) {
  experiment.jobs.front().workload.training = training;
  Diagnostics diagnostics;
  return report::iteration_time(experiment::run_experiment(experiment, true, diagnostics).result);
}

// Some of the plans of a job, chosen at random: what is wrong with their bounds.
void check_bounds(const JobText& job, std::size_t count) {
  CAPTURE(job.cluster, job.nodes, job.batch, job.model, job.more);
  experiment::Experiment experiment = read(file_of(job));
  const workload::TrainingSpec base = training_of(experiment);
  std::vector<Plan> plans = sound_plans(experiment);
  REQUIRE(!plans.empty());
  std::mt19937_64 draw(7);
  for (std::size_t i = 0; i < std::min(count, plans.size()); ++i) {
    std::swap(plans[i], plans[i + draw() % (plans.size() - i)]);
    const workload::TrainingSpec training = with_plan(base, plans[i]);
    const Duration bound = PlanBounds(experiment).of(training, Bytes::max()).time;
    CAPTURE(fmt::format("{}", fmt::join(settings_of(base, plans[i]), " ")));
    CHECK(bound > Duration::zero());
    CHECK(bound <= time_of(experiment, training));
  }
}

const std::string kExperts =
    "{layers: 4, hidden: 1024, heads: 16, vocab: 32000, sequence: 2048, experts: 8, experts_per_token: 2}";

// A later stage has the larger update, and nothing ties the first to it.
const std::string kLate =
    "{layers: 16, hidden: 256, heads: 8, vocab: 1000, sequence: 64, experts: 64, experts_per_token: 2, dense_layers: "
    "14, "
    "ffn_hidden: 512, tied_embeddings: false}";

std::vector<JobText> jobs() {
  return {
      {},
      {"dgx-a100", 1, 8, kLate},
      {"dgx-a100", 1, 8, kLate, "  initial_broadcast: true\n"},
      {"dgx-a100", 1, 16, "{layers: 14, hidden: 2048, heads: 16, vocab: 1000, sequence: 64, tied_embeddings: false}"},
      {"dgx-1v", 2, 32, "{layers: 8, hidden: 512, heads: 16, ffn_hidden: 1024, vocab: 1000, sequence: 2048}"},
      {"dgx-a100", 4, 64, JobText().model, "perturb: {links: {node0.nic0: {dead: true}}}\n"},
      {"dgx-h100", 4, 128},
      {"dgx-h100", 2, 96, "{layers: 10, hidden: 2048, heads: 16, kv_heads: 4, vocab: 50000, sequence: 4096}"},
      {"dgx-a100", 2, 64, kExperts},
      {"dgx-h100", 1, 64, kExperts, "  experts: {dispatch: deepep}\n  parallel: {expert: 2, data: 2}\n"},
      {"dgx-a100", 1, 32, JobText().model, "  schedule: {kind: zero-bubble}\n"},
      {"dgx-a100", 1, 32, JobText().model, "  schedule: {kind: gpipe}\n  iterations: 3\n"},
      {"dgx-a100", 2, 64, JobText().model, "collectives: {library: fixed}\n"},
      {"tpu-v4-pod", 1, 64},
      {"dgx-a100", 2, 64, JobText().model, "network: {model: alpha-beta}\n"}};
}

}  // namespace

TEST_CASE("plans fill the cluster, each once, and what the ranges ask for") {
  const experiment::Experiment experiment = read(file_of({}));
  const std::vector<Plan> plans = all_plans(training_of(experiment), 16, {});
  CHECK(std::set<Plan>(plans.begin(), plans.end()).size() == plans.size());
  for (const Plan& plan : plans) {
    CHECK(plan[PlanKey::kTensor] * plan[PlanKey::kPipeline] * plan[PlanKey::kContext] * plan[PlanKey::kData] == 16);
    CHECK((plan[PlanKey::kTensor] > 1 || plan[PlanKey::kSequence] == 0));
    CHECK((plan[PlanKey::kPipeline] > 1 || plan[PlanKey::kVirtualStages] == 1));
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

TEST_CASE("no plan takes less than its bound") {
  for (const JobText& job : jobs()) check_bounds(job, 25);
}

TEST_CASE("no plan of many takes less than its bound", "[.many]") {
  for (const JobText& job : jobs()) check_bounds(job, 500);
}

TEST_CASE("the best are those of simulating all, whatever the threads") {
  for (const JobText& job : {jobs()[6], jobs()[8]}) {
    SearchRequest request{file_of(job), {}};
    request.best = 5;
    request.ranges[static_cast<std::size_t>(PlanKey::kZero)] = {0, 1};
    request.ranges[static_cast<std::size_t>(PlanKey::kContext)] = {1};
    request.ranges[static_cast<std::size_t>(PlanKey::kRecompute)] = {0};
    const Search some = search_plans(request, kFiles);
    CHECK(some.simulated < some.found.size());
    CHECK(some.proven() >= 5);
    request.jobs = 2;
    CHECK(search_text(search_plans(request, kFiles)) == search_text(some));
    request.simulates_all = true;
    const Search all = search_plans(request, kFiles);
    CHECK(all.simulated == all.found.size());
    CHECK(!all.next_bound());
    for (std::size_t i = 0; i < 5; ++i) CHECK(all.found[i].time == some.found[i].time);
  }
}

TEST_CASE("a budget says how far off the best may be") {
  SearchRequest request{file_of(jobs()[6]), {}};
  request.budget = 1;
  const Search search = search_plans(request, kFiles);
  CHECK(search.simulated == 1);
  CHECK_THAT(search_text(search), Contains("1 simulated; none of the others takes less than"));
}

TEST_CASE("plans that cannot be are told by their reasons") {
  SearchRequest request{file_of(jobs()[7]), {}};
  request.ranges[static_cast<std::size_t>(PlanKey::kMicro)] = {1, 5};
  request.ranges[static_cast<std::size_t>(PlanKey::kContext)] = {1};
  request.budget = 1;
  CHECK_THAT(search_text(search_plans(request, kFiles)),
             Contains("infeasible; of the first") && Contains("micro-batches of 5"));
  request.most_memory = 0.0001;
  CHECK_THROWS_WITH(search_plans(request, kFiles), Contains("plans fits"));
  request.most_memory = 1;
  request.ranges[static_cast<std::size_t>(PlanKey::kTensor)] = {3};
  CHECK_THROWS_WITH(search_plans(request, kFiles), Contains("no plan fills"));
}

TEST_CASE("constraints leave the plans that meet them") {
  SearchRequest request{file_of(jobs()[6]), {}};
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
  CHECK_THROWS_WITH(search_plans(request, kFiles), Contains("no plan fills") && Contains("tensor > 2"));
  request.where.emplace_back("tensr > 2", Location{"--where"});
  CHECK_THROWS_WITH(search_plans(request, kFiles), Contains("unknown name 'tensr'"));
}

TEST_CASE("how many plans are faster than the experiment's is known, or between what numbers") {
  JobText job = jobs()[6];
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
  JobText job = jobs()[6];
  job.more = "  tokens: 1e12\n  price: 2\n" + job.more;
  SearchRequest request{file_of(job), {}};
  request.best = 1;
  request.ranges[static_cast<std::size_t>(PlanKey::kContext)] = {1};
  request.ranges[static_cast<std::size_t>(PlanKey::kRecompute)] = {0};
  const std::vector<std::int64_t> nodes = {1, 2};
  const auto by_time = search_sizes(request, nodes, Objective::kTime, kFiles);
  REQUIRE(by_time.size() == 2);
  CHECK(by_time[0].nodes == 2);
  CHECK(*by_time[0].search->found.front().time < *by_time[1].search->found.front().time);
  for (const Objective objective : {Objective::kTokens, Objective::kCost}) {
    const auto sizes = search_sizes(request, nodes, objective, kFiles);
    CHECK(sizes[0].search->found.front().figures.tokens_per_s_per_gpu >=
          sizes[1].search->found.front().figures.tokens_per_s_per_gpu);
  }
  CHECK_THAT(sizes_text(by_time), Contains("device-hours") && Contains("of 2 nodes: "));
  CHECK(sizes_json(by_time)["sizes"].size() == 2);
}

TEST_CASE("a plan of the experiment that cannot be on its cluster is told, and the others are searched") {
  JobText job = jobs()[6];
  job.more = "  parallel: {tensor: 3, data: 4}\n" + job.more;
  SearchRequest request{file_of(job), {}};
  request.budget = 1;
  const Search search = search_plans(request, kFiles);
  REQUIRE(search.given_refusal);
  CHECK_THAT(search_text(search), Contains("the plan of the experiment is not compared: "));
  // What is told of the best is of the experiment as it is, whatever else its own plan has.
  job.more = "  parallel: {pipeline: 2, data: 3}\n  pipeline_layers: [2, 6]\n" + jobs()[6].more;
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
