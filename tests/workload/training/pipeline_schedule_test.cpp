// SPDX-License-Identifier: MIT
#include "workload/training/pipeline/schedule.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>

#include "workload/training/pipeline/holding.h"

using namespace orrery;
using namespace orrery::workload;

namespace {

std::vector<ScheduleKind> all_kinds() {
  std::vector<ScheduleKind> kinds;
  for (std::size_t i = 0; i < kScheduleKindCount; ++i) kinds.push_back(static_cast<ScheduleKind>(i));
  return kinds;
}

// "f3.0 b1.1 w0": direction, micro-batch from 1 and, where there are several, the chunk; "f3+b1": side by side.
std::string text(const PipelineShape& shape, std::uint32_t stage) {
  std::ostringstream out;
  bool is_pair = false;
  for (const Pass& pass : pipeline_order(shape, stage)) {
    out << (out.tellp() > 0 ? (is_pair ? "+" : " ") : "") << "fbw"[static_cast<int>(pass.kind)] << pass.micro_batch + 1;
    if (shape.virtual_stages > 1) out << "." << pass.chunk + 1;
    is_pair = pass.beside_next;
  }
  return out.str();
}

// Times of the passes of one chunk. A backward pass that does not put its weight gradients off computes them too.
struct PassTimes {
  int forward = 1;
  int backward = 1;
  int weight = 0;

