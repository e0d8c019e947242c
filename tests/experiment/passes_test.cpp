// SPDX-License-Identifier: MIT
// Bubbles of schedules, as their pictures show them, against closed forms: to the picosecond, from what the boxes of a
// picture say of themselves. The network takes no time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/passes/passes.h"
#include "report/passes/schedule_drawing.h"
#include "tests/experiment/random_training.h"
#include "tests/system/free_network.h"
#include "tests/system/small_jobs.h"
#include "tests/workload/training/small_training.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::report;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using namespace orrery::testing;

namespace {

// Matrix products alone, which take as long forward as for gradients of inputs and of weights.
class ProductTimes final : public OperatorTimes {
 public:
  Duration time(const Operator& op) const override {
    return Duration(std::holds_alternative<Gemm>(op) ? flops_of(op).count() : 0);
  }
};

// All products, those of attention too, which has no weights: W < F < B.
class WorkTimes final : public OperatorTimes {
 public:
  Duration time(const Operator& op) const override { return Duration(flops_of(op).count()); }
};

// Two layers a chunk and nothing else, so that all chunks take the same.
TrainingSpec even_stages(ScheduleKind schedule, std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches) {
  TransformerSpec model = small_gpt();
  model.vocab = 0;
  model.tied_embeddings = false;
  model.layers = 2 * stages * chunks;
  TrainingSpec training = small_training(model);
  training.software.optimizer = Bytes(0);
  training.software.attention = AttentionKind::kFlash;  // no matrix products
  training.schedule = schedule;
  training.global_batch = micro_batches;
  degree(training, ParallelDimension::kPipeline) = stages;
  if (schedule == ScheduleKind::kInterleaved) training.virtual_stages = chunks;
  if (schedule == ScheduleKind::kDualPipe) {
    training.parallel.both_ways = true;
    std::get<TransformerSpec>(training.model.sizes).layers = 2 * stages;  // all of them, both ways
  }
  return training;
}

struct Drawn {
  TrainingJob made;
  Outcome outcome;

  PassSource source() const { return {made.job, 0, made.facts, 0, outcome.log, outcome.totals.acting}; }
  Passes passes() const {
    const std::optional<Passes> passes = collect_passes(source());
    REQUIRE(passes.has_value());
    return *passes;
  }
};

Drawn run_free(const TrainingSpec& training, const OperatorTimes& times, Loops loops = Loops::kWrittenOut) {
  Diagnostics problems;
  check_training(training, 1 << 20, problems);
  problems.throw_if_errors();
  TrainingJob made = generate_job(training, times, loops);
  const auto devices = static_cast<std::uint32_t>(std::max<std::size_t>(2, made.job.ranks.size()));
  const Fabric fabric = one_dimension("switch", devices, Bandwidth(1'000'000'000'000), Duration::zero());
  Outcome outcome =
      simulate(made.job, fabric, {}, [&](Engine& engine) { return std::make_unique<FreeNetwork>(engine, fabric); });
  return {std::move(made), std::move(outcome)};
}

struct Box {
  char kind = 'F';
  std::int64_t micro = 0, chunk = 0, stage = 0, start = 0, end = 0;

