// SPDX-License-Identifier: MIT
#include "report/passes/passes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace orrery::report {
namespace {

using system::OperationRecord;
using workload::LayerMark;
using workload::PassKind;
using workload::PassMark;
using workload::PassRole;
using workload::PipelineFacts;
using workload::ProgramMarks;

using Interval = std::pair<Time, Time>;

// Replaces what overlaps or meets by one.
void unite(std::vector<Interval>& intervals) {
  std::ranges::sort(intervals);
  std::size_t kept = 0;
  for (const Interval& interval : intervals) {
    if (kept > 0 && interval.first <= intervals[kept - 1].second)
      intervals[kept - 1].second = std::max(intervals[kept - 1].second, interval.second);
    else
      intervals[kept++] = interval;
  }
  intervals.resize(kept);
}

// Sums the lengths of intervals that do not overlap.
Duration length_of(std::span<const Interval> intervals) {
  Duration length{};
  for (const auto& [start, end] : intervals) length += end - start;
  return length;
}

// The spans of one rank's passes from what it did.
class SpanReader {
 public:
  SpanReader(const workload::ExecutionGraph& graph, const ProgramMarks& marks) : graph_(graph), marks_(marks) {}

  // All that the log has of the rank.
  std::vector<PassSpan> read(const OperationLog& log, RankId rank) && {
    std::vector<OperationRecord> operations;
    std::vector<RepeatedStretch> repeated;
    log.of(rank, operations, repeated, [&](const RepeatedStretch& stretch) { return is_in_one_pass(stretch); });
    // Stretches by the first end of an operation in them, as if they were written out.
    std::vector<std::tuple<Time, std::uint32_t, const RepeatedStretch*>> in_order;
    in_order.reserve(repeated.size());
    for (const RepeatedStretch& stretch : repeated)
      if (const Course& course = course_of(stretch); course.first_end)
        in_order.emplace_back(stretch.begin + *course.first_end, stretch.number, &stretch);
    std::ranges::sort(in_order);
    auto next = in_order.begin();
    for (const OperationRecord& operation : operations) {
      const auto is_before = [&] {
        return std::pair(std::get<0>(*next), std::get<1>(*next)) < std::pair(operation.end, operation.number);
      };
      for (; next != in_order.end() && is_before(); ++next) add(*std::get<2>(*next));
      add(operation);
    }
    for (; next != in_order.end(); ++next) add(*std::get<2>(*next));
    std::ranges::stable_sort(late_, {}, [](const auto& late) { return late.second.first; });
    for (const auto& [span, interval] : late_) add_late(span, interval);
    add_rests();
    std::ranges::stable_sort(spans_, {}, [](const PassSpan& span) { return std::pair(span.start, span.end); });
    return std::move(spans_);
  }

 private:
  // A stretch that is gone through once more, from when it began: its operations in line, and those put off.
  struct Course {
    std::uint32_t last = 0;                                   // offset of its last node
    std::optional<Duration> first_end;                        // of those that count; none if none does
    Duration start = Duration::max(), end = Duration::min();  // of those in line
    std::vector<std::pair<Duration, Duration>> late;
  };

  bool takes_part(const OperationRecord& operation) const {
    return operation.end > operation.start && graph_.kind(operation.node) != workload::NodeKind::kNoOp;
  }

  const Course& course_of(const RepeatedStretch& stretch) {
    const auto [known, is_new] = courses_.try_emplace(stretch.kind);
    Course& course = known->second;
    if (!is_new) return course;
    for (const system::StretchRecord::Part& part : stretch.parts()) {
      course.last = std::max(course.last, part.offset);
      const OperationRecord operation = stretch.operation(part);
      if (!takes_part(operation)) continue;
      const LayerMark* layer = layer_ = marks_.layer_at(operation.node, layer_);
      if (layer == nullptr || layer->role == PassRole::kBeside) continue;
      course.first_end = std::min(course.first_end.value_or(part.end), part.end);
      if (layer->role == PassRole::kPutOff) {
        course.late.emplace_back(part.start, part.end);
        continue;
      }
      course.start = std::min(course.start, part.start);
      course.end = std::max(course.end, part.end);
    }
    return course;
  }