  int of(const Pass& pass) const {
    if (pass.kind == PassKind::kForward) return forward;
    if (pass.kind == PassKind::kWeight) return weight;
    return backward + (pass.splits ? 0 : weight);
  }
};

using Ends = std::map<std::array<std::uint32_t, 3>, int>;  // kind, micro-batch, stage of the model

// Which part of the model the chunk of a stage is.
std::uint32_t model_stage_of(const PipelineShape& shape, std::uint32_t stage, std::uint32_t chunk) {
  if (!is_v_shaped(shape.kind)) return chunk * shape.stages + stage;
  return chunk == 0 ? stage : 2 * shape.stages - 1 - stage;
}

// When the pass that `pass` waits for on another stage, or on its own, ends; nothing while that is not known.
std::optional<int> ready(const Ends& ends, const PipelineShape& shape, std::uint32_t stage, const Pass& pass) {
  const std::uint32_t model_stage = model_stage_of(shape, stage, pass.chunk);
  const bool last = model_stage + 1 == shape.stages * shape.virtual_stages;
  const auto end_of = [&](PassKind kind, std::uint32_t of_stage) -> std::optional<int> {
    const auto found = ends.find({static_cast<std::uint32_t>(kind), pass.micro_batch, of_stage});
    return found == ends.end() ? std::nullopt : std::optional(found->second);
  };
  if (pass.kind == PassKind::kForward) return model_stage == 0 ? 0 : end_of(PassKind::kForward, model_stage - 1);
  if (pass.kind == PassKind::kWeight) return end_of(PassKind::kBackward, model_stage);
  return last ? end_of(PassKind::kForward, model_stage) : end_of(PassKind::kBackward, model_stage + 1);
}

struct Stage {
  std::vector<Pass> order;
  std::size_t next = 0;
  int start = 0;  // of the first pass
  int now = 0;
};

// A pipeline whose messages take no time, when all stages are done, or nothing if some wait for ever. Passes side by
// side begin when both are ready and end together, after the time of both: the device computes all the while.
std::optional<std::vector<Stage>> run(const PipelineShape& shape, const PassTimes& times) {
  std::vector<Stage> stages(shape.stages);
  for (std::uint32_t s = 0; s < shape.stages; ++s) stages[s].order = pipeline_order(shape, s);
  Ends ends;
  for (bool progress = true; progress;) {
    progress = false;
    for (std::uint32_t s = 0; s < shape.stages; ++s)
      for (Stage& stage = stages[s]; stage.next < stage.order.size(); progress = true) {
        const std::size_t count = stage.order[stage.next].beside_next ? 2 : 1;
        const std::span<const Pass> passes = std::span(stage.order).subspan(stage.next, count);
        const auto is_ready = [&](const Pass& pass) { return ready(ends, shape, s, pass).has_value(); };
        if (!std::ranges::all_of(passes, is_ready)) break;
        for (const Pass& pass : passes) stage.now = std::max(stage.now, *ready(ends, shape, s, pass));
        if (stage.next == 0) stage.start = stage.now;
        for (const Pass& pass : passes) stage.now += times.of(pass);
        for (const Pass& pass : passes)
          ends[{static_cast<std::uint32_t>(pass.kind), pass.micro_batch, model_stage_of(shape, s, pass.chunk)}] =
              stage.now;
        stage.next += count;
      }
  }
  if (std::ranges::any_of(stages, [](const Stage& stage) { return stage.next < stage.order.size(); }))
    return std::nullopt;
  return stages;
}

std::optional<int> finish(const PipelineShape& shape, const PassTimes& times) {
  const std::optional<std::vector<Stage>> stages = run(shape, times);
  if (!stages) return std::nullopt;
  return std::ranges::max(*stages, {}, &Stage::now).now;
}

// What the pipeline adds to the work of one stage.
int bubble(const PipelineShape& shape, const PassTimes& times) {
  const auto passes = static_cast<int>(shape.micro_batches * shape.virtual_stages);
  const std::optional<int> end = finish(shape, times);
  REQUIRE(end.has_value());
  return *end - passes * (times.forward + times.backward + times.weight);
}

// Every shape of up to 8 stages, 4 virtual stages and 3 rounds of micro-batches that `kind` allows.
std::vector<PipelineShape> shapes(ScheduleKind kind) {
  std::vector<PipelineShape> result;
  for (std::uint32_t stages = 1; stages <= 8; ++stages) {
    for (std::uint32_t m = runs_pairs(kind) ? 2 * stages : 1; is_v_shaped(kind) && m <= 4 * stages; ++m)
      result.push_back({kind, stages, 2, m});
    if (is_v_shaped(kind)) continue;
    for (std::uint32_t m = 1; m <= 3 * stages; ++m) result.push_back({kind, stages, 1, m});
    if (kind != ScheduleKind::kInterleaved) continue;
    for (std::uint32_t v = 2; v <= 4; ++v)
      for (std::uint32_t m = stages; m <= 3 * stages; ++m)
        for (std::uint32_t group = stages; group <= m; ++group)
          if (is_group(group, m, stages)) result.push_back({kind, stages, v, m, false, group});
  }
  return result;
}

std::size_t most_in_flight(const std::vector<Pass>& order, PassKind opens, PassKind closes) {
  std::size_t now = 0;
  std::size_t most = 0;
  for (const Pass& pass : order) {
    if (pass.kind == opens) most = std::max(most, ++now);
    if (pass.kind == closes) --now;
  }
  return most;
}

std::size_t leading_forwards(const std::vector<Pass>& order) {
  const auto first = std::ranges::find_if(order, [](const Pass& pass) { return pass.kind != PassKind::kForward; });
  return static_cast<std::size_t>(first - order.begin());
}

}  // namespace

TEST_CASE("GPipe takes all micro-batches forward, then all of them backward") {
  for (const std::uint32_t stage : {0U, 3U})
    CHECK(text({ScheduleKind::kGpipe, 4, 1, 4}, stage) == "f1 f2 f3 f4 b1 b2 b3 b4");
}

// Narayanan et al., SC'21, figure 4 above: four devices, eight micro-batches.
TEST_CASE("1F1B takes a backward pass for every forward pass once the pipeline is full") {
  const PipelineShape shape{ScheduleKind::kOneForwardOneBackward, 4, 1, 8};
  CHECK(text(shape, 0) == "f1 f2 f3 f4 b1 f5 b2 f6 b3 f7 b4 f8 b5 b6 b7 b8");
  CHECK(text(shape, 1) == "f1 f2 f3 b1 f4 b2 f5 b3 f6 b4 f7 b5 f8 b6 b7 b8");
  CHECK(text(shape, 3) == "f1 b1 f2 b2 f3 b3 f4 b4 f5 b5 f6 b6 f7 b7 f8 b8");
  CHECK(text({ScheduleKind::kOneForwardOneBackward, 4, 1, 2}, 0) == "f1 f2 b1 b2");
}

