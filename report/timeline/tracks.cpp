// SPDX-License-Identifier: MIT
#include "report/timeline/tracks.h"
#include "report/parts.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/operations/memory_changes.h"
#include "report/operations/operation_facts.h"

namespace orrery::report {
namespace {

using system::OperationRecord;

constexpr std::string_view kCompute = "compute";
constexpr Duration kFirstMerged = Duration(100'000);  // 100 ns

// The slices of one rank.
class RankTracks {
 public:
  RankTracks(const TimelineSource& source, const ChosenRank& chosen)
      : source_(source), rank_(chosen.rank), graph_(source.job.graph(chosen.rank)), facts_(source, chosen) {
    if (facts_.passes()) lay_out_passes(facts_.passes()->spans);
    std::vector<OperationRecord> operations = source.log.of(source.acting[index_of(rank_)]);
    std::ranges::stable_sort(operations, {}, &OperationRecord::start);
    for (const OperationRecord& operation : operations)
      if (operation.end > operation.start) add(operation);
    for (auto& [name, lanes] : lanes_)
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        lanes[i].name = i == 0 ? name : fmt::format("{} {}", name, i + 1);
        tracks_.push_back(std::move(lanes[i]));
      }
  }

  const std::optional<RankPasses>& passes() const { return facts_.passes(); }
  std::vector<Track> take() && { return std::move(tracks_); }

 private:
  // Each on the first lane that is free.
  void lay_out_passes(std::span<const PassSpan> spans) {
    std::vector<Track>& lanes = lanes_[std::string(kCompute)];
    for (const PassSpan& span : spans) {
      if (span.end == span.start) continue;
      auto lane = std::ranges::find_if(lanes, [&](const Track& one) { return one.passes.back().end <= span.start; });
      if (lane == lanes.end()) lane = lanes.insert(lanes.end(), Track{});
      lane->passes.push_back({span, span.start, span.end});
      lane_of_[&span] = static_cast<std::size_t>(lane - lanes.begin());
    }
  }

  // Place of an operation among the passes of a lane; none if it overlaps with one, or with an operation there.
  static std::optional<std::uint32_t> place_in(const Track& lane, const OperationRecord& operation) {
    if (!lane.slices.empty() && lane.slices.back().end > operation.start) return std::nullopt;
    const auto next = std::ranges::upper_bound(lane.passes, operation.start, {}, &PassSlice::start);
    const auto begun = static_cast<std::uint32_t>(next - lane.passes.begin());
    if (begun > 0 && operation.end <= (next - 1)->end) return 2 * (begun - 1) + 1;
    const bool reaches_out = begun > 0 && operation.start < (next - 1)->end;
    if (reaches_out || (next != lane.passes.end() && next->start < operation.end)) return std::nullopt;
    return 2 * begun;
  }

  // On the lane of its pass and in it, if it is of one; else on the first where it lies as it should, in a pass or
  // outside; else on the first that is free.
  void add(const OperationRecord& operation) {
    std::vector<Track>& lanes = lanes_[track_of(operation.node)];
    const PassSpan* pass = facts_.pass_of(operation);
    std::size_t best = lanes.size();
    int best_rank = 0;
    for (std::size_t i = 0; i < lanes.size() && best_rank < 3; ++i) {
      const std::optional<std::uint32_t> place = place_in(lanes[i], operation);
      if (!place) continue;
      const bool is_in_pass = *place % 2 == 1;
      const bool is_own = is_in_pass && pass != nullptr && lane_of(*pass) == i;
      const int rank = is_own ? 3 : is_in_pass == (pass != nullptr) ? 2 : 1;
      if (rank > best_rank) best = i, best_rank = rank;
    }
    if (best == lanes.size()) lanes.push_back({});
    const std::uint32_t place = *place_in(lanes[best], operation);
    lanes[best].slices.push_back({operation.start, operation.moving, operation.end, operation.node, operation.number, 1,
                                  place, operation.end - operation.start});
  }

  std::size_t lane_of(const PassSpan& pass) const {
    const auto lane = lane_of_.find(&pass);
    return lane == lane_of_.end() ? SIZE_MAX : lane->second;
  }

  std::string track_of(NodeId node) const {
    switch (graph_.kind(node)) {
      case workload::NodeKind::kHostCompute:
        return "host";
      case workload::NodeKind::kMemoryLoad:
      case workload::NodeKind::kMemoryStore:
        return "memory";
      case workload::NodeKind::kCopyToHost:
        return "copies to host";
      case workload::NodeKind::kCopyToDevice:
        return "copies to device";
      case workload::NodeKind::kCollective: {
        return group_family(source_.job.communicators[index_of(source_.job.communicator(rank_, node))]);
      }
      case workload::NodeKind::kSend:
      case workload::NodeKind::kReceive:
        return fmt::format("{} {}", source_.job.peer_family(rank_, node),
                           graph_.kind(node) == workload::NodeKind::kSend ? "send" : "receive");
      default:
        return graph_.stream(node) == 0 ? std::string(kCompute)
                                        : fmt::format("{}, stream {}", kCompute, graph_.stream(node));
    }
  }

  const TimelineSource& source_;
  RankId rank_;
  const workload::ExecutionGraph& graph_;
  RankFacts facts_;
  std::map<std::string, std::vector<Track>> lanes_;  // by kind of track
  std::map<const PassSpan*, std::size_t> lane_of_;
  std::vector<Track> tracks_;
};

// Neighbours that are shorter than `merged`, and closer, become one that is not longer. `join` puts the second into the
// first; `may_join` says of two whether it may.
template <class Item, class MayJoin, class Join>
std::vector<Item> merge(std::span<const Item> items, Duration merged, MayJoin may_join, Join join) {
  std::vector<Item> result;
  for (const Item& item : items) {
    const bool joins = !result.empty() && item.length() < merged && result.back().length() < merged &&
                       item.end - result.back().start <= merged && may_join(result.back(), item);
    if (joins)
      join(result.back(), item);
    else
      result.push_back(item);
  }
  return result;
}

constexpr auto kAlways = [](const auto&, const auto&) { return true; };

// Passes first: their slices follow them.
void merge(Track& track, Duration merged) {
  std::vector<std::uint32_t> number;  // of the pass that each became part of
  std::vector<PassSlice> passes =
      merge<PassSlice>(track.passes, merged, kAlways, [](PassSlice& one, const PassSlice& next) {
        one.end = next.end;
        one.passes += next.passes;
      });
  for (std::uint32_t i = 0; i < passes.size(); ++i) {
    const auto of = static_cast<std::uint32_t>(number.size());
    for (std::uint32_t k = of; k < track.passes.size() && track.passes[k].end <= passes[i].end; ++k)
      number.push_back(i);
  }
  number.push_back(static_cast<std::uint32_t>(passes.size()));
  for (Slice& slice : track.slices) {
    const std::uint32_t next = slice.place / 2;
    const bool is_within = slice.place % 2 == 1 || (next > 0 && number[next - 1] == number[next]);
    slice.place = 2 * number[next] + (is_within ? 1 : 0);
  }
  track.passes = std::move(passes);
  track.slices = merge<Slice>(
      track.slices, merged, [](const Slice& one, const Slice& next) { return one.place == next.place; },
      [](Slice& one, const Slice& next) {
        one.end = next.end;
        one.moving = one.start;
        one.operations += next.operations;
        one.busy += next.busy;
      });
}

void merge(RankTimeline& rank, Duration merged) {
  for (Track& track : rank.tracks) merge(track, merged);
  rank.bubbles = merge<Bubble>(rank.bubbles, merged, kAlways, [](Bubble& one, const Bubble& next) {
    one.end = next.end;
    one.idle += next.idle;
    one.bubbles += next.bubbles;
  });
}

std::size_t count(std::span<const RankTimeline> ranks) {
  std::size_t slices = 0;
  for (const RankTimeline& rank : ranks) {
    slices += rank.bubbles.size();
    for (const Track& track : rank.tracks) slices += track.slices.size() + track.passes.size();
  }
  return slices;
}

using Window = std::pair<Time, Time>;

// Windows of the pipelines of more than one stage: Passes::windows.
std::vector<std::vector<Window>> windows_of(const TimelineSource& source) {
  std::vector<std::vector<Window>> windows;
  for (std::size_t job = 0; source.training && job < source.training->pipelines.size(); ++job) {
    const std::optional<Passes> passes = collect_passes(source, job);
    windows.push_back(passes && passes->stages > 1 ? passes->windows : std::vector<Window>());
  }
  return windows;
}

std::vector<Bubble> bubbles_in(const RankPasses& passes, std::span<const Window> windows) {
  std::vector<Bubble> bubbles;
  for (const auto& [start, end] : bubbles_of(passes, windows)) bubbles.push_back({start, end, end - start});
  return bubbles;
}

}  // namespace

Timelines collect_timelines(const TimelineSource& source, std::span<const ChosenRank> ranks, std::size_t most_slices) {
  Timelines timelines;
  const std::vector<std::vector<Window>> windows = windows_of(source);
  for (const ChosenRank& chosen : ranks) {
    RankTracks tracks(source, chosen);
    RankTimeline& rank = timelines.ranks.emplace_back(RankTimeline{chosen, {}});
    if (const std::optional<RankPasses>& passes = tracks.passes()) {
      rank.stage = passes->stage;
      rank.bubbles = bubbles_in(*passes, windows[job_of(*source.training, chosen.rank)]);
    }
    rank.tracks = std::move(tracks).take();
  }
  while (count(timelines.ranks) > most_slices && timelines.merged < source.result.finish.time_since_epoch()) {
    timelines.merged = timelines.merged == Duration::zero() ? kFirstMerged : 2 * timelines.merged;
    for (RankTimeline& rank : timelines.ranks) merge(rank, timelines.merged);
  }
  timelines.slices = count(timelines.ranks);
  return timelines;
}

std::vector<MemoryLevel> memory_levels(const TimelineSource& source, RankId rank) {
  const workload::ProgramMemory& program = source.training->memory[source.job.ranks.graph(index_of(rank))];
  std::int64_t now = program.need.standing().count();
  std::vector<MemoryLevel> levels = {{Time{}, now}};
  for (const auto& [time, bytes] :
       memory_changes(program, source.log.of(source.acting[index_of(rank)]), source.job.graph(rank).written_out_size()))
    levels.push_back({time, now += bytes});
  return levels;
}

}  // namespace orrery::report
