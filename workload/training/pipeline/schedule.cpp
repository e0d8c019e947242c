// SPDX-License-Identifier: MIT
#include "workload/training/pipeline/schedule.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "core/assert.h"
#include "workload/training/pipeline/phases.h"

namespace orrery::workload {
namespace {

// Chunk of the k-th pass of one direction, and how many more than it follow in the same chunk. Megatron-Core takes a
// group of micro-batches through a chunk before it goes to the next one,
// `microbatch_group_size_per_virtual_pipeline_stage` of them; the last group may be shorter.
struct ChunkStretch {
  std::uint32_t chunk = 0;
  std::uint32_t left = 1;  // with it
};
ChunkStretch stretch_at(const PipelineShape& shape, std::uint32_t group, PassKind kind, std::uint32_t k) {
  if (shape.virtual_stages == 1) return {0, shape.micro_batches - k};
  const std::uint32_t first = k / (group * shape.virtual_stages) * group;  // micro-batch of the group
  const std::uint32_t length = std::min(group, shape.micro_batches - first);
  const std::uint32_t in_group = k - first * shape.virtual_stages;
  const std::uint32_t chunk = in_group / length;
  return {kind == PassKind::kForward ? chunk : shape.virtual_stages - 1 - chunk, length - in_group % length};
}

// Number of forward passes before the first pair of one forward and one backward pass.
std::uint32_t warm_up(const PipelineShape& shape, std::uint32_t group, std::uint32_t stage) {
  const std::uint32_t passes = shape.micro_batches * shape.virtual_stages;
  const std::uint32_t more = shape.overlaps ? 1 : 0, behind = shape.stages - stage - 1 + more;
  switch (shape.kind) {
    case ScheduleKind::kGpipe:
      return passes;
    case ScheduleKind::kOneForwardOneBackward:
    case ScheduleKind::kPipedream:
      return std::min(passes, behind);
    case ScheduleKind::kInterleaved:
      return std::min(passes, 2 * (shape.stages - stage - 1) + (shape.virtual_stages - 1) * group + more);
    case ScheduleKind::kDualPipe:
    case ScheduleKind::kDualPipeV:
    case ScheduleKind::kZeroBubble:
    case ScheduleKind::kZeroBubbleH2:
    case ScheduleKind::kZeroBubbleV:
      break;
  }
  ORRERY_ASSERT(false);
}

using Step = PassStep;
constexpr Step kF0{PassKind::kForward, 0}, kB0{PassKind::kBackward, 0, true}, kW0{PassKind::kWeight, 0};
constexpr Step kF1{PassKind::kForward, 1}, kB1{PassKind::kBackward, 1, true}, kW1{PassKind::kWeight, 1};

// An order of patterns that are repeated. Passes of a kind and a chunk count on from pattern to pattern; those beyond
// the last micro-batch are left out.
class PatternOrder {
 public:
  explicit PatternOrder(std::uint32_t micro_batches) { left_[0].fill(micro_batches), left_[2] = left_[1] = left_[0]; }

  void pattern(std::uint32_t times, std::initializer_list<Step> steps) {
    while (times > 0) {
      std::uint32_t same = times;  // until a micro-batch is the last
      for (const Step& step : steps)
        if (left(step) > 0) same = std::min(same, left(step));
      PassRun run(same);
      for (const Step& step : steps)
        if (left(step) > 0) run.add(step), left(step) -= same;
      if (run.steps().empty()) return;
      runs_.push_back(run);
      times -= same;
    }
  }
  std::vector<PassPhase> take() && { return {{1, std::move(runs_)}}; }

 private:
  std::uint32_t& left(const Step& step) { return left_[static_cast<std::size_t>(step.kind)][step.chunk]; }