// The same figure below: two chunks a device. The first device warms up with (4-0-1)*2 + (2-1)*4 = 10 passes, the last
// one with 4; then each takes one forward and one backward pass by turns.
TEST_CASE("interleaved 1F1B takes as many micro-batches through a chunk as there are stages") {
  const PipelineShape shape{ScheduleKind::kInterleaved, 4, 2, 8};
  CHECK(text(shape, 0) ==
        "f1.1 f2.1 f3.1 f4.1 f1.2 f2.2 f3.2 f4.2 f5.1 f6.1 f7.1 b1.2 f8.1 b2.2 f5.2 b3.2 f6.2 b4.2 f7.2 b1.1 f8.2 "
        "b2.1 b3.1 b4.1 b5.2 b6.2 b7.2 b8.2 b5.1 b6.1 b7.1 b8.1");
  CHECK(text(shape, 3) ==
        "f1.1 f2.1 f3.1 f4.1 f1.2 b1.2 f2.2 b2.2 f3.2 b3.2 f4.2 b4.2 f5.1 b1.1 f6.1 b2.1 f7.1 b3.1 f8.1 b4.1 f5.2 "
        "b5.2 f6.2 b6.2 f7.2 b7.2 f8.2 b8.2 b5.1 b6.1 b7.1 b8.1");
}

// Qi et al. 2023, figure 3: stage i (from 0) starts with the weight gradients i micro-batches late.
TEST_CASE("ZB-H1 puts weight gradients off by one micro-batch more on every stage") {
  const PipelineShape shape{ScheduleKind::kZeroBubble, 4, 1, 6};
  CHECK(text(shape, 0) == "f1 f2 f3 f4 b1 w1 f5 b2 w2 f6 b3 w3 b4 w4 b5 w5 b6 w6");
  CHECK(text(shape, 1) == "f1 f2 f3 b1 f4 b2 w1 f5 b3 w2 f6 b4 w3 b5 w4 b6 w5 w6");
  CHECK(text(shape, 3) == "f1 b1 f2 b2 f3 b3 f4 b4 w1 f5 b5 w2 f6 b6 w3 w4 w5 w6");
}

TEST_CASE("a stage takes every pass once, forward before backward before the weight gradient") {
  for (const ScheduleKind kind : all_kinds())
    for (const PipelineShape& shape : shapes(kind))
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        const std::vector<Pass> order = pipeline_order(shape, stage);
        const auto apart = static_cast<std::size_t>(std::ranges::count_if(order, &Pass::splits));
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> done;
        bool in_order = true;
        for (const Pass& pass : order)
          in_order = in_order && pass.micro_batch < shape.micro_batches && pass.chunk < shape.virtual_stages &&
                     done[{pass.micro_batch, pass.chunk}]++ == static_cast<std::size_t>(pass.kind);
        INFO(name_of(kind) << " " << shape.stages << " stages, " << shape.virtual_stages << " virtual, "
                           << shape.micro_batches << " micro-batches, stage " << stage);
        CHECK(in_order);
        const std::size_t passes = shape.micro_batches * shape.virtual_stages;
        CHECK(order.size() == 2 * passes + apart);
        if (!runs_pairs(kind)) CHECK(apart == (splits_all(kind) ? passes : 0));
      }
}

TEST_CASE("no schedule waits for ever") {
  for (const ScheduleKind kind : all_kinds())
    for (const PipelineShape& shape : shapes(kind)) {
      INFO(name_of(kind) << " " << shape.stages << " " << shape.virtual_stages << " " << shape.micro_batches);
      CHECK(finish(shape, {1, 2, splits_all(kind) ? 1 : 0}).has_value());
    }
}