  std::int64_t length() const { return end - start; }
};

// Value of an attribute of an element of a picture.
std::string attribute(std::string_view element, const std::string& name) {
  const std::size_t at = element.find(" " + name + "=\"");
  REQUIRE(at != std::string_view::npos);
  const std::size_t from = at + name.size() + 3;
  return std::string(element.substr(from, element.find('"', from) - from));
}

std::vector<Box> boxes_of(const std::string& picture) {
  std::vector<Box> boxes;
  for (std::size_t at = picture.find("<rect"); at != std::string::npos; at = picture.find("<rect", at + 1)) {
    const std::string_view element = std::string_view(picture).substr(at, picture.find('>', at) - at);
    if (element.find("data-kind") == std::string_view::npos) continue;
    const auto number = [&](const char* name) { return std::stoll(attribute(element, name)); };
    boxes.push_back({attribute(element, "data-kind")[0], number("data-micro"), number("data-chunk"),
                     number("data-stage"), number("data-start-ps"), number("data-end-ps")});
  }
  return boxes;
}

// Length of all boxes of a kind that have the stage for themselves; they are all equal.
std::int64_t length_of(const std::vector<Box>& boxes, char kind) {
  std::set<std::int64_t> lengths;
  for (const Box& box : boxes) {
    const bool is_alone = std::ranges::none_of(boxes, [&](const Box& other) {
      return &other != &box && other.stage == box.stage && other.start < box.end && box.start < other.end;
    });
    if (box.kind == kind && is_alone) lengths.insert(box.length());
  }
  REQUIRE(lengths.size() == 1);
  return *lengths.begin();
}

// Time in which a stage has no box, between the first box of any stage and the last one.
std::int64_t bubble_of(const std::vector<Box>& boxes, std::int64_t stage) {
  std::vector<std::pair<std::int64_t, std::int64_t>> own;
  std::int64_t first = boxes.front().start, last = boxes.front().end;
  for (const Box& box : boxes) {
    first = std::min(first, box.start);
    last = std::max(last, box.end);
    if (box.stage == stage) own.emplace_back(box.start, box.end);
  }
  std::ranges::sort(own);
  std::int64_t idle = 0, until = first;
  for (const auto& [start, end] : own) {
    idle += std::max<std::int64_t>(0, start - until);
    until = std::max(until, end);
  }
  return idle + last - until;
}

// All stages have the same bubble, which the passes measure too.
std::int64_t bubble_in_picture(const TrainingSpec& training, const OperatorTimes& times, std::vector<Box>& boxes) {
  const Drawn drawn = run_free(training, times);
  const Passes passes = drawn.passes();
  boxes = boxes_of(schedule_svg(passes, *picture_look("column").value));
  std::set<std::int64_t> bubbles;
  for (const RankPasses& rank : passes.ranks) {
    Duration apart{};
    for (const auto& [start, end] : bubbles_of(rank, passes.windows)) apart += end - start;
    CHECK(apart == rank.bubble);
    bubbles.insert(bubble_of(boxes, rank.stage));
    CHECK(rank.bubble.count() == bubble_of(boxes, rank.stage));
  }
  REQUIRE(bubbles.size() == 1);
  CHECK(passes.window.count() == *bubbles.begin() + passes.ranks.front().busy.count());
  CHECK(passes.bubble_share() ==
        Approx(static_cast<double>(*bubbles.begin()) / static_cast<double>(passes.window.count())));
  return *bubbles.begin();
}

}  // namespace

// While the pipeline fills, a stage waits for p - 1 forward passes, and while it drains for p - 1 backward passes of a
// chunk, however many micro-batches there are.
TEST_CASE("the picture of gpipe, 1f1b and interleaved schedules has a bubble of (p-1)(F+B)") {
  for (const auto& [schedule, chunks] : {std::pair(ScheduleKind::kGpipe, 1),
                                         {ScheduleKind::kOneForwardOneBackward, 1},
                                         {ScheduleKind::kInterleaved, 2},
                                         {ScheduleKind::kInterleaved, 3}})
    for (const std::int64_t stages : {2, 4})
      for (const std::int64_t rounds : {1, 3}) {
        INFO(name_of(schedule) << ", " << stages << " stages of " << chunks << ", " << rounds * stages
                               << " micro-batches");
        std::vector<Box> boxes;
        const std::int64_t bubble =
            bubble_in_picture(even_stages(schedule, stages, chunks, rounds * stages), FakeTimes(), boxes);
        CHECK(bubble == (stages - 1) * (length_of(boxes, 'F') + length_of(boxes, 'B')));
        // A forward and a backward pass of each micro-batch through each chunk.
        CHECK(boxes.size() == static_cast<std::size_t>(2 * stages * chunks * rounds * stages));
      }
}

// Qi et al. 2023, table 1, with at least as many micro-batches as stages and W <= F; B is without weight gradients.
TEST_CASE("the picture of zb-h1 has a bubble of (p-1)(F+B-W)") {
  for (const std::int64_t stages : {2, 4})
    for (const std::int64_t micro_batches : {stages, 3 * stages}) {
      std::vector<Box> boxes;
      const std::int64_t bubble =
          bubble_in_picture(even_stages(ScheduleKind::kZeroBubble, stages, 1, micro_batches), WorkTimes(), boxes);
      const std::int64_t forward = length_of(boxes, 'F'), backward = length_of(boxes, 'B'),
                         weight = length_of(boxes, 'W');
      REQUIRE(weight <= forward);
      CHECK(bubble == (stages - 1) * (forward + backward - weight));
    }
}

