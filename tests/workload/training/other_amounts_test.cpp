// SPDX-License-Identifier: MIT
#include "workload/training/program/other_amounts.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "small_training.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/program/stage_requests.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

TrainingSpec skewed(ScheduleKind schedule, std::int64_t pipeline) {
  TrainingSpec training = small_training(small_experts());
  training.schedule = schedule;
  training.parallel.both_ways = schedule == ScheduleKind::kDualPipe;
  degree(training, ParallelDimension::kPipeline) = pipeline;
  degree(training, ParallelDimension::kData) = 4;
  training.parallel.expert = 4;
  training.parallel.expert_skew = 0.5;
  training.parallel.zero = 1;
  training.global_batch = 64;
  training.micro_batch = 1;
  return training;
}

bool is_same(const MemoryChange& a, const MemoryChange& b) {
  return a.number == b.number && a.at_end == b.at_end && a.bytes == b.bytes;
}

}  // namespace

TEST_CASE("a program that takes another's form is the one that would be written in full") {
  for (const ScheduleKind schedule :
       {ScheduleKind::kGpipe, ScheduleKind::kOneForwardOneBackward, ScheduleKind::kZeroBubble, ScheduleKind::kDualPipe})
    for (const bool repeats : {false, true}) {
      const TrainingSpec training = skewed(schedule, 2);
      const FakeTimes times;
      StageRequests requests(training, times);
      REQUIRE(requests.loads() == 4);
      for (StageRequest& request : requests.all()) request.repeats = repeats;
      for (std::size_t first = 0; first < requests.all().size(); first += requests.loads()) {
        const StageRequest& request = requests.all()[first];
        const StageProgram program = stage_program(request, times);
        for (std::size_t load = 1; load < requests.loads(); ++load) {
          INFO(static_cast<int>(schedule) << " stage " << request.stage << " load " << load << " repeats " << repeats);
          const StageRequest& other = requests.all()[first + load];
          const StageProgram expected = stage_program(other, times);
          const std::optional<OtherAmounts> made = other_amounts(program, request, other);
          REQUIRE(made);
          CHECK(made->graph.form() == program.graph.form());
          CHECK(made->graph == expected.graph);
          CHECK(made->graph != program.graph);
          CHECK(program.labels == expected.labels);
          CHECK(std::ranges::equal(made->memory, expected.memory, is_same));
          for (std::uint32_t i = 0; i < expected.graph.size(); ++i) {
            REQUIRE(made->graph.node(NodeId(i)) == expected.graph.node(NodeId(i)));
            if (expected.graph.has_host())
              CHECK(made->graph.host_before(NodeId(i)) == expected.graph.host_before(NodeId(i)));
          }
        }
      }
    }
}

// Two stages of four loads each: eight programs of two forms, each with labels of its own.
TEST_CASE("programs of ranks with skewed experts share their form and their labels") {
  const TrainingJob made = generate_job(skewed(ScheduleKind::kOneForwardOneBackward, 2), FakeTimes());
  REQUIRE(made.job.graphs.size() == 8);
  CHECK(made.job.labels.size() == 2);
  for (std::size_t graph = 0; graph < 8; ++graph) {
    CHECK((made.job.graphs[graph].form() == made.job.graphs.front().form()) == (graph < 4));
    CHECK(made.facts.marks[graph] == made.facts.marks[graph < 4 ? 0 : 4]);
    CHECK(made.facts.marks[graph]->stage == graph / 4);
  }
  for (const RankBinding& rank : made.job.ranks) CHECK(rank.labels == rank.graph / 4);
}

TEST_CASE("a program of other layers takes no other's form") {
  const TrainingSpec training = skewed(ScheduleKind::kOneForwardOneBackward, 2);
  const FakeTimes times;
  StageRequests requests(training, times);
  const StageRequest& first = requests.all().front();
  const StageProgram program = stage_program(first, times);
  CHECK_FALSE(other_amounts(program, first, requests.all().back()));  // of another stage
  StageRequest fewer = requests.all()[1];
  fewer.chunks.front().pop_back();
  CHECK_FALSE(other_amounts(program, first, fewer));
  StageRequest repeating = requests.all()[1];
  repeating.repeats = true;
  CHECK_FALSE(other_amounts(program, first, repeating));
  LayerProgram without = *requests.all()[1].chunks.front().back().layer;
  std::get<Compute>(without.forward.front()).cost = {};  // a node of no time is of another kind
  StageRequest idle = requests.all()[1];
  idle.chunks.front().back().layer = &without;
  CHECK_FALSE(other_amounts(program, first, idle));
}