  bool is_in_one_pass(const RepeatedStretch& stretch) {
    const PassMark* mark = mark_ = marks_.pass_at(stretch.number, mark_);
    return mark == marks_.pass_at(stretch.number + course_of(stretch).last, mark);
  }

  void add(const RepeatedStretch& stretch) {
    const Course& course = course_of(stretch);
    const PassMark* mark = mark_ = marks_.pass_at(stretch.number, mark_);
    if (mark == nullptr || !mark->pass || !course.first_end) return;
    const std::size_t number = span_of(*mark);
    for (const auto& [start, end] : course.late)
      late_.push_back({number, {stretch.begin + start, stretch.begin + end}});
    if (course.end < course.start) return;
    PassSpan& span = spans_[number];
    span.start = std::min(span.start, stretch.begin + course.start);
    span.end = std::max(span.end, stretch.begin + course.end);
  }

  void add(const OperationRecord& operation) {
    if (!takes_part(operation)) return;
    const PassMark* mark = mark_ = marks_.pass_at(operation.number, mark_);
    const LayerMark* layer = layer_ = marks_.layer_at(operation.node, layer_);
    if (mark == nullptr || !mark->pass || layer->role == PassRole::kBeside) return;
    const std::size_t number = span_of(*mark);
    if (layer->role == PassRole::kPutOff) {
      late_.push_back({number, {operation.start, operation.end}});
      return;
    }
    PassSpan& span = spans_[number];
    span.start = std::min(span.start, operation.start);
    span.end = std::max(span.end, operation.end);
  }

  std::size_t span_of(const PassMark& mark) {
    if (&mark == latest_.first) return latest_.second;
    const workload::Pass& pass = *mark.pass;
    const auto [known, is_new] =
        numbers_.try_emplace({mark.iteration, pass.kind, pass.micro_batch, pass.chunk}, spans_.size());
    if (is_new) spans_.push_back({pass, 0, 0, mark.iteration, Time::max(), Time::min()});
    latest_ = {&mark, known->second};
    return known->second;
  }

  // Weight gradients that follow their pass at once are part of it.
  void add_late(std::size_t number, const Interval& interval) {
    PassSpan& span = spans_[number];
    const bool is_alone = span.end < span.start;  // the pass has nothing else
    if (is_alone) span.start = interval.first;
    if (is_alone || interval.first <= span.end) {
      span.end = std::max(span.end, interval.second);
      return;
    }
    const auto known = rests_.find(number);
    if (known != rests_.end() && known->second.back().second == interval.first)
      known->second.back().second = interval.second;
    else
      rests_[number].push_back(interval);
  }

  // Passes that are computed while another waits are within that one.
  void add_rests() {
    std::vector<Interval> in_line;
    for (const PassSpan& span : spans_) in_line.emplace_back(span.start, span.end);
    unite(in_line);
    const auto is_within = [&](const Interval& rest) {
      const auto behind = std::ranges::upper_bound(in_line, rest.first, {}, &Interval::first);
      return behind != in_line.begin() && rest.second <= (behind - 1)->second;
    };
    for (const auto& [number, rests] : rests_)
      for (const Interval& rest : rests) {
        if (is_within(rest)) continue;
        PassSpan span = spans_[number];
        span.pass.kind = PassKind::kWeight;
        span.is_put_off = true;
        std::tie(span.start, span.end) = rest;
        spans_.push_back(span);
      }
  }