// With F = B = W and 2 p - 1 micro-batches a stage waits for its first micro-batch alone: the last stage for p - 1
// forward passes of a chunk. Stage 0 is through as much earlier, and waits for the last one at the end.
TEST_CASE("the picture of zb-h2 and zb-v has a bubble of (p-1)F where F = B = W") {
  for (const ScheduleKind schedule : {ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV})
    for (const std::int64_t stages : {2, 4}) {
      const std::int64_t chunks = schedule == ScheduleKind::kZeroBubbleV ? 2 : 1;
      std::vector<Box> boxes;
      const std::int64_t bubble =
          bubble_in_picture(even_stages(schedule, stages, chunks, 2 * stages), ProductTimes(), boxes);
      const std::int64_t forward = length_of(boxes, 'F');
      CHECK(length_of(boxes, 'B') == forward);
      CHECK(length_of(boxes, 'W') == forward);
      CHECK(bubble == (stages - 1) * forward);
    }
}

// DeepSeek-V3 (arXiv 2412.19437), table 2: (p/2 - 1)(F&B + B - 3W), where B is a backward pass with its weight
// gradients. Stages to the turning point are p/2 of DualPipe and all of DualPipeV. The rank computes throughout, so
// that a pair takes F&B = F + B. A pair hands its results on before the weight gradients of the last of its two layers,
// W/2, which come beside the message: the bubble is less by these.
TEST_CASE("the picture of dualpipe and dualpipev has a bubble of (p/2-1)(F&B+B-3W) where F = B - W") {
  for (const ScheduleKind schedule : {ScheduleKind::kDualPipe, ScheduleKind::kDualPipeV}) {
    const std::int64_t ranks = schedule == ScheduleKind::kDualPipe ? 8 : 4, turn = 4;
    std::vector<Box> boxes;
    const std::int64_t bubble = bubble_in_picture(even_stages(schedule, ranks, 2, 20), ProductTimes(), boxes);
    const std::int64_t forward = length_of(boxes, 'F'), weight = length_of(boxes, 'W');
    // Both of a pair begin at once; the pair takes until the later of them ends.
    std::set<std::int64_t> pairs;
    for (const Box& one : boxes)
      for (const Box& other : boxes)
        if (one.kind == 'F' && other.kind == 'B' && one.stage == other.stage && one.start < other.end &&
            other.start < one.end)
          pairs.insert(std::max(one.end, other.end) - std::min(one.start, other.start));
    REQUIRE(pairs.size() == 1);
    CHECK(*pairs.begin() == 2 * forward + weight);
    CHECK(bubble + weight / 2 == (turn - 1) * (*pairs.begin() + (forward + weight) - 3 * weight));
  }
}

// Two stages, two micro-batches, B = 2F: stage 0 runs F0 F1 at 0 and F, B0 from 4F to 6F, B1 from 7F to 9F; stage 1 F0
// at F, B0 from 2F to 4F, F1 at 4F, B1 from 5F to 7F. The line has 80 - 2 - 6 - 1 - 9 = 62 columns for 9F: F ends at
// column 7 (6.9), 2F at 14 (13.8), 4F at 28 (27.6), 5F at 34 (34.4), 6F at 41 (41.3), 7F at 48 (48.2). 3F of 9F are
// bubbles.
TEST_CASE("a schedule is drawn as text, scaled to time") {
  const Drawn drawn = run_free(even_stages(ScheduleKind::kOneForwardOneBackward, 2, 1, 2), ProductTimes());
  const std::string text = schedule_text(drawn.passes());
  CHECK(text.find("schedule of 1f1b of 2 stages, 2 micro-batches: ") == 0);
  CHECK(text.substr(text.find("\n  rank") + 1) ==
        "  rank 0 F0-----F1-----..............B0-----------.......B1------------   33.3 %\n"
        "  rank 1 .......F0-----B0------------F1----B1------------..............   33.3 %\n");
  const Drawn large = run_free(even_stages(ScheduleKind::kOneForwardOneBackward, 2, 1, 32), ProductTimes());
  CHECK(schedule_text(large.passes()) ==
        "schedule of 1f1b of 2 stages, 32 micro-batches:\n"
        "  2 rows of 64 passes are too many for a terminal;\n"
        "  --schedule-svg FILE draws them\n");
}