  std::array<std::array<std::uint32_t, 2>, 3> left_{};  // micro-batches by kind and chunk
  std::vector<PassRun> runs_;
};

// ZB-H1 and ZB-H2 (`depth` 1 and 2): a stage warms up with `depth` micro-batches for each stage behind it, and puts
// weight gradients off by as many for each stage before it, so that every stage holds depth * (stages - 1) + 1
// micro-batches from the forward pass to the weight gradient, what the first one holds of necessity. Under ZB-H1 that
// is 1F1B's memory; under ZB-H2 a micro-batch comes back when the warm-up ends, and a stage that has begun is never
// idle.
std::vector<PassPhase> h_order(const PipelineShape& shape, std::uint32_t stage, std::uint32_t depth) {
  PatternOrder order(shape.micro_batches);
  order.pattern(depth * (shape.stages - stage - 1), {kF0});
  order.pattern(depth * stage, {kF0, kB0});
  order.pattern(shape.micro_batches + depth * stage, {kF0, kB0, kW0});
  return std::move(order).take();
}

// ZB-V: a rank holds at most two chunks of as many micro-batches as there are ranks, as 1F1B's first one, and is never
// idle once it has begun, if there are at least 2 * stages - 1 micro-batches and all three passes take as long.
std::vector<PassPhase> v_order(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t behind = shape.stages - stage;
  PatternOrder order(shape.micro_batches);
  order.pattern(2 * behind - 1, {kF0});
  order.pattern(stage, {kF1, kF0});
  order.pattern(behind, {kF1, kB1, kW1});
  // Fewer micro-batches take the order of so many, less those that are not there.
  order.pattern(std::max(shape.micro_batches, 2 * shape.stages - 1) - shape.stages, {kF0, kB0, kW0, kF1, kB1, kW1});
  order.pattern(stage, {kB0, kB1});
  order.pattern(behind, {kB0, kW0});
  order.pattern(stage, {kW1});
  order.pattern(stage, {kW0});
  return std::move(order).take();
}

// The steps of DualPipe and DualPipeV as deepseek-ai/DualPipe has them (dualpipe/dualpipe.py and dualpipev.py), which
// differ in the number of micro-batches of a chunk only.
class DualOrder {
 public:
  DualOrder(const PipelineShape& shape, std::uint32_t stage) : behind_(shape.stages - stage - 1), stage_(stage) {
    const std::uint32_t main = shape.micro_batches + stage + 1 - 2 * shape.stages;
    fill();
    for (std::uint32_t i = 0; i < main; ++i) {
      // The two ranks at the turning point have nothing to overlap in their first pair.
      pair(0, 1, i > 0 || behind_ > 0);
      pair(1, 0, true);
    }
    drain();
  }

  std::vector<PassPhase> take() && { return {{1, std::move(runs_)}}; }

 private:
  void fill() {
    for (std::uint32_t i = 0; i < 2 * behind_; ++i) forward(0);
    for (std::uint32_t i = 0; i <= stage_; ++i) forward(0), forward(1);
    for (std::uint32_t i = 0; i < behind_; ++i) backward(1, true), weight(), forward(1);
  }

  // From the middle on weight gradients are put off.
  void drain() {
    for (std::uint32_t i = 0; i < behind_; ++i) backward(1, false), pair(1, 0, true);
    bool splits = false;
    for (std::uint32_t i = 0; i <= stage_; ++i) {
      const bool is_middle = i == (stage_ + 1) / 2;
      splits = splits || (is_middle && stage_ % 2 == 1);
      backward(1, splits);
      splits = splits || (is_middle && stage_ % 2 == 0);
      backward(0, splits);
    }
    for (std::uint32_t i = 0; i < behind_; ++i) weight(), backward(0, true);
    for (std::uint32_t i = 0; i <= stage_; ++i) weight();
  }

  void forward(std::uint32_t chunk, bool beside_next = false) { add({PassKind::kForward, chunk, false, beside_next}); }
  void backward(std::uint32_t chunk, bool splits) {
    add({PassKind::kBackward, chunk, splits});
    if (splits) put_off_.push_back(chunk);
  }
  void pair(std::uint32_t forward_chunk, std::uint32_t backward_chunk, bool overlaps) {
    forward(forward_chunk, overlaps);
    backward(backward_chunk, false);
  }
  void weight() { add({PassKind::kWeight, put_off_[weights_++]}); }
  void add(const Step& step) {
    if (!is_open_) runs_.emplace_back(1);
    runs_.back().add(step);
    is_open_ = step.beside_next;
  }

  const std::uint32_t behind_;
  const std::uint32_t stage_;
  std::vector<std::uint32_t> put_off_;  // chunks
  std::size_t weights_ = 0;
  std::vector<PassRun> runs_;
  bool is_open_ = false;  // the last run waits for the pass beside its own
};

// 1F1B and what is like it: forward passes, then pairs of one forward and one backward pass, then backward passes.
class PairedOrder {
 public:
  PairedOrder(const PipelineShape& shape, std::uint32_t stage)
      : shape_(shape),
        group_(shape.group > 0 ? shape.group : shape.stages),
        passes_(shape.micro_batches * shape.virtual_stages),
        lead_(warm_up(shape, group_, stage)) {}

  std::vector<PassPhase> take() && {
    // Pairs whose forward pass is of a whole group are alike, as many passes later as the group has in all chunks.
    const std::uint32_t period = group_ * shape_.virtual_stages;
    const std::uint32_t whole = shape_.micro_batches / group_ * period;
    const std::uint32_t periods = shape_.virtual_stages > 1 && whole > lead_ ? (whole - lead_) / period : 0;
    std::vector<PassPhase> phases = {{1, of_one(PassKind::kForward, 0, lead_)}};
    if (periods > 0) phases.push_back({periods, pairs(0, period)});
    phases.push_back({1, pairs(periods * period, passes_ - lead_)});
    phases.push_back({1, of_one(PassKind::kBackward, passes_ - lead_, passes_)});
    return phases;
  }