// deepseek-ai/DualPipe, dualpipe.py, for the first of 4 ranks and 8 micro-batches, 4 of each direction.
TEST_CASE("DualPipe runs forward passes of one direction beside backward passes of the other") {
  const PipelineShape shape{ScheduleKind::kDualPipe, 2, 2, 4};
  CHECK(text(shape, 0) ==
        "f1.1 f2.1 f3.1 f1.2 b1.2 w1.2 f2.2 f4.1+b2.2 f3.2+b1.1 b3.2 f4.2+b2.1 b4.2 b3.1 w3.1 b4.1 w4.1");
  CHECK(text(shape, 1) == "f1.1 f1.2 f2.1 f2.2 f3.1 b1.2 f3.2+b1.1 f4.1+b2.2 f4.2+b2.1 b3.2 b3.1 b4.2 b4.1 w4.2 w4.1");
}

TEST_CASE("with overlapping passes 1F1B has one more micro-batch under way") {
  const PipelineShape shape{ScheduleKind::kOneForwardOneBackward, 2, 1, 4, true};
  CHECK(text(shape, 0) == "f1 f2 f3+b1 f4+b2 b3 b4");
  CHECK(text(shape, 1) == "f1 f2+b1 f3+b2 f4+b3 b4");
  for (const ScheduleKind kind : {ScheduleKind::kOneForwardOneBackward, ScheduleKind::kInterleaved})
    for (PipelineShape other : shapes(kind)) {
      other.overlaps = true;
      CHECK(finish(other, {1, 2, 0}).has_value());
    }
}

TEST_CASE("1F1B keeps at most as many micro-batches as there are stages from this one on") {
  for (const PipelineShape& shape : shapes(ScheduleKind::kOneForwardOneBackward))
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage)
      CHECK(most_in_flight(pipeline_order(shape, stage), PassKind::kForward, PassKind::kBackward) ==
            std::min(shape.micro_batches, shape.stages - stage));
}

// Up to the weight gradient a micro-batch holds memory; 1F1B's first stage holds `stages` of them.
TEST_CASE("ZB-H1 holds no more micro-batches than the first stage of 1F1B") {
  for (const PipelineShape& shape : shapes(ScheduleKind::kZeroBubble))
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      const std::vector<Pass> order = pipeline_order(shape, stage);
      CHECK(most_in_flight(order, PassKind::kForward, PassKind::kBackward) ==
            std::min(shape.micro_batches, shape.stages - stage));
      CHECK(most_in_flight(order, PassKind::kForward, PassKind::kWeight) ==
            std::min(shape.micro_batches, shape.stages));
    }
}

TEST_CASE("interleaved 1F1B warms up with the published number of passes") {
  for (const PipelineShape& shape : shapes(ScheduleKind::kInterleaved))
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      const std::uint32_t group = shape.group > 0 ? shape.group : shape.stages;
      const std::uint32_t warm_up = (shape.stages - stage - 1) * 2 + (shape.virtual_stages - 1) * group;
      const std::uint32_t all = shape.micro_batches * shape.virtual_stages;
      // The first pair is one forward pass more, if any is left.
      CHECK(leading_forwards(pipeline_order(shape, stage)) == std::min(all, warm_up + 1));
    }
}

// A stage is idle while the first micro-batch reaches it and while the last one goes on from it: p-1 forward and p-1
// backward passes of a chunk in all, whatever their lengths.
TEST_CASE("the bubble is (p-1)/m, and (p-1)/(v m) where chunks are interleaved") {
  for (const ScheduleKind kind :
       {ScheduleKind::kGpipe, ScheduleKind::kOneForwardOneBackward, ScheduleKind::kInterleaved})
    for (const PipelineShape& shape : shapes(kind))
      for (const PassTimes& times : {PassTimes{1, 1, 0}, PassTimes{1, 2, 0}, PassTimes{3, 5, 0}}) {
        INFO(name_of(kind) << " " << shape.stages << " " << shape.virtual_stages << " " << shape.micro_batches);
        const auto idle = static_cast<int>(shape.stages - 1) * (times.forward + times.backward);
        // Interleaved with one chunk has a longer warm-up than 1F1B, but no other bubble.
        CHECK(bubble(shape, times) == idle);
      }
}