  const workload::ExecutionGraph& graph_;
  const ProgramMarks& marks_;
  const PassMark* mark_ = nullptr;    // of the latest operation
  const LayerMark* layer_ = nullptr;  // likewise
  std::vector<PassSpan> spans_;
  std::map<std::tuple<std::uint32_t, PassKind, std::uint32_t, std::uint32_t>, std::size_t> numbers_;
  std::pair<const PassMark*, std::size_t> latest_{};
  std::vector<std::pair<std::size_t, Interval>> late_;  // by number of their pass
  std::map<std::size_t, std::vector<Interval>> rests_;  // likewise, apart from it
  std::unordered_map<const system::RepetitionRecord*, Course> courses_;
};

// Pipelines both ways: the first half of the ranks has the beginning of the first way, and the end of the second.
bool is_second_way(const PipelineFacts& pipeline, std::uint32_t place, std::uint32_t chunk) {
  return pipeline.both_ways && (place < pipeline.shape.stages) == (chunk == 1);
}

// Stretches of time in at least one of the passes, ascending.
std::vector<Interval> stretches_of(const std::vector<PassSpan>& spans) {
  std::vector<Interval> busy;
  for (const PassSpan& span : spans) busy.emplace_back(span.start, span.end);
  unite(busy);
  return busy;
}

Duration busy_in(const std::vector<PassSpan>& spans) { return length_of(stretches_of(spans)); }

// Spans of a rank by the one that acts for it: ranks for which the same one acts have the same.
using KnownSpans = std::map<RankId, std::vector<PassSpan>>;

const std::vector<PassSpan>& spans_of(const PassSource& source, RankId rank, KnownSpans& known) {
  const RankId acting = source.acting[index_of(rank)];
  const auto [spans, is_new] = known.try_emplace(acting);
  if (!is_new) return spans->second;
  const std::uint32_t graph = source.job.ranks.graph(index_of(rank) - source.first_rank);
  spans->second = SpanReader(source.job.graphs[graph], *source.training.marks[graph]).read(source.log, acting);
  return spans->second;
}

RankPasses passes_of(const PassSource& source, RankId rank, std::uint32_t place, KnownSpans& known) {
  const PipelineFacts& pipeline = source.training.pipelines[source.pipeline];
  const std::uint32_t stage = source.training.marks[source.job.ranks.graph(index_of(rank) - source.first_rank)]->stage;
  RankPasses passes{{rank}, place, spans_of(source, rank, known), {}, {}};
  for (PassSpan& span : passes.spans) {
    span.virtual_stage = pipeline.virtual_stage(stage, span.pass.chunk);
    span.micro_batch =
        span.pass.micro_batch + (is_second_way(pipeline, place, span.pass.chunk) ? pipeline.shape.micro_batches : 0);
  }
  passes.busy = busy_in(passes.spans);
  return passes;
}

// Iterations one by one; those of a pipeline that is never flushed run into one another.
std::vector<Interval> windows_of(const std::vector<RankPasses>& ranks) {
  std::map<std::uint32_t, Interval> windows;
  for (const RankPasses& rank : ranks)
    for (const PassSpan& span : rank.spans) {
      const auto [known, is_new] = windows.try_emplace(span.iteration, span.start, span.end);
      known->second.first = std::min(known->second.first, span.start);
      known->second.second = std::max(known->second.second, span.end);
    }
  std::vector<Interval> all;
  for (const auto& [iteration, window] : windows) all.push_back(window);
  return all;
}

// Fills in the window and the bubbles. The ranks' time in passes is known.
void measure(std::vector<Interval> windows, Passes& passes) {
  passes.start = windows.front().first;
  passes.end = windows.back().second;
  passes.window = length_of(windows);
  passes.windows = std::move(windows);
  for (RankPasses& rank : passes.ranks) rank.bubble = passes.window - rank.busy;
}

// The job whose ranks those of the source's are, as a part of the whole one.
PassSource source_of(const TimelineSource& source, std::size_t pipeline) {
  return {source.job, 0, *source.training, pipeline, source.log, source.acting};
}

std::uint64_t alike(const Result& result, RankId rank) {
  const std::vector<std::uint32_t>& classes = result.class_of_rank;
  return static_cast<std::uint64_t>(std::ranges::count(classes, classes[index_of(rank)]));
}

}  // namespace

char letter_of(PassKind kind) { return std::array{'F', 'B', 'W'}[static_cast<std::size_t>(kind)]; }

std::string name_of(const PassSpan& span) { return fmt::format("{}{}", letter_of(span.pass.kind), span.micro_batch); }