 private:
  std::vector<PassRun> of_one(PassKind kind, std::uint32_t from, std::uint32_t to) const {
    std::vector<PassRun> runs;
    for (std::uint32_t k = from; k < to; k += runs.back().times()) {
      const ChunkStretch stretch = stretch_at(shape_, group_, kind, k);
      runs.emplace_back(std::min(stretch.left, to - k)).add({kind, stretch.chunk});
    }
    return runs;
  }

  std::vector<PassRun> pairs(std::uint32_t from, std::uint32_t to) const {
    std::vector<PassRun> runs;
    for (std::uint32_t k = from; k < to; k += runs.back().times()) {
      const ChunkStretch forward = stretch_at(shape_, group_, PassKind::kForward, lead_ + k);
      const ChunkStretch backward = stretch_at(shape_, group_, PassKind::kBackward, k);
      PassRun& run = runs.emplace_back(std::min({forward.left, backward.left, to - k}));
      run.add({PassKind::kForward, forward.chunk, false, shape_.overlaps});
      run.add({PassKind::kBackward, backward.chunk});
    }
    return runs;
  }

  const PipelineShape& shape_;
  const std::uint32_t group_;
  const std::uint32_t passes_;  // of one direction
  const std::uint32_t lead_;
};

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  constexpr std::array<std::string_view, kScheduleKindCount> kNames = {
      "gpipe", "1f1b", "1f1b-interleaved", "zero-bubble", "pipedream", "dualpipe", "dualpipev", "zb-h2", "zb-v"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::int64_t shortest_group(std::int64_t micro_batches, std::int64_t stages) {
  for (std::int64_t group = stages; group <= micro_batches; ++group)
    if (is_group(group, micro_batches, stages)) return group;
  return 0;
}

void PassRun::add(const PassStep& step) {
  ORRERY_ASSERT(length_ < kMost);
  steps_[length_++] = step;
}

std::vector<PassPhase> pipeline_phases(const PipelineShape& shape, std::uint32_t stage) {
  ORRERY_ASSERT(stage < shape.stages && shape.virtual_stages > 0);
  ORRERY_ASSERT(!is_v_shaped(shape.kind) || shape.virtual_stages == 2);
  if (runs_pairs(shape.kind)) {
    ORRERY_ASSERT(shape.micro_batches >= 2 * shape.stages);
    return DualOrder(shape, stage).take();
  }
  if (shape.kind == ScheduleKind::kZeroBubbleV) return v_order(shape, stage);
  ORRERY_ASSERT(shape.virtual_stages == 1 ||
                (shape.kind == ScheduleKind::kInterleaved &&
                 is_group(shape.group > 0 ? shape.group : shape.stages, shape.micro_batches, shape.stages)));
  if (shape.kind == ScheduleKind::kZeroBubble) return h_order(shape, stage, 1);
  if (shape.kind == ScheduleKind::kZeroBubbleH2) return h_order(shape, stage, 2);
  return PairedOrder(shape, stage).take();
}

namespace {

// Numbers micro-batches: those of weight gradients are the ones that backward passes have put off.
class MicroBatches {
 public:
  explicit MicroBatches(const PipelineShape& shape) : chunks_(shape.virtual_stages) {}

  std::uint32_t next(const PassStep& step) {
    Chunk& chunk = chunks_[step.chunk];
    if (step.kind == PassKind::kForward) return chunk.forward++;
    if (step.kind == PassKind::kWeight) return chunk.put_off[chunk.weight++];
    if (step.splits) chunk.put_off.push_back(chunk.backward);
    return chunk.backward++;
  }

 private:
  struct Chunk {
    std::uint32_t forward = 0, backward = 0;  // how many there were
    std::size_t weight = 0;
    std::vector<std::uint32_t> put_off;
  };
  std::vector<Chunk> chunks_;
};

}  // namespace

std::vector<Pass> pipeline_order(const PipelineShape& shape, std::uint32_t stage) {
  std::vector<Pass> order;
  order.reserve(std::size_t{shape.micro_batches} * shape.virtual_stages * 2);
  MicroBatches micro_batches(shape);
  for (const PassPhase& phase : pipeline_phases(shape, stage))
    for (std::uint32_t i = 0; i < phase.times; ++i)
      for (const PassRun& run : phase.runs)
        for (std::uint32_t k = 0; k < run.times(); ++k)
          for (const PassStep& step : run.steps())
            order.push_back({step.kind, micro_batches.next(step), step.chunk, step.splits, step.beside_next});
  return order;
}

}  // namespace orrery::workload