// (p-1)(F+B-W) against (p-1)(F+B+W) of 1F1B, whose backward pass is B and W together. The closed form needs enough
// micro-batches to fill the pipeline and weight gradients no longer than forward passes.
TEST_CASE("ZB-H1 saves two weight gradients per stage of the bubble") {
  for (const PipelineShape& shape : shapes(ScheduleKind::kZeroBubble))
    for (const PassTimes& times : {PassTimes{1, 1, 1}, PassTimes{10, 11, 9}, PassTimes{10, 15, 5}}) {
      if (shape.stages == 1) continue;
      INFO(shape.stages << " stages, " << shape.micro_batches << " micro-batches");
      PipelineShape plain = shape;
      plain.kind = ScheduleKind::kOneForwardOneBackward;
      const int steps = static_cast<int>(shape.stages) - 1;
      const int behind = bubble(plain, {times.forward, times.backward + times.weight, 0});
      CHECK(behind == steps * (times.forward + times.backward + times.weight));
      if (shape.micro_batches >= shape.stages)
        CHECK(bubble(shape, times) == steps * (times.forward + times.backward - times.weight));
      else
        CHECK(bubble(shape, times) < behind);
    }
}

// Qi et al. 2023, figure 3 below: the first of 4 stages warms up with 7 micro-batches, the last one with 1, and puts
// weight gradients off by 6.
TEST_CASE("ZB-H2 warms up twice as long as ZB-H1 and puts weight gradients off twice as far") {
  const PipelineShape shape{ScheduleKind::kZeroBubbleH2, 4, 1, 8};
  CHECK(text(shape, 0) == "f1 f2 f3 f4 f5 f6 f7 b1 w1 f8 b2 w2 b3 w3 b4 w4 b5 w5 b6 w6 b7 w7 b8 w8");
  CHECK(text(shape, 3) == "f1 b1 f2 b2 f3 b3 f4 b4 f5 b5 f6 b6 f7 b7 w1 f8 b8 w2 w3 w4 w5 w6 w7 w8");
}

// PyTorch's ScheduleZBVZeroBubble (torch/distributed/pipelining/schedules.py): rank r of p takes 2 (p - r) - 1 forward
// passes of the way there, r pairs of back and there, p - r micro-batches back whole, and so on.
TEST_CASE("ZB-V takes the passes that PyTorch takes") {
  const PipelineShape shape{ScheduleKind::kZeroBubbleV, 2, 2, 4};
  CHECK(text(shape, 0) ==
        "f1.1 f2.1 f3.1 f1.2 b1.2 w1.2 f2.2 b2.2 w2.2 f4.1 b1.1 w1.1 f3.2 b3.2 w3.2 b2.1 w2.1 f4.2 b4.2 w4.2 "
        "b3.1 w3.1 b4.1 w4.1");
  CHECK(text(shape, 1) ==
        "f1.1 f1.2 f2.1 f2.2 b1.2 w1.2 f3.1 b1.1 w1.1 f3.2 b2.2 w2.2 f4.1 b2.1 w2.1 f4.2 b3.2 w3.2 b3.1 b4.2 "
        "b4.1 w3.1 w4.2 w4.1");
}

