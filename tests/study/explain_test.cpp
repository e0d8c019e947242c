// SPDX-License-Identifier: MIT
// Plans beside a job's own: which there are, what they set, and that none is left out that would be faster.
#include "study/explain/explain.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "study/explain/neighbours.h"
#include "tests/study/search/small_jobs.h"

using namespace orrery;
using namespace orrery::study;

namespace {

using Texts = std::vector<std::string>;
using workload::ScheduleKind;

// 16 ranks: tensor 2, pipeline 4, data 2; a stage has four layers. 16 sequences are 8 micro-batches of a replica.
const JobText kPipeline = {"dgx-a100", 2, 16, "{layers: 16, hidden: 1024, heads: 16, vocab: 32000, sequence: 2048}",
                           "  parallel: {tensor: 2, pipeline: 4, data: 2, sequence: true}\n"
                           "  recompute: full\n  software: megatron-2024\n"};

// Replicas that compute nearly all of the time, so that bounds are near times.
const JobText kReplicas = {"dgx-a100", 1, 64, "{layers: 8, hidden: 4096, heads: 32, vocab: 32000, sequence: 2048}",
                           "  parallel: {data: 8}\n  software: megatron-2024\n"};

std::vector<Neighbour> neighbours(const JobText& job) {
  const experiment::Experiment experiment = read(file_of(job, "explain_test"));
  return neighbours_of(experiment.resolved, &training_of(experiment));
}

Texts names_of(const std::vector<Neighbour>& list, const std::string& kind) {
  Texts names;
  for (const Neighbour& one : list)
    if (one.kind == kind) names.push_back(one.name);
  return names;
}

Texts settings_of(const std::vector<Neighbour>& list, const std::string& name) {
  const auto found = std::ranges::find(list, name, &Neighbour::name);
  REQUIRE(found != list.end());
  return found->settings;
}

Explanation explained(const JobText& job) {
  PointsOptions options;
  options.jobs = 2;
  Points points(std::move(options));
  return explain({file_of(job, "explain_test"), {}, false}, points, kFiles);
}

}  // namespace

TEST_CASE("the closed form of a bubble is (p - 1) / (v m + p - 1), of schedules that it is known of") {
  workload::TrainingSpec training;
  CHECK(!pipeline_of(training));  // one stage
  training.parallel.degrees[static_cast<std::size_t>(workload::ParallelDimension::kPipeline)] = 4;
  training.global_batch = 4;
  for (const ScheduleKind kind : {ScheduleKind::kGpipe, ScheduleKind::kOneForwardOneBackward}) {
    training.schedule = kind;
    CHECK(pipeline_of(training)->ideal_bubble.value() == Approx(3.0 / 7));  // 3 of 4 + 3 slots
  }
  training.schedule = ScheduleKind::kInterleaved;
  training.virtual_stages = 2;
  CHECK(pipeline_of(training)->ideal_bubble.value() == Approx(3.0 / 11));  // 3 half slots beside 8
  training.overlap_passes = true;
  CHECK(!pipeline_of(training)->ideal_bubble);
  training.overlap_passes = false;
  training.schedule = ScheduleKind::kZeroBubble;
  training.virtual_stages = 1;
  CHECK(!pipeline_of(training)->ideal_bubble);  // depends on the lengths of the passes
  CHECK(pipeline_of(training)->micro_batches == 4);
}

TEST_CASE("every kind of plan beside a job's own is tried, each once, with the keys that follow") {
  const std::vector<Neighbour> list = neighbours(kPipeline);
  CHECK(names_of(list, "degrees") == Texts{"pipeline 8, tensor 1", "context 2, tensor 1", "data 4, tensor 1",
                                           "tensor 4, pipeline 2", "context 2, pipeline 2", "data 4, pipeline 2",
                                           "tensor 4, data 1", "pipeline 8, data 1", "context 2, data 1"});
  // One rank has no sequence parallelism.
  CHECK(settings_of(list, "data 4, tensor 1") ==
        Texts{"workload.parallel.tensor=1", "workload.parallel.data=4", "workload.parallel.sequence=false"});
  // Four layers of a stage are two chunks of two, or four of one.
  CHECK(names_of(list, "virtual stages") == Texts{"virtual stages 2", "virtual stages 4"});
  CHECK(settings_of(list, "virtual stages 2") ==
        Texts{"workload.schedule.virtual_stages=2", "workload.schedule.kind=1f1b-interleaved"});
  // All but its own, and those that do not flush.
  CHECK(names_of(list, "schedule") == Texts{"schedule gpipe", "schedule zero-bubble", "schedule dualpipe",
                                            "schedule dualpipev", "schedule zb-h2", "schedule zb-v"});
  CHECK(names_of(list, "micro-batch") == Texts{"micro-batch 2"});
  // The software shares the optimizer states by itself.
  CHECK(names_of(list, "ZeRO") == Texts{"ZeRO 0", "ZeRO 2", "ZeRO 3"});
  // Tensor, data and pipeline: two pairs of neighbours.
  CHECK(names_of(list, "order of ranks") ==
        Texts{"ranks by data, tensor, pipeline", "ranks by tensor, pipeline, data"});
  CHECK(settings_of(list, "ranks by tensor, pipeline, data") ==
        Texts{"workload.parallel.order=[tensor, context, pipeline, data]"});
  const Texts again = names_of(list, "recomputation");
  CHECK(std::ranges::find(again, "recompute 2 of a stage's layers") != again.end());
  CHECK(std::ranges::find(again, "recompute selective, recompute_modules [mlp]") != again.end());
  std::set<Texts> settings;
  for (const Neighbour& one : list) {
    INFO(one.name);
    CHECK(one.settings.empty() != one.refusal.empty());
    CHECK((one.settings.empty() || settings.insert(one.settings).second));
  }
}