// With 8-point letters of 0.56 em, "rank 1" takes 27 points, "100.0 %" 31 and the edges 9: of 90 points 23 are left for
// boxes, less than the 32 that two times of the axis are apart.
TEST_CASE("a picture without room for two times of its axis has numbers all the same") {
  const Drawn drawn = run_free(even_stages(ScheduleKind::kOneForwardOneBackward, 2, 1, 2), ProductTimes());
  const std::string picture = schedule_svg(drawn.passes(), {90, 8, SvgUnit::kPoints});
  CHECK(picture.find("nan") == std::string::npos);
  CHECK(picture.find("inf") == std::string::npos);
  CHECK(boxes_of(picture).size() == 2U * 2 * 2);
}

// Micro-batches of the second way come in where those of the first one leave: with 20 of them, 10 and 10.
TEST_CASE("rows of pipelines both ways are all ranks, and micro-batches of the second way have numbers of their own") {
  const Drawn drawn = run_free(even_stages(ScheduleKind::kDualPipe, 8, 2, 20), ProductTimes());
  const Passes passes = drawn.passes();
  CHECK(passes.stages == 8);
  CHECK(passes.micro_batches == 20);
  for (const RankPasses& rank : passes.ranks)
    for (const PassSpan& span : rank.spans) {
      const bool is_first_way = span.micro_batch < 10;
      // The first way enters at rank 0, the second one at rank 7.
      CHECK(span.virtual_stage == (is_first_way ? rank.stage : 7 - rank.stage));
      CHECK(span.micro_batch % 10 == span.pass.micro_batch);
    }
  CHECK(name_of(passes.ranks[0].spans.front()) == "F0");
  CHECK(name_of(passes.ranks[7].spans.front()) == "F10");
}

// An iteration of 1F1B is over on stage 0; the next one begins there at once, so that windows are apart only where the
// optimizer takes time between them.
TEST_CASE("what is between iterations is no bubble") {
  TrainingSpec training = even_stages(ScheduleKind::kOneForwardOneBackward, 4, 1, 8);
  const Passes once = run_free(training, FakeTimes()).passes();
  training.iterations = 3;
  training.software.step = std::chrono::milliseconds(20);
  const Passes thrice = run_free(training, FakeTimes()).passes();
  CHECK(thrice.windows.size() == 3);
  CHECK(thrice.window == once.window * 3);
  const auto bubbles_in = [](const Passes& passes) { return bubbles_of(passes.ranks[1], passes.windows).size(); };
  CHECK(bubbles_in(thrice) == 3 * bubbles_in(once));
  CHECK(thrice.bubble_share() == Approx(once.bubble_share()));
  CHECK(boxes_of(schedule_svg(thrice, *picture_look("2-column").value)).size() == 4U * 2 * 8);  // the first iteration
}

TEST_CASE("marks agree with the names of nodes") {
  std::mt19937_64 random(31);
  int tried = 0, passes = 0;
  for (int i = 0; tried < 300 && i < 10'000; ++i) {
    const TrainingSpec training = random_training(random);
    Diagnostics problems;
    check_training(training, 24, problems);
    if (problems.has_errors()) continue;
    ++tried;
    const TrainingJob made = generate_job(training, FakeTimes());
    for (std::size_t graph = 0; graph < made.job.graphs.size(); ++graph)
      for (std::uint32_t node = 0; node < made.job.graphs[graph].size(); ++node) {
        const std::string name(made.job.labels_of(made.facts.memory[graph].first_rank).name(NodeId(node)));
        const ProgramMarks& marks = *made.facts.marks[graph];
        const PassMark* mark = marks.pass_at(node);
        const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
        INFO(name);
        if (has("layer ") && !has("gradients of copies")) {
          REQUIRE(marks.layer_at(NodeId(node)) != nullptr);
          CHECK(marks.layer_at(NodeId(node))->layer == std::stoll(name.substr(name.find("layer ") + 6)));
        }
        if (has(" forward") || has("activations")) {
          REQUIRE((mark != nullptr && mark->pass.has_value()));
          CHECK(mark->pass->kind == (has("to device") ? PassKind::kBackward : PassKind::kForward));
          ++passes;
        } else if (has(" recompute") || has(" backward")) {
          REQUIRE((mark != nullptr && mark->pass.has_value()));
          CHECK(mark->pass->kind != PassKind::kForward);
        } else if (name == "optimizer" || name == "step" || name == "read batch") {
          CHECK((mark == nullptr || !mark->pass));
        }
      }
  }
  CHECK(tried == 300);
  CHECK(passes > 1000);
}