// The first stage of 1F1B holds p micro-batches, ZB-H2's stages 2 p - 1; a chunk of ZB-V is half a stage.
TEST_CASE("ZB-H2 holds twice as many micro-batches as 1F1B, less one, and ZB-V as many") {
  for (const ScheduleKind kind : {ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV})
    for (const PipelineShape& shape : shapes(kind))
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        INFO(name_of(kind) << " " << shape.stages << " stages, " << shape.micro_batches << " micro-batches, " << stage);
        const std::size_t most = kind == ScheduleKind::kZeroBubbleH2 ? 2 * shape.stages - 1 : 2 * shape.stages;
        const std::size_t held = most_in_flight(pipeline_order(shape, stage), PassKind::kForward, PassKind::kWeight);
        CHECK(held <= std::min<std::size_t>(most, shape.micro_batches * shape.virtual_stages));
        if (shape.micro_batches >= 2 * shape.stages) CHECK(held == most);
      }
}

// With F = B = W a stage waits for its first micro-batch only: stage i begins after i forward passes and ends after its
// work, 3 m v, so that iterations follow one another without a gap. ZB-H1's stage i waits p - 1 - i times besides.
TEST_CASE("zero-bubble schedules have no bubble behind the first pass if there are enough micro-batches") {
  for (const ScheduleKind kind : {ScheduleKind::kZeroBubble, ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV})
    for (const PipelineShape& shape : shapes(kind)) {
      if (shape.micro_batches + 1 < 2 * shape.stages) continue;
      INFO(name_of(kind) << " " << shape.stages << " stages, " << shape.micro_batches << " micro-batches");
      const auto stages = run(shape, {1, 1, 1});
      REQUIRE(stages.has_value());
      const auto work = static_cast<int>(3 * shape.micro_batches * shape.virtual_stages);
      for (int i = 0; i < static_cast<int>(shape.stages); ++i) {
        const Stage& stage = (*stages)[static_cast<std::size_t>(i)];
        CHECK(stage.start == i);
        CHECK(stage.now - stage.start - work ==
              (kind == ScheduleKind::kZeroBubble ? static_cast<int>(shape.stages) - 1 - i : 0));
      }
    }
}

// Megatron-Core's get_schedule_table: of 5 micro-batches in groups of 3 the last group has 2. The last stage warms up
// with (2 - 1) * 3 = 3 passes.
TEST_CASE("interleaved 1F1B takes a group of micro-batches through a chunk, and the rest as a shorter one") {
  const PipelineShape shape{ScheduleKind::kInterleaved, 2, 2, 5, false, 3};
  CHECK(text(shape, 1) ==
        "f1.1 f2.1 f3.1 f1.2 b1.2 f2.2 b2.2 f3.2 b3.2 f4.1 b1.1 f5.1 b2.1 f4.2 b3.1 f5.2 b4.2 b5.2 b4.1 b5.1");
  CHECK(leading_forwards(pipeline_order(shape, 0)) == 2 + 3 + 1);
}

// A rest of fewer micro-batches than stages would wait for its own first one.
TEST_CASE("groups are at least as long as the pipeline, the last one too") {
  CHECK(is_group(4, 8, 4));
  CHECK_FALSE(is_group(4, 9, 4));  // the last one has 1
  CHECK(is_group(5, 9, 4));        // 5 and 4
  CHECK_FALSE(is_group(3, 9, 4));
  CHECK_FALSE(is_group(10, 9, 4));
  CHECK(shortest_group(9, 4) == 5);
  CHECK(shortest_group(8, 4) == 4);
  CHECK(shortest_group(7, 4) == 7);
  CHECK(shortest_group(3, 4) == 0);
}

// DeepSeek-V3's table 2: (p/2 - 1)(F&B + B - 3W) for p ranks, where B is a backward pass with its weight gradients W
// and F&B a forward and a backward pass side by side. Here the device computes throughout, so F&B = F + B; with input
// gradients that take as long as forward passes, B = F + W, that is (p/2 - 1)(3F - W). `stages` is p/2.
TEST_CASE("the bubble of DualPipe and DualPipeV is the one that DeepSeek-V3 states") {
  for (const ScheduleKind kind : {ScheduleKind::kDualPipe, ScheduleKind::kDualPipeV})
    for (const PipelineShape& shape : shapes(kind))
      for (const PassTimes& times : {PassTimes{10, 10, 10}, PassTimes{10, 10, 8}, PassTimes{20, 20, 10}}) {
        INFO(name_of(kind) << " " << shape.stages << " stages, " << shape.micro_batches << " micro-batches");
        const int steps = static_cast<int>(shape.stages) - 1;
        CHECK(bubble(shape, times) == steps * (3 * times.forward - times.weight));
      }
}