TEST_CASE("a degree that is odd says that it cannot be halved, and chunks go back to one") {
  JobText odd = kPipeline;
  odd.nodes = 3;
  odd.batch = 24;
  odd.more = "  parallel: {tensor: 2, pipeline: 4, data: 3}\n  schedule: {virtual_stages: 2}\n";
  const std::vector<Neighbour> list = neighbours(odd);
  const auto refused = std::ranges::find(list, "data 3 cannot be halved", &Neighbour::refusal);
  REQUIRE(refused != list.end());
  CHECK(refused->name == "tensor 4");
  CHECK(names_of(list, "virtual stages") == Texts{"virtual stages 1", "virtual stages 4"});
  CHECK(settings_of(list, "virtual stages 1") ==
        Texts{"workload.schedule.virtual_stages=1", "workload.schedule.kind=1f1b"});
}

TEST_CASE("plans that are left out for their lower bounds are no faster, and pairs are of the best changes") {
  const Explanation explanation = explained(kReplicas);
  const std::string file = file_of(kReplicas, "explain_test");
  const auto time_with = [&](const Texts& settings) {
    Diagnostics diagnostics;
    const experiment::Experiment experiment = experiment::load_experiment(file, settings, kFiles, diagnostics);
    return report::iteration_time(experiment::run_experiment(experiment, true, diagnostics).result);
  };
  std::size_t left_out = 0, pairs = 0;
  for (const Variant& one : explanation.changes) {
    INFO(one.name);
    if (one.kind == "together") ++pairs;
    if (one.at_least == Duration::zero()) continue;
    ++left_out;
    CHECK(one.at_least >= explanation.base.time);
    CHECK(one.at_least <= time_with(one.settings));
  }
  CHECK(left_out > 0);
  CHECK((pairs > 0 && pairs <= 3));
  // The best change has the best pair, or is it.
  CHECK(explanation.changes.front().time < explanation.base.time);
  CHECK(explanation.changes.front().time == time_with(explanation.changes.front().settings));
}

TEST_CASE("the text of an explanation is the same where nobody asks for its document, with fewer figures") {
  const auto text_of = [](const JobText& job, bool has_document, bool& has_bubbles) {
    Points points;
    const Explanation found = explain({file_of(job, "explain_test"), {}, false, has_document}, points, kFiles);
    has_bubbles = std::ranges::any_of(found.resources, [](const auto& one) { return one.twice.bubble.has_value(); });
    return explanation_text(found);
  };
  // Pipelines with large bubbles, whose remedies are compared, and with small ones.
  JobText many = kPipeline;
  many.batch = 256;
  for (const JobText& job : {kPipeline, many}) {
    bool has_bubbles = false;
    const std::string whole = text_of(job, true, has_bubbles);
    CHECK(has_bubbles);
    CHECK(text_of(job, false, has_bubbles) == whole);
    CHECK(!has_bubbles);
  }
}

TEST_CASE("bubbles are told with what makes them smaller, as simulated") {
  const Explanation explanation = explained(kPipeline);
  // Eight micro-batches on four stages: 3 of 11 slots, and more where stages are uneven.
  REQUIRE(explanation.base.bubble);
  CHECK(*explanation.base.bubble > 3.0 / 11);
  const std::string text = pipeline_text(explanation);
  INFO(text);
  CHECK(text.find("(p - 1) / (m + p - 1) = 3 / 11 = 27.3 %") != std::string::npos);
  CHECK(text.find("with virtual stages") != std::string::npos);
  CHECK(explanation.bound.find(", bubble ") != std::string::npos);
}