double Passes::bubble_share() const {
  if (window == Duration::zero() || ranks.empty()) return 0;
  double sum = 0;
  for (const RankPasses& rank : ranks) sum += seconds(rank.bubble) / seconds(window);
  return sum / static_cast<double>(ranks.size());
}

std::optional<Passes> collect_passes(const PassSource& source) {
  const PipelineFacts& pipeline = source.training.pipelines[source.pipeline];
  Passes passes;
  passes.schedule = name_of(pipeline.shape.kind);
  passes.stages = static_cast<std::uint32_t>(pipeline.ranks.size());
  passes.virtual_stages = pipeline.shape.virtual_stages;
  passes.micro_batches = pipeline.shape.micro_batches * (pipeline.both_ways ? 2 : 1);
  KnownSpans known;
  for (std::uint32_t place = 0; place < pipeline.ranks.size(); ++place)
    passes.ranks.push_back(passes_of(source, pipeline.ranks[place], place, known));
  std::vector<Interval> windows = windows_of(passes.ranks);
  if (windows.empty()) return std::nullopt;
  passes.iterations = static_cast<std::uint32_t>(windows.size());
  unite(windows);
  measure(std::move(windows), passes);
  return passes;
}

std::optional<Passes> collect_passes(const TimelineSource& source, std::size_t job) {
  if (!source.training || job >= source.training->pipelines.size()) return std::nullopt;
  std::optional<Passes> passes = collect_passes(source_of(source, job));
  if (!passes) return std::nullopt;
  for (RankPasses& rank : passes->ranks) rank.chosen.stands_for = alike(source.result, rank.chosen.rank);
  return passes;
}

std::optional<RankPasses> collect_passes(const TimelineSource& source, const ChosenRank& rank) {
  if (!source.training || source.training->pipelines.empty()) return std::nullopt;
  const std::size_t job = job_of(*source.training, rank.rank);
  const std::uint32_t place = source.training->pipelines[job].place_of(rank.rank);
  KnownSpans known;
  RankPasses passes = passes_of(source_of(source, job), rank.rank, place, known);
  passes.chosen = rank;
  if (passes.spans.empty()) return std::nullopt;
  return passes;
}

std::size_t job_of(const workload::TrainingFacts& training, RankId rank) {
  std::size_t job = 0;
  const auto& pipelines = training.pipelines;
  while (job + 1 < pipelines.size() && pipelines[job + 1].ranks.front() <= rank) ++job;
  return job;
}

std::vector<std::pair<Time, Time>> bubbles_of(const RankPasses& rank, std::span<const std::pair<Time, Time>> windows) {
  const std::vector<Interval> busy = stretches_of(rank.spans);
  std::vector<Interval> bubbles;
  std::size_t next = 0;  // the first stretch that ends behind the start of the window
  for (const auto& [start, end] : windows) {
    while (next < busy.size() && busy[next].second <= start) ++next;
    Time at = start;
    for (std::size_t i = next; i < busy.size() && busy[i].first < end; ++i) {
      if (at < busy[i].first) bubbles.emplace_back(at, busy[i].first);
      at = std::max(at, busy[i].second);
    }
    if (at < end) bubbles.emplace_back(at, end);
  }
  return bubbles;
}

Passes passes_in(const Passes& passes, std::size_t window) {
  const Interval only = passes.windows[window];
  Passes part = passes;
  for (RankPasses& rank : part.ranks) {
    std::erase_if(rank.spans, [&](const PassSpan& span) { return span.end < only.first || only.second < span.start; });
    rank.busy = busy_in(rank.spans);
  }
  measure({only}, part);
  return part;
}

std::optional<BubbleFigures> bubble_figures(const PassSource& source) {
  if (source.training.pipelines[source.pipeline].ranks.size() < 2) return std::nullopt;
  const std::optional<Passes> passes = collect_passes(source);
  if (!passes) return std::nullopt;
  return BubbleFigures{passes->bubble_share(), passes->schedule, passes->stages,
                       workload::may_interleave(source.training.pipelines[source.pipeline].shape.kind)};
}

}  // namespace orrery::report