// Micro-batches go through the chunks in groups: of the k-th pass forward, k / (group * chunks) is the group, and
// within it k / length the chunk (Megatron-Core, get_model_chunk_id); backward the chunks come in reverse.
TEST_CASE("orders in runs are those of the closed form, pass by pass") {
  for (const std::uint32_t stages : {2U, 3U, 4U})
    for (const std::uint32_t chunks : {2U, 3U})
      for (const std::uint32_t group : {stages, stages + 1, 2 * stages})
        for (std::uint32_t micro_batches = group; micro_batches < 6 * group; ++micro_batches) {
          if (!is_group(group, micro_batches, stages)) continue;
          for (std::uint32_t stage = 0; stage < stages; ++stage) {
            CAPTURE(stages, chunks, group, micro_batches, stage);
            const auto nth = [&](PassKind kind, std::uint32_t k) {
              const std::uint32_t first = k / (group * chunks) * group;
              const std::uint32_t length = std::min(group, micro_batches - first), in_group = k - first * chunks;
              const std::uint32_t chunk = in_group / length;
              return Pass{kind, first + in_group % length, kind == PassKind::kForward ? chunk : chunks - 1 - chunk};
            };
            const std::uint32_t passes = micro_batches * chunks;
            const std::uint32_t lead = std::min(passes, 2 * (stages - stage - 1) + (chunks - 1) * group);
            std::vector<Pass> expected;
            for (std::uint32_t k = 0; k < lead; ++k) expected.push_back(nth(PassKind::kForward, k));
            for (std::uint32_t k = 0; k < passes; ++k) {
              if (lead + k < passes) expected.push_back(nth(PassKind::kForward, lead + k));
              expected.push_back(nth(PassKind::kBackward, k));
            }
            const PipelineShape shape{ScheduleKind::kInterleaved, stages, chunks, micro_batches, false, group};
            CHECK(pipeline_order(shape, stage) == expected);
          }
        }
}

TEST_CASE("ten times as many micro-batches are as many runs") {
  const auto runs = [](PipelineShape shape, std::uint32_t micro_batches) {
    shape.micro_batches = micro_batches;
    std::size_t count = 0;
    for (const PassPhase& phase : pipeline_phases(shape, 1)) count += phase.runs.size();
    return count;
  };
  for (const ScheduleKind kind : all_kinds()) {
    if (runs_pairs(kind)) continue;
    CAPTURE(name_of(kind));
    const std::uint32_t chunks = kind == ScheduleKind::kInterleaved ? 3 : is_v_shaped(kind) ? 2 : 1;
    const PipelineShape shape{kind, 4, chunks};
    CHECK(runs(shape, 400) == runs(shape, 40));
    CHECK(runs(shape, 400) < 40);
  }
}

// Twice: 5 bytes come, 3 come and go, 2 of the 5 go. The second time begins with 3 and has 11 at most; six are left.
TEST_CASE("what repeats holds most the first time or the last") {
  Holding once;
  once.book(Bytes(5), Bytes(0));
  once.book(Bytes(3), Bytes(3));
  once.book(Bytes(0), Bytes(2));
  CHECK((once.most == Bytes(8) && once.left == Bytes(3)));
  const Holding twice = once.repeated(2);
  CHECK((twice.most == Bytes(11) && twice.left == Bytes(6)));
  // 6 go again: the first of two times 3 less has the most, 8 beside the 6.
  Holding less;
  less.book(Bytes(8), Bytes(11));
  Holding all = twice;
  all.add(less.repeated(2));
  CHECK((all.most == Bytes(14) && all.left == Bytes(0)));
}
