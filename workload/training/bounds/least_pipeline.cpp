// SPDX-License-Identifier: MIT
// The passes of one pipeline in their order, each as early as it can be.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "workload/training/bounds/least_time.h"
#include "workload/training/bounds/stage_work.h"
#include "workload/training/program/stage_messages.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {
namespace {

// Times of a pass of one kind over one chunk of a rank.
struct PassTimes {
  Duration in_line{};
  Duration on_device{};                // computing, and what it waits for while it has nothing to compute
  Duration left{};                     // of that, what may come behind the line
  Duration gather{};                   // before it: of its input
  std::optional<std::size_t> input{};  // place in the model that its input comes from, if it does
  LeastMessage output{};               // zero where the next pass is on the same rank, or there is none
};

// A pass of a pair that waits for the other.
struct OpenPair {
  Pass pass;
  PassTimes times;
  Duration start{};
  Duration line{};  // as the pair began
};

// One rank on its way through an iteration.
struct RankState {
  std::vector<Pass> order;
  std::size_t next = 0;           // pass
  std::vector<PassTimes> passes;  // by chunk, kind, whether it splits, and whether it is in a pair
  Duration line{};                // end of what is through in line
  Duration device{};              // of all that was begun
  std::optional<OpenPair> pair;
  Duration behind_line{};  // from the last pass to the end of the iteration
  Duration behind_device{};
};

// Places of chunks in the model, in the order of its layers; the other way behind those of the first, where a pipeline
// runs both ways.
class ModelPlaces {
 public:
  struct Chunk {
    std::size_t rank = 0;
    std::uint32_t chunk = 0;
  };

  ModelPlaces(const PipelineShape& shape, std::size_t ranks, bool both_ways)
      : kind_(both_ways                 ? Kind::kBothWays
              : is_v_shaped(shape.kind) ? Kind::kThereAndBack
                                        : Kind::kRound),
        ranks_(ranks),
        depth_(shape.stages),
        length_(both_ways ? ranks : std::size_t{shape.stages} * shape.virtual_stages) {}

  // Stages of the model one way, and of all ways together.
  std::size_t length() const { return length_; }
  std::size_t count() const { return kind_ == Kind::kBothWays ? 2 * length_ : length_; }

  std::size_t of(const Chunk& place) const {
    switch (kind_) {
      case Kind::kRound:
        return place.chunk * ranks_ + place.rank;
      case Kind::kThereAndBack:
        return place.chunk == 0 ? place.rank : length_ - 1 - place.rank;
      case Kind::kBothWays:
        return (place.rank < depth_) == (place.chunk == 0) ? place.rank : length_ + length_ - 1 - place.rank;
    }
    return 0;
  }
  Chunk at(std::size_t place) const {
    const std::size_t stage = place % length_;
    if (kind_ == Kind::kRound) return {stage % ranks_, static_cast<std::uint32_t>(stage / ranks_)};
    const bool turns = kind_ == Kind::kThereAndBack ? stage >= ranks_ : place >= length_;
    return {turns ? length_ - 1 - stage : stage, stage < depth_ ? 0U : 1U};
  }

 private:
  enum class Kind : std::uint8_t { kRound, kThereAndBack, kBothWays };

  const Kind kind_;
  const std::size_t ranks_;
  const std::size_t depth_;  // stages to the turning point
  const std::size_t length_;
};

class LeastPipeline {
 public:
  LeastPipeline(const StageRequests& requests, const OperatorTimes& times, const PipelineRanks& ranks,
                const LeastCollective& collectives, const LeastMessages& messages)
      : training_(*requests.all().front().training),
        shape_(pipeline_shape(training_)),
        places_(shape_, ranks.groups.size(), training_.parallel.both_ways),
        waits_(waits_for_sends(training_)),
        meets_(runs_pairs(training_.schedule)),
        work_(requests, times, ranks, collectives) {
    for (std::size_t rank = 0; rank < work_.stages(); ++rank) add_rank(rank, messages);
    for (std::vector<Duration>& of_direction : arrived_)
      of_direction.resize(places_.count() * shape_.micro_batches, kNone);
  }

  Duration end() && {
    for (bool moves = true; moves;) {
      moves = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        while (step(rank)) moves = true;
    }
    Duration end{};
    for (const RankState& rank : ranks_)
      end =
          std::max({end, saturating_add(rank.line, rank.behind_line), saturating_add(rank.device, rank.behind_device)});
    return end / training_.iterations;
  }

 private:
  static constexpr std::size_t kKinds = 12;
  static constexpr Duration kNone{-1};

  static std::size_t number_of(const Pass& pass, bool in_pair) {
    return pass.chunk * kKinds + static_cast<std::size_t>(pass.kind) * 4 + (pass.splits ? 2 : 0) + (in_pair ? 1 : 0);
  }
  static bool is_in_pair(const RankState& state, std::size_t at) {
    return state.order[at].beside_next || (at > 0 && state.order[at - 1].beside_next);
  }

  void add_rank(std::size_t rank, const LeastMessages& messages) {
    RankState& state = ranks_.emplace_back();
    state.order = pipeline_order(shape_, work_.request(rank).stage);
    state.passes.resize(shape_.virtual_stages * kKinds);
    std::vector<char> is_known(state.passes.size());
    for (std::size_t i = 0; i < state.order.size(); ++i) {
      const Pass& pass = state.order[i];
      const bool in_pair = is_in_pair(state, i);
      const std::size_t number = number_of(pass, in_pair);
      if (!std::exchange(is_known[number], true))
        state.passes[number] = times_of(rank, {pass.kind, pass.chunk, pass.splits}, in_pair, messages);
    }
    // Each iteration before the last one takes at least as long as this rank has work in it.
    const StageWork& work = work_.of(rank);
    state.behind_line = work.end();
    state.behind_device = saturating_add(work.exchange, work.update);
    const Duration on_device = saturating_add(work.all.computing, work.all.exposed);
    const Duration once =
        std::max(saturating_add(work.all.in_line, state.behind_line), saturating_add(on_device, state.behind_device));
    state.line = state.device = saturating_multiply_add({}, once, training_.iterations - 1);
  }

  PassTimes times_of(std::size_t rank, const PassStep& step, bool in_pair, const LeastMessages& messages) {
    const StageRequest& request = work_.request(rank);
    const PassWork work = work_.pass(rank, step, in_pair);
    PassTimes times;
    times.in_line = work.all.in_line;
    // Beside another pass a device has that to compute.
    times.on_device = in_pair ? work.all.computing : saturating_add(work.all.computing, work.all.exposed);
    // Without a computation in line nothing says that what came before it is through.
    times.left = work.all.computes_in_line ? work.left : Duration::max();
    if (step.kind == PassKind::kWeight) return times;
    const bool forward = step.kind == PassKind::kForward;
    const std::size_t here = places_.of({rank, step.chunk}), first = here % places_.length();
    const std::size_t last = places_.length() - 1;
    if (first != (forward ? 0 : last)) {
      times.input = forward ? here - 1 : here + 1;
      if (request.gathers_boundary && places_.at(*times.input).rank != rank)
        times.gather = work_.collectives(rank)(GroupFamily::kTensor, CollectiveKind::kAllGather, request.boundary);
    }
    if (first != (forward ? last : 0)) {
      const std::size_t to = places_.at(forward ? here + 1 : here - 1).rank;
      if (to != rank) times.output = messages(rank, to, request.boundary);
    }
    return times;
  }

  // When the result of a pass, but of weight gradients, is where the next one takes it; kNone: not yet.
  Duration& arrived(PassKind kind, std::size_t place, std::uint32_t micro_batch) {
    return arrived_[static_cast<std::size_t>(kind)][place * shape_.micro_batches + micro_batch];
  }

  // When a pass may begin that the line reaches at that time; nothing while its input has not come.
  std::optional<Duration> start_of(const Pass& pass, const PassTimes& times, Duration line) {
    if (!times.input) return line;
    const Duration input = arrived(pass.kind, *times.input, pass.micro_batch);
    if (input == kNone) return std::nullopt;
    return saturating_add(std::max(line, input), times.gather);
  }

  void hand_on(std::size_t rank, const Pass& pass, const PassTimes& times, Duration end) {
    if (pass.kind != PassKind::kWeight)
      arrived(pass.kind, places_.of({rank, pass.chunk}), pass.micro_batch) =
          saturating_add(end, saturating_add(times.output.sending, times.output.arriving));
  }

  static Duration without(Duration time, Duration left) { return std::max(time, left) - left; }

  // Takes the next pass of a rank; false where there is none, or its input has not come.
  bool step(std::size_t rank) {
    RankState& state = ranks_[rank];
    if (state.next == state.order.size()) return false;
    const Pass& pass = state.order[state.next];
    const PassTimes& times = state.passes[number_of(pass, is_in_pair(state, state.next))];
    const std::optional<Duration> start = start_of(pass, times, state.pair ? state.pair->line : state.line);
    if (!start) return false;
    ++state.next;
    if (state.pair) return close_pair(rank, pass, times, *start), true;
    const Duration through = saturating_add(*start, times.in_line);
    if (pass.beside_next) {
      state.pair = {pass, times, *start, state.line};
      if (!meets_) hand_on(rank, pass, times, through);
      return true;
    }
    state.device = saturating_add(std::max(*start, state.device), times.on_device);
    const Duration end = std::max(through, without(state.device, times.left));
    state.line = waits_ ? saturating_add(end, times.output.sending) : end;
    hand_on(rank, pass, times, end);
    return true;
  }

  // The second pass of a pair. Those that meet begin together, and hand on what they have together; else each has a
  // line of its own.
  void close_pair(std::size_t rank, const Pass& pass, const PassTimes& times, Duration start) {
    RankState& state = ranks_[rank];
    const OpenPair one = *std::exchange(state.pair, std::nullopt);
    const Duration begin = meets_ ? std::max(one.start, start) : std::min(one.start, start);
    state.device = saturating_add(std::max(begin, state.device), saturating_add(one.times.on_device, times.on_device));
    const Duration of_one = saturating_add(meets_ ? begin : one.start, one.times.in_line);
    const Duration of_other = saturating_add(meets_ ? begin : start, times.in_line);
    state.line = std::max({of_one, of_other, without(state.device, saturating_add(one.times.left, times.left))});
    if (meets_) hand_on(rank, one.pass, one.times, state.line);
    hand_on(rank, pass, times, meets_ ? state.line : of_other);
  }

  const TrainingSpec& training_;
  const PipelineShape shape_;
  const ModelPlaces places_;
  const bool waits_;
  const bool meets_;
  PipelineWork work_;
  std::vector<RankState> ranks_;
  std::array<std::vector<Duration>, 2> arrived_;  // forward and backward
};

}  // namespace

Duration least_pipeline(const StageRequests& requests, const OperatorTimes& times, const PipelineRanks& ranks,
                        const LeastCollective& collectives, const LeastMessages& messages) {
  const TrainingSpec& training = *requests.all().front().training;
  if (!training.is_flushed() || training.parallel.exchange != ExchangeKind::kCollective) return {};
  if (static_cast<std::int64_t>(ranks.groups.size()) != training.parallel.pipeline()) return {};
  return LeastPipeline(requests, times, ranks, collectives, messages).end();
}

}  // namespace orrery::workload
